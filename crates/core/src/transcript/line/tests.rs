use crate::transcript::line::*;

/// A transcript in short words, one for each thing seen.
fn story(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| classify(line.as_bytes())).flat_map(|entry| words(&entry)).collect()
}

fn words(entry: &Entry) -> Vec<String> {
    let side = if entry.sidechain { "side " } else { "" };
    let word = |seen: &Seen| match seen {
        Seen::Prompt { text, .. } => format!("prompt {}", first(text)),
        Seen::Text { text, stop_reason, .. } => {
            format!("text {} ({})", first(text), stop_reason.as_deref().unwrap_or("-"))
        }
        Seen::ToolUse { name, .. } => format!("call {name}"),
        Seen::ToolResult { refused: true, .. } => "refused".into(),
        Seen::ToolResult { error: true, .. } => "failed".into(),
        Seen::ToolResult { .. } => "result".into(),
        Seen::Decided { by, .. } => format!("decided by {by}"),
        Seen::Allowed { id } => format!("allowed {id}"),
        Seen::Interrupted { tool } => format!("interrupted {}", if *tool { "tool" } else { "text" }),
        Seen::ApiError { error, text } => format!("error {error}: {}", first(text)),
        Seen::Failed { error } => format!("failed {error}"),
        Seen::TurnEnd => "end".into(),
        Seen::Compaction { over } => format!("compaction {over}"),
        Seen::Queued { text } => format!("queued {}", first(text)),
        Seen::Dequeued => "dequeued".into(),
        Seen::Unqueued { text } => format!("unqueued {}", first(text)),
        Seen::Title(title) => format!("title {title}"),
        Seen::Mode(mode) => format!("mode {mode}"),
        Seen::Usage(usage) => format!("{} tokens", usage.used_tokens),
    };
    entry
        .seen
        .iter()
        .map(word)
        .filter(|word| word != "19512 tokens" && !word.starts_with("mode "))
        .map(|word| format!("{side}{word}"))
        .collect()
}

fn first(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(28).collect()
}

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../tests/fixtures/transcripts/",
            $name,
            ".jsonl"
        ))
    };
}

#[test]
fn real_transcripts_are_classified_line_by_line() {
    let stories: [(&str, &str, &[&str]); 7] = [
        (
            "basic",
            fixture!("t_basic"),
            &[
                "prompt SCENARIO:bash",
                "text I will list the files. (tool_use)",
                "call Bash",
                "result",
                "text The command ran. (end_turn)",
                "end",
                "prompt SCENARIO:writeedit",
                "call Write",
                "result",
                "call Edit",
                "result",
                "call Read",
                "result",
                "text Wrote and edited new.txt. (end_turn)",
                "end",
                "prompt SCENARIO:bashfail",
                "call Bash",
                "failed",
                "text The command failed. (end_turn)",
                "end",
                "prompt !echo bang-mode",
                "text Done with bashfail. (end_turn)",
                "end",
            ],
        ),
        (
            "esc",
            fixture!("t_esc"),
            &[
                "prompt SCENARIO:slowtext",
                "text word word word word word wor (-)",
                "interrupted text",
                "prompt SCENARIO:slowbash",
                "call Bash",
                "refused",
                "interrupted tool",
                "prompt SCENARIO:slowfirst",
                "prompt SCENARIO:slowbash ctrl-c",
                "call Bash",
                "refused",
                "interrupted tool",
                "prompt SCENARIO:hello",
                "text Hello from the fake API. (end_turn)",
                "end",
            ],
        ),
        (
            "ask",
            fixture!("t_ask"),
            &[
                "prompt SCENARIO:ask",
                "call AskUserQuestion",
                "decided by user_temporary",
                "result",
                "text Thanks for the answer. (end_turn)",
                "end",
                "prompt SCENARIO:ask esc",
                "call AskUserQuestion",
                "refused",
                "interrupted tool",
                "end",
                "prompt SCENARIO:hello",
                "text Hello from the fake API. (end_turn)",
                "end",
            ],
        ),
        (
            "compact",
            fixture!("t_compact"),
            &[
                "prompt SCENARIO:bash 0",
                "text I will list the files. (tool_use)",
                "call Bash",
                "result",
                "text The command ran. (end_turn)",
                "end",
                "prompt SCENARIO:bash 1",
                "text I will list the files. (tool_use)",
                "call Bash",
                "result",
                "text The command ran. (end_turn)",
                "end",
                "prompt SCENARIO:bash 2",
                "text I will list the files. (tool_use)",
                "call Bash",
                "result",
                "text The command ran. (end_turn)",
                "end",
                "2888 tokens",
                "prompt SCENARIO:hello",
                "text Hello from the fake API. (end_turn)",
                "end",
            ],
        ),
        (
            "apierror",
            fixture!("t_apierror"),
            &[
                "prompt SCENARIO:badreq",
                "error unknown: API Error: 400 fake bad requ",
                "end",
                "prompt SCENARIO:overloaded",
                "error server_error: API Error: 529 Overloaded. T",
                "end",
                "prompt SCENARIO:authfail",
                "error authentication_failed: Invalid API key · Fix extern",
                "end",
            ],
        ),
        (
            "agent",
            fixture!("t_agent"),
            &[
                "prompt SCENARIO:agentfg",
                "call Agent",
                "result",
                "text Foreground subagent done. (end_turn)",
                "end",
                "queued <task-notification>",
                "dequeued",
                "prompt <task-notification>",
                "text Done with agentfg. (end_turn)",
                "end",
                "prompt SCENARIO:agents2",
                "call Agent",
                "call Agent",
                "result",
                "result",
                "text Both subagents are done. (end_turn)",
                "end",
                "prompt <task-notification>",
                "text Done with agents2. (end_turn)",
                "end",
                "prompt <task-notification>",
                "text Done with agents2. (end_turn)",
                "end",
            ],
        ),
        (
            "subagent",
            fixture!("t_agent.subagent"),
            &[
                "side prompt SCENARIO:sub_bash fg",
                "side call Bash",
                "side result",
                "side text Subagent report: fine. (end_turn)",
            ],
        ),
    ];
    for (name, text, expected) in stories {
        assert_eq!(story(text), expected, "{name}");
    }
}

