//! What the real programs sent, and what headspace makes of it: payloads and transcript lines recorded from each client.

#![allow(clippy::unwrap_used)]

use headspace_clients::{Incoming, Surroundings, reader, translate};
use headspace_core::model::event_names;
use headspace_core::transcript::Seen;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/clients").join(name)
}

/// The event as it comes out of the server's door: `argument` is the name on the hook's command line, if there is one.
fn incoming(client: &str, file: &str, argument: Option<&str>) -> Incoming {
    let text = std::fs::read_to_string(fixture(&format!("{client}/{file}.json"))).unwrap();
    let mut body: Value = serde_json::from_str(&text).unwrap();
    body["client"] = json!(client);
    let name = argument.or(body["hook_event_name"].as_str()).unwrap().to_owned();
    let session = body["session_id"].as_str().or(body["sessionId"].as_str()).unwrap().to_owned();
    let name = event_names::name_of(&event_names::slug_of(&name));
    let Value::Object(body) = body else { panic!("{file} is not an object") };
    let mut incoming = Incoming { name, session_id: session, body };
    translate(&mut incoming, &Surroundings { home: Path::new("/home/user") });
    incoming
}

#[test]
fn every_recorded_event_becomes_one_that_the_engine_knows_or_none_at_all() {
    for (client, file, argument, name) in [
        ("codex", "SessionStart.exec_bash", None, "SessionStart"),
        ("codex", "UserPromptSubmit.exec_bash", None, "UserPromptSubmit"),
        ("codex", "PermissionRequest.tui_perm_no", None, "PermissionRequest"),
        ("codex", "Interrupt.tui_interrupt", None, "Interrupt"),
        ("codex", "Stop.exec_bash", None, "Stop"),
        ("codex", "SessionEnd.exec_bash", None, "SessionEnd"),
        ("copilot", "SessionStart.p_err_pascal", None, "SessionStart"),
        ("copilot", "PermissionRequest.p_bash_pascal", Some("PermissionRequest"), "PermissionCheck"),
        ("copilot", "Notification.t_perm_no_pascal", None, "Notification"),
        ("copilot", "ErrorOccurred.p_err_pascal", None, "StopFailure"),
        ("copilot", "PostToolUseFailure.t_bad_pascal", None, "PostToolUseFailure"),
        ("copilot", "SubagentStart.p_sub_pascal", Some("SubagentStart"), "SubagentStart"),
        ("copilot", "Stop.in_subagent.p_sub_pascal", None, "SubagentIdle"),
        ("copilot", "Stop.p_sub_pascal", None, "Stop"),
        ("copilot", "preToolUse.p_bash", Some("preToolUse"), "PreToolUse"),
        ("copilot", "agentStop.p_bash", Some("agentStop"), "Stop"),
        ("qwen", "UserPromptSubmit.p_bash", None, "ToolResultsSubmit"),
        ("qwen", "PostToolBatch.t_perm_no", None, "PostToolBatch"),
        ("qwen", "PostToolUseFailure.p_fail", None, "PostToolUseFailure"),
        ("gemini", "BeforeAgent.p_bash", None, "UserPromptSubmit"),
        ("gemini", "BeforeTool.p_bash", None, "PreToolUse"),
        ("gemini", "AfterTool.p_bash", None, "PostToolUse"),
        ("gemini", "AfterAgent.p_bash", None, "Stop"),
        ("gemini", "PreCompress.p_bash", None, "PreCompress"),
        ("gemini", "SessionEnd.p_bash", None, "SessionEnd"),
    ] {
        assert_eq!(incoming(client, file, argument).name, name, "{client} {file}");
    }
}

