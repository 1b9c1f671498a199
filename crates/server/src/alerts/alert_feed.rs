//! Tells subscribed threads when an agent starts or stops needing the user. Knows nothing about the alert rules.

use crate::alerts::AlertChange;
use headspace_core::engine::Agent;
use headspace_core::model::{AgentId, AgentState, AgentView};
use headspace_core::stamp::Stamp;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

#[derive(Debug, Default)]
pub struct AlertFeed(Mutex<FeedState>);

#[derive(Debug, Default)]
struct FeedState {
    senders: Vec<mpsc::Sender<AlertChange>>,
    sent: HashMap<AgentId, u64>,
}

impl AlertFeed {
    pub fn add(&self) -> mpsc::Receiver<AlertChange> {
        let (sender, receiver) = mpsc::channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).senders.push(sender);
        receiver
    }

    /// Sends the views that changed in a way that matters for alerts. One tool call after another does not, and waking a
    /// thread for each would cost more than the call.
    pub fn send(&self, views: &[Arc<AgentView>]) {
        for view in views {
            self.send_one(view.id, &Condition::of_view(view), || Arc::clone(view));
        }
    }

    /// The same for an agent whose view is made only if it matters. `true`: it did.
    pub fn send_agent(&self, agent: &Agent, view: impl FnOnce() -> Arc<AgentView>) -> bool {
        self.send_one(agent.id.into(), &Condition::of(agent), view)
    }

    fn send_one(&self, id: AgentId, condition: &Condition, view: impl FnOnce() -> Arc<AgentView>) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let FeedState { senders, sent } = &mut *state;
        let news = condition.fingerprint();
        if sent.insert(id, news) == Some(news) {
            return false;
        }
        let view = view();
        senders.retain(|sender| sender.send(AlertChange::Agent(Arc::clone(&view))).is_ok());
        true
    }

    /// Sends views that were known before, so that they cause no alert.
    pub fn note_known(&self, views: &[Arc<AgentView>]) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let FeedState { senders, sent } = &mut *state;
        for view in views {
            sent.insert(view.id, Condition::of_view(view).fingerprint());
            senders.retain(|sender| sender.send(AlertChange::Known(Arc::clone(view))).is_ok());
        }
    }

    /// These agents are gone.
    pub fn forget(&self, agents: &[AgentId]) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let FeedState { senders, sent } = &mut *state;
        for id in agents {
            sent.remove(id);
            senders.retain(|sender| sender.send(AlertChange::Forgotten(*id)).is_ok());
        }
    }

    /// A page or a terminal was unlocked.
    pub fn unlocked(&self, text: &str) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.senders.retain(|sender| sender.send(AlertChange::Unlocked(text.to_owned())).is_ok());
    }
}

/// The parts of an agent that can cause an alert.
#[derive(Hash)]
struct Condition<'a> {
    state: AgentState,
    unseen: bool,
    ended_at: Option<Stamp>,
    error: Option<(&'a str, Stamp)>,
    background: usize,
    command: Option<i64>,
    /// The open questions: id and text.
    asks: Vec<(i64, &'a str)>,
}

impl Condition<'_> {
    fn of(agent: &Agent) -> Condition<'_> {
        Condition {
            state: agent.state,
            unseen: agent.unseen,
            ended_at: agent.ended_at,
            error: agent.error.as_deref().map(|error| (error, agent.source_at)),
            background: agent.background.len(),
            command: agent.command.as_ref().map(|command| command.id),
            asks: agent.interactions.iter().map(|open| (open.id, open.text.as_str())).collect(),
        }
    }

    fn of_view(view: &AgentView) -> Condition<'_> {
        Condition {
            state: view.state,
            unseen: view.unseen,
            ended_at: view.ended_at,
            error: view.error.as_deref().map(|error| (error, view.source_at)),
            background: view.background.len(),
            command: view.current_command.as_ref().map(|command| command.id),
            asks: view.interactions.iter().map(|open| (open.id, open.ask.as_str())).collect(),
        }
    }

    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forgotten_agent_is_sent_again_and_takes_no_memory() {
        let feed = AlertFeed::default();
        let news = feed.add();
        let view: AgentView = serde_json::from_value(serde_json::json!({
            "id": 7, "session_id": "s", "sessions": ["s"], "name": "n", "state": "idle", "status": "idle",
            "group": "idle", "unseen": false, "stale": false, "headless": false, "started_at": "2026-11-14T10:00:00Z",
            "last_active_at": "2026-11-14T10:00:00Z", "background": [], "interactions": [], "subagents": [],
            "turn_count": 0, "source": "hook", "source_at": "2026-11-14T10:00:00Z", "confidence": "high",
        }))
        .unwrap();
        let views = [Arc::new(view)];
        feed.send(&views);
        feed.send(&views);
        feed.forget(&[7.into()]);
        assert!(feed.0.lock().unwrap().sent.is_empty());
        feed.send(&views);
        let sent: Vec<AlertChange> = news.try_iter().collect();
        assert!(
            matches!(&sent[..], [AlertChange::Agent(_), AlertChange::Forgotten(_), AlertChange::Agent(_)]),
            "{sent:?}"
        );
    }
}
