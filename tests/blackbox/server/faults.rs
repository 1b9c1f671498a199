//! Faults of the machine: read-only directories, locks, truncated files, clocks, limits.

use headspace_platform::clock::WallClock;
use headspace_test_support::{
    Home, NOBODY, Response, Server, binary, copy_program, each_row, event, is_root, request, run, skip,
    wait_for, wait_until,
};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// On a busy machine a hook starts late, but whatever it could wait for lasts longer than this.
const NOT_HELD_UP: Duration = Duration::from_secs(10);

/// Calls the hook with this event as the client would.
fn notify(home: &Home, port: u16, event: &Value) {
    let mut command = home.command(&["notify"]);
    command.env("CLAUDE_HEADSPACE_URL", format!("http://127.0.0.1:{port}"));
    silently(command, event);
}

/// The hook succeeds, says nothing, and does not outlast its own limit of two seconds by far.
fn silently(command: Command, event: &Value) {
    let start = Instant::now();
    let said = run(command, event.to_string());
    assert_eq!(said.status.code(), Some(0));
    assert!(said.stdout.is_empty() && said.stderr.is_empty(), "{said:?}");
    assert!(start.elapsed() < NOT_HELD_UP, "{:?}", start.elapsed());
}

fn prompt(session: &str, text: &str) -> Value {
    json!({"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": "/p", "prompt": text})
}

fn prompts(home: &Home) -> Vec<String> {
    let db = rusqlite::Connection::open(home.database()).unwrap();
    let mut query = db
        .prepare("SELECT json_extract(body, '$.prompt') FROM events WHERE source = 'hook' ORDER BY at")
        .unwrap();
    query.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

/// Three hundred long prompts: a database of many pages.
fn fill(home: &Home) {
    let server = home.serve();
    for n in 0..300 {
        let text = format!("{n} {}", "word ".repeat(200));
        server.hook("user-prompt-submit", event("s", json!({ "prompt": text })));
    }
    server.stop();
}

fn spooled(server: &Server) -> i64 {
    server.get("/hook/status")["spool_pending"].as_i64().unwrap()
}

#[test]
fn a_locked_database_delays_nobody_and_loses_nothing() {
    let home = Home::new();
    let server = home.serve();
    notify(&home, server.port, &prompt("s", "before"));
    let db = rusqlite::Connection::open(home.database()).unwrap();
    db.execute_batch("BEGIN EXCLUSIVE").unwrap();
    for n in 0..3 {
        notify(&home, server.port, &prompt("s", &format!("locked {n}")));
    }
    // Readers are not kept waiting either: each of the two would wait 2 s for the writer.
    let start = Instant::now();
    assert_eq!(server.get("/hook/status")["events_received"], 1);
    assert_eq!(server.get("/api/agents")["agents"][0]["current_command"]["instruction"], "before");
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
    // The lock outlasts the server's own patience: the event is refused, not lost.
    let answer = server.post("/hook/user-prompt-submit", &event("s", json!({"prompt": "refused"})));
    assert_eq!(answer.status, 503, "{}", answer.text());
    db.execute_batch("ROLLBACK").unwrap();
    drop(db);
    notify(&home, server.port, &prompt("s", "after"));
    wait_until("the spool to be drained", || spooled(&server) == 0);
    server.stop();
    assert_eq!(prompts(&home), ["before", "locked 0", "locked 1", "locked 2", "after"]);
}

/// After a failed sync the system may drop the data and report success the next time, so it has to be written again.
#[test]
fn events_that_the_disk_did_not_take_are_not_acknowledged() {
    let home = Home::new();
    home.configure(json!({"durability": "power"}));
    let server = home.serve();
    server.hook("user-prompt-submit", event("s", json!({"prompt": "before"})));
    let fails =
        ["-f", "-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO:when=1..4", "-o", "/dev/null"];
    let tracer = Command::new("strace")
        .args(fails)
        .args(["-p", &server.pid().to_string()])
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut tracer) = tracer else { return skip("strace is not installed") };
    let mut said = BufReader::new(tracer.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().contains("attached")));
    let stored = |prompt: &str| {
        let body = event("s", json!({"prompt": prompt, "delivery_id": prompt}));
        let refused = (0..20).take_while(|_| server.post("/hook/user-prompt-submit", &body).status == 503);
        (refused.count(), server.hook("user-prompt-submit", body))
    };
    let (refused, answer) = stored("while");
    assert!((1..20).contains(&refused), "{refused}: {answer}");
    let answered = answer["event_id"].as_i64().unwrap();
    assert_eq!(stored("after").0, 0);
    assert_eq!(server.get("/api/agents")["agents"][0]["current_command"]["instruction"], "after");
    wait_until("the error in the log", || server.log().contains("could not store events: disk I/O error"));
    tracer.kill().unwrap();
    tracer.wait().unwrap();
    server.kill();
    assert_eq!(prompts(&home), ["before", "while", "after"]);
    assert_eq!(answered, 2);
}

