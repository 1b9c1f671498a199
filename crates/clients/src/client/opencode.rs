//! opencode: no command hooks, but a plugin that is loaded into the client. Ours passes on the few events that mean
//! something, in the form below. What it could not pass on is in opencode's database, a row per event.

use crate::client::json_lines::{self, at, number, text};
use crate::incoming::Incoming;
use crate::table::{Environment, Event, GuardForm, Home, Registration, Row, Rows, Transcript, renamed, same};
use headspace_core::model::Spent;
use headspace_core::stamp::Stamp;
use headspace_core::transcript::{Entry, Seen, Usage};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

pub(crate) const ROW: Row = Row {
    name: "opencode",
    title: "opencode",
    glyph: '▣',
    tried: "1.18.33",
    home: Home { variable: None, folder: ".config/opencode" },
    program: "opencode",
    print_words: &["run"],
    is_shared: |_| false,
    reads_comments: false,
    registration: Registration::Plugin {
        file: "plugins/headspace.js",
        source: include_str!("opencode_plugin.js"),
    },
    environment: Environment::None,
    translate: |incoming, _| translate(incoming),
    transcript: Some(Transcript { is_named, read, of_subagent: Some(of_subagent), rows: Some(ROWS) }),
    resume: "opencode --session {session}",
    guard: GuardForm::None,
    takes_context: false,
    after_install: "start opencode again: plugins are loaded at its start",
    is_silent: false,
};

/// What the plugin sends: the names on opencode's event bus in PascalCase, and our own names for what the plugin decides
/// itself.
pub(crate) const EVENTS: &[Event] = &[
    renamed("SessionCreated", "SessionStart"),
    renamed("ChatMessage", "UserPromptSubmit"),
    renamed("ToolExecuteBefore", "PreToolUse"),
    renamed("ToolExecuteAfter", "PostToolUse"),
    renamed("PermissionAsked", "PermissionRequest"),
    renamed("QuestionAsked", "PermissionRequest"),
    renamed("PermissionReplied", "PermissionAnswered"),
    renamed("QuestionReplied", "PermissionAnswered"),
    renamed("QuestionRejected", "PermissionAnswered"),
    renamed("SessionIdle", "Stop"),
    renamed("SessionError", "StopFailure"),
    renamed("SessionAborted", "Interrupt"),
    renamed("SessionCompacting", "PreCompact"),
    renamed("SessionCompacted", "PostCompact"),
    renamed("SessionDeleted", "SessionEnd"),
    renamed("SubagentCreated", "SubagentStart"),
    renamed("SubagentIdle", "SubagentStop"),
    same("SessionTitle"),
];

fn translate(incoming: &mut Incoming) {
    let theirs = incoming.text("hook_event_name").unwrap_or_default().to_owned();
    match theirs.as_str() {
        "QuestionAsked" => {
            // The form in which every surface shows a question.
            incoming.put("tool_name", "AskUserQuestion");
            let questions = incoming.body.get("questions").cloned().unwrap_or_else(|| json!([]));
            incoming.put("tool_input", json!({"questions": questions}));
        }
        "SessionError" => {
            let message = incoming
                .text_at("/error/data/message")
                .or_else(|| incoming.text_at("/error/name"))
                .unwrap_or("unknown")
                .to_owned();
            let detail = incoming.body.get("error").cloned().unwrap_or(Value::Null);
            incoming.put("error_detail", detail);
            incoming.put("error", message);
        }
        "SessionDeleted" => incoming.fill("reason", Some("deleted")),
        "SessionTitle" => incoming.alias("title", "session_title"),
        _ => {}
    }
}

/// `opencode.db`, or that of another release channel.
fn is_named(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("opencode") && name.ends_with(".db")
}

/// A subagent is a session of its own in the same database.
fn of_subagent(main: &Path, _agent_id: &str) -> Option<PathBuf> {
    Some(main.to_owned())
}

/// The log of a session's events: numbered without gaps, only ever appended to. A row becomes a line that says what is
/// needed to read it alone: whose part it is, and what a finished message says.
const ROWS: Rows = Rows {
    newest: "SELECT max(seq) FROM event WHERE aggregate_id = ?1",
    read: "SELECT e.seq, json_object(
             'type', substr(e.type, 1, instr(e.type, '.updated') + 7),
             'number', e.seq,
             'info', json_remove(json_extract(e.data, '$.info'), '$.summary'),
             'part', json_remove(json_extract(e.data, '$.part'), '$.state.output', '$.state.metadata'),
             'time', json_extract(e.data, '$.time'),
             'role', (SELECT json_extract(data, '$.role') FROM message
                      WHERE id = json_extract(e.data, '$.part.messageID') AND json_valid(data)),
             'said', (SELECT group_concat(said, char(10)) FROM (
                        SELECT json_extract(data, '$.text') AS said FROM part
                        WHERE message_id = json_extract(e.data, '$.info.id')
                          AND json_extract(e.data, '$.info.time.completed') IS NOT NULL
                          AND json_valid(data) AND json_extract(data, '$.type') = 'text'
                        ORDER BY id)))
           FROM event e
           WHERE e.aggregate_id = ?1 AND e.seq >= ?2 AND json_valid(e.data)
             AND (e.type LIKE 'session.updated%' OR e.type LIKE 'message.updated%'
                  OR e.type LIKE 'message.part.updated%')
           ORDER BY e.seq LIMIT ?3",
};

