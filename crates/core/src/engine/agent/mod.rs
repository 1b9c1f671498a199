//! What the engine remembers about one agent. Plain data; the engine's other modules change it.

pub mod detail;
mod view;

use crate::engine::bounds::MoreTasks;
use crate::model::*;
use crate::stamp::Stamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One agent as the engine remembers it; stored as a document, so that nothing is lost in a restart.
/// Lists are bounded or hold only what is open: the document is written with every event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Agent {
    pub id: i64,
    /// The current session; `sessions` also has the earlier ones.
    pub session_id: String,
    pub sessions: Vec<String>,
    pub started_at: Stamp,
    pub last_active_at: Stamp,
    #[serde(skip_serializing_if = "empty")]
    pub ended_at: Option<Stamp>,
    #[serde(skip_serializing_if = "empty")]
    pub end_reason: Option<String>,

    /// Who and where.
    pub place: AgentPlace,
    /// What the client reported besides its work.
    /// Stored under its first name: existing databases use it.
    #[serde(rename = "figures", skip_serializing_if = "empty")]
    pub metrics: Metrics,
    #[serde(skip_serializing_if = "empty")]
    pub names: Names,

    pub state: AgentState,
    /// The open command, which determines the state.
    #[serde(skip_serializing_if = "empty")]
    pub command: Option<Command>,
    /// The open questions, oldest first.
    #[serde(skip_serializing_if = "empty")]
    pub interactions: Vec<Interaction>,
    /// Questions that are closed and whose answers were headspace's business, oldest first.
    #[serde(skip_serializing_if = "empty")]
    pub past_asks: Vec<PastAsk>,
    /// Tool calls that began and did not end, from the main thread and from subagents, oldest first.
    #[serde(skip_serializing_if = "empty")]
    pub calls: Vec<Call>,
    #[serde(skip_serializing_if = "empty")]
    pub children: Vec<Child>,
    #[serde(skip_serializing_if = "empty")]
    pub background: Vec<Value>,
    #[serde(default, skip_serializing_if = "MoreTasks::is_none")]
    pub more_background: MoreTasks,
    #[serde(skip_serializing_if = "empty")]
    pub crons: Vec<Value>,
    /// What the client is doing besides a turn.
    #[serde(skip_serializing_if = "empty")]
    pub phase: Option<Phase>,
    /// The newest event that began or ended such a phase: an older one changes nothing.
    pub phase_at: Stamp,
    #[serde(skip_serializing_if = "empty")]
    pub interrupted: bool,
    #[serde(skip_serializing_if = "empty")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "empty")]
    pub unseen: bool,
    /// Prompts that a person sent and that wait until the agent is idle, oldest first.
    #[serde(skip_serializing_if = "empty")]
    pub replies: Vec<QueuedReply>,
    /// When a person asked to stop the turn that runs.
    #[serde(skip_serializing_if = "empty")]
    pub stop_requested: Option<Stamp>,

    /// What the client last said about itself.
    #[serde(skip_serializing_if = "empty")]
    pub client: Option<ClientSays>,
    /// A background subagent ended while the main thread was idle: its report comes as a prompt within moments, and
    /// until then the agent is not done.
    #[serde(skip_serializing_if = "empty")]
    pub report_due: Option<Stamp>,

    /// Where the state comes from.
    pub source: Source,
    pub source_at: Stamp,
    pub confidence: Confidence,
    /// Older events change history, not state.
    pub state_at: Stamp,
    /// When the last turn began.
    pub turn_at: Stamp,
    /// What the client calls that turn, if it gives turns a name.
    #[serde(skip_serializing_if = "empty")]
    pub turn_id: Option<String>,
    /// When the last turn began or ended: anything earlier is over.
    pub boundary_at: Stamp,
    /// When the current session started here.
    pub session_at: Stamp,
    /// Hooks reported the current session; it was not only found on disk.
    pub hooked: bool,

    pub turn_count: u64,
    /// Claude's last message, on one line.
    #[serde(skip_serializing_if = "empty")]
    pub last_said: Option<String>,
    /// Its last sentence.
    #[serde(skip_serializing_if = "empty")]
    pub last_words: Option<String>,
    pub memory: Remembered,
}

