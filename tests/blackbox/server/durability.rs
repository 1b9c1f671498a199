//! Acked means committed, whatever happens next.

use super::tables::everything;
use headspace_test_support::{Home, Response, Server, binary, event, request, wait_until};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Every stored event's delivery id.
fn stored(home: &Home) -> Vec<String> {
    let db = rusqlite::Connection::open(home.database()).unwrap();
    let mut query =
        db.prepare("SELECT delivery_id FROM events WHERE delivery_id IS NOT NULL ORDER BY id").unwrap();
    query.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

/// Sends events until `stop`, and collects the acknowledged ones.
fn load(server: &Server, socket: &Path, acked: &Mutex<Vec<String>>, stop: &AtomicBool, worker: usize) {
    let steps = ["user-prompt-submit", "pre-tool-use", "post-tool-use", "stop"];
    for n in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let fields = json!({"prompt": format!("{n}"), "tool_name": "Read", "tool_use_id": format!("t{}", n / 4),
            "last_assistant_message": "Done."});
        let body = event(&format!("session-{worker}"), fields);
        let (path, body_text) = (format!("/hook/{}", steps[n % 4]), body.to_string());
        // Every other one as a hook does it, through the socket.
        let answered = if worker.is_multiple_of(2) {
            let head = format!(
                "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
                 content-length: {}\r\nconnection: close\r\n\r\n",
                body_text.len()
            );
            let Ok(mut stream) = UnixStream::connect(socket) else { return };
            let mut answer = String::new();
            stream.write_all((head + &body_text).as_bytes()).is_ok()
                && stream.read_to_string(&mut answer).is_ok()
                && answer.starts_with("HTTP/1.1 200")
        } else {
            let bytes = request(server.port, "POST", &path, &[], Some(body_text.as_bytes()));
            let Ok(mut stream) = TcpStream::connect(("127.0.0.1", server.port)) else { return };
            stream.write_all(&bytes).is_ok()
                && Response::read(&mut stream).is_some_and(|answer| answer.status == 200)
        };
        if answered {
            acked.lock().unwrap().push(body["delivery_id"].as_str().unwrap().to_owned());
        }
    }
}

fn agents(server: &Server) -> Vec<Value> {
    let mut agents = server.get("/api/agents?all=1")["agents"].as_array().unwrap().clone();
    agents.sort_by_key(|agent| agent["id"].as_i64());
    agents
}

#[test]
fn a_server_killed_under_load_loses_nothing_that_was_acknowledged() {
    killed_under_load(&Home::new());
}

#[test]
fn a_server_killed_under_load_with_power_loses_nothing_either() {
    let home = Home::new();
    home.configure(json!({"durability": "power"}));
    killed_under_load(&home);
}

fn killed_under_load(home: &Home) {
    let acked = Mutex::new(Vec::new());
    // `tests/run --soak` asks for more.
    let kills = std::env::var("HEADSPACE_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(5u64);
    let socket = home.state().join("headspace.sock");
    for round in 0..kills {
        let server = home.serve();
        wait_until("the socket", || UnixStream::connect(&socket).is_ok());
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for worker in 0..8 {
                let (server, socket, acked, stop) = (&server, &socket, &acked, &stop);
                scope.spawn(move || load(server, socket, acked, stop, worker));
            }
            let enough = acked.lock().unwrap().len() + 5 + 11 * (round as usize % 8);
            wait_until("events to be acknowledged", || acked.lock().unwrap().len() >= enough);
            // SAFETY: the server is ours; it has not been waited for.
            unsafe { libc::kill(server.pid() as i32, libc::SIGKILL) };
            stop.store(true, Ordering::Relaxed);
        });
        server.kill();
    }
    let (acked, stored) = (acked.into_inner().unwrap(), stored(home));
    let unique: HashSet<&String> = stored.iter().collect();
    assert_eq!(unique.len(), stored.len(), "an event is there twice");
    assert!(acked.len() > 20, "only {} events", acked.len());
    let lost: Vec<&String> = acked.iter().filter(|id| !unique.contains(id)).collect();
    assert!(lost.is_empty(), "{} of {} are lost", lost.len(), acked.len());
    println!(
        "{kills} kills: {} events acknowledged, {} stored, none lost or twice",
        acked.len(),
        stored.len()
    );

    let server = home.serve();
    let before = agents(&server);
    server.stop();
    let rebuilt = home.run(&["rebuild", "--json"]);
    assert!(rebuilt.status.success(), "{}", String::from_utf8_lossy(&rebuilt.stderr));
    let server = home.serve();
    assert_eq!(agents(&server), before, "what the events say is not what was shown");
}

