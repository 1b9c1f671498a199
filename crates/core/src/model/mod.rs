//! The domain types of headspace: events, agents, commands, turns, as all code, every API and the store know them. Only
//! data: what an event does to an agent is in [`crate::engine`].

mod agent_id;
pub mod hints;
pub mod limits;
mod machine;

pub use crate::model::agent_id::{AgentId, MachineName};
pub use crate::model::machine::Machine;
pub use crate::model::row::{AgeKind, Fold, Row, SubRow, Summary, rows};
use crate::stamp::Stamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An enum whose values are lower-case words in every API and in the store.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name { $($(#[$vdoc])* #[serde(rename = $word)] $variant),+ }

        impl $name {
            pub const ALL: &'static [$name] = &[$($name::$variant),+];

            pub const fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }

            pub fn from_word(word: &str) -> Option<$name> {
                match word { $($word => Some($name::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.word())
            }
        }
    };
}

// After the macro, which they use.
mod answer;
mod interaction;
mod reply;
mod row;

pub use answer::*;
pub use interaction::*;
pub use reply::{QueuedReply, ReplyState, StopState, stop_output};

words! {
    /// What an agent's main thread is doing. The newest open command determines it.
    AgentState { Idle = "idle", Commanded = "commanded", Processing = "processing", AwaitingInput = "awaiting_input" }
}
words! {
    CommandState {
        Commanded = "commanded", Processing = "processing", AwaitingInput = "awaiting_input", Complete = "complete",
    }
}
words! {
    /// What a person wants to know: does it need me, is it busy, is it quiet?
    Status { Idle = "idle", Working = "working", Attention = "attention" }
}
words! { Actor { User = "user", Agent = "agent" } }
words! {
    Intent {
        Command = "command", Answer = "answer", Question = "question", Progress = "progress",
        Completion = "completion", EndOfTask = "end_of_task",
    }
}
words! {
    /// How sure we are: a hook said so, a transcript showed it, we inferred it.
    Confidence { High = "high", Medium = "medium", Low = "low" }
}
words! {
    /// Where information came from: a hook, what the client writes about itself, its transcript, the process table, an
    /// answer that a person gave through headspace.
    Source { Hook = "hook", Client = "client", Transcript = "transcript", Process = "process", Answer = "answer" }
}
words! {
    /// What a client writes about itself: a turn is running, it waits for a prompt, a dialog is open, or it waits for a
    /// prompt while its own shells run in the background.
    ClientState { Busy = "busy", Idle = "idle", Waiting = "waiting", Shell = "shell" }
}
words! { TimestampSource { Server = "server", Jsonl = "jsonl" } }
words! {
    /// Which of the six strategies found an event's agent.
    Method {
        SessionId = "session_id", DbSessionId = "db_session_id", HeadspaceSessionId = "headspace_session_id",
        TmuxPane = "tmux_pane", WorkingDirectory = "working_directory", Created = "created",
    }
}
words! {
    InteractionKind {
        Permission = "permission", Question = "question", Plan = "plan",
        // Databases of 0.1 have its longer name.
        #[serde(alias = "mcp_input")]
        McpInput = "mcp",
        Reply = "reply",
        // A dialog that no hook described: only the client's status file says that one is open.
        Dialog = "dialog",
    }
}
words! {
    /// The six groups every surface shows, in this order. One glyph, one word, one color each.
    Group {
        NeedsYou = "needs_you", Error = "error", Working = "working", Background = "background",
        Done = "done", Idle = "idle",
    }
}

impl Group {
    pub const fn glyph(self) -> char {
        match self {
            Group::NeedsYou => '!',
            Group::Error => 'x',
            Group::Working => '*',
            Group::Background => '~',
            Group::Done => '+',
            Group::Idle => '-',
        }
    }

    /// The label for people.
    pub const fn label(self) -> &'static str {
        match self {
            Group::NeedsYou => "needs you",
            Group::Error => "error",
            Group::Working => "working",
            Group::Background => "background",
            Group::Done => "done, unseen",
            Group::Idle => "idle",
        }
    }

    /// The label, explained.
    pub const fn meaning(self) -> &'static str {
        match self {
            Group::NeedsYou => "asks something and waits for you",
            Group::Error => "the turn failed",
            Group::Working => "busy with your command",
            Group::Background => "its turn is over, background work is not",
            Group::Done => "finished, and nobody has looked yet",
            Group::Idle => "nothing to do",
        }
    }
}

