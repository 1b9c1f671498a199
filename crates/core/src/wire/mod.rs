//! What the server answers, as types: the server writes them, the command line and the tests read them. A field that an
//! older server does not send has a default.

mod answering;
mod health;
mod history;
mod machines;
mod stats;

pub use crate::wire::answering::*;
pub use crate::wire::health::*;
pub use crate::wire::history::*;
pub use crate::wire::machines::{LineState, MachineStatus, MachinesPage};
pub use crate::wire::stats::*;

use crate::model::{AgentView, Group, Row};
use serde::{Deserialize, Serialize};

/// `GET /api/agents`
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AgentsPage {
    /// The display groups in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupWords>,
    pub agents: Vec<AgentView>,
    /// More have ended: before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

/// A display group in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupWords {
    pub id: Group,
    pub glyph: char,
    pub label: String,
    pub meaning: String,
}

impl GroupWords {
    /// All six, in the order of every surface.
    pub fn all() -> Vec<GroupWords> {
        let words = |group: &Group| GroupWords {
            id: *group,
            glyph: group.glyph(),
            label: group.label().to_owned(),
            meaning: group.meaning().to_owned(),
        };
        Group::ALL.iter().map(words).collect()
    }
}

/// `GET /api/board`: the agents as a list, and the receiver's status.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BoardPage {
    pub receiver: HookStatus,
    pub rows: Vec<Row>,
    /// Since midnight of the server's calendar; only if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent_today: Option<SpentStats>,
    /// More have ended: before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

/// The answer to `POST /api/agents/ID/seen` and `…/name`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AgentChanged {
    pub status: String,
    pub event_id: i64,
    pub agent: Option<AgentView>,
}

/// `POST /api/login-code`: a code that logs one browser in, once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoginCode {
    pub code: String,
}

/// `POST /api/prune`. A server that needs longer says so, and the client asks again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PruneAnswer {
    pub status: String,
    pub done: bool,
    pub events: u64,
    pub agents: u64,
}

impl Default for PruneAnswer {
    fn default() -> PruneAnswer {
        PruneAnswer { status: "ok".into(), done: false, events: 0, agents: 0 }
    }
}