/// Whether a field has its initial value and need not be written.
fn empty<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Default for Agent {
    fn default() -> Agent {
        Agent {
            id: 0,
            session_id: String::new(),
            sessions: Vec::new(),
            started_at: Stamp::default(),
            last_active_at: Stamp::default(),
            ended_at: None,
            end_reason: None,
            place: AgentPlace::default(),
            metrics: Metrics::default(),
            names: Names::default(),
            state: AgentState::Idle,
            command: None,
            interactions: Vec::new(),
            past_asks: Vec::new(),
            calls: Vec::new(),
            children: Vec::new(),
            background: Vec::new(),
            more_background: MoreTasks::default(),
            crons: Vec::new(),
            phase: None,
            phase_at: Stamp::default(),
            interrupted: false,
            error: None,
            unseen: false,
            replies: Vec::new(),
            stop_requested: None,
            client: None,
            report_due: None,
            source: Source::Hook,
            source_at: Stamp::default(),
            confidence: Confidence::High,
            state_at: Stamp::default(),
            turn_at: Stamp::default(),
            turn_id: None,
            boundary_at: Stamp::default(),
            session_at: Stamp::default(),
            hooked: false,
            turn_count: 0,
            last_said: None,
            last_words: None,
            memory: Remembered::default(),
        }
    }
}

/// Where an agent runs: machine, process, terminal, directory, and its role.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentPlace {
    /// Which coding agent it is; `None`: the usual one.
    #[serde(skip_serializing_if = "empty")]
    pub client_name: Option<String>,
    /// Its client says nothing at denials and interrupts.
    #[serde(skip_serializing_if = "empty")]
    pub silent_client: bool,
    /// Its hooks are run by a process that serves many sessions.
    #[serde(skip_serializing_if = "empty")]
    pub shared_process: bool,
    #[serde(skip_serializing_if = "empty")]
    pub host: Option<String>,
    /// Not an interactive `claude`: `-p`, an SDK.
    #[serde(skip_serializing_if = "empty")]
    pub headless: bool,
    /// Distinguishes the host from others with the same name.
    #[serde(skip_serializing_if = "empty")]
    pub host_id: Option<String>,
    /// The agent runs on another machine than the one that stored the events.
    #[serde(skip_serializing_if = "empty")]
    pub elsewhere: bool,
    #[serde(skip_serializing_if = "empty")]
    pub claude_pid: Option<u32>,
    #[serde(skip_serializing_if = "empty")]
    pub claude_pid_start: Option<u64>,
    #[serde(skip_serializing_if = "empty")]
    pub tmux_session: Option<String>,
    #[serde(skip_serializing_if = "empty")]
    pub tmux_pane: Option<String>,
    #[serde(skip_serializing_if = "empty")]
    pub terminal: Option<Value>,
    #[serde(skip_serializing_if = "empty")]
    pub headspace_session_id: Option<String>,
    #[serde(skip_serializing_if = "empty")]
    pub role: Option<String>,
    #[serde(skip_serializing_if = "empty")]
    pub mode: Option<String>,
    #[serde(skip_serializing_if = "empty")]
    pub cwd: Option<String>,
    #[serde(skip_serializing_if = "empty")]
    pub root: Option<String>,
    #[serde(skip_serializing_if = "empty")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "empty")]
    pub branch: Option<String>,
    #[serde(skip_serializing_if = "empty")]
    pub transcript_path: Option<String>,
    #[serde(skip_serializing_if = "empty")]
    pub permission_mode: Option<String>,
    /// The newest event these fields were taken from; a late event does not overwrite them.
    pub told_at: Stamp,
}

impl AgentPlace {
    pub fn process(&self) -> Option<Process> {
        Some(Process { pid: self.claude_pid?, start: self.claude_pid_start? })
    }

    pub fn machine(&self) -> Machine {
        Machine { name: self.host.clone(), id: self.host_id.clone() }
    }

