//! The state of the lines to other machines: what the server answers, `machines list` prints and `doctor` checks.

use crate::stamp::Stamp;
use serde::{Deserialize, Serialize};

/// Whether something comes from a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LineState {
    /// The command runs; nothing has come yet.
    #[default]
    Connecting,
    Up,
    /// The command has ended, or says nothing. It is tried again.
    Cut,
    /// The entry in the configuration is wrong.
    Unusable,
}

impl LineState {
    pub const fn word(self) -> &'static str {
        match self {
            LineState::Connecting => "connecting",
            LineState::Up => "up",
            LineState::Cut => "cut",
            LineState::Unusable => "unusable",
        }
    }
}

/// One machine, and the state of the line to it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MachineStatus {
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssh: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// The command that keeps the line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runs: Option<String>,
    pub state: LineState,
    /// Since when it has been in that state.
    pub since: Option<Stamp>,
    pub not_heard_since: Option<Stamp>,
    /// Why nothing comes from it.
    pub error: Option<String>,
    /// What the machine calls itself, and which headspace it runs.
    pub host: Option<String>,
    pub version: Option<String>,
    /// Its agents that have not ended.
    pub agents: usize,
    /// Agents that were left out because there were too many.
    pub left_out: u64,
    /// Lines that could not be read.
    pub not_understood: u64,
    /// How many attempts have failed, and when the next one is due.
    pub tries: u32,
    pub next_try_at: Option<Stamp>,
}

impl MachineStatus {
    /// An entry of the configuration that cannot be used.
    pub fn unusable(name: &str, why: &str) -> MachineStatus {
        MachineStatus {
            name: name.to_owned(),
            state: LineState::Unusable,
            error: Some(why.to_owned()),
            ..MachineStatus::default()
        }
    }
}

/// `GET /api/machines`
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct MachinesPage {
    pub machines: Vec<MachineStatus>,
}
