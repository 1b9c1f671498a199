//! An agent as every surface sees it.

use crate::model::*;
use crate::stamp::Stamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// Since when the line to that machine has been cut: what is shown is what it said last.
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
    /// Background tasks that run beside those listed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_background: usize,
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
    /// Its client does not report denials and interrupts, and it has been silent for a while: what is shown may be over.
    #[serde(default)]
    pub unconfirmed: bool,
    /// Its row in a list, for the page, which cannot compute it.
    #[serde(default)]
    pub summary: Summary,
}

fn default_client() -> String {
    hints::DEFAULT_CLIENT.to_owned()
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}
