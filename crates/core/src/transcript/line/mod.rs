//! Parses one line of a transcript and classifies it. Pure.

use crate::model::Spent;
use crate::stamp::Stamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// A line that belongs to a conversation, with what every such line carries.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    pub uuid: String,
    pub at: Option<Stamp>,
    /// Belongs to a subagent.
    pub sidechain: bool,
    pub session_id: Option<String>,
    pub cwd: Option<String>,
    pub branch: Option<String>,
    pub entrypoint: Option<String>,
    pub version: Option<String>,
    /// In the order of the line's content blocks. Empty: part of the conversation, but nothing we follow.
    pub seen: Vec<Seen>,
}

/// What a line, or a block of it, reports.
#[derive(Clone, Debug)]
pub enum Seen {
    /// A prompt that starts work: typed, a user's own command, `!shell`, or a background task's report.
    Prompt {
        text: String,
        prompt_id: Option<String>,
    },
    Text {
        text: String,
        message_id: Option<String>,
        stop_reason: Option<String>,
    },
    ToolUse {
        id: String,
        name: String,
        input: Option<Box<RawValue>>,
    },
    ToolResult {
        id: String,
        error: bool,
        /// The user said no.
        refused: bool,
    },
    /// Who decided that a tool call may run or not: `hook`, `user_temporary`, …
    Decided {
        id: String,
        by: String,
    },
    /// The user said yes to a tool call, which runs now.
    Allowed {
        id: String,
    },
    /// Esc or Ctrl-C.
    Interrupted {
        /// While a tool ran or waited for permission.
        tool: bool,
    },
    /// The API failed and the client gave up; not an answer of the model.
    ApiError {
        error: String,
        text: String,
    },
    /// The turn is over because something failed, and this client has no hook that says so.
    Failed {
        error: String,
    },
    TurnEnd,
    /// The conversation is being compacted, and this client has no hook that says so.
    Compaction {
        over: bool,
    },
    /// A prompt was typed while a turn was running, and waits for its own turn.
    Queued {
        text: String,
    },
    /// The oldest waiting prompt begins its turn.
    Dequeued,
    /// A waiting prompt went into the running turn, or was withdrawn.
    Unqueued {
        text: String,
    },
    /// The user named the session.
    Title(String),
    Mode(String),
    Usage(Usage),
}

/// Tokens in the context window after this line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    pub used_tokens: u64,
    /// Unknown right after compaction.
    pub model: Option<String>,
    /// How many it holds, if the line says so.
    pub window: Option<u64>,
    pub compacted: bool,
    /// The message that this line is a part of, and the tokens spent on it so far.
    pub spent: Option<(String, Spent)>,
}

/// The line types that are read; all others are noise, and most bytes of a transcript are noise.
const TYPES: [&str; 6] =
    ["user", "assistant", "system", "queue-operation", "custom-title", "permission-mode"];

/// What a line means; `None` for noise, which includes unreadable lines.
pub fn classify(line: &[u8]) -> Option<Entry> {
    if is_noise(line) {
        return None;
    }
    let text = String::from_utf8_lossy(line);
    let raw: Raw = serde_json::from_str(&text).ok()?;
    let kind = raw.kind.as_deref().filter(|kind| TYPES.contains(kind))?;
    let mut entry = Entry {
        uuid: string(raw.uuid).unwrap_or_default(),
        at: string(raw.timestamp).and_then(|at| Stamp::parse(&at)),
        sidechain: truth(raw.is_sidechain),
        session_id: string(raw.session_id),
        cwd: string(raw.cwd),
        branch: string(raw.git_branch),
        entrypoint: string(raw.entrypoint),
        version: string(raw.version),
        seen: Vec::new(),
    };
    match kind {
        "assistant" => assistant(&raw, &mut entry.seen),
        "user" => user(&raw, &mut entry.seen),
        "queue-operation" => entry.seen.extend(queue(&raw)),
        "custom-title" => entry.seen.extend(string(raw.custom_title).map(Seen::Title)),
        "permission-mode" => entry.seen.extend(string(raw.permission_mode).map(Seen::Mode)),
        _ => system(&raw, &mut entry.seen),
    }
    Some(entry)
}

/// Cheap, and true only for certain noise: the type is another one, or none of ours occurs at all.
fn is_noise(line: &[u8]) -> bool {
    let head = line.trim_ascii_start();
    if let Some(rest) = head.strip_prefix(b"{\"type\":") {
        let rest = rest.trim_ascii_start();
        return !TYPES.iter().any(|kind| {
            rest.strip_prefix(b"\"")
                .and_then(|r| r.strip_prefix(kind.as_bytes()))
                .is_some_and(|r| r.starts_with(b"\""))
        });
    }
    !head.starts_with(b"{") || TYPES.iter().all(|kind| memchr::memmem::find(head, kind.as_bytes()).is_none())
}

