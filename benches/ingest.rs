//! Stored events per second through the server's socket, against what SQLite itself can do with the same events in the same run.
//!
//!     cargo bench --bench ingest -- [--bin PATH] [--seconds N] [--rounds N] [--connections N] [--durability crash|power]
//!
//! Both take turns. "raw" is one writer thread that takes whatever its producers have handed in, inserts it into one
//! table and commits (WAL, synchronous=NORMAL, and one sync for all within 40 ms: the rule of `"durability": "crash"`;
//! with `--durability power`, synchronous=FULL, a sync before every answer); each producer waits for the commit before its next event, as a hook does. "serve" is the real server with as many
//! keep-alive connections as there are producers, each of which waits for its answer as a hook does.
//!
//! Two lie between them. "rows" is raw with the rows that serve stores: all columns, and the unique index that makes two
//! copies of an event one. Raw ▸ rows is the price of what has to be stored. "socket" is raw's insert behind serve's
//! requests, by one thread that reads no event and works nothing out: raw ▸ socket is the price of the socket.

use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_platform::net::hook_request::{self, Recognized};
use headspace_platform::net::socket;
use rusqlite::{Connection, params};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const BUDGET: f64 = 0.6;
/// As the server does it.
const SYNC_EVERY: Duration = Duration::from_millis(40);
const NAMES: [&str; 2] = ["PreToolUse", "PostToolUse"];
const SLUGS: [&str; 2] = ["pre-tool-use", "post-tool-use"];

struct Options {
    bin: PathBuf,
    seconds: f64,
    rounds: usize,
    connections: usize,
    /// Both sides sync before they answer.
    power: bool,
}

fn options() -> Options {
    let mut options = Options {
        bin: PathBuf::from(env!("CARGO_BIN_EXE_headspace")),
        seconds: 3.0,
        rounds: 3,
        connections: 16,
        power: false,
    };
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    while let (Some(name), Some(value)) = (args.next(), args.next()) {
        match name.as_str() {
            "--bin" => options.bin = value.into(),
            "--seconds" => options.seconds = value.parse().expect("a number"),
            "--rounds" => options.rounds = value.parse().expect("a number"),
            "--connections" => options.connections = value.parse().expect("a number"),
            "--durability" => options.power = value == "power",
            other => panic!("unknown option {other}"),
        }
    }
    options
}

/// About 800 bytes: a tool call as the client sends it, begun and ended in turn. Each worker is a session of its own.
fn event(worker: usize, n: u64) -> String {
    let (name, call) = (NAMES[n as usize % 2], n / 2);
    let now = Stamp::now();
    format!(
        r#"{{"session_id":"56dbc74e-90df-4d71-a997-185a2213d{worker:03}","transcript_path":"/home/user/.claude/projects/-home-user-project/56dbc74e.jsonl","cwd":"/home/user/project-{worker}","prompt_id":"c2352b68-fde0-4119-8172-a14bb5e3f1f2","permission_mode":"default","effort":{{"level":"medium"}},"hook_event_name":"{name}","tool_name":"Bash","tool_input":{{"command":"npm test -- --runInBand {}","description":"Run the tests"}},"tool_use_id":"toolu_{worker}_{call}","entrypoint":"cli","sent_at":"{now}","delivery_id":"{:016x}{worker:08x}{n:08x}"}}"#,
        "src/components ".repeat(14),
        now.0,
    )
}