#[test]
fn every_line_of_a_conversation_has_time_place_and_version() {
    let mut lines = 0;
    for line in fixture!("t_perm").lines() {
        let Some(entry) = classify(line.as_bytes()) else { continue };
        // Lines about the session itself have only its id.
        if entry.seen.iter().any(|seen| matches!(seen, Seen::Mode(_))) {
            continue;
        }
        lines += 1;
        assert!(entry.at.is_some() && !entry.uuid.is_empty(), "{line}");
        assert_eq!(entry.cwd.as_deref(), Some("/home/user/project"));
        assert_eq!(entry.branch.as_deref(), Some("master"));
        assert_eq!(entry.entrypoint.as_deref(), Some("cli"));
        assert_eq!(entry.version.as_deref(), Some("2.1.325"));
        assert_eq!(entry.session_id.as_deref(), Some("cdfdb6f2-d339-4f5a-8ad4-b850ce40cb72"));
    }
    assert_eq!(lines, 22);
}

#[test]
fn usage_counts_the_whole_prompt_and_never_a_synthetic_line() {
    let line = |model: &str, input: u64| {
        format!(
            r#"{{"type":"assistant","uuid":"u","message":{{"id":"m","model":"{model}","content":[],
            "usage":{{"input_tokens":{input},"cache_creation_input_tokens":1500,"cache_read_input_tokens":18000,
            "output_tokens":42}}}}}}"#
        )
    };
    let used = |line: String| match &classify(line.as_bytes()).unwrap().seen[..] {
        [Seen::Usage(usage)] => Some((usage.used_tokens, usage.model.clone())),
        _ => None,
    };
    assert_eq!(used(line("claude-opus-5-5", 12)), Some((19_512, Some("claude-opus-5-5".into()))));
    assert_eq!(used(line("<synthetic>", 12)), None);
    let failed = line("claude-opus-5-5", 12).replacen('{', r#"{"isApiErrorMessage":true,"#, 1);
    assert_eq!(used(failed), None);
    assert_eq!(used(line("claude-opus-5-5", u64::MAX)), Some((u64::MAX, Some("claude-opus-5-5".into()))));
}