#[test]
fn a_subagents_event_belongs_to_its_parents_session() {
    for file in [
        "UserPromptSubmit.in_subagent.p_sub_pascal",
        "PreToolUse.in_subagent.p_sub_pascal",
        "Stop.in_subagent.p_sub_pascal",
        "SubagentStop.p_sub_pascal",
    ] {
        let event = incoming("copilot", file, None);
        assert_eq!(event.session_id, "be76f86b-effb-4eaa-b92e-d69716bf847d", "{file}");
        assert_eq!(event.body["agent_id"], "3a7f2661-84c6-4693-bb9a-28a1e4888094", "{file}");
    }
    // Codex names the subagent's own transcript: it must not take the place of the session's.
    let event = incoming("codex", "SubagentStart.exec_sub", None);
    assert!(!event.body.contains_key("transcript_path"), "{:?}", event.body);
    assert!(event.body["agent_transcript_path"].as_str().is_some_and(|path| path.contains("rollout-")));
}

#[test]
fn what_a_client_leaves_out_or_spells_otherwise_is_put_right() {
    let copilot = incoming("copilot", "Notification.t_perm_no_pascal", None);
    assert_eq!(
        copilot.body["transcript_path"],
        format!("/home/user/.copilot/session-state/{}/events.jsonl", copilot.session_id),
    );
    assert_eq!(incoming("copilot", "ErrorOccurred.p_err_pascal", None).body["error"], "fake boom");
    assert_eq!(incoming("copilot", "SessionStart.p_err_pascal", None).body["keeps_turn"], true);

    let qwen = incoming("qwen", "PreToolUse.t_perm_yes", None);
    assert_eq!(
        (&qwen.body["tool_use_id"], &qwen.body["consented"]),
        (&json!("call_560cb93c84f44d1d"), &json!(true))
    );
    let stop = incoming("qwen", "Stop.p_bash", None);
    assert_eq!((&stop.body["context_tokens"], &stop.body["context_window"]), (&json!(1200), &json!(200_000)));

    // It is told at once, and of a turn that was broken off nothing else is told.
    assert_eq!(incoming("qwen", "Notification.t_interrupt", None).body["idle_at_once"], true);
    assert_eq!(incoming("qwen", "PostToolUseFailure.t_interrupt", None).body["is_interrupt"], true);

    let failed = incoming("gemini", "AfterAgent.t_err", None);
    assert_eq!((&failed.body["no_answer"], failed.body.get("last_assistant_message")), (&json!(true), None));
    let asked = incoming("gemini", "Notification.t_ask", None);
    assert_eq!(asked.body["notification_type"], "agent_needs_input");
    let permission = incoming("gemini", "Notification.t_perm_no", None);
    assert_eq!(permission.body["notification_type"], "permission_prompt");
    assert_eq!((&permission.body["silent_client"], permission.body.get("reason")), (&json!(true), None));
    assert!(incoming("gemini", "AfterAgent.p_bash", None).body["last_assistant_message"].is_string());
}

#[test]
fn a_question_has_one_form_whoever_asks_it() {
    for (client, file, question) in [
        ("qwen", "PermissionRequest.t_ask", "Which?"),
        ("gemini", "BeforeTool.t_ask", "Which?"),
        ("copilot", "PreToolUse.t_ask_pascal", "Which?"),
    ] {
        let event = incoming(client, file, None);
        assert_eq!(event.text("tool_name"), Some("AskUserQuestion"), "{client}");
        assert_eq!(event.text_at("/tool_input/questions/0/question"), Some(question), "{client}");
        assert_eq!(event.text_at("/tool_input/questions/0/options/1/label"), Some("B"), "{client}");
    }
    // What closes it names it alike.
    let over = incoming("qwen", "PostToolBatch.t_ask", None);
    assert_eq!(over.text_at("/tool_calls/0/tool_name"), Some("AskUserQuestion"));
}

#[test]
fn a_prompt_that_nobody_typed_is_none() {
    let after_tools = incoming("qwen", "UserPromptSubmit.p_bash", None);
    assert_eq!((after_tools.name.as_str(), after_tools.text("prompt")), ("ToolResultsSubmit", None));
    let mut typed = Incoming { name: "UserPromptSubmit".into(), ..after_tools };
    typed.body.insert("submitted_prompt".into(), json!("hello"));
    translate(&mut typed, &Surroundings { home: Path::new("/home/user") });
    assert_eq!(typed.name, "UserPromptSubmit");
}