/// A line as raw fields: a field of an unexpected shape affects only itself.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    subtype: Option<&'a RawValue>,
    #[serde(borrow, default)]
    uuid: Option<&'a RawValue>,
    #[serde(borrow, default)]
    timestamp: Option<&'a RawValue>,
    #[serde(borrow, default)]
    session_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    cwd: Option<&'a RawValue>,
    #[serde(borrow, default)]
    git_branch: Option<&'a RawValue>,
    #[serde(borrow, default)]
    entrypoint: Option<&'a RawValue>,
    #[serde(borrow, default)]
    version: Option<&'a RawValue>,
    #[serde(borrow, default)]
    is_sidechain: Option<&'a RawValue>,
    #[serde(borrow, default)]
    is_meta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    is_compact_summary: Option<&'a RawValue>,
    #[serde(borrow, default)]
    is_api_error_message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
    #[serde(borrow, default)]
    prompt_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_denial_kind: Option<&'a RawValue>,
    #[serde(borrow, default)]
    permission_decision: Option<&'a RawValue>,
    #[serde(borrow, default)]
    compact_metadata: Option<&'a RawValue>,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
    #[serde(borrow, default)]
    operation: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content: Option<&'a RawValue>,
    #[serde(borrow, default)]
    custom_title: Option<&'a RawValue>,
    #[serde(borrow, default)]
    permission_mode: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    stop_reason: Option<&'a RawValue>,
    #[serde(borrow)]
    usage: Option<&'a RawValue>,
    #[serde(borrow)]
    content: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ContentBlock<'a> {
    #[serde(rename = "type", borrow)]
    kind: Option<Cow<'a, str>>,
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    #[serde(borrow)]
    input: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_use_id: Option<&'a RawValue>,
    #[serde(borrow)]
    is_error: Option<&'a RawValue>,
}

fn string(raw: Option<&RawValue>) -> Option<String> {
    serde_json::from_str(raw?.get()).ok()
}

fn truth(raw: Option<&RawValue>) -> bool {
    raw.is_some_and(|raw| raw.get() == "true")
}

fn message<'a>(raw: &Raw<'a>) -> Message<'a> {
    raw.message.and_then(|message| serde_json::from_str(message.get()).ok()).unwrap_or_default()
}

/// Content in either form: one text, or a list of blocks.
enum Content<'a> {
    Text(String),
    Blocks(Vec<ContentBlock<'a>>),
}

fn content<'a>(message: &Message<'a>) -> Content<'a> {
    let Some(raw) = message.content else { return Content::Blocks(Vec::new()) };
    match string(Some(raw)) {
        Some(text) => Content::Text(text),
        None => Content::Blocks(serde_json::from_str(raw.get()).unwrap_or_default()),
    }
}

fn assistant(raw: &Raw, seen: &mut Vec<Seen>) {
    let message = message(raw);
    let blocks = match content(&message) {
        Content::Text(text) => {
            said(text, &message, raw, seen);
            Vec::new()
        }
        Content::Blocks(blocks) => blocks,
    };
    for block in blocks {
        match block.kind.as_deref() {
            Some("text") => said(string(block.text).unwrap_or_default(), &message, raw, seen),
            Some("tool_use") => {
                if let (Some(id), Some(name)) = (string(block.id), string(block.name)) {
                    seen.push(Seen::ToolUse { id, name, input: block.input.map(ToOwned::to_owned) });
                }
            }
            _ => {}
        }
    }
    // An API error is no answer, whatever it carries.
    let usage = usage(&message).filter(|_| !truth(raw.is_api_error_message));
    seen.extend(usage.map(Seen::Usage));
}

fn said(text: String, message: &Message, raw: &Raw, seen: &mut Vec<Seen>) {
    if truth(raw.is_api_error_message) {
        let error = string(raw.error).unwrap_or_else(|| "unknown".into());
        seen.push(Seen::ApiError { error, text });
    } else if !text.trim().is_empty() && !synthetic(message) {
        seen.push(Seen::Text {
            text,
            message_id: string(message.id),
            stop_reason: string(message.stop_reason),
        });
    }
}

/// Lines that the client wrote itself, without a model: their usage is zero, and they are not answers.
fn synthetic(message: &Message) -> bool {
    string(message.model).as_deref() == Some("<synthetic>")
}