#[test]
fn texts_in_the_users_name_are_not_prompts() {
    let prompt = |content: &str, more: &str| {
        let line = format!(
            r#"{{"type":"user","uuid":"u"{more},"message":{{"role":"user","content":{}}}}}"#,
            serde_json::to_string(content).unwrap()
        );
        match &classify(line.as_bytes()).unwrap().seen[..] {
            [Seen::Prompt { text, .. }] => Some(text.clone()),
            _ => None,
        }
    };
    for (content, more) in [
        ("<local-command-stdout>ok</local-command-stdout>", ""),
        ("<local-command-caveat>Caveat</local-command-caveat>", ""),
        ("<command-name>/model</command-name>\n<command-message>model</command-message>", ""),
        ("<bash-stdout>x</bash-stdout><bash-stderr></bash-stderr>", ""),
        ("<system-reminder>x</system-reminder>", ""),
        ("Stop hook feedback: more tests", r#","isMeta":true"#),
        ("This session is being continued", r#","isCompactSummary":true"#),
        ("", ""),
        ("  \n", ""),
    ] {
        assert_eq!(prompt(content, more), None, "{content}");
    }
    for (content, typed) in [
        ("hello", "hello"),
        ("what does <local-command-stdout> mean?", "what does <local-command-stdout> mean?"),
        ("<bash-input>ls -l</bash-input>", "!ls -l"),
        ("<command-message>demo</command-message>\n<command-name>/demo</command-name>", "/demo"),
        (
            "<command-message>demo</command-message>\n<command-name>/demo</command-name>\n<command-args>a b</command-args>",
            "/demo a b",
        ),
    ] {
        assert_eq!(prompt(content, "").as_deref(), Some(typed), "{content}");
    }
}

#[test]
fn a_prompt_with_a_picture_is_a_prompt() {
    let line = r#"{"type":"user","uuid":"u","promptId":"p","message":{"role":"user","content":[
        {"type":"image","source":{}},{"type":"text","text":"what is this?"}]}}"#;
    let seen = classify(line.as_bytes()).unwrap().seen;
    assert!(
        matches!(&seen[..], [Seen::Prompt { text, prompt_id: Some(id) }] if text == "what is this?" && id == "p")
    );
}

#[test]
fn spaces_and_the_order_of_keys_do_not_matter() {
    let line = r#"{"message": {"content": [{"text": "[Request interrupted by user]", "type": "text"}]}, "uuid": "u",
        "isSidechain": false, "type": "user"}"#;
    assert!(matches!(classify(line.as_bytes()).unwrap().seen[..], [Seen::Interrupted { tool: false }]));
    let line = r#"  {"type": "system", "subtype": "turn_duration"}"#;
    assert!(matches!(classify(line.as_bytes()).unwrap().seen[..], [Seen::TurnEnd]));
}

#[test]
fn unreadable_lines_are_noise() {
    let deep = format!(r#"{{"type":"user","x":{}{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    for line in [
        "",
        "null",
        "[]",
        "\"user\"",
        "{}",
        r#"{"type":"attachment","a":{"type":"user"}}"#,
        r#"{"type":"api-request-blob","message":{"role":"user"}}"#,
        r#"{"a":"user"}"#,
        r#"{"type":7,"a":"user"}"#,
        r#"{"type":"user","message":"#,
        r#"{"type":"userx","message":{}}"#,
    ] {
        assert!(classify(line.as_bytes()).is_none(), "{line}");
    }
    // Odd shapes inside a readable line are ignored.
    for line in [
        deep.as_str(),
        r#"{"type":"user"}"#,
        r#"{"type":"user","message":7}"#,
        r#"{"type":"user","uuid":{},"timestamp":[],"message":{"content":{"a":1}}}"#,
        r#"{"type":"user","message":{"content":[1,null,"x"]}}"#,
        r#"{"type":"user","message":{"content":[{"type":"tool_result"}]}}"#,
        r#"{"type":"assistant","message":{"content":[{"type":"tool_use"}],"usage":{"input_tokens":-1}}}"#,
        r#"{"type":"assistant","message":{"content":[{"type":"text","text":7}],"usage":[]}}"#,
        r#"{"type":"system","subtype":"compact_boundary","compactMetadata":{"postTokens":"many"}}"#,
    ] {
        assert!(classify(line.as_bytes()).is_some_and(|entry| entry.seen.is_empty()), "{line}");
    }
}

#[test]
fn invalid_utf8_is_replaced() {
    let mut line = br#"{"type":"user","uuid":"u","message":{"content":"caf"#.to_vec();
    line.extend([0xff]);
    line.extend(br#""}}"#);
    let seen = classify(&line).unwrap().seen;
    assert!(matches!(&seen[..], [Seen::Prompt { text, .. }] if text == "caf\u{fffd}"));
}