/// By default the sync follows the answer, so only the status can say that it failed.
#[test]
fn a_sync_that_fails_after_the_answer_is_said_until_one_succeeds() {
    let home = Home::new();
    let server = home.serve();
    server.hook("user-prompt-submit", event("s", json!({"prompt": "before"})));
    let fails = ["-f", "-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO", "-o", "/dev/null"];
    let tracer = Command::new("strace")
        .args(fails)
        .args(["-p", &server.pid().to_string()])
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut tracer) = tracer else { return skip("strace is not installed") };
    let mut said = BufReader::new(tracer.stderr.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap().contains("attached")));
    server.hook("user-prompt-submit", event("s", json!({"prompt": "while"})));
    let trouble = || server.get("/hook/status")["store_trouble"].clone();
    wait_until("the trouble", || trouble().as_str().is_some_and(|why| why.contains("Input/output error")));
    assert!(server.get("/hook/status")["health"]["text"].as_str().unwrap().contains("cannot be stored"));
    tracer.kill().unwrap();
    tracer.wait().unwrap();
    server.hook("user-prompt-submit", event("s", json!({"prompt": "after"})));
    wait_until("the end of it", || trouble().is_null());
}

#[test]
fn a_truncated_database_is_set_aside_and_can_be_rebuilt_from() {
    let home = Home::new();
    fill(&home);
    let file = std::fs::File::options().write(true).open(home.database()).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    drop(file);
    let server = home.serve();
    assert!(server.log().contains("damaged") && server.log().contains("rebuild --from"), "{}", server.log());
    assert_eq!(server.get("/hook/status")["events_received"], 0);
    server.hook("user-prompt-submit", event("later", json!({"prompt": "after"})));
    server.stop();
    let aside = std::fs::read_dir(home.state()).unwrap().map(|entry| entry.unwrap().path());
    let aside = aside.into_iter().find(|path| path.to_string_lossy().contains(".damaged-")).unwrap();
    let rebuilt = home.run(&["rebuild", "--json", "--from", aside.to_str().unwrap()]);
    assert!(rebuilt.status.success(), "{}", String::from_utf8_lossy(&rebuilt.stderr));
    let told: Value = serde_json::from_slice(&rebuilt.stdout).unwrap();
    assert!(told["events"].as_u64().unwrap() > 20, "{told}");
    assert_eq!(prompts(&home).last().map(String::as_str), Some("after"));
}

#[test]
fn rebuild_ends_however_the_database_is_damaged() {
    let home = Home::new();
    let server = home.serve();
    for n in 0..120 {
        server.hook(
            "user-prompt-submit",
            event("s", json!({ "prompt": format!("{n} {}", "word ".repeat(200)) })),
        );
    }
    server.stop();
    let whole = std::fs::read(home.database()).unwrap();
    let page = 4096;
    let pages = whole.len() / page;
    each_row(
        0..24_usize,
        |round| format!("damage {round}"),
        |round| {
            // Swapped pages (which make cycles), zeroed pages, flipped bytes, a truncated end.
            let mut bytes = whole.clone();
            let (a, b) = (1 + round * 7 % (pages - 1), 1 + round * 13 % (pages - 1));
            match round % 4 {
                0 => bytes.copy_within(a * page..(a + 1) * page, b * page),
                1 => bytes[a * page..(a + 1) * page].fill(0),
                2 => (0..40).for_each(|n| bytes[a * page + n * 97] ^= 0x5a),
                _ => bytes.truncate(page * (pages * (round + 1) / 25) + 100),
            }
            let damaged = home.path().join(format!("damaged-{round}"));
            std::fs::write(&damaged, bytes).unwrap();
            std::fs::remove_file(home.database()).unwrap();
            let mut rebuild = home.command(&["rebuild", "--json", "--from", damaged.to_str().unwrap()]);
            let mut rebuild = rebuild.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            wait_for(&format!("rebuild {round} to end"), || rebuild.try_wait().unwrap());
            let out = rebuild.wait_with_output().unwrap();
            assert!(out.status.success(), "{round}: {}", String::from_utf8_lossy(&out.stderr));
        },
    );
}