#[test]
fn rebuild_restores_every_row() {
    let home = Home::new();
    let server = home.serve();
    let ask = json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "ls"}});
    server.hook("user-prompt-submit", event("s", json!({"prompt": "go"})));
    server.hook("permission-request", event("s", ask.clone()));
    server.hook("subagent-start", event("s", json!({"agent_id": "a1", "agent_type": "Explore"})));
    server.hook("post-tool-use", event("s", ask));
    server.hook("stop", event("s", json!({"last_assistant_message": "Which port should I use?"})));
    server.hook("session-end", event("s", json!({"reason": "prompt_input_exit"})));
    server.stop();
    // The sequence numbers of the stream continue.
    let dump = || everything(&home.database(), &["changed_seq"]);
    let before = dump();
    assert!(before.values().all(|rows| !rows.is_empty()), "{before:?}");
    assert!(home.run(&["rebuild"]).status.success());
    assert_eq!(dump(), before);
}

#[test]
fn rebuild_refuses_while_a_server_runs() {
    let home = Home::new();
    let server = home.serve();
    server.hook("stop", event("s", json!({})));
    let refused = home.run(&["rebuild"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1));
    assert!(said.contains(&format!("pid {}", server.pid())), "{said}");
}

#[test]
fn a_second_server_names_the_first_one() {
    let home = Home::new();
    let server = home.serve();
    let port = server.port.to_string();
    let elsewhere = Home::new();
    let same_port = elsewhere.run(&["serve", "--port", &port]);
    let said = String::from_utf8_lossy(&same_port.stderr).into_owned();
    assert!(
        said.contains(&format!("(pid {})", server.pid())) && said.contains(env!("CARGO_PKG_VERSION")),
        "{said}"
    );
    let same_store = home.run(&["serve", "--port", "0"]);
    let said = String::from_utf8_lossy(&same_store.stderr).into_owned();
    assert_eq!(same_store.status.code(), Some(1));
    assert!(said.contains(&format!("pid {}", server.pid())), "{said}");
}

#[test]
fn a_damaged_database_is_kept_and_what_is_readable_is_restored() {
    let home = Home::new();
    let server = home.serve();
    for n in 0..300 {
        server.hook(
            "user-prompt-submit",
            event("s", json!({"prompt": format!("{n} {}", "word ".repeat(200))})),
        );
    }
    server.stop();
    let mut bytes = std::fs::read(home.database()).unwrap();
    // Damages the events themselves: derived rows would be recomputed.
    let prompt = b"\"prompt\":\"150 ";
    let middle = bytes.windows(prompt.len()).position(|window| window == prompt).unwrap() / 4096 * 4096;
    bytes[middle..middle + 3 * 4096].fill(0xa5);
    std::fs::write(home.database(), &bytes).unwrap();

    let server = home.serve();
    assert!(server.log().contains("damaged") && server.log().contains("rebuild --from"), "{}", server.log());
    server.hook("user-prompt-submit", event("later", json!({"prompt": "after"})));
    server.stop();
    let aside = std::fs::read_dir(home.state()).unwrap().map(|entry| entry.unwrap().path());
    let aside = aside.into_iter().find(|path| path.to_string_lossy().contains(".damaged-")).unwrap();
    let kept = std::fs::read(&aside).unwrap();
    assert!(kept[middle..] == bytes[middle..], "the damaged database was changed");
    let rebuilt = home.run(&["rebuild", "--json", "--from", aside.to_str().unwrap()]);
    assert!(rebuilt.status.success(), "{}", String::from_utf8_lossy(&rebuilt.stderr));
    let told: Value = serde_json::from_slice(&rebuilt.stdout).unwrap();
    assert!(told["events"].as_u64().unwrap() > 100, "{told}");
    let server = home.serve();
    let sessions: Vec<Value> = agents(&server).iter().map(|agent| agent["session_id"].clone()).collect();
    assert_eq!(sessions, [json!("s"), json!("later")]);
}

#[test]
fn a_newer_database_is_refused_and_left_alone() {
    let home = Home::new();
    home.serve().stop();
    rusqlite::Connection::open(home.database()).unwrap().pragma_update(None, "user_version", 999).unwrap();
    let refused = home.run(&["serve", "--port", "0"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1));
    assert!(said.contains("newer headspace"), "{said}");
}

#[test]
fn a_full_disk_refuses_events_and_keeps_what_was_acknowledged() {
    let home = Home::new();
    // No file can grow beyond 1 MiB, which SQLite sees as a failing disk.
    let mut command = home
        .command_of("/bin/sh", &["-c", "trap '' XFSZ; ulimit -f 1024; exec \"$0\" serve --port 0", binary()]);
    command.env("PATH", "/usr/bin:/bin");
    let server = Server::start(command);
    let mut acked = Vec::new();
    let mut refused = 0;
    for _ in 0..1000 {
        let body = event("s", json!({"prompt": "x".repeat(10_000)}));
        let answer = server.post("/hook/user-prompt-submit", &body);
        match answer.status {
            200 => acked.push(body["delivery_id"].as_str().unwrap().to_owned()),
            503 => refused += 1,
            other => panic!("{other}: {}", answer.text()),
        }
        if refused > 3 {
            break;
        }
    }
    assert!(refused > 3 && !acked.is_empty(), "{refused} refused, {} taken", acked.len());
    assert_eq!(server.get("/hook/status")["events_received"], acked.len());
    server.kill();
    let server = home.serve();
    assert_eq!(server.get("/hook/status")["events_received"], acked.len());
    assert_eq!(stored(&home), acked);
}