/// Events that no hook sends: what headspace itself saw or was told. They are stored like hook events, because
/// whatever changes a state must be there when the events are replayed.
pub mod observed {
    /// A text of the main thread found in the transcript. Body: `text`, `uuid`, `timestamp`, `message_id`,
    /// `stop_reason`. With `stop_reason` `end_turn` it is a turn's last message only if the turn did end: it comes
    /// right before a Stop without text, or because the turn continued after it.
    pub const TEXT: &str = "TranscriptText";
    /// The transcript says that the turn was interrupted. Body: `uuid`, `timestamp`, `during_tool`; `agent_id` if
    /// it was a subagent's.
    pub const INTERRUPTED: &str = "TranscriptInterrupted";
    /// The client's status file changed. Body: `status` ([`super::ClientState`]; another word changes nothing),
    /// `waiting_for`, `claude_pid`, `claude_pid_start`, `title` (if the session was named), `permission_mode` (if
    /// known), `timestamp`. The event's time is when the client says it changed.
    pub const CLIENT_STATUS: &str = "ClientStatus";
    /// Like `ClientStatus` with `idle`; databases of 0.1 have it.
    pub const CLIENT_IDLE: &str = "ClientIdle";
    /// A prompt that was typed while a turn ran begins its own turn. Body: `text`, `timestamp`.
    pub const DEQUEUED: &str = "TranscriptDequeued";
    /// The user refused a tool call; the turn may continue. Body: `tool_use_id`, `tool_name` (if known),
    /// `uuid`, `timestamp`; `agent_id` if a subagent asked.
    pub const REFUSED: &str = "TranscriptRefused";
    /// A tool call got its result, whatever the hooks said: sent while a question is open or the hooks are silent.
    /// Body: `tool_use_id`, `tool_name` (if known), `is_error`, `uuid`, `timestamp`; `agent_id` if a subagent's.
    pub const TOOL_RESULT: &str = "TranscriptToolResult";
    /// A tool call began in a session whose hooks are silent. Body: `tool_use_id`, `tool_name`, `tool_input`,
    /// `uuid`, `timestamp`.
    pub const TOOL_USE: &str = "TranscriptToolUse";
    /// The turn is over, and no hook reported it within 2 s. Body: `text` (the final answer, if any), `message_id`,
    /// `error` (if the API failed: the same word as in StopFailure), `uuid` and `timestamp` (of the answer's line, if
    /// there is one). The event's own time is that of the end.
    pub const TURN_END: &str = "TranscriptTurnEnd";
    /// A prompt that no hook reported within 2 s, including `<task-notification>` prompts. Body: `text`,
    /// `prompt_id`, `uuid`, `timestamp`.
    pub const PROMPT: &str = "TranscriptPrompt";
    /// The session's title or its permission mode, where the client writes it outside its hooks. Body:
    /// `title`, `permission_mode`, `timestamp`.
    pub const DETAILS: &str = "SessionDetails";
    /// Tokens in use. Body: `used_tokens`, `model`, `timestamp`; after compaction `compacted: true` and no model. `spent`
    /// ([`super::Spent`]): the tokens of the answers since the report before.
    pub const USAGE: &str = "TranscriptUsage";
    /// A session found on disk that hooks never reported. Body: `cwd`, `transcript_path`, `timestamp` (of its
    /// newest line), `git_branch`, `entrypoint`, `version`, and the process that runs it, if known.
    pub const SESSION_FOUND: &str = "SessionFound";
    /// The user said yes to a tool call: the transcript tells at once, the hook when the tool has ended. Body:
    /// `tool_use_id`, `uuid`, `timestamp`.
    pub const ALLOWED: &str = "TranscriptAllowed";
    /// Who decided about a tool call that a person answered through headspace. Body: `tool_use_id`, `decided_by` (`hook`,
    /// `user_temporary`, …), `uuid`, `timestamp`.
    pub const DECIDED: &str = "TranscriptDecided";
    /// The process in whose terminal a session sits was found, where hooks could not tell it. Body: `claude_pid`,
    /// `claude_pid_start`, `tmux_pane` and `terminal` if they are known.
    pub const PROCESS_FOUND: &str = "ProcessFound";
    /// The client's process is gone. Body: `claude_pid`, `claude_pid_start`.
    pub const PROCESS_GONE: &str = "ProcessGone";
    /// The client's status line input.
    pub const STATUS_LINE: &str = "StatusLine";
    /// A person looked at a finished agent.
    pub const SEEN: &str = "Seen";
    /// A person named an agent. Body: `name` (empty: use the automatic name again).
    pub const RENAMED: &str = "Renamed";
    /// The guard judged a tool call. Body: `verdict`, `rule`, `reason`, `tool_name`.
    pub const GUARD: &str = "GuardVerdict";
    /// A context warning was given. Body: `level`.
    pub const WARNED: &str = "ContextWarned";
    /// A step of an answer that a person gave, or did not give, through headspace. Body: `interaction_id`, `digest`,
    /// `state` ([`super::AnswerState`]), `tool_name`, `choice`, `by`, `message`, `answers`, `confirm`.
    pub const ANSWER: &str = "Answer";
    /// A prompt that a person sent through headspace came this far. Body: `reply_id`, `state` ([`super::ReplyState`]), `by`,
    /// `text`, `why`.
    pub const REPLY: &str = "Reply";
    /// A person wants an agent stopped. Body: `state` ([`super::StopState`]), `by`, `why`.
    pub const STOP_REQUEST: &str = "StopRequest";