#[test]
fn rebuild_finds_events_without_the_schema_and_counts_what_is_lost() {
    let home = Home::new();
    let server = home.serve();
    const EVENTS: usize = 90;
    for n in 0..EVENTS {
        let prompt = format!("{n} {}", "word ".repeat(if n % 9 == 0 { 4000 } else { 100 }));
        server.hook("user-prompt-submit", event("s", json!({"prompt": prompt})));
    }
    server.stop();
    let whole = std::fs::read(home.database()).unwrap();
    let page = 4096;
    // The page of one event in the middle, and what else is on it.
    let prompt = b"\"prompt\":\"44 ";
    let middle = whole.windows(prompt.len()).position(|window| window == prompt).unwrap() / page * page;
    type Damage = (&'static str, fn(&mut [u8], usize), bool, bool);
    let damages: [Damage; 5] = [
        ("the schema", |bytes, _| bytes[100..4096].fill(0), false, true),
        ("the first page", |bytes, _| bytes[..4096].fill(0xa5), false, true),
        ("its header", |bytes, _| bytes[..16].fill(0), false, true),
        (
            "the schema and an event",
            |bytes, middle| {
                bytes[100..4096].fill(0);
                bytes[middle..middle + 4096].fill(0);
            },
            true,
            true,
        ),
        ("everything", |bytes, _| bytes.fill(0x5a), true, false),
    ];
    each_row(
        damages,
        |(name, ..)| (*name).to_owned(),
        |(name, damage, loses, finds)| {
            let mut bytes = whole.clone();
            damage(&mut bytes, middle);
            let damaged = home.write(format!("damaged {name}"), bytes);
            std::fs::remove_file(home.database()).unwrap();
            let mut rebuild = home.command(&["rebuild", "--json", "--from", damaged.to_str().unwrap()]);
            let mut rebuild = rebuild.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            wait_for(&format!("rebuild from {name} to end"), || rebuild.try_wait().unwrap());
            let out = rebuild.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&out.stderr).into_owned();
            assert!(out.status.success() && said.contains("is damaged"), "{said}");
            let told: Value = serde_json::from_slice(&out.stdout).unwrap();
            let (events, lost) = (told["events"].as_u64().unwrap(), told["unreadable"].as_u64().unwrap());
            assert_eq!(events > 0, finds, "{told}");
            assert_eq!(lost > 0 || told["perhaps_more"] == true, loses, "{told}");
            assert!(!finds || events + lost == EVENTS as u64, "{told}");
            assert!(finds || said.contains("cannot be known"), "{said}");
            assert_eq!(prompts(&home).len(), events as usize);
        },
    );
}

