//! What an agent is told to do and what is said: commands, turns, and the steps of the state machine between them.

use crate::model::{Actor, CommandState, Confidence, Intent, Source, TimestampSource};
use crate::stamp::Stamp;
use serde::{Deserialize, Serialize};

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