/// The client's own formula. Every line of one answer repeats it, so the last one read is as good as any.
fn usage(message: &Message) -> Option<Usage> {
    #[derive(Deserialize, Default)]
    #[serde(default)]
    struct Counts {
        input_tokens: Option<u64>,
        output_tokens: Option<u64>,
        cache_creation_input_tokens: Option<u64>,
        cache_read_input_tokens: Option<u64>,
    }
    let counts: Counts = serde_json::from_str(message.usage?.get()).ok()?;
    let used_tokens =
        [counts.input_tokens, counts.cache_creation_input_tokens, counts.cache_read_input_tokens]
            .into_iter()
            .flatten()
            .fold(0, u64::saturating_add);
    (used_tokens > 0 && !synthetic(message)).then(|| Usage {
        used_tokens,
        model: string(message.model),
        window: None,
        compacted: false,
        spent: string(message.id).map(|id| {
            let spent = Spent {
                micro_usd: 0,
                input_tokens: counts.input_tokens.unwrap_or(0),
                output_tokens: counts.output_tokens.unwrap_or(0),
                cache_write_tokens: counts.cache_creation_input_tokens.unwrap_or(0),
                cache_read_tokens: counts.cache_read_input_tokens.unwrap_or(0),
            };
            (id, spent)
        }),
    })
}

/// A person, or a hook that may have asked one. Other sources (rules, modes) decide without asking.
fn decided_by(raw: &Raw) -> Option<String> {
    #[derive(Deserialize)]
    struct Decision {
        source: String,
    }
    let decision: Decision = serde_json::from_str(raw.permission_decision?.get()).ok()?;
    Some(decision.source).filter(|source| source == "hook" || source.starts_with("user"))
}

fn user(raw: &Raw, seen: &mut Vec<Seen>) {
    let message = message(raw);
    let blocks = match content(&message) {
        Content::Text(text) => return prompt(&text, raw, seen),
        Content::Blocks(blocks) => blocks,
    };
    let mut texts = Vec::new();
    let mut results = false;
    for block in &blocks {
        match block.kind.as_deref() {
            Some("tool_result") => {
                results = true;
                if let Some(id) = string(block.tool_use_id) {
                    if let Some(by) = decided_by(raw) {
                        seen.push(Seen::Decided { id: id.clone(), by });
                    }
                    seen.push(Seen::ToolResult {
                        id,
                        error: truth(block.is_error),
                        refused: string(raw.tool_denial_kind).as_deref() == Some("user-rejected"),
                    });
                }
            }
            Some("text") => texts.extend(string(block.text)),
            _ => {}
        }
    }
    if !results && !texts.is_empty() {
        prompt(&texts.join("\n"), raw, seen);
    }
}

/// The beginnings of texts that the client puts into the conversation in the user's name.
const NOT_TYPED: [&str; 10] = [
    "<local-command-",
    "<command-name>",
    "<command-args>",
    "<bash-stdout>",
    "<bash-stderr>",
    "<system-reminder>",
    "<user-memory-input>",
    "<teammate-message",
    "Another Claude session sent a message",
    "Caveat: The messages below",
];

fn prompt(text: &str, raw: &Raw, seen: &mut Vec<Seen>) {
    match text.trim() {
        "[Request interrupted by user]" => return seen.push(Seen::Interrupted { tool: false }),
        "[Request interrupted by user for tool use]" => return seen.push(Seen::Interrupted { tool: true }),
        "" => return,
        _ => {}
    }
    let typed = !truth(raw.is_meta)
        && !truth(raw.is_compact_summary)
        && !NOT_TYPED.iter().any(|start| text.trim_start().starts_with(start));
    if typed {
        seen.push(Seen::Prompt { text: as_typed(text), prompt_id: string(raw.prompt_id) });
    }
}

/// What the user typed, where the client wrote it down in tags: `!ls`, `/review this`.
fn as_typed(text: &str) -> String {
    if let Some(command) = between(text, "<bash-input>", "</bash-input>") {
        return format!("!{command}");
    }
    if text.trim_start().starts_with("<command-message>")
        && let Some(name) = between(text, "<command-name>", "</command-name>")
    {
        let arguments = between(text, "<command-args>", "</command-args>").unwrap_or_default();
        return format!("{name} {arguments}").trim_end().to_owned();
    }
    text.to_owned()
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let from = text.find(start)? + start.len();
    Some(&text[from..from + text[from..].find(end)?])
}

fn queue(raw: &Raw) -> Option<Seen> {
    let text = || string(raw.content).unwrap_or_default();
    match string(raw.operation)?.as_str() {
        "enqueue" => Some(Seen::Queued { text: text() }),
        "dequeue" => Some(Seen::Dequeued),
        "remove" => Some(Seen::Unqueued { text: text() }),
        _ => None,
    }
}

fn system(raw: &Raw, seen: &mut Vec<Seen>) {
    match string(raw.subtype).as_deref() {
        Some("turn_duration") => seen.push(Seen::TurnEnd),
        Some("compact_boundary") => seen.extend(after_compaction(raw).map(Seen::Usage)),
        _ => {}
    }
}

fn after_compaction(raw: &Raw) -> Option<Usage> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metadata {
        post_tokens: u64,
    }
    let metadata: Metadata = serde_json::from_str(raw.compact_metadata?.get()).ok()?;
    Some(Usage { used_tokens: metadata.post_tokens, model: None, window: None, compacted: true, spent: None })
}

#[cfg(test)]
mod tests;
