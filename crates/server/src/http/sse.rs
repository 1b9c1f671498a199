//! The stream of changes: one hub, any number of clients, and no client can make the server wait. Knows nothing about what
//! it sends.

use headspace_core::json::serialize::to_text;
use headspace_core::model::AgentId;
use headspace_page::stream::{Live, MAX_BEHIND, event_text};
use hyper::body::Bytes;
use serde::Serialize;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc;

/// One message of the stream, ready to send.
#[derive(Debug)]
pub struct Message {
    /// The number for `Last-Event-ID`; `None` for what cannot be replayed.
    pub seq: Option<i64>,
    pub kind: &'static str,
    pub agent_id: Option<AgentId>,
    text: String,
}

impl Message {
    pub fn new(
        seq: Option<i64>,
        kind: &'static str,
        agent_id: Option<AgentId>,
        data: &impl Serialize,
    ) -> Message {
        let json = to_text(data).unwrap_or_else(|_| "null".into());
        Message::from_json(seq, kind, agent_id, &json)
    }

    pub fn from_json(seq: Option<i64>, kind: &'static str, agent_id: Option<AgentId>, json: &str) -> Message {
        Message { seq, kind, agent_id, text: event_text(seq, kind, json) }
    }
}

/// The messages of one COMMIT, and all of them as one piece for clients without a filter.
#[derive(Debug)]
pub struct Batch {
    messages: Vec<Message>,
    whole: Bytes,
}

impl Batch {
    pub fn new(messages: Vec<Message>) -> Batch {
        let whole = Bytes::from(messages.iter().map(|message| message.text.as_str()).collect::<String>());
        Batch { messages, whole }
    }

    fn bytes(&self, filter: &Filter, after: i64) -> Bytes {
        let news = |message: &Message| message.seq.is_none_or(|seq| seq > after);
        if filter.everything() && self.messages.iter().all(news) {
            return self.whole.clone();
        }
        let chosen = self.messages.iter().filter(|m| news(m) && filter.wants(m.kind, m.agent_id));
        Bytes::from(chosen.map(|message| message.text.as_str()).collect::<String>())
    }
}

/// What a client wants to receive.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Empty: all.
    pub kinds: Vec<String>,
    pub agent_id: Option<AgentId>,
}

impl Filter {
    fn everything(&self) -> bool {
        self.kinds.is_empty() && self.agent_id.is_none()
    }

    fn wants(&self, kind: &str, agent_id: Option<AgentId>) -> bool {
        (self.kinds.is_empty() || self.kinds.iter().any(|wanted| wanted == kind))
            && (self.agent_id.is_none() || agent_id.is_none() || agent_id == self.agent_id)
    }
}

/// Distributes batches to all clients.
#[derive(Debug, Default)]
pub struct Hub {
    clients: Mutex<Vec<mpsc::Sender<Arc<Batch>>>>,
    connected: AtomicUsize,
    pub dropped: AtomicU64,
}

impl Hub {
    fn clients(&self) -> MutexGuard<'_, Vec<mpsc::Sender<Arc<Batch>>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether no client is connected, so that callers can skip the work.
    pub fn is_empty(&self) -> bool {
        self.connected.load(Ordering::Relaxed) == 0
    }

    /// Number of clients that are still connected.
    pub fn len(&self) -> usize {
        let mut clients = self.clients();
        clients.retain(|client| !client.is_closed());
        self.connected.store(clients.len(), Ordering::Relaxed);
        clients.len()
    }

    /// Sends to every client that keeps up; the others are dropped.
    pub fn publish(&self, messages: Vec<Message>) {
        if messages.is_empty() {
            return;
        }
        let batch = Arc::new(Batch::new(messages));
        let mut clients = self.clients();
        clients.retain(|client| match client.try_send(Arc::clone(&batch)) {
            Ok(()) => true,
            Err(mpsc::error::TrySendError::Full(_)) => {
                self.dropped.fetch_add(1, Ordering::Relaxed);
                false
            }
            Err(mpsc::error::TrySendError::Closed(_)) => false,
        });
        self.connected.store(clients.len(), Ordering::Relaxed);
    }

    /// Receives everything from now on.
    pub fn subscribe(&self) -> mpsc::Receiver<Arc<Batch>> {
        let (sender, receiver) = mpsc::channel(MAX_BEHIND);
        let mut clients = self.clients();
        clients.push(sender);
        self.connected.store(clients.len(), Ordering::Relaxed);
        receiver
    }

    /// Ends every stream.
    pub fn close(&self) {
        self.clients().clear();
        self.connected.store(0, Ordering::Relaxed);
    }
}

/// Stored messages as a client receives them: number, kind, agent, JSON.
pub fn replayed(filter: &Filter, missed: &[(i64, String, i64, String)]) -> Vec<Bytes> {
    let chosen = missed.iter().filter(|(_, kind, agent_id, _)| filter.wants(kind, Some((*agent_id).into())));
    chosen.map(|(seq, kind, _, json)| Bytes::from(event_text(Some(*seq), kind, json))).collect()
}

/// A message of this moment, if the client wants it.
pub fn wanted(filter: &Filter, message: Message) -> Option<Bytes> {
    filter.wants(message.kind, message.agent_id).then(|| Bytes::from(message.text))
}

/// What happens from now on; everything at or before `after` was replayed.
pub fn live(filter: Filter, after: i64, news: mpsc::Receiver<Arc<Batch>>) -> Live<Arc<Batch>> {
    Live { news, chosen: Box::new(move |batch: Arc<Batch>| batch.bytes(&filter, after)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(seq: i64, kind: &'static str, agent: i64) -> Message {
        Message::new(Some(seq), kind, Some(agent.into()), &json!({"text": "a\nevent: fake\n\nb"}))
    }

    #[test]
    fn a_message_cannot_break_out_of_its_line() {
        assert_eq!(message(7, "turn_created", 1).text.lines().count(), 4);
    }

    #[test]
    fn filtered_and_replayed_messages_are_left_out() {
        let batch = Batch::new(vec![message(1, "turn_created", 1), message(2, "agent_updated", 2)]);
        let text = |filter: &Filter, after| String::from_utf8(batch.bytes(filter, after).to_vec()).unwrap();
        let all = Filter::default();
        assert_eq!(text(&all, 0).matches("id: ").count(), 2);
        assert!(!text(&all, 1).contains("id: 1\n"));
        let turns = Filter { kinds: vec!["turn_created".into()], agent_id: None };
        assert!(text(&turns, 0).contains("id: 1\n") && !text(&turns, 0).contains("id: 2\n"));
        let second = Filter { kinds: vec![], agent_id: Some(2.into()) };
        assert!(text(&second, 0).contains("id: 2\n") && !text(&second, 0).contains("id: 1\n"));
    }

    #[test]
    fn a_client_that_cannot_keep_up_is_dropped_and_the_others_are_not() {
        let hub = Hub::default();
        let slow = hub.subscribe();
        let mut quick = hub.subscribe();
        for seq in 0..=MAX_BEHIND as i64 {
            hub.publish(vec![message(seq, "turn_created", 1)]);
            assert!(quick.try_recv().is_ok());
        }
        assert_eq!(hub.len(), 1);
        assert_eq!(hub.dropped.load(Ordering::Relaxed), 1);
        drop(slow);
    }
}