fn read(line: &[u8]) -> Option<Entry> {
    let line = json_lines::parse(line, &["session.updated", "message.updated", "message.part.updated"])?;
    let mut entry = json_lines::entry(&line, "number");
    match text(&line, "type")? {
        "session.updated" => {
            let info = line.get("info")?;
            entry.at = milliseconds(info, "/time/updated");
            entry.cwd = text(info, "directory").map(str::to_owned);
            entry.version = text(info, "version").map(str::to_owned);
            // Before the model has named it, it is named after its time.
            let unnamed = |title: &&str| title.contains("session - 2");
            let title = text(info, "title").filter(|title| !unnamed(title));
            entry.seen.extend(title.map(|title| Seen::Title(title.to_owned())));
        }
        "message.updated" => message(&line, &mut entry)?,
        _ => part(&line, &mut entry)?,
    }
    Some(entry)
}

fn milliseconds(value: &Value, pointer: &str) -> Option<Stamp> {
    let milliseconds = i64::try_from(number(at(value, pointer)?)?).ok()?;
    milliseconds.checked_mul(1_000_000).map(Stamp)
}

/// A message of the model's; the user's is told by its parts.
fn message(line: &Value, entry: &mut Entry) -> Option<()> {
    let info = line.get("info").filter(|info| text(info, "role") == Some("assistant"))?;
    let id = text(info, "id")?.to_owned();
    entry.at = milliseconds(info, "/time/completed").or_else(|| milliseconds(info, "/time/created"));
    entry.uuid.clone_from(&id);
    usage(info, &id, entry);
    at(info, "/time/completed")?;
    if let Some(error) = info.get("error").filter(|error| error.is_object()) {
        entry.seen.push(match text(error, "name") {
            Some("MessageAbortedError") => Seen::Interrupted { tool: false },
            name => {
                let message = at(error, "/data/message").and_then(Value::as_str);
                let error = message.or(name).unwrap_or("unknown").to_owned();
                Seen::ApiError { error, text: String::new() }
            }
        });
        return Some(());
    }
    let goes_on = text(info, "finish").is_none_or(|finish| finish == "tool-calls");
    if let Some(said) = text(line, "said") {
        let stop_reason = (!goes_on).then(|| "end_turn".to_owned());
        entry.seen.push(Seen::Text { text: said.to_owned(), message_id: Some(id), stop_reason });
    }
    if !goes_on {
        entry.seen.push(Seen::TurnEnd);
    }
    Some(())
}

fn usage(info: &Value, id: &str, entry: &mut Entry) {
    let tokens = |pointer: &str| at(info, pointer).and_then(number).unwrap_or(0);
    let spent = Spent {
        micro_usd: 0,
        input_tokens: tokens("/tokens/input"),
        output_tokens: tokens("/tokens/output"),
        cache_write_tokens: tokens("/tokens/cache/write"),
        cache_read_tokens: tokens("/tokens/cache/read"),
    };
    let cached = spent.cache_write_tokens.saturating_add(spent.cache_read_tokens);
    let used_tokens = spent.input_tokens.saturating_add(cached);
    if used_tokens > 0 {
        let model = text(info, "modelID").map(str::to_owned);
        let spent = Some((id.to_owned(), spent));
        entry.seen.push(Seen::Usage(Usage { used_tokens, model, window: None, compacted: false, spent }));
    }
}

fn part(line: &Value, entry: &mut Entry) -> Option<()> {
    let part = line.get("part")?;
    entry.at = milliseconds(line, "/time");
    entry.uuid = text(part, "id").unwrap_or_default().to_owned();
    let told = |field: &str| part.get(field) == Some(&Value::Bool(true));
    match (text(part, "type")?, text(line, "role")) {
        ("text", Some("user")) if !told("synthetic") && !told("ignored") => {
            let prompt_id = text(part, "messageID").map(str::to_owned);
            entry.seen.push(Seen::Prompt { text: text(part, "text")?.to_owned(), prompt_id });
        }
        ("tool", _) => tool(part, entry)?,
        _ => {}
    }
    Some(())
}

fn tool(part: &Value, entry: &mut Entry) -> Option<()> {
    let id = text(part, "callID")?.to_owned();
    let state = part.get("state")?;
    match text(state, "status")? {
        // It is said again whenever the tool has written something.
        "running" => {
            let input = state.get("input").and_then(|input| serde_json::value::to_raw_value(input).ok());
            let name = text(part, "tool")?.to_owned();
            entry.seen.push(Seen::ToolUse { id, name, input });
        }
        "completed" => entry.seen.push(Seen::ToolResult { id, error: false, refused: false }),
        "error" => {
            let error = text(state, "error").unwrap_or_default();
            let refused = error.starts_with("The user rejected") || error.starts_with("The user dismissed");
            entry.seen.push(Seen::ToolResult { id, error: true, refused });
            // A refusal without a word about what to do instead ends the turn.
            if refused && !error.contains("feedback") {
                entry.seen.push(Seen::TurnEnd);
            }
        }
        _ => {}
    }
    Some(())
}