/// Runs `work` in `count` threads for some seconds; events per second.
fn measure(seconds: f64, count: usize, first: u64, work: impl Fn(usize, u64) + Sync) -> f64 {
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let barrier = Barrier::new(count + 1);
    let start = std::thread::scope(|scope| {
        for worker in 0..count {
            let (stop, done, barrier, work) = (&stop, &done, &barrier, &work);
            scope.spawn(move || {
                barrier.wait();
                for n in first.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    work(worker, n);
                    done.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        barrier.wait();
        let start = Instant::now();
        std::thread::sleep(Duration::from_secs_f64(seconds));
        stop.store(true, Ordering::Relaxed);
        start
    });
    done.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64()
}

type Handed = (String, mpsc::SyncSender<()>);

fn raw(path: &Path, columns: Columns, options: &Options, first: u64) -> f64 {
    let (sender, receiver) = mpsc::channel::<Handed>();
    let (path, power) = (path.to_owned(), options.power);
    let writer = std::thread::spawn(move || write_raw(&path, columns, power, &receiver));
    let senders: Vec<_> =
        (0..options.connections).map(|_| Mutex::new((sender.clone(), mpsc::sync_channel::<()>(1)))).collect();
    drop(sender);
    let rate = measure(options.seconds, options.connections, first, |worker, n| {
        let own = senders[worker].lock().expect("one user each");
        let (sender, (done, wait)) = &*own;
        sender.send((event(worker, n), done.clone())).expect("the writer lives");
        wait.recv().expect("the writer answers");
    });
    drop(senders);
    writer.join().expect("the writer ends");
    rate
}

fn write_raw(path: &Path, columns: Columns, power: bool, receiver: &mpsc::Receiver<Handed>) {
    let table = RawTable::open(path, columns, power);
    while let Ok(first) = receiver.recv() {
        let mut batch = vec![first];
        batch.extend(receiver.try_iter());
        table.commit(batch.iter().map(|(body, _)| body.as_str()));
        for (_, done) in batch {
            let _ = done.send(());
        }
    }
}

/// What a row has.
#[derive(Clone, Copy)]
enum Columns {
    /// A time and the text.
    Bare,
    /// What serve stores of an event: see the table `events` in the store.
    Stored,
}

impl Columns {
    fn schema(self) -> &'static str {
        match self {
            Columns::Bare => {
                "CREATE TABLE IF NOT EXISTS events(id INTEGER PRIMARY KEY, at INTEGER, body TEXT)"
            }
            Columns::Stored => {
                "CREATE TABLE IF NOT EXISTS events(
                     id INTEGER PRIMARY KEY, name TEXT NOT NULL, session_id TEXT NOT NULL, agent_id INTEGER,
                     at INTEGER NOT NULL, received_at INTEGER NOT NULL, source TEXT NOT NULL, delivery_id TEXT,
                     flags INTEGER NOT NULL DEFAULT 0, facts TEXT, body TEXT NOT NULL);
                 CREATE UNIQUE INDEX IF NOT EXISTS events_delivery ON events(delivery_id)
                     WHERE delivery_id IS NOT NULL"
            }
        }
    }
}

/// One table and nothing else, synced as the server syncs.
struct RawTable {
    db: Connection,
    columns: Columns,
    written: Arc<AtomicBool>,
    ended: Arc<AtomicBool>,
    syncing: Option<JoinHandle<()>>,
}

impl RawTable {
    fn open(path: &Path, columns: Columns, power: bool) -> RawTable {
        let db = Connection::open(path).expect("a database");
        db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).expect("WAL");
        db.pragma_update(None, "synchronous", if power { "FULL" } else { "NORMAL" }).expect("a sync rule");
        db.execute_batch(columns.schema()).expect("a table");
        let (written, ended) = (Arc::new(AtomicBool::new(true)), Arc::new(AtomicBool::new(false)));
        let log = std::fs::File::open(path.with_extension("db-wal")).expect("the log");
        let (to_sync, end) = (Arc::clone(&written), Arc::clone(&ended));
        let syncing = std::thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                std::thread::sleep(SYNC_EVERY);
                if !power && to_sync.swap(false, Ordering::Relaxed) {
                    log.sync_data().expect("a sync");
                }
            }
        });
        RawTable { db, columns, written, ended, syncing: Some(syncing) }
    }

    fn commit<'a>(&self, bodies: impl Iterator<Item = &'a str>) {
        self.db.execute_batch("BEGIN IMMEDIATE").expect("a transaction");
        for body in bodies {
            self.insert(body).expect("an insert");
        }
        self.db.execute_batch("COMMIT").expect("a commit");
        self.written.store(true, Ordering::Relaxed);
    }

    fn insert(&self, body: &str) -> rusqlite::Result<usize> {
        match self.columns {
            Columns::Bare => self
                .db
                .prepare_cached("INSERT INTO events(at, body) VALUES (?1, ?2)")?
                .execute(params![1, body]),
            Columns::Stored => {
                // The id of its delivery is the last thing in it.
                let delivery_id = &body[body.len() - "\"}".len() - 32..body.len() - "\"}".len()];
                let session_id = &body[r#"{"session_id":""#.len()..][..36];
                self.db
                    .prepare_cached(
                        "INSERT INTO events(name, session_id, agent_id, at, received_at, source, delivery_id, body)
                         VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7)",
                    )?
                    .execute(params![NAMES[0], session_id, 7, Stamp::now().0, "hook", delivery_id, body])
            }
        }
    }
}