    /// Whether a pid means the same process in both. A place without a machine is on this one.
    pub fn shares_processes_with(&self, other: &AgentPlace) -> bool {
        if self.elsewhere != other.elsewhere {
            return false;
        }
        if self.host_id.is_some() && other.host_id.is_some() {
            return self.host_id == other.host_id;
        }
        let unnamed = self.host.is_none() || other.host.is_none();
        self.host == other.host || unnamed && !self.elsewhere
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Metrics {
    #[serde(skip_serializing_if = "empty")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "empty")]
    pub used_tokens: Option<u64>,
    /// The context window the client named, or the one of the model it named.
    #[serde(skip_serializing_if = "empty")]
    pub window: Option<u64>,
    #[serde(skip_serializing_if = "empty")]
    pub percent: Option<f64>,
    /// The conversation was resumed, and the client has not measured it since: it reports nothing until its first answer,
    /// though the window is as full as the transcript says.
    #[serde(skip_serializing_if = "empty")]
    pub resumed: bool,
    #[serde(skip_serializing_if = "empty")]
    pub cost_usd: Option<f64>,
    /// Lines of code the session added and removed, as the client counts them.
    #[serde(skip_serializing_if = "empty")]
    pub lines: Option<LinesChanged>,
    #[serde(skip_serializing_if = "empty")]
    pub rate_limits: Option<Value>,
    /// When the client said how much of its limits is used.
    #[serde(skip_serializing_if = "empty")]
    pub limits_at: Option<Stamp>,
    #[serde(skip_serializing_if = "empty")]
    pub pr: Option<Value>,
    #[serde(skip_serializing_if = "empty")]
    pub worktree: Option<Value>,
    /// The highest context warning already given.
    #[serde(skip_serializing_if = "empty")]
    pub warned: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Names {
    /// Given by a person: wins, and outlives the session.
    #[serde(skip_serializing_if = "empty")]
    pub given: Option<String>,
    /// Given by the client, for the session.
    #[serde(skip_serializing_if = "empty")]
    pub title: Option<String>,
    /// The first words of the session's first prompt.
    #[serde(skip_serializing_if = "empty")]
    pub prompt: Option<String>,
    /// Another process runs the same session: the name alone does not distinguish them.
    #[serde(skip_serializing_if = "empty")]
    pub shared: bool,
}

/// A tool call that began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Call {
    pub tool_use_id: Option<String>,
    pub tool_name: String,
    /// "Bash: npm test".
    pub detail: String,
    /// A hash that finds the same call again, because a PermissionRequest has no id.
    pub input: u64,
    pub subagent: Option<String>,
    pub at: Stamp,
}

/// A subagent, and what only the engine needs to know about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Child {
    #[serde(flatten)]
    pub subagent: Subagent,
    /// The subagent's newest event.
    pub at: Stamp,
    /// Launched to run beside the main thread: outlives an interrupted turn.
    pub background: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Setup,
    Compacting,
}

/// What prevents double counting. Times are nanoseconds here: these lists are written with every event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Remembered {
    /// Payloads seen recently.
    #[serde(skip_serializing_if = "empty")]
    pub heard: Vec<(u64, i64)>,
    /// Calls that ended recently, so that a late event does not open them again.
    #[serde(skip_serializing_if = "empty")]
    pub closed: Vec<u64>,
    /// Recent commands, newest last: a late turn finds the command it belongs to.
    #[serde(skip_serializing_if = "empty")]
    pub commands: Vec<(i64, i64)>,
    /// Texts from the transcript that may be a turn's last.
    #[serde(skip_serializing_if = "empty")]
    pub tail: Vec<SaidText>,
    /// Recent turns that a transcript entry may repeat, or has repeated.
    #[serde(skip_serializing_if = "empty")]
    pub turns: Vec<RecordedTurn>,
    /// The last Stop had no text; the transcript may still bring it.
    #[serde(skip_serializing_if = "empty")]
    pub silent_stop: Option<Stamp>,
    /// Transcript entries already counted.
    #[serde(skip_serializing_if = "empty")]
    pub entries: Vec<u64>,
}

/// A text from the transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SaidText {
    pub text: String,
    pub uuid: Option<String>,
    /// The message this block of text belongs to.
    pub message: Option<u64>,
    pub at: Stamp,
}

/// A turn that both a hook and the transcript report: the second report must not count it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedTurn {
    pub turn_id: i64,
    pub command_id: Option<i64>,
    pub actor: Actor,
    pub intent: Intent,
    pub text: u64,
    pub at: Stamp,
    pub uuid: Option<String>,
    pub by_hook: bool,
    pub by_transcript: bool,
}
