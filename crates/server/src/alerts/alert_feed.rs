//! Informs threads when an agent begins or stops to need the user. Knows nothing about the alert rules.

use crate::alerts::AlertChange;
use headspace_core::model::{AgentId, AgentView};
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
    /// `true`: there were some.
    pub fn tell(&self, views: &[Arc<AgentView>]) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let FeedState { senders, sent } = &mut *state;
        let mut any = false;
        for view in views {
            let news = fingerprint(view);
            if sent.insert(view.id, news) != Some(news) {
                any = true;
                senders.retain(|sender| sender.send(AlertChange::Agent(Arc::clone(view))).is_ok());
            }
        }
        any
    }

    /// Sends views of which nothing is news.
    pub fn note_known(&self, views: &[Arc<AgentView>]) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let FeedState { senders, sent } = &mut *state;
        for view in views {
            sent.insert(view.id, fingerprint(view));
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
}

impl AlertFeed {
    /// Somebody may answer from now on.
    pub fn unlocked(&self, text: &str) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.senders.retain(|sender| sender.send(AlertChange::Unlocked(text.to_owned())).is_ok());
    }
}

/// The parts of a view that can cause an alert.
fn fingerprint(view: &AgentView) -> u64 {
    let mut hasher = DefaultHasher::new();
    (view.state, view.unseen, view.ended_at, &view.error).hash(&mut hasher);
    view.error.as_ref().map(|_| view.source_at).hash(&mut hasher);
    view.background.len().hash(&mut hasher);
    view.current_command.as_ref().map(|command| command.id).hash(&mut hasher);
    for interaction in &view.interactions {
        (interaction.id, &interaction.ask).hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forgotten_agent_is_sent_again_and_takes_no_memory() {
        let watchers = AlertFeed::default();
        let news = watchers.add();
        let view: AgentView = serde_json::from_value(serde_json::json!({
            "id": 7, "session_id": "s", "sessions": ["s"], "name": "n", "state": "idle", "status": "idle",
            "group": "idle", "unseen": false, "stale": false, "headless": false, "started_at": "2026-11-14T10:00:00Z",
            "last_active_at": "2026-11-14T10:00:00Z", "background": [], "interactions": [], "subagents": [],
            "turn_count": 0, "source": "hook", "source_at": "2026-11-14T10:00:00Z", "confidence": "high",
        }))
        .unwrap();
        let views = [Arc::new(view)];
        watchers.tell(&views);
        watchers.tell(&views);
        watchers.forget(&[7.into()]);
        assert!(watchers.0.lock().unwrap().sent.is_empty());
        watchers.tell(&views);
        let sent: Vec<AlertChange> = news.try_iter().collect();
        assert!(
            matches!(&sent[..], [AlertChange::Agent(_), AlertChange::Forgotten(_), AlertChange::Agent(_)]),
            "{sent:?}"
        );
    }
}