    /// All of them.
    pub const NAMES: [&str; 23] = [
        TEXT,
        INTERRUPTED,
        CLIENT_STATUS,
        CLIENT_IDLE,
        DEQUEUED,
        REFUSED,
        TOOL_RESULT,
        TOOL_USE,
        TURN_END,
        PROMPT,
        DETAILS,
        USAGE,
        SESSION_FOUND,
        PROCESS_GONE,
        STATUS_LINE,
        SEEN,
        RENAMED,
        GUARD,
        WARNED,
        ANSWER,
        DECIDED,
        REPLY,
        STOP_REQUEST,
    ];
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
    /// The living ones of the processes the engine asked about ([`crate::engine::World::asks`]).
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
        let unit = if self.source == Source::Transcript { 1_000_000 } else { 1 };
        self.at.0.div_euclid(unit) >= moment.0.div_euclid(unit)
    }

    /// A text field of the body that exists and is not empty.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.body.get(field)?.as_str().filter(|text| !text.is_empty())
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Command {
    pub id: i64,
    pub agent_id: i64,
    pub session_id: String,
    pub state: CommandState,
    pub instruction: Option<String>,
    pub started_at: Stamp,
    pub completed_at: Option<Stamp>,
    pub confidence: Confidence,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    pub id: i64,
    pub agent_id: i64,
    pub session_id: String,
    pub command_id: Option<i64>,
    pub actor: Actor,
    pub intent: Intent,
    pub text: String,
    pub timestamp: Stamp,
    pub timestamp_source: TimestampSource,
    pub confidence: Confidence,
    /// The transcript entry it came from, if any.
    pub uuid: Option<String>,
    /// The event that created it.
    pub event_id: i64,
}

/// A transition of the state machine, or an attempt that was not valid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transition {
    pub agent_id: i64,
    pub command_id: Option<i64>,
    pub from: CommandStateOrIdle,
    pub to: CommandStateOrIdle,
    pub actor: Actor,
    pub intent: Intent,
    pub valid: bool,
    pub confidence: Confidence,
    pub source: Source,
    pub event_id: i64,
    pub at: Stamp,
    /// In words: "PermissionRequest Bash 'npm test'".
    pub why: String,
}

