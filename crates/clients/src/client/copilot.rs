//! GitHub's Copilot: Claude's shape under PascalCase names, with the session of a subagent's event being the subagent.

use crate::client::json_lines::{self, at, number, text};
use crate::incoming::{Incoming, Surroundings};
use crate::table::{Environment, Event, GuardForm, Home, Registration, Row, Transcript, renamed, same};
use headspace_core::model::hints;
use headspace_core::transcript::{Entry, Seen, Usage};
use serde_json::{Value, json};
use std::path::Path;

pub(crate) const ROW: Row = Row {
    name: "copilot",
    title: "Copilot",
    glyph: '◈',
    tried: "1.0.102",
    home: Home { variable: Some("COPILOT_HOME"), folder: ".copilot" },
    program: "copilot",
    print_words: &["-p", "--prompt"],
    is_shared: |_| false,
    reads_comments: false,
    registration: Registration::DropIn { file: "hooks/headspace.json", events: EVENTS },
    environment: Environment::Has("COPILOT_CLI"),
    translate,
    transcript: Some(Transcript { is_named, read, of_subagent: None, rows: None }),
    resume: "copilot --resume={session}",
    guard: GuardForm::TopLevel,
    takes_context: false,
    after_install: "sessions that run take it up when they are started again",
    is_silent: false,
};

/// PascalCase names: under the camelCase ones a payload does not name its event.
const EVENTS: &[Event] = &[
    same("SessionStart"),
    same("UserPromptSubmit"),
    same("PreToolUse"),
    same("PostToolUse"),
    // In place of PostToolUse: without it a question that could not be shown would wait forever.
    same("PostToolUseFailure"),
    same("Notification"),
    same("Stop"),
    same("SubagentStart"),
    same("SubagentStop"),
    renamed("ErrorOccurred", "StopFailure"),
    same("SessionEnd"),
];

/// Fields that a camelCase payload spells differently: their name there, and headspace's name.
const ALIASES: &[(&str, &str)] = &[
    ("sessionId", "session_id"),
    ("transcriptPath", "transcript_path"),
    ("agentId", "agent_id"),
    ("agentType", "agent_type"),
    ("agentName", "agent_type"),
    ("parentAgentId", "parent_agent_id"),
    ("toolName", "tool_name"),
    ("toolInput", "tool_input"),
    ("toolArgs", "tool_input"),
];

/// Events whose camelCase names are different words; our hook may be registered under those.
const OTHER_NAMES: &[(&str, &str)] = &[("AgentStop", "Stop"), ("UserPromptSubmitted", "UserPromptSubmit")];

fn translate(incoming: &mut Incoming, surroundings: &Surroundings) {
    if let Some((_, ours)) = OTHER_NAMES.iter().find(|(theirs, _)| *theirs == incoming.name) {
        incoming.name = (*ours).to_owned();
    }
    for (theirs, ours) in ALIASES {
        incoming.alias(theirs, ours);
    }
    // Inside a subagent the session is the subagent's; the parent's is the one that people know.
    if let Some(parent) = incoming.owned("parent_agent_id").filter(|_| incoming.text("agent_id").is_some()) {
        incoming.session_id = parent;
    }
    if incoming.text("tool_name") == Some("AskUserQuestion") {
        asked(incoming);
    }
    let session = &incoming.session_id;
    let file = surroundings.home.join(".copilot/session-state").join(session).join("events.jsonl");
    incoming.fill("transcript_path", file.to_str().map(str::to_owned));
    match incoming.name.as_str() {
        // It comes for every tool, allowed or not; the notification is the question.
        "PermissionRequest" => incoming.name = "PermissionCheck".to_owned(),
        // It may come after the session's first prompt.
        "SessionStart" => incoming.put(hints::KEEPS_TURN, true),
        // The end of a subagent's own loop; SubagentStop follows and tells what it found.
        "Stop" if incoming.text("agent_id").is_some() => incoming.name = "SubagentIdle".to_owned(),
        "StopFailure" => failed(incoming),
        _ => {}
    }
}

/// The form in which every surface shows a question: its own has one, with choices or with fields to fill in.
fn asked(incoming: &mut Incoming) {
    let question = ["/tool_input/question", "/tool_input/message"].iter().find_map(|at| incoming.text_at(at));
    let Some(question) = question.filter(|_| incoming.pointer("/tool_input/questions").is_none()) else {
        return;
    };
    let choices = incoming.pointer("/tool_input/choices").and_then(Value::as_array);
    let labels = choices.into_iter().flatten().filter_map(Value::as_str);
    let options: Vec<Value> = labels.map(|label| json!({"label": label})).collect();
    let questions = json!([{"question": question, "options": options}]);
    if let Some(input) = incoming.body.get_mut("tool_input").and_then(Value::as_object_mut) {
        input.insert("questions".to_owned(), questions);
    }
}

