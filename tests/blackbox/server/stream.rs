//! The stream of changes.

use headspace_test_support::{Home, Response, Server, event, wait_for};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::Duration;

pub struct Stream(BufReader<TcpStream>);

#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    pub id: Option<i64>,
    pub kind: String,
    pub data: Value,
}

impl Stream {
    pub fn open(server: &Server, query: &str, last: Option<i64>) -> Stream {
        let mut stream = server.connect();
        let last = last.map_or_else(String::new, |id| format!("Last-Event-ID: {id}\r\n"));
        let head = format!("GET /api/events/stream?{query} HTTP/1.1\r\nHost: localhost\r\n{last}\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut stream = Stream(BufReader::new(stream));
        // The first comment says that we are connected, and that nothing is missed from here on.
        while !stream.line().unwrap().starts_with(": connected") {}
        stream
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        (self.0.read_line(&mut line).ok()? > 0).then(|| line.trim_end().to_owned())
    }

    /// The next event of the stream; the sizes of HTTP's chunks are skipped like everything unknown.
    pub fn next(&mut self) -> Option<Told> {
        let (mut id, mut kind) = (None, String::new());
        loop {
            let line = self.line()?;
            match line.split_once(": ") {
                Some(("id", value)) => id = value.parse().ok(),
                Some(("event", value)) => kind = value.to_owned(),
                Some(("data", value)) => {
                    return Some(Told { id, kind, data: serde_json::from_str(value).unwrap() });
                }
                _ => {}
            }
        }
    }
}

#[test]
fn missed_changes_are_sent_once_after_a_restart() {
    let home = Home::new();
    let server = home.serve();
    let mut stream = Stream::open(&server, "types=turn_created", None);
    server.hook("user-prompt-submit", event("s", json!({"prompt": "one"})));
    let seen = stream.next().unwrap();
    assert_eq!((seen.kind.as_str(), &seen.data["text"]), ("turn_created", &json!("one")));
    server.hook("stop", event("s", json!({"last_assistant_message": "First is done."})));
    server.stop();
    let server = home.serve();
    server.hook("user-prompt-submit", event("s", json!({"prompt": "two"})));
    let mut stream = Stream::open(&server, "types=turn_created", seen.id);
    server.hook("stop", event("s", json!({"last_assistant_message": "Second is done."})));
    let mut texts = Vec::new();
    let mut last = seen.id.unwrap();
    for _ in 0..3 {
        let told = stream.next().unwrap();
        assert!(told.id.unwrap() > last, "{told:?}");
        last = told.id.unwrap();
        assert!(told.data["project_id"].is_string() && told.data["command_id"].is_number(), "{told:?}");
        texts.push(told.data["text"].as_str().unwrap().to_owned());
    }
    assert_eq!(texts, ["First is done.", "two", "Second is done."]);
}

#[test]
fn an_agents_updates_are_replayed_as_its_current_state() {
    let home = Home::new();
    let server = home.serve();
    for prompt in ["one", "two", "three"] {
        server.hook("user-prompt-submit", event("s", json!({ "prompt": prompt })));
    }
    server.hook("session-start", event("other", json!({"source": "startup"})));
    let mut stream = Stream::open(&server, "types=agent_updated", Some(0));
    let first = stream.next().unwrap();
    let second = stream.next().unwrap();
    assert_eq!((&first.data["session_id"], &first.data["turn_count"]), (&json!("s"), &json!(3)));
    assert_eq!(second.data["session_id"], "other");
}

#[test]
fn a_number_from_another_database_replays_everything() {
    let home = Home::new();
    let server = home.serve();
    server.hook("user-prompt-submit", event("s", json!({"prompt": "one"})));
    let mut stream = Stream::open(&server, "types=turn_created", Some(1_000_000));
    assert_eq!(stream.next().unwrap().data["text"], "one");
}

#[test]
fn a_client_that_does_not_read_is_dropped_and_delays_nobody() {
    let home = Home::new();
    let server = home.serve();
    let stuck = Stream::open(&server, "", None);
    let small: libc::c_int = 4096;
    // SAFETY: the pointer and the length describe `small`; the socket is open.
    unsafe {
        let pointer = std::ptr::from_ref(&small).cast();
        libc::setsockopt(stuck.0.get_ref().as_raw_fd(), libc::SOL_SOCKET, libc::SO_RCVBUF, pointer, 4);
    }
    let dropped = || {
        let metrics = server.request("GET", "/metrics", &[], None).text();
        metrics.contains("headspace_stream_clients_dropped_total 1\n").then_some(())
    };
    let prompt = "x".repeat(12_000);
    let mut connection = server.connect();
    wait_for("the client to be dropped", || {
        for _ in 0..50 {
            let body = event("s", json!({ "prompt": prompt })).to_string();
            let bytes = format!(
                "POST /hook/user-prompt-submit HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            );
            connection.write_all(bytes.as_bytes()).unwrap();
            assert_eq!(Response::read(&mut connection).unwrap().status, 200);
        }
        dropped()
    });
}

#[test]
fn changes_of_the_hook_receiver_are_sent() {
    let home = Home::new();
    home.configure(json!({"reconcile": {"fallback_timeout": 5}}));
    let server = home.serve();
    let mut stream = Stream::open(&server, "types=hook_status", None);
    server.hook("stop", event("s", json!({})));
    let mut modes = Vec::new();
    while modes.last() != Some(&"polling_fallback".to_owned()) || modes.len() < 2 {
        let told = stream.next().unwrap();
        assert_eq!((told.kind.as_str(), told.id), ("hook_status", None));
        let mode = told.data["mode"].as_str().unwrap().to_owned();
        if modes.last() != Some(&mode) {
            modes.push(mode);
        }
    }
    assert!(modes.contains(&"hooks_active".to_owned()), "{modes:?}");
}

#[test]
fn a_headless_question_becomes_attention_as_time_passes() {
    let home = Home::new();
    let server = home.serve();
    let headless = json!({"entrypoint": "sdk-cli", "prompt": "go"});
    let agent = server.hook("user-prompt-submit", event("s", headless))["agent_id"].clone();
    let mut stream = Stream::open(&server, &format!("types=agent_updated&agent_id={agent}"), None);
    let ask = json!({"entrypoint": "sdk-cli", "tool_name": "Bash", "tool_input": {"command": "ls"}});
    assert_ne!(server.hook("permission-request", event("s", ask))["status_now"], "attention");
    while stream.next().unwrap().data["status"] != "attention" {}
}

#[test]
fn streams_end_when_the_server_stops() {
    let home = Home::new();
    let server = home.serve();
    // Changes of the receiver can arrive at any time, so they are left out.
    let mut stream = Stream::open(&server, "types=turn_created", None);
    stream.0.get_ref().set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    server.stop();
    assert!(stream.next().is_none());
}