#[test]
fn broken_spool_records_are_set_aside_and_the_rest_is_kept() {
    let home = Home::new();
    let nobody = 9;
    for n in 0..6 {
        notify(&home, nobody, &prompt("s", &format!("{n}")));
    }
    let spool = home.state().join("spool");
    let files = std::fs::read_dir(&spool).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "event")).collect();
    files.sort();
    assert_eq!(files.len(), 6);
    // Truncated; of the right length, but zeros; a valid header over invalid JSON; a file that is not an event.
    std::fs::write(&files[1], b"{\"slug\":").unwrap();
    let length = std::fs::metadata(&files[2]).unwrap().len();
    std::fs::write(&files[2], vec![0; length as usize]).unwrap();
    let text = std::fs::read_to_string(&files[4]).unwrap();
    std::fs::write(&files[4], text.replace("\"prompt\":", "\"prompt\" ")).unwrap();
    std::fs::write(spool.join("stranger"), "?").unwrap();
    let server = home.serve();
    wait_until("the spool to be drained", || spooled(&server) == 0);
    server.stop();
    assert_eq!(prompts(&home), ["0", "3", "5"]);
    assert_eq!(std::fs::read_dir(spool.join("bad")).unwrap().count(), 4, "kept for a look, and counted");
    let doctor = home.run(&["doctor", "--json"]);
    let said = String::from_utf8_lossy(&doctor.stdout).into_owned();
    assert!(said.contains("4 spooled events could not be read"), "{said}");
}

#[test]
fn a_missing_spool_is_created_and_one_that_cannot_be_created_breaks_no_hook() {
    let home = Home::new();
    let server = home.serve();
    let spool = home.state().join("spool");
    let _ = std::fs::remove_dir_all(&spool);
    server.hook("stop", event("s", json!({})));
    assert_eq!(spooled(&server), 0);
    // While a server drains it.
    notify(&home, 9, &prompt("s", "made"));
    wait_until("the spool to be drained", || server.get("/hook/status")["events_received"] == 2);
    server.stop();
    std::fs::remove_dir_all(&spool).unwrap();
    std::fs::write(&spool, "a file where a directory should be").unwrap();
    notify(&home, 9, &prompt("s", "lost"));
    let server = home.serve();
    server.hook("stop", event("s", json!({})));
}

