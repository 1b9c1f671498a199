//! Gemini: names of its own, and silence where a user says no, presses Esc or the API fails.

use crate::client::json_lines::{self, at, number, text};
use crate::incoming::Incoming;
use crate::table::{Environment, Event, GuardForm, Home, Registration, Row, Transcript, Unit, renamed, same};
use headspace_core::model::hints;
use headspace_core::transcript::{Entry, Seen, Usage};
use serde_json::Value;
use std::path::Path;

pub(crate) const ROW: Row = Row {
    name: "gemini",
    title: "Gemini",
    glyph: '✦',
    tried: "0.61.0",
    home: Home { variable: None, folder: ".gemini" },
    program: "gemini",
    print_words: &["-p", "--prompt"],
    is_shared: |_| false,
    reads_comments: true,
    registration: Registration::Groups { file: "settings.json", unit: Unit::Milliseconds, events: EVENTS },
    environment: Environment::Session("GEMINI_SESSION_ID"),
    translate: |incoming, _| translate(incoming),
    transcript: Some(Transcript { is_named, read, of_subagent: None, rows: None }),
    resume: "gemini --resume {session}",
    guard: GuardForm::None,
    takes_context: false,
    after_install: "sessions that run take it up when they are started again; in a folder that Gemini does not trust no hook runs",
    is_silent: true,
};

/// Neither BeforeModel nor AfterModel: a process per streamed chunk, with the whole conversation on its input.
const EVENTS: &[Event] = &[
    same("SessionStart"),
    renamed("BeforeAgent", "UserPromptSubmit"),
    renamed("BeforeTool", "PreToolUse"),
    renamed("AfterTool", "PostToolUse"),
    same("Notification"),
    renamed("AfterAgent", "Stop"),
    same("SessionEnd"),
];

/// The context window that the client assumes for its own models, and how their names begin.
const WINDOW: (&str, u64) = ("gemini-", 1_048_576);

/// What AfterAgent says in place of an answer when the request failed or was cancelled.
const NO_ANSWER: &str = "[no response text]";

const CANCELLED: &str = "cancelled by user";

fn translate(incoming: &mut Incoming) {
    if incoming.text("tool_name") == Some("ask_user") {
        // A question has Claude's form under another name; every surface shows it under Claude's.
        incoming.put("tool_name", "AskUserQuestion");
    }
    match incoming.name.as_str() {
        // It comes before every call of the model; only the command means that something is compressed.
        "PreCompress" if incoming.text("trigger") == Some("manual") => {
            incoming.name = "PreCompact".to_owned();
        }
        "PostToolUse" if was_cancelled(incoming) => {
            incoming.name = "PostToolUseFailure".to_owned();
            incoming.put("is_interrupt", true);
        }
        "Notification" if incoming.text("notification_type") == Some("ToolPermission") => asked(incoming),
        "Stop" if incoming.text("prompt_response") == Some(NO_ANSWER) => incoming.put(hints::NO_ANSWER, true),
        "Stop" => incoming.alias("prompt_response", "last_assistant_message"),
        _ => {}
    }
}

fn was_cancelled(incoming: &Incoming) -> bool {
    let told = ["/tool_response/llmContent", "/tool_response/returnDisplay", "/tool_response/error/message"];
    told.iter().any(|place| incoming.text_at(place).is_some_and(|text| text.contains(CANCELLED)))
}

/// A dialog is open: for a tool's permission, or because the model asks the user something.
fn asked(incoming: &mut Incoming) {
    incoming.alias("notification_type", "their_notification_type");
    let asks = incoming.text_at("/details/type") == Some("ask_user");
    incoming.put("notification_type", if asks { "agent_needs_input" } else { "permission_prompt" });
    if asks {
        let title = incoming.text_at("/details/title").unwrap_or("Ask User").to_owned();
        incoming.put("message", title);
    }
}

/// `tmp/<project>/chats/session-<time>-<id>.jsonl`
fn is_named(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("session-") && path.parent().is_some_and(|chats| chats.ends_with("chats"))
}

/// The same message is written again when it grows, under the same id.
fn read(line: &[u8]) -> Option<Entry> {
    let line = json_lines::parse(line, &["user", "gemini", "info", "error"])?;
    let mut entry = json_lines::entry(&line, "id");
    match text(&line, "type")? {
        "gemini" => {
            if let Some(used_tokens) = at(&line, "/tokens/input").and_then(number) {
                let model = text(&line, "model").map(str::to_owned);
                let (prefix, size) = WINDOW;
                let window = model.as_deref().filter(|model| model.starts_with(prefix)).map(|_| size);
                entry.seen.push(Seen::Usage(Usage {
                    used_tokens,
                    model,
                    window,
                    compacted: false,
                    spent: None,
                }));
            }
        }
        "info" if text(&line, "content") == Some("Request cancelled.") => {
            entry.seen.push(Seen::Interrupted { tool: false });
        }
        "error" => {
            let error = text(&line, "content").unwrap_or("unknown").to_owned();
            entry.seen.push(Seen::Failed { error });
        }
        "user" => {
            let content =
                line.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            let texts: Vec<&str> = content.iter().filter_map(|part| text(part, "text")).collect();
            if !texts.is_empty() && !texts[0].starts_with("<session_context>") {
                entry.seen.push(Seen::Prompt { text: texts.join("\n"), prompt_id: None });
            }
        }
        _ => {}
    }
    Some(entry)
}