fn failed(incoming: &mut Incoming) {
    let Some(error) = incoming.body.get("error").filter(|error| error.is_object()).cloned() else { return };
    let message = text(&error, "message").or_else(|| text(&error, "name")).unwrap_or("unknown");
    // The provider's answer, if the message is one.
    let inner: Option<Value> = serde_json::from_str(message).ok();
    let message = inner.as_ref().and_then(|inner| text(inner, "message")).unwrap_or(message).to_owned();
    incoming.put("error_detail", error);
    incoming.put("error", message);
}

/// `session-state/<session>/events.jsonl`
fn is_named(path: &Path) -> bool {
    path.ends_with("events.jsonl")
        && path.ancestors().nth(2).is_some_and(|directory| directory.ends_with("session-state"))
}

/// Only this file has Esc and "Yes" at a question, and what a turn ended with.
fn read(line: &[u8]) -> Option<Entry> {
    let line = json_lines::parse(line, TYPES)?;
    let data = line.get("data")?;
    let mut entry = json_lines::entry(&line, "id");
    entry.sidechain = text(&line, "agentId").is_some();
    match text(&line, "type")? {
        "session.start" | "session.resume" => {
            entry.session_id = text(data, "sessionId").map(str::to_owned);
            entry.cwd = at(data, "/context/cwd").and_then(Value::as_str).map(str::to_owned);
            entry.branch = at(data, "/context/branch").and_then(Value::as_str).map(str::to_owned);
            entry.version = text(data, "copilotVersion").map(str::to_owned);
        }
        "user.message" => {
            if let Some(prompt) = text(data, "content").filter(|_| data.get("source").is_none()) {
                entry.seen.push(Seen::Prompt { text: prompt.to_owned(), prompt_id: None });
            }
        }
        "assistant.message" => said(data, &mut entry),
        "permission.completed" => answered(data, &mut entry),
        "session.compaction_start" => entry.seen.push(Seen::Compaction { over: false }),
        "session.compaction_complete" => entry.seen.push(Seen::Compaction { over: true }),
        "abort" => entry.seen.push(Seen::Interrupted { tool: false }),
        "session.usage_checkpoint" if takes_back(data) => {
            entry.seen.push(Seen::Interrupted { tool: false });
        }
        "session.error" => {
            let error = text(data, "message").unwrap_or("unknown").to_owned();
            entry.seen.push(Seen::ApiError { error, text: String::new() });
        }
        "session.usage_record" => {
            let usage = data.get("usage")?;
            let parts = ["inputTokens", "cacheReadTokens", "cacheWriteTokens"];
            let used = parts.iter().filter_map(|part| usage.get(part).and_then(number));
            let used = used.fold(0, u64::saturating_add);
            let model = text(usage, "model").map(str::to_owned);
            let window = usage.get("maxPromptTokens").and_then(number);
            entry.seen.push(Seen::Usage(Usage {
                used_tokens: used,
                model,
                window,
                compacted: false,
                spent: None,
            }));
        }
        _ => {}
    }
    Some(entry)
}

const TYPES: &[&str] = &[
    "session.start",
    "session.resume",
    "user.message",
    "assistant.message",
    "permission.completed",
    "session.compaction_start",
    "session.compaction_complete",
    "abort",
    "session.error",
    "session.usage_record",
    "session.usage_checkpoint",
];

/// Esc before the model has said anything: the prompt goes back into the input, everything about its turn is cut out of the
/// file, and only this is left of it.
fn takes_back(data: &Value) -> bool {
    let conversations = data.get("promptCacheBreakState").and_then(Value::as_array).into_iter().flatten();
    let sources = conversations.filter_map(|one| one.get("pendingRewriteSources")?.as_array()).flatten();
    sources.into_iter().any(|source| source == "rewind")
}

fn said(data: &Value, entry: &mut Entry) {
    let calls = data.get("toolRequests").and_then(Value::as_array).map_or(0, Vec::len);
    if let Some(said) = text(data, "content") {
        entry.seen.push(Seen::Text {
            text: said.to_owned(),
            message_id: text(data, "messageId").map(str::to_owned),
            stop_reason: (calls == 0).then(|| "end_turn".to_owned()),
        });
    }
}

fn answered(data: &Value, entry: &mut Entry) {
    let Some(id) = text(data, "toolCallId").map(str::to_owned) else { return };
    match at(data, "/result/kind").and_then(Value::as_str) {
        Some(kind) if kind.starts_with("approved") => entry.seen.push(Seen::Allowed { id }),
        Some(_) => entry.seen.push(Seen::ToolResult { id, error: true, refused: true }),
        None => {}
    }
}
