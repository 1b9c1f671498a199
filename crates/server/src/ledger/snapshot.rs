//! The agents as last committed, for all readers.

use headspace_core::engine::Agent;
use headspace_core::stamp::Stamp;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// All agents, including ended ones. Readers must release the lock quickly: the writer waits for them.
#[derive(Debug, Default)]
pub struct Snapshot {
    agents: BTreeMap<i64, Arc<Agent>>,
    by_session: HashMap<String, i64>,
}

/// The agents that were requested.
#[derive(Debug, Default)]
pub struct Chosen {
    pub agents: Vec<Arc<Agent>>,
    /// More have ended: they come before this one.
    pub next: Option<i64>,
}

impl Snapshot {
    pub fn new<'a>(agents: impl IntoIterator<Item = &'a Arc<Agent>>) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for agent in agents {
            for session in &agent.sessions {
                snapshot.by_session.insert(session.clone(), agent.id);
            }
            snapshot.put(Arc::clone(agent));
        }
        snapshot
    }

    pub fn put(&mut self, agent: Arc<Agent>) {
        if self.by_session.get(&agent.session_id) != Some(&agent.id) {
            self.by_session.insert(agent.session_id.clone(), agent.id);
        }
        let id = agent.id;
        let old = self.agents.insert(id, Arc::clone(&agent));
        // An agent keeps a limited number of sessions; the oldest is dropped when a new one comes.
        if let Some(old) = old.filter(|old| old.sessions.first() != agent.sessions.first()) {
            self.forget_sessions(id, old.sessions.iter().filter(|session| !agent.sessions.contains(session)));
        }
    }

    pub fn forget(&mut self, id: i64) {
        if let Some(agent) = self.agents.remove(&id) {
            self.forget_sessions(id, &agent.sessions);
        }
    }

    fn forget_sessions<'a>(&mut self, id: i64, sessions: impl IntoIterator<Item = &'a String>) {
        for session in sessions {
            if self.by_session.get(session) == Some(&id) {
                self.by_session.remove(session);
            }
        }
    }

    pub fn agent(&self, id: i64) -> Option<Arc<Agent>> {
        self.agents.get(&id).cloned()
    }

    pub fn agent_of_session(&self, session_id: &str) -> Option<Arc<Agent>> {
        self.agent(*self.by_session.get(session_id)?)
    }

    /// All agents that have not ended, and up to `ended` of the others: those that ended last.
    pub fn agents(&self, ended: usize) -> Vec<Arc<Agent>> {
        self.choose(ended).agents
    }

    /// Like [`Snapshot::agents`], with where to continue.
    pub fn choose(&self, ended: usize) -> Chosen {
        let mut chosen = if ended > 0 { self.ended(None, ended) } else { Chosen::default() };
        let present = self.agents.values().filter(|agent| agent.ended_at.is_none()).cloned();
        chosen.agents = present.chain(chosen.agents).collect();
        chosen
    }

    /// The agents that ended last, or last before this time and id.
    pub fn ended(&self, before: Option<(Stamp, i64)>, many: usize) -> Chosen {
        let key = |agent: &Arc<Agent>| agent.ended_at.map(|at| (at, agent.id));
        let wanted =
            |agent: &&Arc<Agent>| key(agent).is_some_and(|ended| before.is_none_or(|before| ended < before));
        let mut agents: Vec<_> = self.agents.values().filter(wanted).cloned().collect();
        let more = agents.len() > many;
        if more {
            agents.select_nth_unstable_by_key(many, |agent| std::cmp::Reverse(key(agent)));
            agents.truncate(many);
        }
        let oldest = agents.iter().filter_map(key).min();
        Chosen { next: oldest.map(|(_, id)| id).filter(|_| more), agents }
    }

    /// The number of agents that have not ended.
    pub fn present(&self) -> usize {
        self.agents.values().filter(|agent| agent.ended_at.is_none()).count()
    }

    pub fn len(&self) -> usize {
        self.agents.len()
    }

    pub fn is_empty(&self) -> bool {
        self.agents.is_empty()
    }
}
