//! Plain events of hooks, from the bytes on the server's socket to the answers, without the HTTP framework.
//!
//! On the ordinary path a request crosses threads twice, runtime ▶ writer ▶ runtime, and each time waits until the
//! system has woken the other thread: on an idle machine that took longer than everything else. So if the writer is
//! idle, the thread that has the connections records all waiting events itself, in one COMMIT, and informs everyone
//! else after the answers. If the writer is busy, it gets the events and answers them itself.
//! Everything that is not plain (a slow client, a large body, a text to reply, a transcript to read first) takes the
//! ordinary path, which gives the same answers.

use crate::app_state::SharedState;
use crate::http::own_socket::HandedOver;
use crate::ingest::receive::{self, Plain};
use crate::ledger::writer::{self, SharedWriter};
use crate::ledger::{Answer, Job};
use crate::reconcile::watcher::HookSignal;
use headspace_core::stamp::Stamp;
use headspace_platform::net::hook_request::{self, Recognized};
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A hook writes its request at once; a connection that takes longer than this is handed over in the middle of it.
const WAIT_FOR_REST: Duration = Duration::from_millis(250);
/// A connection that is silent for this long is handed over too: the runtime closes connections that are never used.
const KEEP_SILENT_FOR: Duration = Duration::from_secs(30);
/// At most this many connections are kept here; those that have been silent longest are handed over.
const MAX_KEPT: usize = 128;
/// How often a connection to be handed over is checked while its last answer is still being written.
const LOOK_FOR_ANSWER_EVERY: Duration = Duration::from_millis(1);

/// The connections of the socket whose next request may be a hook's event.
pub struct Direct {
    app: SharedState,
    /// `None`: everything is handed over.
    writer: Option<SharedWriter>,
    /// Ordered: the connection that has been silent longest comes first.
    kept: Vec<KeptConnection>,
    buffer: Vec<u8>,
}

struct KeptConnection {
    /// Shared with the answer that is on its way.
    stream: Arc<UnixStream>,
    /// The beginning of a request.
    read: Vec<u8>,
    /// When its next request began, or when it was last heard.
    silent_since: Instant,
    /// It sent something other than a hook's event.
    leaves: bool,
}

impl KeptConnection {
    /// How long it may stay silent.
    fn patience(&self) -> Duration {
        let limit = if self.read.is_empty() { KEEP_SILENT_FOR } else { WAIT_FOR_REST };
        limit.saturating_sub(self.silent_since.elapsed())
    }
}

/// The result of reading from a connection.
enum Heard {
    Event(Box<Plain>, bool),
    /// The request is not complete yet.
    Part,
    /// For the ordinary path.
    Other,
    /// The connection was closed.
    Gone,
}

/// Events that arrived together.
#[derive(Default)]
struct Together {
    jobs: Vec<Job>,
    signals: Vec<HookSignal>,
}

impl Direct {
    pub fn new(app: SharedState, writer: Option<SharedWriter>) -> Direct {
        Direct { app, writer, kept: Vec::new(), buffer: vec![0; hook_request::MAX_REQUEST + 1] }
    }

