//! Connections: how many, how long, how big. Their requests go to the routes.

use crate::http::auth::policy::Connection;
use crate::http::own_socket::{Handed, HandedOver, SocketThread};
use axum::Router;
use headspace_page::connection::{Limits, Pipe, Visit, stop_requested, talk};
use headspace_platform::log;
use headspace_platform::net::socket;
use hyper::Request;
use hyper::body::Incoming;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;

const LIMITS: Limits = Limits { head: 32 << 10, head_within: Duration::from_secs(30) };
/// How many connections are open at most. Beyond it, the one that has been idle longest is closed, or else the one whose
/// request takes longest: bodies that never end must not keep the hooks out.
const MAX_CONNECTIONS: usize = 1024;
/// How long requests in flight may take to end when the server stops.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(3);

/// Every open connection, by the order of arrival.
#[derive(Debug, Default)]
pub struct Connections {
    open: Mutex<HashMap<u64, OpenConnection>>,
    next: AtomicU64,
    none_left: Notify,
}

#[derive(Debug)]
struct OpenConnection {
    activity: Arc<Activity>,
    since: Instant,
    task: Option<JoinHandle<()>>,
}

/// Whether a request is in the works on this connection.
#[derive(Debug, Default)]
pub struct Activity {
    busy: AtomicBool,
    streaming: AtomicBool,
    /// When a request last began or ended.
    last: Mutex<Option<Instant>>,
}

impl Activity {
    /// Its answer is a stream: the connection is at work until it ends.
    pub fn streams(&self) {
        self.streaming.store(true, Ordering::Relaxed);
    }

    fn is_streaming(&self) -> bool {
        self.streaming.load(Ordering::Relaxed)
    }

    fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed)
    }

    fn begin(&self) {
        self.becomes(true);
    }

    fn end(&self) {
        self.becomes(false);
    }

    fn becomes(&self, busy: bool) {
        self.busy.store(busy, Ordering::Relaxed);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }
}

impl Connections {
    fn open(&self) -> MutexGuard<'_, HashMap<u64, OpenConnection>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn len(&self) -> usize {
        self.open().len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ends the connection that has been idle longest, or the one that has been busy longest: a hook takes milliseconds,
    /// so that one waits for its client. `false`: all are streams.
    fn make_room(&self) -> bool {
        let mut open = self.open();
        let unchanged_since = |open: &OpenConnection| {
            let last = *open.activity.last.lock().unwrap_or_else(PoisonError::into_inner);
            last.unwrap_or(open.since)
        };
        let oldest = open
            .iter()
            .filter(|(_, connection)| !connection.activity.is_streaming())
            .min_by_key(|(_, connection)| (connection.activity.is_busy(), unchanged_since(connection)))
            .map(|(id, _)| *id);
        let Some(task) = oldest.and_then(|id| open.remove(&id)) else { return false };
        if let Some(task) = task.task {
            task.abort();
        }
        true
    }
}

/// Accepts connections from the port and the socket until `stop`, then lets busy ones finish.
pub async fn serve(
    listener: TcpListener,
    (socket, mut handed): (SocketThread, Handed),
    routes: Router,
    all: Arc<Connections>,
    stop: watch::Receiver<bool>,
) {
    let mut stopping = stop.clone();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted.and_then(Arrival::from_port),
            Some(handed) = handed.recv() => handed.map(Arrival::Socket),
            () = stop_requested(&mut stopping) => break,
        };
        match accepted {
            Ok(accepted) => {
                if all.len() >= MAX_CONNECTIONS && !all.make_room() {
                    log::line("too many connections at work: one refused");
                    continue;
                }
                accepted.start(&routes, &all, stop.clone());
            }
            // Out of descriptors: close an idle connection; otherwise wait until one ends.
            Err(error) => {
                log::line(&format!("could not accept a connection: {error}"));
                if !all.make_room() {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
                tokio::task::yield_now().await;
            }
        }
    }
    drop(listener);
    drop(socket);
    let gone = async {
        loop {
            let left = all.none_left.notified();
            if all.is_empty() {
                break;
            }
            left.await;
        }
    };
    let _ = tokio::time::timeout(SHUTDOWN_GRACE, gone).await;
}

/// An accepted connection.
enum Arrival {
    Port(TcpStream, Connection),
    Socket(HandedOver),
}

impl Arrival {
    fn from_port((stream, peer): (TcpStream, SocketAddr)) -> std::io::Result<Arrival> {
        let _ = stream.set_nodelay(true);
        socket::drop_when_unread(&stream);
        let local = stream.local_addr()?;
        Ok(Arrival::Port(stream, Connection::port(peer, local)))
    }

    fn start(self, routes: &Router, all: &Arc<Connections>, stop: watch::Receiver<bool>) {
        match self {
            Arrival::Port(stream, connection) => start(Box::new(stream), connection, routes, all, stop),
            Arrival::Socket(handed) => match handed.resume() {
                Ok((stream, pid)) => start(Box::new(stream), Connection::Socket { pid }, routes, all, stop),
                Err(error) => log::line(&format!("could not take over a connection: {error}")),
            },
        }
    }
}

fn start(
    pipe: Box<dyn Pipe>,
    connection: Connection,
    routes: &Router,
    all: &Arc<Connections>,
    stop: watch::Receiver<bool>,
) {
    let id = all.next.fetch_add(1, Ordering::Relaxed);
    let activity = Arc::new(Activity::default());
    let open = OpenConnection { activity: Arc::clone(&activity), since: Instant::now(), task: None };
    all.open().insert(id, open);
    let visit = Arc::new(Visitor { connection: Arc::new(connection), activity });
    let (routes, registry) = (routes.clone(), Arc::clone(all));
    let task = tokio::spawn(async move {
        let _leave = Departure { id, all: registry };
        talk(pipe, routes, visit, LIMITS, stop).await;
    });
    if let Some(open) = all.open().get_mut(&id) {
        open.task = Some(task);
    }
}

/// Removes the connection from the list, however its task ends.
struct Departure {
    id: u64,
    all: Arc<Connections>,
}

impl Drop for Departure {
    fn drop(&mut self) {
        let mut open = self.all.open();
        open.remove(&self.id);
        if open.is_empty() {
            self.all.none_left.notify_waiters();
        }
    }
}

/// What a connection's requests need to know besides themselves.
struct Visitor {
    connection: Arc<Connection>,
    activity: Arc<Activity>,
}

impl Visit for Visitor {
    fn begins(&self, request: &mut Request<Incoming>) {
        request.extensions_mut().insert(Arc::clone(&self.connection));
        request.extensions_mut().insert(Arc::clone(&self.activity));
        self.activity.begin();
    }

    fn ends(&self) {
        self.activity.end();
    }
}