/// Root can write everywhere, so this runs as another user.
#[test]
fn a_directory_that_cannot_be_written_is_named_and_breaks_no_hook() {
    let home = Home::new();
    let open = |path: &Path, mode: u32| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    open(home.path(), 0o755);
    // A copy that another user can run.
    let copy = home.path().join("headspace");
    copy_program(binary(), &copy);
    let state = home.at(".local/state");
    std::fs::create_dir_all(&state).unwrap();
    open(&state, 0o555);
    let as_nobody = |args: &[&str]| {
        let mut command = home.command_of(&copy, args);
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    };
    let refused = as_nobody(&["serve", "--port", "0"]).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.starts_with("headspace: could not ") && said.contains("state/headspace"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    let mut hook = as_nobody(&["notify"]);
    hook.env("CLAUDE_HEADSPACE_URL", "http://127.0.0.1:9");
    silently(hook, &prompt("s", "nowhere to go"));
    assert_eq!(std::fs::read_dir(&state).unwrap().count(), 0);
}

/// The same while the server runs: it can still answer, but cannot create a file.
#[test]
fn a_directory_that_becomes_read_only_does_not_end_the_server() {
    let home = Home::new();
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let copy = home.path().join("headspace");
    copy_program(binary(), &copy);
    let mut serve = home.command_of(&copy, &["serve", "--port", "0"]);
    if is_root() {
        serve.uid(NOBODY).gid(NOBODY);
    }
    let server = Server::start(serve);
    server.hook("user-prompt-submit", event("s", json!({"prompt": "before"})));
    std::fs::set_permissions(home.state(), std::fs::Permissions::from_mode(0o500)).unwrap();
    let answer = server.post("/hook/user-prompt-submit", &event("s", json!({"prompt": "meanwhile"})));
    assert!([200, 503].contains(&answer.status), "{}", answer.text());
    assert_eq!(server.get("/api/agents")["agents"][0]["session_id"], "s");
    std::fs::set_permissions(home.state(), std::fs::Permissions::from_mode(0o700)).unwrap();
    server.hook("user-prompt-submit", event("s", json!({"prompt": "after"})));
}

#[test]
fn a_clock_that_jumps_back_reverts_nothing() {
    let home = Home::new();
    let server = home.serve();
    let at =
        |ago: i64| headspace_core::stamp::Stamp(headspace_core::stamp::Stamp::now().0 - ago * 1_000_000_000);
    let send = |slug: &str, ago: i64, fields: Value| {
        let mut body = event("s", fields);
        body["sent_at"] = json!(at(ago));
        server.hook(slug, body)
    };
    send("user-prompt-submit", 10, json!({"prompt": "first"}));
    send("stop", 5, json!({"last_assistant_message": "Done."}));
    // An hour back: this prompt looks older than the answer before it, so it is history.
    let jumped = send("user-prompt-submit", 3600, json!({"prompt": "from the past"}));
    assert_eq!(jumped["state"], "idle");
    // A stamp in the future becomes the time of arrival, and the next event is not older than it.
    let mut ahead = event("s", json!({"prompt": "from the future"}));
    ahead["sent_at"] = json!(at(-3600));
    assert_eq!(server.hook("user-prompt-submit", ahead)["state"], "processing");
    assert_eq!(send("stop", 0, json!({"last_assistant_message": "All done."}))["state"], "idle");
    let mut unreadable = event("s", json!({"prompt": "whenever"}));
    unreadable["sent_at"] = json!("yesterday, or so");
    assert_eq!(server.hook("user-prompt-submit", unreadable)["state"], "processing");
    assert_eq!(server.get("/hook/status")["events_received"], 6, "all of it is kept");
    server.stop();
    let before = rows(&home);
    assert!(home.run(&["rebuild"]).status.success());
    assert_eq!(rows(&home), before, "a rebuild sees the same past");
}

fn rows(home: &Home) -> Vec<String> {
    let db = rusqlite::Connection::open(home.database()).unwrap();
    let mut query = db.prepare("SELECT doc FROM agents ORDER BY id").unwrap();
    query.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

/// The server has so few descriptors that a hundred connections use them up.
#[test]
fn a_server_without_descriptors_recovers_when_some_are_free() {
    let home = Home::new();
    let command = home.command_of("/bin/sh", &["-c", "ulimit -n 64; exec \"$0\" serve --port 0", binary()]);
    let server = Server::start(command);
    server.hook("stop", event("s", json!({})));
    // Half a request each: these connections look busy, so the server does not close them to make room.
    let half = b"POST /hook/stop HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
    let crowd: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(half).unwrap();
            stream
        })
        .collect();
    wait_until("the descriptors to run out", || server.log().contains("could not accept a connection"));
    drop(crowd);
    wait_for("the server to take connections again", || {
        let body = event("honest", json!({})).to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        stream.write_all(&request(server.port, "POST", "/hook/stop", &[], Some(body.as_bytes()))).ok()?;
        Response::read(&mut stream).filter(|answer| answer.status == 200)
    });
    // The log says so, but not a thousand times a second.
    let lines = server.log().lines().count();
    assert!(lines < 400, "{lines} lines: {}", server.log());
}

/// The limit on processes counts a user's threads and does not bind root, so this runs as another user.
#[test]
fn a_server_without_threads_says_so_or_goes_on() {
    if !is_root() {
        return skip("only root can become a user whose threads are limited");
    }
    let home = Home::new();
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let copy = home.path().join("headspace");
    copy_program(binary(), &copy);
    // An id that nobody else uses: the limit counts what the user has already.
    let user = 61_000 + std::process::id() % 4000;
    let serve = |threads: u64| {
        let mut command = home.command_of(&copy, &["serve", "--port", "0"]);
        command.uid(user).gid(user);
        let limit = libc::rlimit { rlim_cur: threads, rlim_max: threads };
        // SAFETY: setrlimit may be called between fork and exec; `limit` is a copy of its own.
        unsafe {
            command.pre_exec(move || match libc::setrlimit(libc::RLIMIT_NPROC, &limit) {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            });
        }
        command
    };
    let refused = serve(1).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("headspace: could not start"), "{said}");
    // Enough to start, and none to spare for big bodies, transcripts and searches, which use extra threads.
    let server = (2..=16u64)
        .find_map(|threads| {
            let mut child = serve(threads).stderr(Stdio::piped()).spawn().unwrap();
            let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
            let runs = said.any(|line| line.contains("listening"));
            let _ = child.kill();
            let _ = child.wait();
            runs.then(|| Server::start(serve(threads)))
        })
        .unwrap();
    let token = std::fs::read_to_string(home.state().join("token")).unwrap();
    let bearer = format!("Bearer {}", token.trim());
    let post = |fields: Value| {
        let body = event("s", fields).to_string();
        let headers = [("Authorization", bearer.as_str())];
        let bytes = request(server.port, "POST", "/hook/user-prompt-submit", &headers, Some(body.as_bytes()));
        server.raw(&bytes).map(|answer| answer.status)
    };
    assert_eq!(post(json!({"prompt": "small"})), Some(200));
    let big = post(json!({"prompt": "x".repeat(1 << 20)}));
    assert!(big.is_none_or(|status| [200, 500, 503].contains(&status)), "{big:?}");
    assert_eq!(post(json!({"prompt": "and on"})), Some(200), "{}", server.log());
}

