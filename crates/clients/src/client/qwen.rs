//! Qwen Code: Claude's events, with its own ids, and with a prompt after every batch of tools that the user did not type.

use crate::client::json_lines::{self, at, number, text};
use crate::incoming::Incoming;
use crate::table::{Environment, Event, GuardForm, Home, Registration, Row, Transcript, Unit, same};
use headspace_core::model::hints;
use headspace_core::transcript::{Entry, Seen, Usage};
use serde_json::Value;
use std::path::Path;

pub(crate) const ROW: Row = Row {
    name: "qwen",
    title: "Qwen Code",
    glyph: '◆',
    tried: "0.24.4",
    home: Home { variable: Some("QWEN_HOME"), folder: ".qwen" },
    program: "qwen",
    print_words: &["-p", "--prompt"],
    is_shared: |_| false,
    reads_comments: true,
    registration: Registration::Groups { file: "settings.json", unit: Unit::Milliseconds, events: EVENTS },
    environment: Environment::Session("QWEN_CODE_SESSION_ID"),
    translate: |incoming, _| translate(incoming),
    transcript: Some(Transcript { is_named, read, of_subagent: None, rows: None }),
    resume: "qwen --resume {session}",
    guard: GuardForm::Claude,
    takes_context: false,
    after_install: "sessions that run take it up when they are started again",
    is_silent: false,
};

const EVENTS: &[Event] = &[
    same("SessionStart"),
    same("SessionEnd"),
    same("UserPromptSubmit"),
    same("PreToolUse"),
    same("PostToolUse"),
    same("PostToolUseFailure"),
    same("PostToolBatch"),
    same("PermissionRequest"),
    same("PermissionDenied"),
    same("Notification"),
    same("Stop"),
    same("StopFailure"),
    same("SubagentStart"),
    same("SubagentStop"),
    same("PreCompact"),
    same("PostCompact"),
];

fn translate(incoming: &mut Incoming) {
    // The batch at the end names calls by the model's id; the calls themselves use it too.
    if let Some(id) = incoming.owned("tool_call_id") {
        incoming.put("tool_use_id", id);
    }
    let calls = incoming.body.get_mut("tool_calls").and_then(Value::as_array_mut);
    for name in calls.into_iter().flatten().filter_map(|call| call.get_mut("tool_name")) {
        rename_question(name);
    }
    if let Some(name) = incoming.body.get_mut("tool_name") {
        rename_question(name);
    }
    match incoming.name.as_str() {
        // The results of a batch go to the model; the user typed nothing.
        "UserPromptSubmit" if incoming.text("submitted_prompt").is_none() => {
            incoming.name = "ToolResultsSubmit".to_owned();
        }
        // It comes after the user's consent, not before.
        "PreToolUse" => incoming.put(hints::CONSENTED, true),
        // It comes with the end of every turn. A turn that did not end by itself was broken off.
        "Notification" if incoming.text("notification_type") == Some("idle_prompt") => {
            incoming.put(hints::IDLE_AT_ONCE, true);
        }
        "Stop" => {
            incoming.alias("input_tokens", hints::CONTEXT_TOKENS);
            incoming.alias("context_limit", hints::CONTEXT_WINDOW);
            incoming.alias("crons", "session_crons");
        }
        _ => {}
    }
}

/// A question has Claude's form under another name; every surface shows it under Claude's.
fn rename_question(tool: &mut Value) {
    if tool == "ask_user_question" {
        *tool = "AskUserQuestion".into();
    }
}

/// `projects/<directory>/chats/<session>.jsonl`
fn is_named(path: &Path) -> bool {
    path.parent().is_some_and(|chats| chats.ends_with("chats"))
        && path.ancestors().nth(3).is_some_and(|projects| projects.ends_with("projects"))
}

fn read(line: &[u8]) -> Option<Entry> {
    let line = json_lines::parse(line, &["user", "assistant"])?;
    let mut entry = json_lines::entry(&line, "uuid");
    entry.session_id = text(&line, "sessionId").map(str::to_owned);
    entry.cwd = text(&line, "cwd").map(str::to_owned);
    entry.branch = text(&line, "gitBranch").map(str::to_owned);
    entry.version = text(&line, "version").map(str::to_owned);
    entry.sidechain = line.get("agentId").is_some();
    let parts = at(&line, "/message/parts").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let texts: Vec<&str> = parts.iter().filter_map(|part| text(part, "text")).collect();
    match (text(&line, "type")?, text(&line, "provenance")) {
        ("user", Some("real_user")) if !texts.is_empty() => {
            entry.seen.push(Seen::Prompt { text: texts.join("\n"), prompt_id: None });
        }
        ("assistant", _) => {
            let calls = parts.iter().any(|part| part.get("functionCall").is_some());
            // Thoughts are among the parts, too.
            let spoken: Vec<&str> = parts
                .iter()
                .filter(|part| part.get("thought").is_none_or(|thought| thought == false))
                .filter_map(|part| text(part, "text"))
                .collect();
            if !spoken.is_empty() {
                entry.seen.push(Seen::Text {
                    text: spoken.join("\n"),
                    message_id: None,
                    stop_reason: (!calls).then(|| "end_turn".to_owned()),
                });
            }
            if let Some(used_tokens) = at(&line, "/usageMetadata/promptTokenCount").and_then(number) {
                let model = text(&line, "model").map(str::to_owned);
                entry.seen.push(Seen::Usage(Usage {
                    used_tokens,
                    model,
                    window: None,
                    compacted: false,
                    spent: None,
                }));
            }
        }
        _ => {}
    }
    Some(entry)
}
