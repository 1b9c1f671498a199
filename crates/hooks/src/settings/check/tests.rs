use crate::dialect::{CLAUDE, WAVE};
use crate::settings::check::*;

/// Severity, path and message of every problem in a file with these hooks.
fn found(dialect: &'static Dialect, hooks: &str) -> Vec<(Severity, String, String)> {
    let reading = read(dialect, &format!("{{\"hooks\": {hooks}}}"));
    reading.problems.into_iter().map(|p| (p.severity, p.path, p.message)).collect()
}

fn usable(dialect: &'static Dialect, hooks: &str) -> usize {
    let reading = read(dialect, &format!("{{\"hooks\": {hooks}}}"));
    reading.configuration.groups.iter().map(|group| group.hooks.len()).sum()
}

/// `entry` in a group of the event, after a good one.
fn with_entry(event: &str, entry: &str) -> String {
    format!(r#"{{"{event}": [{{"hooks": [{{"type": "command", "command": "good"}}, {entry}]}}]}}"#)
}

#[test]
fn a_bad_entry_costs_the_file_where_it_guards_and_itself_elsewhere() {
    let table = [
        ("5", "", "object"),
        (r#"{"command": "x"}"#, "", "`type`"),
        (r#"{"type": "comand", "command": "x"}"#, ".type", "`type`"),
        (r#"{"type": 1, "command": "x"}"#, ".type", "`type`"),
        (r#"{"type": "command"}"#, "", "`command`"),
        (r#"{"type": "command", "command": 5}"#, ".command", "`command`"),
        (r#"{"type": "command", "command": null}"#, ".command", "`command`"),
        (r#"{"type": "command", "command": "x", "args": "a b"}"#, ".args", "`args`"),
        (r#"{"type": "command", "command": "x", "args": ["a", 1]}"#, ".args", "`args`"),
        (r#"{"type": "command", "command": "x", "timeout": "5"}"#, ".timeout", "`timeout`"),
        (r#"{"type": "command", "command": "x", "timeout": 0}"#, ".timeout", "`timeout`"),
        (r#"{"type": "command", "command": "x", "timeout": -1}"#, ".timeout", "`timeout`"),
        (r#"{"type": "command", "command": "x", "timeout": null}"#, ".timeout", "`timeout`"),
        (r#"{"type": "command", "command": "x", "async": "yes"}"#, ".async", "`async`"),
        (r#"{"type": "command", "command": "x", "shell": "fish"}"#, ".shell", "`shell`"),
        (r#"{"type": "command", "command": "x", "onFailure": "stop"}"#, ".onFailure", "`onFailure`"),
        (r#"{"type": "command", "command": "x", "if": ["Bash"]}"#, ".if", "`if`"),
        (r#"{"type": "http"}"#, "", "`url`"),
        (r#"{"type": "http", "url": "localhost"}"#, ".url", "`url`"),
        (r#"{"type": "http", "url": "http://x/", "headers": {"A": 1}}"#, ".headers", "`headers`"),
        (r#"{"type": "mcp_tool", "server": "s"}"#, "", "`tool`"),
        (r#"{"type": "mcp_tool", "tool": "t"}"#, "", "`server`"),
        (r#"{"type": "prompt"}"#, "", "`prompt`"),
        (r#"{"type": "agent", "prompt": 1}"#, ".prompt", "`prompt`"),
    ];
    for (entry, field, word) in table {
        for event in ["PreToolUse", "PermissionRequest"] {
            let hooks = with_entry(event, entry);
            let problems = found(&CLAUDE, &hooks);
            let path = format!("hooks.{event}[0].hooks[1]{field}");
            let fits = |(severity, at, message): &(Severity, String, String)| {
                *severity == Severity::Error
                    && *at == path
                    && message.contains(word)
                    && message.contains("whole file")
            };
            assert!(problems.len() == 1 && fits(&problems[0]), "{hooks}: {problems:?}");
            assert_eq!(usable(&CLAUDE, &hooks), 0, "{hooks}");
        }
        for event in ["Stop", "PostToolUse", "SessionEnd"] {
            let hooks = with_entry(event, entry);
            let problems = found(&CLAUDE, &hooks);
            let path = format!("hooks.{event}[0].hooks[1]{field}");
            let dropped = problems.iter().any(|(severity, at, message)| {
                *severity == Severity::Warning
                    && *at == path
                    && message.contains(word)
                    && message.contains("drop")
            });
            assert!(dropped, "{hooks}: {problems:?}");
            assert_eq!(usable(&CLAUDE, &hooks), 1, "{hooks}");
        }
    }
}

#[test]
fn groups_of_the_wrong_shape_are_reported() {
    let table = [
        (r#"{"Stop": {"hooks": []}}"#, "hooks.Stop", "array"),
        (r#"{"Stop": "x"}"#, "hooks.Stop", "array"),
        (r#"{"Stop": ["x.py"]}"#, "hooks.Stop[0]", "object"),
        (r#"{"Stop": [{"type": "command", "command": "x"}]}"#, "hooks.Stop[0]", "`hooks`"),
        (r#"{"Stop": [{}]}"#, "hooks.Stop[0]", "`hooks`"),
        (r#"{"Stop": [{"hooks": {"type": "command"}}]}"#, "hooks.Stop[0].hooks", "array"),
        (
            r#"{"PostToolUse": [{"matcher": ["Write"], "hooks": []}]}"#,
            "hooks.PostToolUse[0].matcher",
            "`matcher`",
        ),
        (r#"{"PostToolUse": [{"matcher": null, "hooks": []}]}"#, "hooks.PostToolUse[0].matcher", "`matcher`"),
    ];
    for (hooks, path, word) in table {
        let problems = found(&CLAUDE, hooks);
        assert_eq!(problems.len(), 1, "{hooks}: {problems:?}");
        assert_eq!(problems[0].1, path, "{hooks}");
        assert!(problems[0].2.contains(word) && problems[0].2.contains("drop"), "{hooks}: {problems:?}");
    }
}

#[test]
fn entries_the_client_never_acts_on_are_reported() {
    let command = r#"{"type": "command", "command": "x""#;
    let table = [
        (format!(r#"{{"PreToolUse": [{{"matcher": "bash", "hooks": [{command}}}]}}]}}"#), "never match"),
        (
            format!(r#"{{"PreToolUse": [{{"matcher": "mcp__memory", "hooks": [{command}}}]}}]}}"#),
            "never match",
        ),
        (format!(r#"{{"PostToolUse": [{{"matcher": "B(", "hooks": [{command}}}]}}]}}"#), "never match"),
        (format!(r#"{{"SessionStart": [{{"matcher": "[", "hooks": [{command}}}]}}]}}"#), "never match"),
        (format!(r#"{{"Stop": [{{"matcher": "Bash", "hooks": [{command}}}]}}]}}"#), "ignored"),
        (format!(r#"{{"Stop": [{{"hooks": [{command}, "if": "Bash(git *)"}}]}}]}}"#), "never run"),
        (r#"{"Setup": [{"hooks": [{"type": "http", "url": "http://x/"}]}]}"#.to_owned(), "http"),
        (format!(r#"{{"PreToolUse": [{{"hooks": [{command}, "timeout": 5000}}]}}]}}"#), "seconds"),
        (format!(r#"{{"PreToolUs": [{{"hooks": [{command}}}]}}]}}"#), "unknown event"),
    ];
    for (hooks, words) in table {
        let problems = found(&CLAUDE, &hooks);
        assert_eq!(problems.len(), 1, "{hooks}: {problems:?}");
        assert!(problems[0].0 == Severity::Warning && problems[0].2.contains(words), "{hooks}: {problems:?}");
    }
}

#[test]
fn valid_settings_cause_no_problems() {
    for hooks in [
        "{}",
        r#"{"Stop": []}"#,
        r#"{"Stop": [{"hooks": []}]}"#,
        r#"{"Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "x", "mine": 1}], "note": 2}]}"#,
        r#"{"PreToolUse": [{"matcher": "^(?!Read$).*", "hooks": [{"type": "agent", "prompt": "p", "timeout": 0.5}]}]}"#,
        r#"{"PreToolUse": [{"matcher": "MyTool|Task", "hooks": [{"type": "command", "command": "x", "args": []}]}]}"#,
    ] {
        assert_eq!(found(&CLAUDE, hooks), [], "{hooks}");
    }
    for text in ["", " \n\t", "\u{feff}", "{}", "\u{feff}{\"hooks\": {}}", "{\"env\": {\"A\": \"b\"}}"] {
        let reading = read(&CLAUDE, text);
        assert!(reading.problems.is_empty() && !reading.out_of_effect, "{text:?}: {:?}", reading.problems);
    }
}

#[test]
fn a_file_that_is_not_an_object_is_ignored() {
    for text in ["[]", "null", "\"x\"", "{,}", "{\"hooks\": {}} x", "{\"hooks\": {},}"] {
        let reading = read(&CLAUDE, text);
        assert!(reading.out_of_effect && !reading.is_valid(), "{text}");
    }
    let reading = read(&CLAUDE, "{\"hooks\": [], \"disableAllHooks\": true}");
    assert!(!reading.out_of_effect && !reading.is_valid() && reading.configuration.disable_all);
    let broken = read(&CLAUDE, "{\"hooks\": {\"PreToolUse\": 1}, \"disableAllHooks\": true}");
    assert!(
        broken.out_of_effect && !broken.configuration.disable_all,
        "its disableAllHooks does not count either"
    );
}

#[test]
fn a_wrong_type_next_to_the_hooks_costs_the_file_too() {
    for (name, value) in
        [("disableAllHooks", "\"true\""), ("disableAllHooks", "null"), ("env", "\"A=b\""), ("model", "5")]
    {
        let reading = read(&CLAUDE, &format!("{{\"{name}\": {value}, \"hooks\": {{}}}}"));
        assert!(reading.out_of_effect, "{name}: {value}");
        assert_eq!(reading.problems[0].path, name);
        assert!(reading.problems[0].message.contains("whole file"), "{:?}", reading.problems);
    }
    let fine =
        read(&CLAUDE, r#"{"model": "opus", "x-note": 1, "permissions": {"allow": [5]}, "env": {"A": 1}}"#);
    assert!(fine.problems.is_empty(), "{:?}", fine.problems);
    assert_eq!(fine.configuration.env, [("A".to_owned(), "1".to_owned())]);
}

#[test]
fn wave_skips_bad_entries_and_says_so() {
    let good = r#"{"type": "command", "command": "x"}"#;
    let table = [
        (format!(r#"{{"SessionStart": [{{"hooks": [{good}]}}]}}"#), "hooks.SessionStart", "event"),
        (format!(r#"{{"PreToolUse": [{{"hooks": [{good}]}}]}}"#), "hooks.PreToolUse[0]", "required"),
        (format!(r#"{{"Stop": [{{"matcher": "*", "hooks": [{good}]}}]}}"#), "hooks.Stop[0].matcher", "Stop"),
        (
            format!(r#"{{"PreToolUse": [{{"matcher": "a|", "hooks": [{good}]}}]}}"#),
            "hooks.PreToolUse[0].matcher",
            "`matcher`",
        ),
        (
            format!(r#"{{"PreToolUse": [{{"matcher": 1, "hooks": [{good}]}}]}}"#),
            "hooks.PreToolUse[0].matcher",
            "`matcher`",
        ),
        (r#"{"Stop": [{}]}"#.to_owned(), "hooks.Stop[0]", "`hooks`"),
        (r#"{"Stop": [{"hooks": "x"}]}"#.to_owned(), "hooks.Stop[0].hooks", "array"),
        (r#"{"Stop": [{"hooks": []}]}"#.to_owned(), "hooks.Stop[0].hooks", "at least one"),
        (r#"{"Stop": [{"hooks": ["x"]}]}"#.to_owned(), "hooks.Stop[0].hooks[0]", "object"),
        (r#"{"Stop": ["x"]}"#.to_owned(), "hooks.Stop[0]", "object"),
        (r#"{"Stop": 1}"#.to_owned(), "hooks.Stop", "array"),
        (r#"{"Stop": [{"hooks": [{"command": "x"}]}]}"#.to_owned(), "hooks.Stop[0].hooks[0]", "\"command\""),
        (
            r#"{"Stop": [{"hooks": [{"type": "http", "command": "x"}]}]}"#.to_owned(),
            "hooks.Stop[0].hooks[0].type",
            "\"command\"",
        ),
        (r#"{"Stop": [{"hooks": [{"type": "command"}]}]}"#.to_owned(), "hooks.Stop[0].hooks[0]", "`command`"),
        (
            r#"{"Stop": [{"hooks": [{"type": "command", "command": " "}]}]}"#.to_owned(),
            "hooks.Stop[0].hooks[0].command",
            "empty",
        ),
        (
            r#"{"Stop": [{"hooks": [{"type": "command", "command": 1}]}]}"#.to_owned(),
            "hooks.Stop[0].hooks[0].command",
            "text",
        ),
        (
            r#"{"Stop": [{"hooks": [{"type": "command", "command": "x", "timeout": "5"}]}]}"#.to_owned(),
            "hooks.Stop[0].hooks[0].timeout",
            "number",
        ),
        (
            r#"{"Stop": [{"hooks": [{"type": "command", "command": "x", "async": 1}]}]}"#.to_owned(),
            "hooks.Stop[0].hooks[0].async",
            "`async`",
        ),
    ];
    for (hooks, path, word) in table {
        let problems = found(&WAVE, &hooks);
        let fits = |(severity, at, message): &(Severity, String, String)| {
            *severity == Severity::Error && at == path && message.contains(word)
        };
        assert!(problems.len() == 1 && fits(&problems[0]), "{hooks}: {problems:?}");
        assert_eq!(usable(&WAVE, &hooks), 0, "{hooks}");
    }
}

#[test]
fn a_wrong_type_does_not_hide_what_else_is_wrong_where_only_one_type_exists() {
    let hooks = r#"{"Stop": [{"hooks": [{"type": "http", "command": " "}, {"timeout": "5"}]}]}"#;
    let paths: Vec<String> = found(&WAVE, hooks).into_iter().map(|(_, path, _)| path).collect();
    let [first, second] = ["hooks.Stop[0].hooks[0]", "hooks.Stop[0].hooks[1]"];
    let all = [
        format!("{first}.type"),
        format!("{first}.command"),
        second.to_owned(),
        second.to_owned(),
        format!("{second}.timeout"),
    ];
    assert_eq!(paths, all);
}

#[test]
fn wave_warns_about_matchers_that_match_no_tool() {
    let hooks = r#"{"PreToolUse": [{"matcher": ".*", "hooks": [{"type": "command", "command": "x", "timeout": 0}]}]}"#;
    let problems = found(&WAVE, hooks);
    assert!(problems.len() == 1 && problems[0].0 == Severity::Warning, "{problems:?}");
    assert_eq!(usable(&WAVE, hooks), 1);
    let blank = read(&WAVE, "  \n");
    assert!(blank.is_valid() && blank.problems[0].message.contains("empty"));
}

#[test]
fn problems_come_in_file_order_with_positions() {
    let text = "{\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": 1, \"timeout\": \"é\"}]}],\n    \"Stop\": [1],\n    \"Nope\": []\n  }\n}";
    let problems = read(&CLAUDE, text).problems;
    let places: Vec<_> =
        problems.iter().map(|p| (p.position.line, p.position.column, p.path.as_str())).collect();
    assert_eq!(places, [(4, 5, "hooks.Stop"), (4, 14, "hooks.Stop[0]"), (5, 13, "hooks.Nope")]);
}

#[test]
fn typos_are_recognized() {
    let events = || CLAUDE.events.iter().map(|rule| rule.name);
    for (slip, meant) in [
        ("PreToolUs", "PreToolUse"),
        ("pre-tool-use", "PreToolUse"),
        ("stop", "Stop"),
        ("SubAgentStop", "SubagentStop"),
    ] {
        assert_eq!(nearest(slip, events()), Some(meant), "{slip}");
    }
    assert_eq!(nearest("BeforeTool", events()), None);
}

#[test]
fn entries_the_client_accepts_but_ignores_are_reported() {
    let http = |fields: &str| format!(r#"{{"type": "http", {fields}}}"#);
    for (event, matcher, entry, told) in [
        ("PreToolUse", "", http(r#""url": "http://x/", "headers": {"A": "Bearer $TOKEN"}"#), Some("$TOKEN")),
        (
            "PreToolUse",
            "",
            http(r#""url": "http://x/", "headers": {"A": "${A_B}x"}, "allowedEnvVars": ["A"]"#),
            Some("$A_B"),
        ),
        (
            "PreToolUse",
            "",
            http(r#""url": "http://x/", "headers": {"A": "$T"}, "allowedEnvVars": ["T"]"#),
            None,
        ),
        ("PreToolUse", "", http(r#""url": "http://x/", "headers": {"A": "5 $"}"#), None),
        ("Stop", "", http(r#""url": "file:///tmp/x""#), Some("file:")),
        ("Stop", "", http(r#""url": "https://x/""#), None),
        (
            "PermissionRequest",
            "",
            r#"{"type": "agent", "prompt": "x"}"#.to_owned(),
            Some("not run on PermissionRequest"),
        ),
        ("PreToolUse", "", r#"{"type": "agent", "prompt": "x"}"#.to_owned(), None),
        ("SessionEnd", "", r#"{"type": "prompt", "prompt": "x"}"#.to_owned(), Some("not run on SessionEnd")),
        ("Stop", "", r#"{"type": "prompt", "prompt": "x"}"#.to_owned(), None),
        (
            "PreToolUse",
            "",
            r#"{"type": "command", "command": "x", "if": "Bash(git *"}"#.to_owned(),
            Some("not closed"),
        ),
        ("PreToolUse", "", r#"{"type": "command", "command": "x", "if": "Bash(git *)"}"#.to_owned(), None),
        (
            "PreToolUse",
            "Edit|Write",
            r#"{"type": "command", "command": "x", "if": "Bash(git *)"}"#.to_owned(),
            Some("exclude each other"),
        ),
        (
            "PreToolUse",
            "^Edit$",
            r#"{"type": "command", "command": "x", "if": "Bash"}"#.to_owned(),
            Some("exclude each other"),
        ),
        (
            "PreToolUse",
            "Bash|Edit",
            r#"{"type": "command", "command": "x", "if": "Bash(git *)"}"#.to_owned(),
            None,
        ),
        ("PreToolUse", "*", r#"{"type": "command", "command": "x", "if": "Bash(git *)"}"#.to_owned(), None),
        ("PreToolUse", ".*", r#"{"type": "command", "command": "x", "if": "Edit"}"#.to_owned(), None),
    ] {
        let hooks = format!(r#"{{"{event}": [{{"matcher": "{matcher}", "hooks": [{entry}]}}]}}"#);
        let problems = found(&CLAUDE, &hooks);
        match told {
            None => assert!(problems.is_empty(), "{hooks}: {problems:?}"),
            Some(told) => assert!(
                problems
                    .iter()
                    .any(|(severity, _, message)| *severity == Severity::Warning && message.contains(told)),
                "{hooks}: {problems:?}"
            ),
        }
        assert_eq!(usable(&CLAUDE, &hooks), 1, "{hooks}");
    }
}

#[test]
fn unknown_events_are_reported_with_the_likely_one() {
    for (name, meant) in [
        ("stop", Some("Stop")),
        ("OnStop", Some("Stop")),
        ("Stopp", Some("Stop")),
        ("AgentStop", Some("SubagentStop")),
        ("PreTool", Some("PreToolUse")),
        ("pre_tool_use", Some("PreToolUse")),
        ("SubagentStopped", Some("SubagentStop")),
        ("Whatever", None),
    ] {
        let problems = found(&CLAUDE, &format!(r#"{{"{name}": []}}"#));
        let message = &problems[0].2;
        match meant {
            Some(meant) => assert!(message.contains(&format!("did you mean {meant}?")), "{name}: {message}"),
            None => assert!(!message.contains("did you mean"), "{message}"),
        }
    }
}
