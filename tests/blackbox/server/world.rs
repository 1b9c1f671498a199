//! A home of its own, a server in it, and a client that sends exactly what it is told.

use rusqlite::Connection;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub const BIN: &str = env!("CARGO_BIN_EXE_headspace");

pub struct Home(tempfile::TempDir);

impl Home {
    pub fn new() -> Home {
        Home(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn state(&self) -> PathBuf {
        self.path().join("state/headspace")
    }

    pub fn database(&self) -> PathBuf {
        self.state().join("headspace.db")
    }

    pub fn configure(&self, config: &Value) {
        let dir = self.path().join("config/headspace");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("config.jsonc"), config.to_string()).unwrap();
    }

    pub fn command(&self, program: &str, args: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(args)
            .env_clear()
            .env("HOME", self.path())
            .env("XDG_STATE_HOME", self.path().join("state"))
            .env("XDG_CONFIG_HOME", self.path().join("config"))
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(BIN, args).output().unwrap()
    }

    /// A server on a port of its own choice.
    pub fn serve(&self) -> Server {
        Server::start(self.command(BIN, &["serve", "--port", "0"]))
    }
}

pub struct Server {
    child: Child,
    pub port: u16,
    log: std::sync::Arc<std::sync::Mutex<String>>,
}

impl Server {
    pub fn start(mut command: Command) -> Server {
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let log = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
        let port = loop {
            let line = lines.next().unwrap_or_else(|| panic!("no server: {}", log.lock().unwrap())).unwrap();
            log.lock().unwrap().push_str(&format!("{line}\n"));
            if let Some((_, address)) = line.split_once("listening on http://") {
                break address.rsplit(':').next().unwrap().parse().unwrap();
            }
        };
        let written = log.clone();
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                written.lock().unwrap().push_str(&format!("{line}\n"));
            }
        });
        Server { child, port, log }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        stream
    }

    /// Sends these bytes and reads one answer.
    pub fn raw(&self, bytes: &[u8]) -> Option<Answer> {
        let mut stream = self.connect();
        stream.write_all(bytes).ok()?;
        Answer::read(&mut stream)
    }

    pub fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&[u8]>) -> Answer {
        let text = request(self.port, method, path, headers, body);
        self.raw(&text).unwrap_or_else(|| panic!("no answer to {method} {path}: {}", self.log()))
    }

    pub fn get(&self, path: &str) -> Value {
        let answer = self.request("GET", path, &[], None);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.request("POST", path, &[], Some(body.to_string().as_bytes()))
    }

    /// An event that must be taken.
    pub fn hook(&self, slug: &str, body: Value) -> Value {
        let answer = self.post(&format!("/hook/{slug}"), &body);
        assert_eq!(answer.status, 200, "{slug}: {}", answer.text());
        answer.json()
    }

    pub fn stop(mut self) {
        // SAFETY: the child is ours and has not been waited for.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGTERM) };
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {}", self.log());
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn request(
    port: u16,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&[u8]>,
) -> Vec<u8> {
    let mut lines = vec![format!("{method} {path} HTTP/1.1"), "Connection: close".into()];
    let has = |name: &str| headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
    if !has("host") {
        lines.push(format!("Host: 127.0.0.1:{port}"));
    }
    if let Some(body) = body {
        if !has("content-type") {
            lines.push("Content-Type: application/json".into());
        }
        if !has("content-length") && !has("transfer-encoding") {
            lines.push(format!("Content-Length: {}", body.len()));
        }
    }
    lines.extend(
        headers.iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| format!("{name}: {value}")),
    );
    let mut bytes = format!("{}\r\n\r\n", lines.join("\r\n")).into_bytes();
    bytes.extend_from_slice(body.unwrap_or_default());
    bytes
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn read(stream: &mut TcpStream) -> Option<Answer> {
        let mut bytes = Vec::new();
        let mut piece = [0; 8192];
        loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
                let said =
                    |line: &str| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok();
                // What has not changed has no body, and no length either.
                let length = if head.contains(" 304 ") { Some(0) } else { head.lines().find_map(said) };
                if let Some(length) = length.filter(|length: &usize| bytes.len() >= end + 4 + length) {
                    let status = head.split(' ').nth(1)?.parse().ok()?;
                    return Some(Answer { status, head, body: bytes[end + 4..end + 4 + length].to_vec() });
                }
            }
            match stream.read(&mut piece) {
                Ok(0) | Err(_) => return None,
                Ok(count) => bytes.extend_from_slice(&piece[..count]),
            }
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (given, value) = line.split_once(':')?;
            given.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.text()))
    }
}

/// An event of a session, with an id of its own.
pub fn event(session: &str, fields: Value) -> Value {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut body = json!({
        "session_id": session, "cwd": format!("/somewhere/{session}"),
        "delivery_id": format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)),
    });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    body
}

/// Looks until it holds.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(90);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// As another user of the machine: sends `bytes` through bash and returns the first line of the answer.
/// `None` where we cannot become one.
pub fn as_another_user(port: u16, bytes: &[u8], wait: bool) -> Option<String> {
    // SAFETY: geteuid has no arguments and cannot fail.
    if unsafe { libc::geteuid() } != 0 || !Path::new("/bin/bash").exists() {
        return None;
    }
    let read = if wait { "head -n 1 <&3" } else { ":" };
    let mut child = Command::new("/bin/bash")
        .args(["-c", &format!("exec 3<>/dev/tcp/127.0.0.1/{port}; cat >&3; {read}")])
        .uid(65534)
        .gid(65534)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(bytes).ok()?;
    let output = child.wait_with_output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

pub const TABLES: [&str; 12] = [
    "events",
    "events_by_agent",
    "events_by_name",
    "agents",
    "sessions",
    "commands",
    "turns",
    "interactions",
    "subagents",
    "transitions",
    "changes",
    "days",
];

pub type Tables = BTreeMap<&'static str, Vec<String>>;

/// Every row of every table, but for the columns in `without`.
pub fn everything(path: &Path, without: &[&str]) -> Tables {
    let db = Connection::open(path).unwrap();
    let rows = |table: &str| {
        let mut query = db.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let names: Vec<String> = query.column_names().map(str::to_owned).collect();
        let compared: Vec<usize> =
            (0..names.len()).filter(|i| !without.contains(&names[*i].as_str())).collect();
        let text = |row: &rusqlite::Row| {
            compared.iter().map(|i| format!("{}={:?} ", names[*i], row.get_ref_unwrap(*i))).collect()
        };
        let mut rows: Vec<String> =
            query.query_map([], |row| Ok(text(row))).unwrap().map(Result::unwrap).collect();
        rows.sort();
        rows
    };
    TABLES.iter().map(|table| (*table, rows(table))).collect()
}
