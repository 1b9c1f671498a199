//! Threads that want to know when an agent begins or stops to need somebody.

use crate::model::AgentView;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

#[derive(Debug, Default)]
pub struct Watchers(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    senders: Vec<mpsc::Sender<Arc<AgentView>>>,
    told: HashMap<i64, u64>,
}

impl Watchers {
    pub fn add(&self) -> mpsc::Receiver<Arc<AgentView>> {
        let (sender, receiver) = mpsc::channel();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).senders.push(sender);
        receiver
    }

    /// Passes on what is news to them. One tool call after the other is none, and waking a thread for each costs
    /// more than the call.
    pub fn tell(&self, views: &[Arc<AgentView>]) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let State { senders, told } = &mut *state;
        for view in views {
            let news = fingerprint(view);
            if told.insert(view.id, news) != Some(news) {
                senders.retain(|sender| sender.send(Arc::clone(view)).is_ok());
            }
        }
    }
}

/// What somebody would look up for.
fn fingerprint(view: &AgentView) -> u64 {
    let mut hasher = DefaultHasher::new();
    (view.state, view.unseen, view.ended_at, &view.error).hash(&mut hasher);
    view.error.as_ref().map(|_| view.source_at).hash(&mut hasher);
    view.background.len().hash(&mut hasher);
    view.current_command.as_ref().map(|command| command.id).hash(&mut hasher);
    for interaction in &view.interactions {
        (interaction.id, &interaction.text).hash(&mut hasher);
    }
    hasher.finish()
}
