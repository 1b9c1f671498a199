//! The server's own socket, strangers on the port, and what becomes of a database that is taken away.

use headspace_test_support::{
    Home, NOBODY, Server, each_row, event, free_port, is_root, skip, wait_for, wait_until,
};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A home whose hooks have to find the server by themselves.
fn home() -> Home {
    Home::with_port(json!({}))
}

fn stop(home: &Home, session: &str) {
    home.send("Stop", session, home.path(), json!({"last_assistant_message": "Done."}));
}

fn sessions(server: &Server) -> Vec<String> {
    let agents = server.get("/api/agents?all=1");
    agents["agents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| agent["session_id"].as_str().unwrap().to_owned())
        .collect()
}

fn has(server: &Server, session: &str) -> bool {
    sessions(server).iter().any(|known| known == session)
}

/// Another user's program on this port, which answers everybody as our server would and keeps what it gets.
struct Impostor(Child);

impl Impostor {
    fn listen(port: u16) -> Option<Impostor> {
        if !is_root() {
            return None;
        }
        let script = format!(
            "import socket,sys\n\
             s=socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n\
             s.bind(('127.0.0.1',{port})); s.listen(8); print('ready', flush=True)\n\
             while True:\n\
             \x20 c,_=s.accept(); c.settimeout(1)\n\
             \x20 try: got=c.recv(65536)\n\
             \x20 except OSError: got=b''\n\
             \x20 if got: print('got', got, flush=True)\n\
             \x20 b=b'{{\"status\":\"ok\",\"event_id\":7,\"name\":\"headspace\",\"version\":\"9\",\"pid\":1}}'\n\
             \x20 c.sendall(b'HTTP/1.1 200 OK\\r\\ncontent-length: %d\\r\\n\\r\\n' % len(b) + b); c.close()\n"
        );
        let mut child = Command::new("python3")
            .args(["-c", &script])
            .uid(NOBODY)
            .gid(NOBODY)
            .current_dir("/")
            .stdout(Stdio::piped())
            .spawn()
            .ok()?;
        let mut ready = [0; 6];
        child.stdout.as_mut()?.read_exact(&mut ready).ok()?;
        Some(Impostor(child))
    }

    /// What it was sent.
    fn end(mut self) -> String {
        self.0.kill().unwrap();
        let mut got = String::new();
        self.0.stdout.take().unwrap().read_to_string(&mut got).unwrap();
        got.trim().to_owned()
    }
}

impl Drop for Impostor {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn hooks_and_commands_use_the_socket_and_only_the_user_can() {
    let home = home();
    let server = home.serve();
    let socket = home.state().join("headspace.sock");
    let meta = wait_for("the socket", || std::fs::symlink_metadata(&socket).ok());
    assert!(meta.file_type().is_socket());
    assert_eq!(meta.permissions().mode() & 0o777, 0o600);
    // On the port there is nobody any more, as far as the configuration knows.
    home.configure(json!({"port": free_port(), "notifications": {"desktop": false}}));
    stop(&home, "by-socket");
    assert!(has(&server, "by-socket") && home.spooled().is_empty());
    assert!(home.ok(&["status"]).contains("hooks"), "the command line finds it, too");
    server.stop();
    assert!(!socket.exists(), "a server that ends takes its socket away");
    stop(&home, "later");
    assert_eq!(home.spooled().len(), 1);
}

/// How many hooks the thread that takes the socket's connections has answered itself.
fn answered_directly(server: &Server) -> u64 {
    let metrics = server.request("GET", "/metrics", &[], None).text();
    let line = metrics.lines().find(|line| line.starts_with("headspace_hooks_answered_directly_total "));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).expect("the metric")
}

/// What the socket answers to these pieces, sent one after the other; `None`: it hangs up without a word.
fn by_socket(home: &Home, pieces: &[&[u8]]) -> Option<String> {
    let mut stream = UnixStream::connect(home.state().join("headspace.sock")).unwrap();
    for (number, piece) in pieces.iter().enumerate() {
        if number > 0 {
            // Longer than the server waits for the rest of a hook's request.
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
        stream.write_all(piece).unwrap();
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    (!answer.is_empty()).then_some(answer)
}

fn hook_request(slug: &str, body: &Value) -> String {
    let body = body.to_string();
    format!(
        "POST /hook/{slug} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn a_plain_event_is_answered_where_it_arrives_and_the_rest_takes_the_ordinary_way() {
    let home = home();
    let server = home.serve();
    let socket = home.state().join("headspace.sock");
    wait_until("the socket", || socket.exists());
    let tool = json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "ls"}});
    // One that finds the writer at work, or is held up on its way, takes the ordinary way.
    let mut sent = 0;
    wait_until("a hook to be answered directly", || {
        sent += 1;
        home.send("PreToolUse", "plain", home.path(), tool.clone());
        answered_directly(&server) > 0
    });
    let before = answered_directly(&server);
    // Its transcript is read first.
    home.send("SessionEnd", "plain", home.path(), json!({"reason": "clear"}));
    assert_eq!(answered_directly(&server), before);
    let events = server.get("/api/events?session=plain&limit=1000");
    assert_eq!(events["events"].as_array().unwrap().len(), sent + 1, "{events}");
    assert!(server.get("/hook/status")["notify_ms"]["p50"].is_number());

    // In pieces, without its end, with more behind it, or in another form: the same answers.
    let mut body = tool;
    body["session_id"] = json!("by-hand");
    let whole = hook_request("pre-tool-use", &body);
    let (head, rest) = whole.split_at(60);
    let other_form = whole.replace("host: localhost", "Host: 127.0.0.1:5055\r\nUser-Agent: x");
    let with_token = whole.replace("connection:", "authorization: Bearer x\r\nconnection:");
    for (what, pieces) in [
        ("whole", vec![whole.as_bytes()]),
        ("in pieces", vec![head.as_bytes(), rest.as_bytes()]),
        ("another form", vec![other_form.as_bytes()]),
        ("more headers", vec![with_token.as_bytes()]),
    ] {
        let answer = by_socket(&home, &pieces).expect(what);
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{what}: {answer}");
        assert!(answer.contains(r#""status":"ok""#) && answer.contains(r#""agent_id""#), "{what}: {answer}");
    }
    assert!(
        answered_directly(&server) <= before + 2,
        "two of the four are whole at once and without more headers"
    );
    let before = answered_directly(&server);
    for (what, request, status) in [
        ("no session", hook_request("stop", &json!({})), "400"),
        ("no JSON", hook_request("stop", &json!("text")), "400"),
        (
            "another site",
            whole.replace("\r\nconnection", "\r\norigin: http://evil.example\r\nconnection"),
            "403",
        ),
        ("another host", whole.replace("localhost", "evil.example"), "403"),
    ] {
        let answer = by_socket(&home, &[request.as_bytes()]).expect(what);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{what}: {answer}");
    }
    assert_eq!(answered_directly(&server), before);
}

/// The next answer on a connection that stays open: its status line and its body.
fn next_answer(stream: &mut BufReader<UnixStream>) -> (String, String) {
    let (mut status, mut length) = (String::new(), 0);
    stream.read_line(&mut status).unwrap();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        if line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    (status.trim().to_owned(), String::from_utf8(body).unwrap())
}

#[test]
fn a_connection_that_stays_open_gets_its_answers_in_order_whoever_gives_them() {
    let home = home();
    let server = home.serve();
    let socket = home.state().join("headspace.sock");
    wait_until("the socket", || socket.exists());
    let stream = UnixStream::connect(&socket).unwrap();
    let mut writing = stream.try_clone().unwrap();
    let mut reading = BufReader::new(stream);
    let event = |session: &str| {
        let body = json!({"session_id": session, "tool_name": "Bash", "tool_use_id": "t", "tool_input": {}});
        hook_request("pre-tool-use", &body).replace("connection: close\r\n", "")
    };
    let before = answered_directly(&server);
    for number in 0..50 {
        writing.write_all(event(&format!("kept-{number}")).as_bytes()).unwrap();
        let (status, body) = next_answer(&mut reading);
        assert!(
            status.ends_with("200 OK") && body.contains(r#""is_new_agent":true"#),
            "{number}: {status} {body}"
        );
    }
    assert_eq!(answered_directly(&server), before + 50);
    // One that cannot be answered there, right behind one that can.
    let get = "GET /api/events?session=kept-50 HTTP/1.1\r\nhost: localhost\r\n\r\n";
    writing.write_all(event("kept-50").as_bytes()).unwrap();
    writing.write_all(get.as_bytes()).unwrap();
    let (_, first) = next_answer(&mut reading);
    assert!(first.contains("event_id"), "{first}");
    let (_, second) = next_answer(&mut reading);
    assert!(second.contains("kept-50"), "the event was there before the question: {second}");
    // From then on the ordinary way, and it is the same.
    writing.write_all(event("kept-51").as_bytes()).unwrap();
    assert!(next_answer(&mut reading).1.contains("event_id"));
    for session in ["kept-0", "kept-49", "kept-50", "kept-51"] {
        assert!(has(&server, session), "{session}");
    }
}

#[test]
fn connections_that_say_nothing_do_not_hold_up_a_hook() {
    let home = home();
    let server = home.serve();
    let socket = home.state().join("headspace.sock");
    wait_until("the socket", || socket.exists());
    let connect = |_| UnixStream::connect(&socket).unwrap();
    let idle: Vec<UnixStream> = (0..200).map(connect).collect();
    stop(&home, "among-the-silent");
    assert!(has(&server, "among-the-silent") && home.spooled().is_empty());
    drop(idle);
}

#[test]
fn a_socket_left_by_a_killed_server_is_replaced_and_a_foreign_file_is_not() {
    let home = home();
    let socket = home.state().join("headspace.sock");
    let server = home.serve();
    wait_until("the socket", || socket.exists());
    server.kill();
    assert!(UnixStream::connect(&socket).is_err() && socket.exists(), "a killed server leaves it");
    let server = home.serve();
    wait_until("a new socket", || UnixStream::connect(&socket).is_ok());
    stop(&home, "after-the-kill");
    assert!(has(&server, "after-the-kill"));
    server.stop();
    std::fs::write(&socket, "mine").unwrap();
    let server = home.serve();
    stop(&home, "by-port");
    wait_until("the reason in the log", || server.log().contains("something else is there"));
    assert!(has(&server, "by-port"), "hooks use the port then");
    assert_eq!(std::fs::read(&socket).unwrap(), b"mine");
    let findings: Value = serde_json::from_slice(&home.run(&["doctor", "--json"]).stdout).unwrap();
    assert!(findings.to_string().contains("hooks use the port"), "{findings}");
}

#[test]
fn a_path_that_is_too_long_for_a_socket_leaves_the_port() {
    let mut home = home();
    let long = home.at("d".repeat(120));
    home.set("XDG_STATE_HOME", &long);
    let server = home.serve();
    stop(&home, "far-away");
    assert!(has(&server, "far-away"));
    assert!(server.log().contains("hooks use the port"), "{}", server.log());
}

#[test]
fn another_users_program_on_the_port_gets_nothing() {
    let home = home();
    let Some(impostor) = Impostor::listen(home.port()) else {
        return skip("another user needs root and python3");
    };
    let url = format!("http://127.0.0.1:{}", home.port());
    stop(&home, "to-nobody");
    let mut named = home.command(&["notify"]);
    named.env("CLAUDE_HEADSPACE_URL", &url);
    headspace_test_support::run(named, json!({"session_id": "named", "hook_event_name": "Stop"}).to_string());
    // A listener of ours for IPv6 does not vouch for him: `::ffff:127.0.0.1` is an address of IPv4.
    let beside = format!(
        "import socket,time\n\
         s=socket.socket(socket.AF_INET6); s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)\n\
         s.bind(('::',{})); s.listen(8); print('ready', flush=True); time.sleep(600)\n",
        home.port()
    );
    let mut ours = Command::new("python3");
    ours.args(["-c", &beside]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut ours = Impostor(ours.spawn().unwrap());
    ours.0.stdout.as_mut().unwrap().read_exact(&mut [0; 6]).unwrap();
    for _ in 0..5 {
        let mut mapped = home.command(&["notify"]);
        mapped.env("CLAUDE_HEADSPACE_URL", format!("http://[::ffff:127.0.0.1]:{}", home.port()));
        headspace_test_support::run(
            mapped,
            json!({"session_id": "mapped", "hook_event_name": "Stop"}).to_string(),
        );
    }
    drop(ours);
    assert_eq!(home.spooled().len(), 7, "what he says does not count as an answer");
    let said = |args: &[&str]| {
        let output = home.run(args);
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    for args in [&["status"][..], &["doctor"], &["up"], &["serve"]] {
        assert!(said(args).contains("a program of the user nobody listens on"), "{args:?}: {}", said(args));
    }
    said(&["open", "--print"]);
    said(&["statusline"]);
    assert_eq!(impostor.end(), "", "not a byte");
}

#[test]
fn a_server_on_another_machine_gets_nothing_unless_it_is_named_with_its_token() {
    // An address for documentation: nobody has it.
    let mut home = Home::new();
    home.set("CLAUDE_HEADSPACE_URL", "http://192.0.2.1:5055");
    stop(&home, "s");
    assert_eq!(home.spooled().len(), 1);
}

#[test]
fn a_database_that_is_taken_away_is_noticed_before_the_next_answer() {
    let home = home();
    let server = home.serve();
    stop(&home, "before");
    for companion in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(home.state().join(format!("headspace.db{companion}")));
    }
    stop(&home, "after");
    assert!(home.spooled().is_empty());
    assert!(home.database().exists(), "there is a new one");
    wait_until("the reason in the log", || server.log().contains("was removed or replaced"));
    assert!(has(&server, "after"));
    server.kill();
    let server = home.serve();
    assert!(has(&server, "after"), "what was answered is there after a crash");
}

/// The sessions of the stored events.
fn kept(server: &Server) -> Vec<String> {
    let events = server.get("/api/events?limit=100");
    let sessions = events["events"].as_array().unwrap().iter();
    sessions.filter_map(|event| event["session_id"].as_str().map(str::to_owned)).collect()
}

/// What is written to a log that has no name any more, or to a database that others look for elsewhere, would be lost.
#[cfg(unix)]
#[test]
fn a_log_that_is_taken_away_is_noticed_before_the_next_answer() {
    type Deed = fn(&Path);
    let deeds: [(&str, Deed, bool, &str); 5] = [
        (
            "the log removed",
            |db| std::fs::remove_file(db.with_extension("db-wal")).unwrap(),
            true,
            "was removed or replaced",
        ),
        (
            "the log emptied",
            |db| drop(std::fs::File::create(db.with_extension("db-wal")).unwrap()),
            false,
            "was emptied",
        ),
        (
            "the database moved, with a link to it",
            |db| {
                std::fs::rename(db, db.with_extension("moved")).unwrap();
                std::os::unix::fs::symlink(db.with_extension("moved"), db).unwrap();
            },
            true,
            "was removed or replaced",
        ),
        (
            "another database in its place",
            |db| {
                let other = db.with_extension("other");
                std::fs::copy(db, &other).unwrap();
                std::fs::rename(&other, db).unwrap();
            },
            false,
            "was removed or replaced",
        ),
        ("the database emptied", |db| drop(std::fs::File::create(db).unwrap()), false, "was emptied"),
    ];
    each_row(
        deeds,
        |(what, ..)| (*what).to_owned(),
        |(_, deed, keeps_all, says)| {
            let home = home();
            let server = home.serve();
            stop(&home, "before");
            deed(&home.database());
            for session in ["after", "later"] {
                stop(&home, session);
            }
            assert!(home.spooled().is_empty(), "both were acknowledged");
            wait_until("the reason in the log", || server.log().contains(says));
            let expected: &[&str] =
                if keeps_all { &["before", "after", "later"] } else { &["after", "later"] };
            assert_eq!(kept(&server), expected);
            server.kill();
            assert_eq!(kept(&home.serve()), expected, "after a crash");
        },
    );
}

/// Beyond the size that the log keeps, SQLite goes on where the log ended: the file is as long as before, with a hole.
#[cfg(unix)]
#[test]
fn a_long_log_that_is_emptied_is_noticed_before_the_next_answer() {
    let home = home();
    let server = home.serve();
    let log = home.database().with_extension("db-wal");
    let reader = rusqlite::Connection::open(home.database()).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let count = "SELECT count(*) FROM events";
    reader.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap();
    let long = "x".repeat(16_000);
    while std::fs::metadata(&log).unwrap().len() < 20 << 20 {
        server.hook("user-prompt-submit", event("before", json!({ "prompt": long })));
    }
    // Before the reader ends: then the log is copied at once.
    std::fs::File::options().write(true).open(&log).unwrap().set_len(0).unwrap();
    // Whoever copies already is done.
    std::thread::sleep(Duration::from_millis(300));
    drop(reader);
    let expected = ["after", "later", "last"];
    for session in expected {
        stop(&home, session);
    }
    assert!(home.spooled().is_empty(), "all were acknowledged");
    wait_until("the reason in the log", || server.log().contains("was emptied"));
    server.kill();
    let kept = kept(&home.serve());
    assert!(kept.ends_with(&expected.map(str::to_owned)), "after a crash: {kept:?}");
}

#[test]
fn a_state_directory_that_is_taken_away_is_made_again() {
    let home = home();
    let server = home.serve();
    stop(&home, "before");
    std::fs::rename(home.state(), home.at("away")).unwrap();
    stop(&home, "after");
    wait_until("the event", || has(&server, "after"));
    assert!(home.database().exists());
    let socket = home.state().join("headspace.sock");
    wait_until("the socket is back", || Path::new(&socket).exists());
    stop(&home, "by-socket");
    assert!(has(&server, "by-socket"));
    // A second server must not begin beside it.
    let second = home.run(&["serve", "--port", "0"]);
    assert!(!second.status.success(), "{second:?}");
}

#[test]
fn power_makes_every_answer_wait_for_the_disk_and_crash_does_not() {
    if Command::new("strace").arg("-V").output().is_err() {
        return skip("strace is not installed");
    }
    for (durability, syncs_first) in [("crash", false), ("power", true)] {
        let home = Home::with_port(json!({"durability": durability}));
        let server = home.serve();
        stop(&home, "warm");
        let trace = home.at("trace");
        let mut strace = Command::new("strace")
            .args(["-f", "-e", "trace=fdatasync,fsync,write,writev,sendto", "-o"])
            .arg(&trace)
            .args(["-p", &server.pid().to_string()])
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // It says so when it is attached to every thread.
        let mut said = BufReader::new(strace.stderr.take().unwrap()).lines();
        assert!(said.any(|line| line.unwrap().contains("attached")));
        let read = || std::fs::read_to_string(&trace).unwrap_or_default();
        let mut tries = 0;
        // On a busy machine a hook may be too late for an answer, and an answer later than the sync that should follow it:
        // then another event shows it, when everything that belongs to the first is over.
        wait_until("a sync", || {
            let (from, begun) = (read().len(), Instant::now());
            tries += 1;
            stop(&home, &format!("traced-{tries}"));
            while begun.elapsed() < Duration::from_secs(10) {
                let traced = read().split_off(from);
                // The sync of what came before may still be on its way; one that follows is this event's.
                let synced = traced.find("HTTP/1.1 200").is_some_and(|answer| match syncs_first {
                    true => traced[..answer].contains("sync("),
                    false => traced[answer..].contains("sync("),
                });
                if synced {
                    return true;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            false
        });
        strace.kill().unwrap();
        strace.wait().unwrap();
    }
}
