//! An event as it is stored, what was looked up for it, and the names of those that no hook sends.

use crate::model::{AskFacts, ClientState, Source};
use crate::stamp::Stamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Events that no hook sends: what headspace itself saw or was told. They are stored like hook events, because
/// whatever changes a state must be there when the events are replayed.
pub mod observed {
    /// Declares the names, and the list of all of them.
    macro_rules! names {
        ($($(#[$doc:meta])* $constant:ident = $name:literal;)+) => {
            $($(#[$doc])* pub const $constant: &str = $name;)+

            /// All of them.
            pub const NAMES: [&str; [$($name),+].len()] = [$($constant),+];
        };
    }

    names! {
        /// A text of the main thread found in the transcript. Body: `text`, `uuid`, `timestamp`, `message_id`,
        /// `stop_reason`. With `stop_reason` `end_turn` it is a turn's last message only if the turn did end: it comes
        /// right before a Stop without text, or because the turn continued after it.
        TEXT = "TranscriptText";
        /// The transcript says that the turn was interrupted. Body: `uuid`, `timestamp`, `during_tool`; `agent_id` if
        /// it was a subagent's.
        INTERRUPTED = "TranscriptInterrupted";
        /// The client's status file changed. Body: `status` ([`super::ClientState`]; another word changes nothing),
        /// `waiting_for`, `claude_pid`, `claude_pid_start`, `title` (if the session was named), `permission_mode` (if
        /// known), `timestamp`. The event's time is when the client says it changed.
        CLIENT_STATUS = "ClientStatus";
        /// Like `ClientStatus` with `idle`; databases of 0.1 have it.
        CLIENT_IDLE = "ClientIdle";
        /// A prompt that was typed while a turn ran begins its own turn. Body: `text`, `timestamp`.
        DEQUEUED = "TranscriptDequeued";
        /// The user refused a tool call; the turn may continue. Body: `tool_use_id`, `tool_name` (if known),
        /// `uuid`, `timestamp`; `agent_id` if a subagent asked.
        REFUSED = "TranscriptRefused";
        /// A tool call got its result, whatever the hooks said: sent while a question is open or the hooks are silent.
        /// Body: `tool_use_id`, `tool_name` (if known), `is_error`, `uuid`, `timestamp`; `agent_id` if a subagent's.
        TOOL_RESULT = "TranscriptToolResult";
        /// A tool call began in a session whose hooks are silent. Body: `tool_use_id`, `tool_name`, `tool_input`,
        /// `uuid`, `timestamp`.
        TOOL_USE = "TranscriptToolUse";
        /// The turn is over, and no hook reported it within 2 s. Body: `text` (the final answer, if any), `message_id`,
        /// `error` (if the API failed: the same word as in StopFailure), `uuid` and `timestamp` (of the answer's line, if
        /// there is one). The event's own time is that of the end.
        TURN_END = "TranscriptTurnEnd";
        /// A prompt that no hook reported within 2 s, including `<task-notification>` prompts. Body: `text`,
        /// `prompt_id`, `uuid`, `timestamp`.
        PROMPT = "TranscriptPrompt";
        /// The session's title or its permission mode, where the client writes it outside its hooks. Body:
        /// `title`, `permission_mode`, `timestamp`.
        DETAILS = "SessionDetails";
        /// Tokens in use. Body: `used_tokens`, `model`, `timestamp`; after compaction `compacted: true` and no model. `spent`
        /// ([`super::Spent`]): the tokens of the answers since the report before.
        USAGE = "TranscriptUsage";
        /// A session found on disk that hooks never reported. Body: `cwd`, `transcript_path`, `timestamp` (of its
        /// newest line), `git_branch`, `entrypoint`, `version`, and the process that runs it, if known.
        SESSION_FOUND = "SessionFound";
        /// The user said yes to a tool call: the transcript says so at once, the hook when the tool has ended. Body:
        /// `tool_use_id`, `uuid`, `timestamp`.
        ALLOWED = "TranscriptAllowed";
        /// Who decided about a tool call that a person answered through headspace. Body: `tool_use_id`, `decided_by` (`hook`,
        /// `user_temporary`, …), `uuid`, `timestamp`.
        DECIDED = "TranscriptDecided";
        /// The process in whose terminal a session is shown was found; its hooks could not report it. Body: `claude_pid`,
        /// `claude_pid_start`, `tmux_pane` and `terminal` if they are known.
        PROCESS_FOUND = "ProcessFound";
        /// The client's process is gone. Body: `claude_pid`, `claude_pid_start`.
        PROCESS_GONE = "ProcessGone";
        /// The client's status line input.
        STATUS_LINE = "StatusLine";
        /// A person looked at a finished agent.
        SEEN = "Seen";
        /// A person named an agent. Body: `name` (empty: use the automatic name again).
        RENAMED = "Renamed";
        /// The guard judged a tool call. Body: `verdict`, `rule`, `reason`, `tool_name`.
        GUARD = "GuardVerdict";
        /// A context warning was given. Body: `level`.
        WARNED = "ContextWarned";
        /// A step of an answer that a person gave, or did not give, through headspace. Body: `interaction_id`, `digest`,
        /// `state` ([`super::AnswerState`]), `tool_name`, `choice`, `by`, `message`, `answers`, `confirm`.
        ANSWER = "Answer";
        /// A prompt that a person sent through headspace came this far. Body: `reply_id`, `state` ([`super::ReplyState`]), `by`,
        /// `text`, `why`.
        REPLY = "Reply";
        /// A person wants an agent stopped. Body: `state` ([`super::StopState`]), `by`, `why`.
        STOP_REQUEST = "StopRequest";
    }
}

/// The client's status, and since when it has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientSays {
    pub status: ClientState,
    pub at: Stamp,
}

/// What was looked up for an event before the engine saw it; stored with the event, so that a replay, years later
/// and on another machine, decides the same.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Facts {
    /// Nearest ancestor of the cwd with `.git`, otherwise the cwd itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// The project's name; for a worktree, that of the main checkout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Which of the processes the engine asked about are alive ([`crate::engine::World::asks`]).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub alive: Vec<Process>,
    /// It comes from another machine, whose processes cannot be checked here.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub elsewhere: bool,
    /// This is the server's first contact with the session since it started.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub first_since_start: bool,
    /// What the payload looked like before it was masked and cut, if it asks the user something.
    #[serde(skip_serializing_if = "AskFacts::is_plain")]
    pub ask: AskFacts,
}

/// A process and when it started, because pids are reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Process {
    pub pid: u32,
    pub start: u64,
}

/// One stored event: a hook's payload, or something [`observed`].
#[derive(Clone, Debug)]
pub struct Event {
    pub id: i64,
    pub name: String,
    pub session_id: String,
    /// When it happened: `sent_at`, clamped to arrival.
    pub at: Stamp,
    pub received_at: Stamp,
    pub source: Source,
    pub body: Value,
    pub facts: Facts,
    /// Only in a replay: the agent this event created when it first came, so that ids do not change.
    pub agent_hint: Option<i64>,
}

impl Event {
    /// Whether this happened after `moment`, or at it. Transcript lines have milliseconds: a line in the same millisecond
    /// counts as newer.
    pub fn is_after(&self, moment: Stamp) -> bool {
        match self.source {
            Source::Transcript => self.at.millis() >= moment.millis(),
            _ => self.at >= moment,
        }
    }

    /// A text field of the body that exists and is not empty.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.body.get(field)?.as_str().filter(|text| !text.is_empty())
    }
}
