//! What the engine made of an event.

use crate::model::*;
use crate::stamp::Stamp;
use serde::{Deserialize, Serialize};

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