/// Lets the process write files again.
#[cfg(target_os = "linux")]
fn make_room(server: &Server) {
    let unlimited = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the limit lives during the call; the process is ours.
    let failed =
        unsafe { libc::prlimit(server.pid() as i32, libc::RLIMIT_FSIZE, &unlimited, std::ptr::null_mut()) };
    assert_eq!(failed, 0);
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_that_can_write_nothing_shows_what_is_there_and_goes_on_when_it_can() {
    for killed in [false, true] {
        let home = Home::with_port(json!({}));
        let server = home.serve();
        server.hook("user-prompt-submit", event("s", json!({"prompt": "go"})));
        // One that ends in order leaves neither log nor index, so that the next needs room even to read.
        if killed {
            server.kill()
        } else {
            server.stop()
        }
        let script = "trap '' XFSZ; ulimit -S -f 0; exec \"$0\" serve";
        let server = Server::start(home.command_of("/bin/sh", &["-c", script, binary()]));
        let shown = agents(&server);
        assert_eq!(shown.len(), 1, "killed: {killed}");
        assert_eq!(shown[0]["session_id"], "s");
        assert_eq!(server.get("/api/events")["events"].as_array().unwrap().len(), 1, "killed: {killed}");
        let refused = server.post("/hook/stop", &event("s", json!({"last_assistant_message": "Done."})));
        assert_eq!(refused.status, 503, "{}", refused.text());
        let trouble = server.get("/hook/status")["store_trouble"].clone();
        assert!(trouble.is_string(), "killed: {killed}: {trouble}");
        assert!(home.ok(&["status"]).contains("cannot be stored"), "{}", home.ok(&["status"]));
        home.send("Stop", "s", home.path(), json!({"last_assistant_message": "Done."}));
        assert_eq!(home.spooled().len(), 1, "a hook keeps its event");
        make_room(&server);
        wait_until("the spooled event to be stored", || home.spooled().is_empty());
        assert_eq!(server.get("/hook/status")["store_trouble"], Value::Null);
        assert_eq!(agents(&server)[0]["state"], "idle", "killed: {killed}");
        server.stop();
        assert_eq!(stored(&home).len(), 2);
    }
}

/// The same without a database: as on a full disk, but for every user.
#[cfg(target_os = "linux")]
#[test]
fn a_first_server_that_can_write_nothing_makes_its_database_when_it_can() {
    let home = Home::with_port(json!({}));
    let script = "trap '' XFSZ; ulimit -S -f 0; exec \"$0\" serve";
    let server = Server::start(home.command_of("/bin/sh", &["-c", script, binary()]));
    assert_eq!(agents(&server), Vec::<Value>::new());
    assert_eq!(server.get("/api/events")["events"], json!([]));
    home.send("UserPromptSubmit", "s", home.path(), json!({"prompt": "go"}));
    assert_eq!(home.spooled().len(), 1, "a hook keeps its event");
    assert!(home.ok(&["status"]).contains("cannot be stored"), "{}", home.ok(&["status"]));
    make_room(&server);
    wait_until("the spooled event to be stored", || home.spooled().is_empty());
    assert_eq!(agents(&server)[0]["session_id"], "s");
    server.stop();
    assert_eq!(stored(&home).len(), 1);
}

#[test]
fn a_server_that_stops_finishes_its_requests() {
    let home = Home::new();
    let server = home.serve();
    let socket = home.state().join("headspace.sock");
    let acked = Mutex::new(Vec::new());
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let (server, socket, acked, stop) = (&server, &socket, &acked, &stop);
            scope.spawn(move || load(server, socket, acked, stop, worker));
        }
        wait_until("events to be acknowledged", || acked.lock().unwrap().len() >= 20);
        Command::new("kill").args(["-TERM", &server.pid().to_string()]).status().unwrap();
        wait_until("the port to be closed", || TcpStream::connect(("127.0.0.1", server.port)).is_err());
        stop.store(true, Ordering::Relaxed);
    });
    server.stop();
    assert!(!home.state().join("headspace.db-wal").exists(), "not checkpointed");
    let stored: HashSet<String> = stored(&home).into_iter().collect();
    assert!(acked.into_inner().unwrap().iter().all(|id| stored.contains(id)));
}