    /// The sockets to wait for, in the order that [`Direct::take`] expects, without connections that leave.
    pub fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let staying = self.kept.iter().filter(|connection| !connection.leaves);
        staying.map(|connection| connection.stream.as_fd())
    }

    /// How long there is nothing to do unless a client writes.
    pub fn patience(&self) -> Duration {
        if self.kept.iter().any(|connection| connection.leaves) {
            return LOOK_FOR_ANSWER_EVERY;
        }
        let kept = self.kept.iter().map(KeptConnection::patience);
        kept.min().unwrap_or(Duration::MAX)
    }

    /// Answers all events that have arrived, on new connections and on readable ones. Returns the connections that take
    /// the ordinary path.
    pub fn take(&mut self, arrived: Vec<UnixStream>, readable: &[bool]) -> Vec<HandedOver> {
        let mut together = Together::default();
        let mut readable = readable.iter();
        let kept = std::mem::take(&mut self.kept);
        let mut silent = Vec::with_capacity(kept.len());
        // Connections that sent something go to the end.
        for connection in kept {
            if !connection.leaves && readable.next() == Some(&true) {
                self.hear(connection, &mut together);
            } else {
                silent.push(connection);
            }
        }
        for stream in arrived {
            let (stream, silent_since) = (Arc::new(stream), Instant::now());
            self.hear(
                KeptConnection { stream, read: Vec::new(), silent_since, leaves: false },
                &mut together,
            );
        }
        self.store(together);
        silent.append(&mut self.kept);
        self.kept = silent;
        self.hand_over()
    }

    fn hear(&mut self, mut connection: KeptConnection, together: &mut Together) {
        if connection.read.is_empty() {
            connection.silent_since = Instant::now();
        }
        // A bug that one event shows must not end the thread that takes all others: its hook keeps it in the spool.
        let heard = catch_unwind(AssertUnwindSafe(|| self.read(&mut connection)));
        match heard.unwrap_or(Heard::Gone) {
            Heard::Event(plain, keeps_open) => {
                let Plain { event, signal, begun } = *plain;
                let reply = answer_to(&self.app, Arc::clone(&connection.stream), keeps_open, begun);
                together.jobs.push(self.app.ledger.answered_at_once(event, reply));
                together.signals.push(signal);
                if keeps_open {
                    connection.read.clear();
                    self.kept.push(connection);
                }
            }
            Heard::Part => self.kept.push(connection),
            Heard::Other => self.kept.push(KeptConnection { leaves: true, ..connection }),
            Heard::Gone => {}
        }
    }

    /// Reads what has arrived.
    fn read(&mut self, connection: &mut KeptConnection) -> Heard {
        let mut length = connection.read.len();
        self.buffer[..length].copy_from_slice(&connection.read);
        let gone = loop {
            match (&*connection.stream).read(&mut self.buffer[length..]) {
                Ok(0) => break true,
                Ok(more) => {
                    length += more;
                    match hook_request::recognize(&self.buffer[..length]) {
                        Recognized::Part => {}
                        Recognized::Whole { slug, body, keeps_open } if self.writer.is_some() => {
                            if let Some(plain) = receive::plain(&self.app, slug, body) {
                                return Heard::Event(Box::new(plain), keeps_open);
                            }
                            break false;
                        }
                        _ => break false,
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    connection.read = self.buffer[..length].to_vec();
                    return if self.writer.is_some() { Heard::Part } else { Heard::Other };
                }
                Err(_) => break true,
            }
        };
        connection.read = self.buffer[..length].to_vec();
        // A client that sent something and then closed its side still gets an answer.
        if gone && length == 0 { Heard::Gone } else { Heard::Other }
    }

    fn store(&mut self, together: Together) {
        let Together { jobs, signals } = together;
        if jobs.is_empty() {
            return;
        }
        match self.writer.as_ref().and_then(|writer| writer::if_idle(writer)) {
            Some(mut writer) => writer.record(jobs),
            None => self.app.ledger.put_all(jobs),
        }
        for signal in signals {
            self.app.reconciler.heard(signal);
        }
    }

    /// Hands over connections that sent something else, take too long, or are too many.
    fn hand_over(&mut self) -> Vec<HandedOver> {
        let too_many = self.kept.len().saturating_sub(MAX_KEPT);
        let mut handed = Vec::new();
        let kept = std::mem::take(&mut self.kept);
        for (place, mut connection) in kept.into_iter().enumerate() {
            connection.leaves |= place < too_many || connection.patience().is_zero();
            if !connection.leaves {
                self.kept.push(connection);
                continue;
            }
            // The next answer must not overtake the last one, which may still be on its way.
            match Arc::try_unwrap(connection.stream) {
                Ok(stream) => handed.push(HandedOver { read: connection.read, stream }),
                Err(stream) => self.kept.push(KeptConnection { stream, ..connection }),
            }
        }
        handed
    }
}

/// Writes the answer to the event's connection, on the thread that stored the event.
fn answer_to(
    app: &SharedState,
    stream: Arc<UnixStream>,
    keeps_open: bool,
    begun: Option<Stamp>,
) -> impl FnOnce(Answer) + Send + 'static {
    let app = Arc::clone(app);
    move |answer| {
        app.ledger.counts().direct.fetch_add(1, Ordering::Relaxed);
        let (status, body) = receive::answered(&answer);
        // The client may be gone; then the event is also in its spool, and counts once. A client that does not read its
        // answers must not believe that it can continue.
        if (&*stream).write_all(response(status, &body, keeps_open).as_bytes()).is_err() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        drop(stream);
        if let (Ok(receipt), Some(begun)) = (&answer, begun)
            && !receipt.duplicate
        {
            app.hook_latency.answered(begun);
        }
    }
}

fn response(status: u16, body: &str, keeps_open: bool) -> String {
    let (code, reason) = (status.to_string(), if status == 200 { " OK" } else { " Service Unavailable" });
    let connection = if keeps_open { "" } else { "connection: close\r\n" };
    let length = body.len().to_string();
    [
        "HTTP/1.1 ",
        &code,
        reason,
        "\r\ncontent-type: application/json\r\ncache-control: no-store\r\ncontent-length: ",
        &length,
        "\r\n",
        connection,
        "\r\n",
        body,
    ]
    .concat()
}
