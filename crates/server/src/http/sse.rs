//! The stream of changes: one hub, any number of clients, and no client can make the server wait. Knows nothing about what
//! it sends.

use hyper::body::{Body, Bytes, Frame, SizeHint};
use serde::Serialize;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::Write;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, interval_at};

/// How often the stream sends something, for clients and for proxies between.
pub const HEARTBEAT: Duration = Duration::from_secs(15);
/// Batches a client may lag behind before it is dropped. It reconnects with its `Last-Event-ID`.
const MAX_BATCHES_BEHIND: usize = 256;

/// One message of the stream, ready to send.
#[derive(Debug)]
pub struct Message {
    /// The number for `Last-Event-ID`; `None` for what cannot be replayed.
    pub seq: Option<i64>,
    pub kind: &'static str,
    pub agent_id: Option<i64>,
    text: String,
}

impl Message {
    pub fn new(
        seq: Option<i64>,
        kind: &'static str,
        agent_id: Option<i64>,
        data: &impl Serialize,
    ) -> Message {
        let json = serde_json::to_string(data).unwrap_or_else(|_| "null".into());
        Message::from_json(seq, kind, agent_id, &json)
    }

    pub fn from_json(seq: Option<i64>, kind: &'static str, agent_id: Option<i64>, json: &str) -> Message {
        Message { seq, kind, agent_id, text: event_text(seq, kind, json) }
    }
}

/// JSON is always one line, so it cannot break out of its `data:`.
fn event_text(seq: Option<i64>, kind: &str, json: &str) -> String {
    let mut text = String::with_capacity(json.len() + 64);
    if let Some(seq) = seq {
        let _ = writeln!(text, "id: {seq}");
    }
    let _ = write!(text, "event: {kind}\ndata: {json}\n\n");
    text
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
    pub agent_id: Option<i64>,
}

impl Filter {
    fn everything(&self) -> bool {
        self.kinds.is_empty() && self.agent_id.is_none()
    }

    fn wants(&self, kind: &str, agent_id: Option<i64>) -> bool {
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

    /// Nobody is connected: callers can skip the work.
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
        let (sender, receiver) = mpsc::channel(MAX_BATCHES_BEHIND);
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

/// The body of `GET /api/events/stream`: first what was missed, then what happens.
#[derive(Debug)]
pub struct Stream {
    filter: Filter,
    missed: VecDeque<Bytes>,
    /// Everything at or before this was in `missed`.
    after: i64,
    /// `None`: there was more to replay than fits; the client reconnects for the rest.
    live: Option<mpsc::Receiver<Arc<Batch>>>,
    heartbeat: Interval,
}

impl Stream {
    /// `missed` are the messages the client has not seen, `after` the last sequence number they cover.
    pub fn new(
        filter: Filter,
        missed: Vec<(i64, String, i64, String)>,
        after: i64,
        live: Option<mpsc::Receiver<Arc<Batch>>>,
    ) -> Stream {
        // The first bytes show a client that it is connected; `retry` says how soon to reconnect.
        let mut pieces = VecDeque::from([Bytes::from_static(b": connected\nretry: 1000\n\n")]);
        let chosen = missed
            .iter()
            .filter(|(_, kind, agent_id, _)| filter.wants(kind, Some(*agent_id)))
            .map(|(seq, kind, _, json)| event_text(Some(*seq), kind, json));
        pieces.extend(chosen.map(Bytes::from));
        Stream {
            filter,
            missed: pieces,
            after,
            live,
            heartbeat: interval_at(Instant::now() + HEARTBEAT, HEARTBEAT),
        }
    }
}

impl Body for Stream {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        if let Some(piece) = this.missed.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        let Some(live) = &mut this.live else { return Poll::Ready(None) };
        loop {
            match live.poll_recv(cx) {
                Poll::Ready(Some(batch)) => {
                    let bytes = batch.bytes(&this.filter, this.after);
                    if !bytes.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(bytes))));
                    }
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => break,
            }
        }
        match this.heartbeat.poll_tick(cx) {
            Poll::Ready(_) => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b": still here\n\n"))))),
            Poll::Pending => Poll::Pending,
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn message(seq: i64, kind: &'static str, agent: i64) -> Message {
        Message::new(Some(seq), kind, Some(agent), &json!({"text": "a\nevent: fake\n\nb"}))
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
        let second = Filter { kinds: vec![], agent_id: Some(2) };
        assert!(text(&second, 0).contains("id: 2\n") && !text(&second, 0).contains("id: 1\n"));
    }

    #[test]
    fn a_client_that_cannot_keep_up_is_dropped_and_the_others_are_not() {
        let hub = Hub::default();
        let slow = hub.subscribe();
        let mut quick = hub.subscribe();
        for seq in 0..=MAX_BATCHES_BEHIND as i64 {
            hub.publish(vec![message(seq, "turn_created", 1)]);
            assert!(quick.try_recv().is_ok());
        }
        assert_eq!(hub.len(), 1);
        assert_eq!(hub.dropped.load(Ordering::Relaxed), 1);
        drop(slow);
    }
}