impl Drop for RawTable {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(syncing) = self.syncing.take() {
            syncing.join().expect("the last sync");
        }
    }
}

/// Stores what is posted on these connections, as [`write_raw`] does, until all of them are closed.
fn write_posted(path: &Path, power: bool, connections: Vec<UnixStream>) {
    const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    struct Posted {
        stream: UnixStream,
        buffer: Vec<u8>,
        length: usize,
    }
    let table = RawTable::open(path, Columns::Bare, power);
    let buffer = || vec![0; hook_request::MAX_REQUEST];
    let posted = connections.into_iter().map(|stream| Posted { stream, buffer: buffer(), length: 0 });
    let mut posted: Vec<Posted> = posted.collect();
    while !posted.is_empty() {
        let sockets = posted.iter().map(|posted| posted.stream.as_fd());
        let mut readable = socket::wait_readable(sockets, Duration::from_secs(10)).into_iter();
        posted.retain_mut(|posted| {
            let readable = readable.next() == Some(true);
            posted.length =
                if readable { posted.stream.read(&mut posted.buffer).expect("a request") } else { 0 };
            !readable || posted.length > 0
        });
        let mut asked: Vec<&mut Posted> = posted.iter_mut().filter(|posted| posted.length > 0).collect();
        if asked.is_empty() {
            continue;
        }
        table.commit(asked.iter().map(|posted| {
            match hook_request::recognize(&posted.buffer[..posted.length]) {
                Recognized::Whole { body, .. } => std::str::from_utf8(body).expect("text"),
                other => panic!("a request in one piece, not {other:?}"),
            }
        }));
        for posted in &mut asked {
            posted.stream.write_all(ANSWER).expect("an answer");
        }
    }
}

fn over_socket(path: &Path, options: &Options, first: u64) -> f64 {
    let pairs = (0..options.connections).map(|_| UnixStream::pair().expect("a connection"));
    let (ours, theirs): (Vec<_>, Vec<_>) = pairs.unzip();
    let (path, power) = (path.to_owned(), options.power);
    let writer = std::thread::spawn(move || write_posted(&path, power, theirs));
    let clients: Vec<_> = ours.into_iter().map(|stream| Mutex::new(Client::on(stream))).collect();
    let rate = post_all(options, first, &clients);
    drop(clients);
    writer.join().expect("the writer ends");
    rate
}

fn post_all(options: &Options, first: u64, clients: &[Mutex<Client>]) -> f64 {
    measure(options.seconds, options.connections, first, |worker, n| {
        let mut client = clients[worker].lock().expect("one user each");
        client.post(SLUGS[n as usize % 2], &event(worker, n));
    })
}

struct Server(Child, u16);

impl Server {
    fn start(bin: &Path, home: &Path) -> Server {
        let mut child = Command::new(bin)
            .args(["serve", "--port", "0"])
            .env_clear()
            .env("HOME", home)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut lines = BufReader::new(child.stderr.take().expect("its log")).lines();
        let port = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.split_once("listening on http://")?.1.rsplit(':').next()?.parse().ok())
            .expect("the server listens");
        std::thread::spawn(move || lines.for_each(drop));
        Server(child, port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// One keep-alive connection.
struct Client {
    stream: UnixStream,
    buffer: Vec<u8>,
}

impl Client {
    fn connect(home: &Path) -> Client {
        let socket = home.join(".local/state/headspace/headspace.sock");
        Client::on(UnixStream::connect(socket).expect("a connection"))
    }

    fn on(stream: UnixStream) -> Client {
        Client { stream, buffer: vec![0; 16 << 10] }
    }

    fn post(&mut self, slug: &str, body: &str) {
        let request = format!(
            "POST /hook/{slug} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.write_all(request.as_bytes()).expect("it is sent");
        let mut length = 0;
        loop {
            // As a hook waits: whoever blocks in `read` is woken when the server takes its request, too.
            socket::wait_readable([self.stream.as_fd()].into_iter(), Duration::from_secs(10));
            let count = self.stream.read(&mut self.buffer[length..]).expect("an answer");
            assert!(count > 0, "the server hung up");
            length += count;
            let answer = &self.buffer[..length];
            let Some(head) = memchr::memmem::find(answer, b"\r\n\r\n") else { continue };
            let at = memchr::memmem::find(&answer[..head], b"content-length: ").expect("its length") + 16;
            let digits = answer[at..].iter().take_while(|byte| byte.is_ascii_digit());
            let size = digits.fold(0, |size, digit| size * 10 + usize::from(digit - b'0'));
            if length >= head + 4 + size {
                assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(answer));
                return;
            }
        }
    }
}

/// Seconds of CPU time a process has used.
fn cpu(pid: &str) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<f64> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .map(|f| f.parse().unwrap_or(0.0))
        .collect();
    fields.get(11..13).map_or(0.0, |times| times.iter().sum::<f64>() / 100.0)
}

/// Commits and events so far, from `/metrics`.
fn counts(port: u16) -> (f64, f64) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    let request = "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).expect("it is sent");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|value| value.trim().parse().ok()).expect("a figure")
    };
    (value("headspace_commits_total "), value("headspace_events_stored_total "))
}

