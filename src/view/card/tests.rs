use super::*;
use serde_json::json;

fn agent(interaction: Value) -> AgentView {
    let stamp = Stamp(5_000);
    serde_json::from_value(json!({
        "id": 1, "session_id": "s", "sessions": [], "name": "fix", "project": "api", "project_path": "/p/api",
        "state": "awaiting_input", "status": "attention", "group": "needs_you", "unseen": false, "stale": false,
        "headless": false, "started_at": stamp, "last_active_at": stamp, "background": [],
        "interactions": [interaction], "subagents": [], "turn_count": 0, "source": "hook", "source_at": stamp,
        "confidence": "high", "cwd": "/p/api/very/deep", "context": {"used_tokens": 50000, "window": 200000, "percent": 25.0},
        "cost_usd": 1.234, "pr": {"number": 7, "url": "https://x/7"},
    }))
    .unwrap()
}

fn shown(interaction: Value, columns: usize) -> String {
    let guard = GuardWords::from([(1, "would ask: force push".to_owned())]);
    let mut card = Card::new(columns);
    card.asks(&agent(interaction), &guard);
    card.facts(&agent(json!({"id": 2, "kind": "reply", "text": "x", "opened_at": Stamp(1)})), Stamp(9_000));
    for line in &card.lines {
        let line = format!("{}{}", line.label, line.text);
        assert!(width(&line) <= columns.max(LABEL + 3), "{columns}: {line:?}");
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
    card.lines.iter().map(|line| format!("{}{}\n", line.label, line.text)).collect()
}

#[test]
fn a_command_keeps_its_lines_and_comes_with_all_that_decides() {
    let ask = json!({"id": 1, "kind": "permission", "tool_name": "Bash", "ask": "Allow Bash: for …", "opened_at": Stamp(1),
        "text": "for f in *; do\n    echo \"$f\"\ndone", "description": "List the files",
        "answer": {"can": ["allow", "deny"], "digest": "x", "state": "open", "by": null, "at": null}});
    let card = shown(ask, 60);
    for part in [
        "! Allow Bash?",
        "List the files",
        "  for f in *; do\n      echo \"$f\"\n  done\n",
        "in /p/api/very/deep",
        "guard would ask: force push",
        "answer allow once · deny",
        "context 25 % (50,000 of 200,000 tokens)",
        "cost $1.23",
        "PR #7 · https://x/7",
    ] {
        assert!(card.contains(part), "{part}\n{card}");
    }
}

#[test]
fn questions_plans_and_diffs_are_whole() {
    let card = shown(
        json!({"id": 1, "kind": "question", "tool_name": "AskUserQuestion", "text": "…", "opened_at": Stamp(1), "questions": [
            {"question": "Which store?", "header": "Store", "multi_select": false, "options": [{"label": "SQLite", "description": "one file"}, {"label": "None"}]},
            {"question": "Which checks?", "multi_select": true, "options": []}]}),
        50,
    );
    assert!(
        card.contains("1. [Store] Which store? (choose one)") && card.contains("      one file"),
        "{card}"
    );
    assert!(card.contains("2. Which checks? (choose any)"), "{card}");
    let card = shown(
        json!({"id": 1, "kind": "plan", "tool_name": "ExitPlanMode", "text": "…", "opened_at": Stamp(1),
            "plan": "# Steps\n- **First** do\n```sh\n  make\n```"}),
        50,
    );
    assert!(card.contains("Steps\n  • First do\n      make\n"), "{card}");
    let card = shown(
        json!({"id": 1, "kind": "permission", "tool_name": "Edit", "text": "/p/api/a.rs", "opened_at": Stamp(1),
            "input": {"file_path": "/p/api/src/a.rs"}, "diff": "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n"}),
        50,
    );
    assert!(card.contains("file src/a.rs\n  @@ -1 +1 @@\n  -old\n  +new\n"), "{card}");
}

#[test]
fn a_working_agent_shows_what_it_does_and_its_living_subagents() {
    let stamp = Stamp(1);
    let subagent = |kind: &str, detail: Option<&str>, ended: Option<Stamp>| {
        json!({"agent_id": kind, "session_id": "s", "agent_type": kind, "status": "working", "status_detail": detail,
            "started_at": stamp, "ended_at": ended})
    };
    let mut working = agent(json!({"id": 2, "kind": "reply", "text": "x", "opened_at": Stamp(1)}));
    working.status_detail = Some("Bash: cargo build --release".into());
    working.subagents = serde_json::from_value(json!([
        subagent("Explore", Some("Grep: main"), None),
        subagent("Plan", None, None),
        subagent("Gone", None, Some(stamp)),
    ]))
    .unwrap();
    let shown = |agent: &AgentView| -> String {
        let mut card = Card::new(60);
        card.doing(agent, &[]);
        card.lines.iter().map(|line| format!("{}{}\n", line.label, line.text)).collect()
    };
    let subagents = " subagent Explore · Grep: main\n subagent Plan\n";
    assert_eq!(shown(&working), subagents, "its ask says what it waits for");
    working.group = Group::Working;
    assert_eq!(shown(&working), format!("    doing Bash: cargo build --release\n{subagents}"));
    working.ended_at = Some(stamp);
    assert_eq!(shown(&working), "");
}

#[test]
fn marks_of_bold_text_go_and_other_asterisks_stay() {
    for (line, expected) in [
        ("**Done**: see **the notes**.", "Done: see the notes."),
        ("(**bold**) and __dunder__", "(bold) and __dunder__"),
        ("**修复** ok", "修复 ok"),
        ("Allow Bash: jest 'src/**/*.ts'", "Allow Bash: jest 'src/**/*.ts'"),
        ("Allow Bash: cp a/**/b c/**/d", "Allow Bash: cp a/**/b c/**/d"),
        ("Allow Bash: ls **/*.ts src/**", "Allow Bash: ls **/*.ts src/**"),
        ("Allow Bash: echo $((2**3**2))", "Allow Bash: echo $((2**3**2))"),
        ("run `a ** b ** c`, then `**x**`", "run `a ** b ** c`, then `**x**`"),
        ("an open ` and **bold**", "an open ` and bold"),
        ("** not bold ** ****", "** not bold ** ****"),
        ("*", "*"),
    ] {
        assert_eq!(without_bold_marks(line), expected, "{line}");
    }
}

#[test]
fn hostile_text_is_harmless_at_every_width() {
    let evil = "\u{1b}[2J\u{202e}rm -rf\u{7}\r修复登录测试🚀🚀\t\u{200b}x\u{9b}31m".repeat(9);
    for columns in [12, 20, 39, 40, 80, 200] {
        for kind in ["permission", "question", "plan", "mcp", "reply", "dialog"] {
            shown(
                json!({"id": 1, "kind": kind, "tool_name": evil, "text": evil, "ask": evil, "opened_at": Stamp(1), "plan": evil,
                    "description": evil, "diff": format!("+{evil}\n-{evil}"), "subagent": evil, "input": {"file_path": evil},
                    "questions": [{"question": evil, "header": evil, "options": [{"label": evil, "description": evil}]}], "options": [evil]}),
                columns,
            );
        }
    }
}