/// Every recorded payload: its client, its file and the event's name as the command line would give it.
fn all_recorded() -> Vec<(String, String, Value)> {
    let mut all = Vec::new();
    for client in ["codex", "copilot", "qwen", "gemini"] {
        for entry in std::fs::read_dir(fixture(client)).unwrap() {
            let path = entry.unwrap().path();
            let file = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if path.extension().is_some_and(|extension| extension == "json") && !file.starts_with("notify.") {
                let payload = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
                all.push((client.to_owned(), file, payload));
            }
        }
    }
    assert!(all.len() > 80, "only {} payloads were found", all.len());
    all
}

fn translated(client: &str, file: &str, payload: &Value) -> Incoming {
    let theirs = file.split('.').next().unwrap_or_default();
    let name = event_names::name_of(&event_names::slug_of(theirs));
    let mut body = payload.as_object().cloned().unwrap_or_default();
    body.insert("client".into(), json!(client));
    let mut incoming = Incoming { name, session_id: "the-session".into(), body };
    translate(&mut incoming, &Surroundings { home: Path::new("/home/user") });
    incoming
}

/// A new version adds fields, leaves some out and changes the type of others; a tool can print anything.
#[test]
fn a_payload_can_be_bent_in_every_place_and_the_event_stays_one() {
    let hostile = "\u{1b}]0;x\u{7}<script>\u{202e}\u{0}'\"$(rm -rf ~)\n".repeat(4000);
    for (client, file, payload) in all_recorded() {
        let whole = translated(&client, &file, &payload);
        let mut more = payload.clone();
        more["a_field_of_tomorrow"] = json!({"deep": [[[[{"x": null}]]]]});
        assert_eq!(translated(&client, &file, &more).name, whole.name, "{client} {file}: one field more");
        for field in payload.as_object().unwrap().keys() {
            let values = [json!(null), json!(7), json!([]), json!({}), json!(hostile), json!([{"text": 1}])];
            for value in values {
                let mut bent = payload.clone();
                bent[field] = value;
                let event = translated(&client, &file, &bent);
                assert!(!event.name.is_empty() && !event.session_id.is_empty(), "{client} {file} {field}");
            }
            let mut less = payload.clone();
            less.as_object_mut().unwrap().remove(field);
            translated(&client, &file, &less);
        }
    }
}

#[test]
fn an_unknown_clients_event_is_taken_as_it_is() {
    let body = json!({"client": "zebra", "hook_event_name": "Stop"});
    let before =
        Incoming { name: "Stop".into(), session_id: "s".into(), body: body.as_object().cloned().unwrap() };
    let mut after = before.clone();
    translate(&mut after, &Surroundings { home: Path::new("/") });
    assert_eq!(after, before);
}

/// What a recorded transcript says, in short words.
fn said(client: &str, file: &str, as_path: &str) -> Vec<String> {
    let text = std::fs::read(fixture(&format!("{client}/transcripts/{file}.jsonl"))).unwrap();
    let read = reader(Path::new(as_path));
    let entries = text.split(|byte| *byte == b'\n').filter_map(read).filter(|entry| !entry.sidechain);
    entries
        .flat_map(|entry| entry.seen)
        .filter_map(|seen| match seen {
            Seen::Prompt { text, .. } => Some(format!("prompt {text}")),
            Seen::Text { text, stop_reason, .. } => {
                Some(format!("{} {text}", if stop_reason.is_some() { "answer" } else { "text" }))
            }
            Seen::Interrupted { .. } => Some("interrupted".into()),
            Seen::Allowed { .. } => Some("allowed".into()),
            Seen::ToolResult { refused: true, .. } => Some("refused".into()),
            Seen::ApiError { error, .. } | Seen::Failed { error } => Some(format!("error {error}")),
            Seen::TurnEnd => Some("end".into()),
            Seen::Compaction { over } => Some(format!("compaction {}", if over { "over" } else { "begins" })),
            Seen::Usage(usage) => Some(format!("{} of {:?}", usage.used_tokens, usage.window)),
            _ => None,
        })
        .collect()
}