words! {
    /// Every state of the machine's table: the command's, and idle for "no command".
    CommandStateOrIdle {
        Idle = "idle", Commanded = "commanded", Processing = "processing",
        AwaitingInput = "awaiting_input", Complete = "complete",
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Subagent {
    pub agent_id: String,
    pub session_id: String,
    pub agent_type: String,
    pub status: Status,
    pub status_detail: Option<String>,
    pub started_at: Stamp,
    pub ended_at: Option<Stamp>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextUse {
    pub used_tokens: u64,
    pub window: u64,
    pub percent: f64,
}

/// Lines of code that a session added and removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinesChanged {
    pub added: u64,
    pub removed: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurrentCommand {
    pub id: i64,
    pub state: CommandState,
    pub instruction: Option<String>,
    pub started_at: Stamp,
}

/// An agent as every surface sees it: `GET /api/agents`, `status`, `top`, the dashboard.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AgentView {
    pub id: AgentId,
    pub session_id: String,
    pub sessions: Vec<String>,
    /// Which coding agent it is: `claude`, `codex`, …
    #[serde(default = "default_client")]
    pub client: String,
    pub name: String,
    pub project: Option<String>,
    pub project_path: Option<String>,
    pub cwd: Option<String>,
    pub branch: Option<String>,
    pub state: AgentState,
    pub status: Status,
    pub status_detail: Option<String>,
    pub group: Group,
    pub error: Option<String>,
    pub unseen: bool,
    pub stale: bool,
    pub headless: bool,
    pub started_at: Stamp,
    pub last_active_at: Stamp,
    pub waiting_since: Option<Stamp>,
    pub ended_at: Option<Stamp>,
    pub end_reason: Option<String>,
    pub tmux_session: Option<String>,
    pub tmux_pane: Option<String>,
    pub terminal: Option<Value>,
    pub claude_pid: Option<u32>,
    pub claude_pid_start: Option<u64>,
    pub host: Option<String>,
    /// It runs on another machine than this server: its process cannot be checked.
    #[serde(default)]
    pub elsewhere: bool,
    /// The machine whose board it is from, as the user calls it; `None` for this one.
    #[serde(default)]
    pub machine: Option<MachineName>,
    /// The line to that machine is cut since then: what is shown is what it said last.
    #[serde(default)]
    pub not_heard_since: Option<Stamp>,
    /// What resumes its session from here, if it is on another machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<String>,
    pub role: Option<String>,
    pub mode: Option<String>,
    pub model: Option<String>,
    pub permission_mode: Option<String>,
    pub context: Option<ContextUse>,
    pub cost_usd: Option<f64>,
    #[serde(default)]
    pub lines: Option<LinesChanged>,
    pub rate_limits: Option<Value>,
    /// When its client said so: the newest of all agents counts.
    #[serde(default)]
    pub limits_at: Option<Stamp>,
    pub pr: Option<Value>,
    pub worktree: Option<Value>,
    pub background: Vec<Value>,
    /// Prompts the session has scheduled for itself.
    #[serde(default)]
    pub crons: Vec<Value>,
    pub interactions: Vec<InteractionView>,
    pub subagents: Vec<Subagent>,
    pub current_command: Option<CurrentCommand>,
    /// Prompts that a person sent and that wait until the agent is idle.
    #[serde(default)]
    pub replies: Vec<QueuedReply>,
    /// A person wants it stopped: its next tool call is denied.
    #[serde(default)]
    pub stop_requested: Option<Stamp>,
    pub turn_count: u64,
    /// The agent's last message, on one line: what a finished agent has to say.
    #[serde(default)]
    pub last_said: Option<String>,
    /// The last sentence of that message: how it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<String>,
    pub transcript_path: Option<String>,
    /// What the client's own status file says, and since when.
    #[serde(default)]
    pub client_status: Option<ClientSays>,
    pub source: Source,
    pub source_at: Stamp,
    pub confidence: Confidence,
    /// Its client is one that says nothing at denials and interrupts, and it has said nothing for a while: what is
    /// shown may be over.
    #[serde(default)]
    pub unconfirmed: bool,
    /// Its row in a list, for who cannot work it out: the page.
    #[serde(default)]
    pub summary: Summary,
}

fn default_client() -> String {
    hints::DEFAULT_CLIENT.to_owned()
}

/// What an event did to an agent: rows for the store, and what the stream of changes sends.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    AgentCreated {
        agent_id: i64,
    },
    /// The agent's own state or its status or detail changed.
    StateChanged(StateChanged),
    /// New; or, with a known id, corrected (a progress text that turned out to be the answer).
    Turn(Turn),
    /// Opened or changed (same id).
    Command(Command),
    /// Opened or closed (same id).
    Interaction {
        agent_id: i64,
        interaction: Interaction,
    },
    /// New or changed; its key is (session_id, agent_id).
    Subagent {
        agent_id: i64,
        subagent: Subagent,
    },
    Transition(Transition),
    /// Money or tokens were spent.
    Spent {
        agent_id: i64,
        project: Option<String>,
        at: Stamp,
        spent: Spent,
    },
    SessionEnded {
        agent_id: i64,
        session_id: String,
        reason: String,
        at: Stamp,
    },
}

/// What was spent between two reports. Whole numbers, so that sums do not depend on their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// Millionths of a dollar.
    pub micro_usd: u64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_write_tokens: u64,
    pub cache_read_tokens: u64,
}

impl Spent {
    pub fn is_nothing(&self) -> bool {
        *self == Spent::default()
    }

    pub fn add(&mut self, more: &Spent) {
        for (sum, more) in [
            (&mut self.micro_usd, more.micro_usd),
            (&mut self.input_tokens, more.input_tokens),
            (&mut self.output_tokens, more.output_tokens),
            (&mut self.cache_write_tokens, more.cache_write_tokens),
            (&mut self.cache_read_tokens, more.cache_read_tokens),
        ] {
            *sum = sum.saturating_add(more);
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StateChanged {
    pub agent_id: i64,
    pub project: Option<String>,
    pub from: AgentState,
    pub to: AgentState,
    pub status: Status,
    pub status_detail: Option<String>,
    pub confidence: Confidence,
    pub source: Source,
    pub timestamp: Stamp,
}

/// The engine's result for one event.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    pub agent_id: Option<i64>,
    pub is_new_agent: bool,
    pub method: Method,
    /// The same event came before: it is stored, but has no other effect.
    pub duplicate: bool,
    pub changes: Vec<Change>,
    /// Every agent whose document changed, the event's own first.
    pub touched: Vec<i64>,
}
