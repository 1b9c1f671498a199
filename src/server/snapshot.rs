//! The agents as last committed, for everybody who reads.

use crate::clock::Stamp;
use crate::engine::Agent;
use crate::model::AgentView;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// All agents, ended ones too. Readers take what they need and let go: the writer waits for them.
#[derive(Debug, Default)]
pub struct Snapshot {
    agents: BTreeMap<i64, Arc<Agent>>,
    by_session: HashMap<String, i64>,
}

impl Snapshot {
    pub fn new<'a>(agents: impl IntoIterator<Item = &'a Agent>) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for agent in agents {
            for session in &agent.sessions {
                snapshot.by_session.insert(session.clone(), agent.id);
            }
            snapshot.put(agent.clone());
        }
        snapshot
    }

    pub fn put(&mut self, agent: Agent) {
        if self.by_session.get(&agent.session_id) != Some(&agent.id) {
            self.by_session.insert(agent.session_id.clone(), agent.id);
        }
        self.agents.insert(agent.id, Arc::new(agent));
    }

    pub fn forget(&mut self, id: i64) {
        if self.agents.remove(&id).is_some() {
            self.by_session.retain(|_, agent| *agent != id);
        }
    }

    pub fn agent(&self, id: i64) -> Option<Arc<Agent>> {
        self.agents.get(&id).cloned()
    }

    pub fn agent_of_session(&self, session_id: &str) -> Option<Arc<Agent>> {
        self.agent(*self.by_session.get(session_id)?)
    }

    /// Ended ones only `with_ended`.
    pub fn agents(&self, with_ended: bool) -> Vec<Arc<Agent>> {
        self.agents.values().filter(|agent| with_ended || agent.ended_at.is_none()).cloned().collect()
    }

    pub fn len(&self) -> usize {
        self.agents.len()
    }

    pub fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }
}

/// The agents as a person wants to read them: who needs me first, and of those who waits longest.
pub fn views(agents: &[Arc<Agent>], now: Stamp) -> Vec<AgentView> {
    let mut views: Vec<AgentView> = agents.iter().map(|agent| agent.view(now)).collect();
    views.sort_by_cached_key(AgentView::rank);
    views
}