#[test]
fn a_transcript_tells_what_no_hook_does() {
    let codex = "/h/.codex/sessions/2026/11/16/rollout-2026-11-16T14-58-12-x.jsonl";
    let copilot = "/h/.copilot/session-state/x/events.jsonl";
    let qwen = "/h/.qwen/projects/-h-proj/chats/x.jsonl";
    let gemini = "/h/.gemini/tmp/proj/chats/session-2026-11-16T15-04-b5de84fa.jsonl";
    for (client, file, path, expected) in [
        (
            "codex",
            "exec_err",
            codex,
            "error We’re currently experiencing high demand, which may cause temporary errors.",
        ),
        ("codex", "tui_perm_no", codex, "interrupted"),
        ("codex", "exec_bash", codex, "1200 of Some(258400)"),
        ("codex", "exec_bash", codex, "answer Listed."),
        ("copilot", "t_perm_no_pascal", copilot, "interrupted"),
        ("copilot", "t_perm_no_pascal", copilot, "refused"),
        ("copilot", "t_perm_yes_pascal", copilot, "allowed"),
        ("copilot", "t_perm_yes_pascal", copilot, "answer It failed."),
        ("copilot", "t_compact_pascal", copilot, "compaction begins"),
        ("copilot", "t_compact_pascal", copilot, "compaction over"),
        ("copilot", "p_err_pascal", copilot, "error 400 fake boom"),
        ("copilot", "t_rewind_pascal", copilot, "interrupted"),
        ("copilot", "p_err_pascal", copilot, "prompt SCENARIO:err"),
        ("qwen", "p_bash", qwen, "answer Listed."),
        ("qwen", "p_bash", qwen, "text I list."),
        ("qwen", "t_perm_no", qwen, "prompt SCENARIO:write"),
        ("gemini", "t_interrupt", gemini, "interrupted"),
        ("gemini", "p_bash", gemini, "1200 of Some(1048576)"),
    ] {
        let said = said(client, file, path);
        assert!(said.iter().any(|one| one == expected), "{client} {file}: {expected:?} is not in {said:#?}");
    }
    // What a subagent was told is not the user's prompt.
    let said = said("copilot", "p_sub_pascal", copilot);
    assert_eq!(
        said.iter().filter(|one| one.starts_with("prompt")).collect::<Vec<_>>(),
        ["prompt SCENARIO:sub"]
    );
}

#[test]
fn a_file_is_read_as_its_name_says() {
    let line =
        br#"{"timestamp":"2026-11-16T14:58:12.713Z","type":"event_msg","payload":{"type":"turn_aborted"}}"#;
    let reads = |path: &str| reader(Path::new(path))(line).is_some();
    assert!(reads("/x/rollout-1.jsonl"));
    for other in [
        "/h/.claude/projects/-h/11111111.jsonl",
        "/h/.copilot/session-state/x/events.jsonl",
        "/h/events.jsonl",
    ] {
        assert!(!reads(other), "{other}");
    }
}

#[test]
fn a_subagents_file_is_found_from_its_sessions() {
    let directory = tempfile::tempdir().unwrap();
    let main = directory.path().join("rollout-2026-11-17T18-06-52-main.jsonl");
    let child = directory.path().join("rollout-2026-11-17T18-06-53-child.jsonl");
    std::fs::write(&child, "").unwrap();
    assert_eq!(headspace_clients::subagent_transcript(&main, "child"), child);
    let claudes = Path::new("/h/.claude/projects/-h/s.jsonl");
    assert_eq!(
        headspace_clients::subagent_transcript(claudes, "a1"),
        Path::new("/h/.claude/projects/-h/s/subagents/agent-a1.jsonl")
    );
}
