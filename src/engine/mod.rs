//! Event + world ▶ changes. Pure: no clock, no files, no database; whatever an event needs to know of the outside
//! stands in its [`Facts`](crate::model::Facts).

use crate::clock::Stamp;
use crate::model::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};

/// One agent as the engine remembers it; stored as a document, so that a restart knows all of it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Agent {
    pub id: i64,
    pub session_id: String,
    pub sessions: Vec<String>,
    pub started_at: Stamp,
    pub ended_at: Option<Stamp>,
}

impl Agent {
    /// The agent as a person sees it at `now` (staleness and patience with headless runs depend on the time).
    pub fn view(&self, _now: Stamp) -> AgentView {
        unreachable!("engine in progress")
    }
}

/// The last id given to each kind of row. Part of the world, because ids must come out the same in a replay.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    pub agent: i64,
    pub command: i64,
    pub turn: i64,
    pub interaction: i64,
}

/// All agents, and the ways to find them.
#[derive(Clone, Debug, Default)]
pub struct World {
    agents: BTreeMap<i64, Agent>,
    counters: Counters,
    by_session: HashMap<String, i64>,
}

impl World {
    /// The world as the store remembers it.
    pub fn load(agents: impl IntoIterator<Item = Agent>, counters: Counters) -> World {
        let mut world = World { counters, ..World::default() };
        for agent in agents {
            for session in &agent.sessions {
                world.by_session.insert(session.clone(), agent.id);
            }
            world.agents.insert(agent.id, agent);
        }
        world
    }

    /// To be stored with every batch of events, in the same transaction.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    pub fn agents(&self) -> impl Iterator<Item = &Agent> {
        self.agents.values()
    }

    pub fn agent(&self, id: i64) -> Option<&Agent> {
        self.agents.get(&id)
    }

    pub fn agent_of_session(&self, session_id: &str) -> Option<&Agent> {
        self.agents.get(self.by_session.get(session_id)?)
    }

    /// The processes whose life decides where this event belongs; the edge looks and puts the living into
    /// [`Facts::alive`](crate::model::Facts::alive). Empty for a known session.
    pub fn asks(&self, _event: &Event) -> Vec<Process> {
        Vec::new()
    }
}

/// Applies one event. Deterministic: the same events in the same order give the same world and the same changes.
pub fn apply(_world: &mut World, _event: &Event) -> Outcome {
    unreachable!("engine in progress")
}