/// A hook that can open hardly any file may lose the event, but does not stop the client.
#[test]
fn a_hook_without_descriptors_is_silent_and_ends() {
    let home = Home::new();
    let server = home.serve();
    each_row(
        3..10,
        |limit| format!("{limit} descriptors"),
        |limit| {
            let script = format!("ulimit -n {limit}; exec \"$0\" notify");
            let mut hook = home.command_of("/bin/sh", &["-c", &script, binary()]);
            hook.env("CLAUDE_HEADSPACE_URL", server.url());
            silently(hook, &prompt("s", &format!("{limit}")));
        },
    );
    assert!(server.get("/hook/status")["events_received"].as_i64() >= Some(5));
}

/// Derived tables are recomputed from the events.
#[test]
fn a_missing_or_damaged_derived_table_is_recomputed() {
    each_row(
        [
            "DROP TABLE agents",
            "DROP TABLE turns",
            "DROP TABLE changes",
            "DROP TABLE meta",
            "DELETE FROM meta WHERE key = 'marks'",
            "UPDATE meta SET value = '{' WHERE key = 'marks'",
            "UPDATE agents SET doc = 'nonsense'",
            "DROP TABLE events_by_name",
            "ALTER TABLE agents RENAME COLUMN id TO idx",
            "ALTER TABLE transitions DROP COLUMN why",
            "DELETE FROM agents",
        ],
        |damage| damage.to_string(),
        |damage| {
            let home = Home::new();
            let server = home.serve();
            for n in 0..20 {
                server.hook("user-prompt-submit", event("s", json!({"prompt": format!("{n}")})));
            }
            let before = server.get("/api/agents?all=1")["agents"][0]["session_id"].clone();
            server.stop();
            rusqlite::Connection::open(home.database()).unwrap().execute_batch(damage).unwrap();
            let server = home.serve();
            assert!(
                server.log().contains("all of its 20 events could be read"),
                "{damage}: {}",
                server.log()
            );
            let agents = server.get("/api/agents?all=1");
            assert_eq!(agents["agents"][0]["session_id"], before, "{damage}");
            server.hook("user-prompt-submit", event("s", json!({"prompt": "after"})));
            server.stop();
            assert_eq!(prompts(&home).len(), 21, "{damage}");
        },
    );
}

/// The number of unreadable events is the number of those that were there and are gone.
#[test]
fn rebuild_counts_what_is_really_lost() {
    let home = Home::new();
    fill(&home);
    let whole = std::fs::read(home.database()).unwrap();
    each_row(
        [(2, 3), (3, 20), (4, 1)],
        |(from, pages)| format!("{pages} pages from 1/{from}"),
        |(from, pages)| {
            let mut bytes = whole.clone();
            let start = bytes.len() / from / 4096 * 4096;
            bytes[start..start + pages * 4096].fill(0xa5);
            let damaged = home.path().join(format!("damaged-{from}"));
            std::fs::write(&damaged, bytes).unwrap();
            std::fs::remove_file(home.database()).unwrap();
            let out = home.run(&["rebuild", "--json", "--from", damaged.to_str().unwrap()]);
            assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
            let told: Value = serde_json::from_slice(&out.stdout).unwrap();
            let (kept, lost) = (told["events"].as_u64().unwrap(), told["unreadable"].as_u64().unwrap());
            assert_eq!(kept + lost, 300, "{told}");
        },
    );
}