fn main() {
    let options = options();
    let dir = tempfile::tempdir().expect("a directory");
    if options.power {
        let config = dir.path().join(".config/headspace");
        std::fs::create_dir_all(&config).expect("a directory");
        std::fs::write(config.join("config.jsonc"), r#"{"durability": "power"}"#).expect("a configuration");
    }
    let server = Server::start(&options.bin, dir.path());
    let clients: Vec<_> = (0..options.connections).map(|_| Mutex::new(Client::connect(dir.path()))).collect();
    let (mut raw_best, mut serve_best, mut ratios, mut ratios_of_rows) = (0f64, 0f64, Vec::new(), Vec::new());
    println!("{} connections, {} s each", options.connections, options.seconds);
    for round in 0..options.rounds {
        let first = round as u64 * 1_000_000_000;
        let cost = |seconds: f64, rate: f64| seconds / rate / options.seconds * 1e6;
        let own = cpu("self");
        let bare = raw(&dir.path().join("raw.db"), Columns::Bare, &options, first);
        let raw_cost = cost(cpu("self") - own, bare);
        let own = cpu("self");
        let rows = raw(&dir.path().join("rows.db"), Columns::Stored, &options, first);
        let rows_cost = cost(cpu("self") - own, rows);
        let own = cpu("self");
        let socket = over_socket(&dir.path().join("socket.db"), &options, first);
        let socket_cost = cost(cpu("self") - own, socket);
        let (own, theirs) = (cpu("self"), cpu(&server.0.id().to_string()));
        let before = counts(server.1);
        let serve = post_all(&options, first, &clients);
        let serve_cost = cost(cpu(&server.0.id().to_string()) - theirs, serve);
        let client_cost = cost(cpu("self") - own, serve);
        let stored = counts(server.1);
        let (events, commits) = (stored.1 - before.1, stored.0 - before.0);
        let together = events / commits.max(1.0);
        println!(
            "CPU per event: raw {raw_cost:.0} µs; rows {rows_cost:.0} µs; socket {socket_cost:.0} µs with its clients; \
             serve {serve_cost:.0} µs, its clients {client_cost:.0} µs"
        );
        println!(
            "raw {bare:>8.0}/s   rows {rows:>8.0}/s   socket {socket:>8.0}/s   serve {serve:>8.0}/s: {:.2} of raw, {:.2} of \
             rows, {:.2} of socket   {together:.1} events per commit",
            serve / bare,
            serve / rows,
            serve / socket
        );
        (raw_best, serve_best) = (raw_best.max(bare), serve_best.max(serve));
        ratios.push(serve / bare);
        ratios_of_rows.push(serve / rows);
    }
    let [median, of_rows] = [ratios, ratios_of_rows].map(|mut ratios| {
        ratios.sort_by(f64::total_cmp);
        ratios[ratios.len() / 2]
    });
    let verdict = if median >= BUDGET { "within" } else { "MISSED" };
    println!(
        "best: raw {raw_best:.0}/s, serve {serve_best:.0}/s; median ratio {median:.2} (budget ≥ {BUDGET}: {verdict}), to the same \
         rows {of_rows:.2}"
    );
}
