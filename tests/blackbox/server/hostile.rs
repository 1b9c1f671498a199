//! Hostile requests: each gets a bounded answer, and honest requests are served meanwhile.

use headspace_test_support::{
    Home, Response, Server, allow_many_connections, each_row, event, request, wait_until,
};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Nonsense is answered at once, also on a busy machine: the server does not wait the 30 s that it gives an unfinished
/// request.
const SOON: Duration = Duration::from_secs(20);

fn still_well(server: &Server) {
    let answer = server.hook("stop", event("honest", json!({})));
    assert_eq!(answer["status"], "ok");
}

#[test]
fn malformed_requests_are_refused() {
    let home = Home::new();
    let server = home.serve();
    let post = "POST /hook/stop HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let many_headers: String = (0..200).map(|n| format!("X-{n}: 1\r\n")).collect();
    let table: Vec<(String, &[u16])> = vec![
        (format!("{post}Content-Length: 9223372036854775807\r\n\r\n{{}}"), &[413]),
        (format!("{post}Content-Length: 99999999999999999999999\r\n\r\n{{}}"), &[400, 413]),
        (format!("{post}Content-Length: -1\r\n\r\n{{}}"), &[400]),
        (format!("{post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}"), &[400]),
        (format!("{post}Transfer-Encoding: chunked\r\n\r\nzz\r\n{{}}\r\n"), &[400]),
        (format!("{post}Transfer-Encoding: gzip\r\n\r\n"), &[400, 501]),
        (format!("GET / HTTP/1.1\r\nHost: localhost\r\nX: {}\r\n\r\n", "a".repeat(200_000)), &[431]),
        (format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(200_000)), &[414, 431]),
        (format!("GET / HTTP/1.1\r\nHost: localhost\r\n{many_headers}\r\n"), &[400, 431]),
        ("GET / HTTP/1.1\r\n\r\n".into(), &[400]),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n".into(), &[400]),
        ("GET http://evil.example/api/agents HTTP/1.1\r\nHost: localhost\r\n\r\n".into(), &[403]),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".into(), &[400, 403, 404, 405, 505]),
        ("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{fc}\u{3}\u{3}".into(), &[400]),
        ("GET /assets/../../token HTTP/1.1\r\nHost: localhost\r\n\r\n".into(), &[404]),
        ("GET /assets/%2e%2e/%2e%2e/token HTTP/1.1\r\nHost: localhost\r\n\r\n".into(), &[404]),
        ("GET /%00 HTTP/1.1\r\nHost: localhost\r\n\r\n".into(), &[400, 404]),
    ];
    each_row(
        table,
        |(bytes, _)| bytes.chars().take(100).collect(),
        |(bytes, expected)| {
            let mut stream = server.connect();
            stream.set_read_timeout(Some(SOON)).unwrap();
            let _ = stream.write_all(bytes.as_bytes());
            let _ = stream.shutdown(Shutdown::Write);
            // Closing the connection is an answer too.
            let answer = Response::read(&mut stream);
            let shown: String = bytes.chars().take(100).collect();
            assert!(
                answer.as_ref().is_none_or(|answer| expected.contains(&answer.status)),
                "{shown:?}: {answer:?}"
            );
        },
    );
    assert_eq!(server.get("/hook/status")["events_received"], 0);
    still_well(&server);
}

/// The request fails, and the bytes after it are not read as another request.
#[test]
fn malformed_chunks_end_the_connection() {
    let home = Home::new();
    let server = home.serve();
    let hidden = "POST /hook/stop HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
        Content-Length: 18\r\n\r\n{\"session_id\":\"h\"}";
    let endless = format!("{}\r\n", "1;".repeat(20_000));
    each_row(
        [
            "zz\r\n{}\r\n0\r\n\r\n",
            "-2\r\n{}\r\n0\r\n\r\n",
            "0x2\r\n{}\r\n0\r\n\r\n",
            "ffffffffffffffff\r\n{}\r\n0\r\n\r\n",
            "fffffffffffffffff\r\n{}\r\n0\r\n\r\n",
            "2\r\n{}XX0\r\n\r\n",
            "2\n{}\n0\n\n",
            "\r\n\r\n\r\n",
            "2\r\n{}\r\n0\r\nX: \u{0}\r\n\r\n",
            endless.as_str(),
        ],
        |chunks| format!("{chunks:.40?}"),
        |chunks| {
            let mut stream = server.connect();
            stream.set_read_timeout(Some(SOON)).unwrap();
            let head = "POST /hook/stop HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
            Transfer-Encoding: chunked\r\n\r\n";
            let _ = stream.write_all(format!("{head}{chunks}{hidden}").as_bytes());
            let _ = stream.shutdown(Shutdown::Write);
            let start = Instant::now();
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            let answer = String::from_utf8_lossy(&answer).into_owned();
            assert!(start.elapsed() < SOON, "{chunks:.40}: no end");
            assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{chunks:.40}: {answer}");
        },
    );
    // Both lengths at once: that is how requests are smuggled.
    let both = "POST /hook/stop HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
        Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    let answer = server.raw(format!("{both}{hidden}").as_bytes());
    assert!(answer.is_none_or(|answer| answer.status == 400));
    assert_eq!(server.get("/hook/status")["events_received"], 0);
    still_well(&server);
}

/// The server reads no files, and another spelling of a path does not get around a rule.
#[test]
fn no_spelling_of_a_path_reaches_a_file() {
    let home = Home::new();
    let server = home.serve();
    let token = std::fs::read_to_string(home.state().join("token")).unwrap();
    let table: &[(&str, &[u16])] = &[
        ("//", &[404]),
        ("//api/agents", &[404]),
        ("/api//agents", &[404]),
        ("/api/agents/", &[404]),
        ("/./health", &[404]),
        ("/api/../health", &[404]),
        ("/../../../../etc/passwd", &[404]),
        ("/assets/../token", &[404]),
        ("/assets/..%2ftoken", &[404]),
        ("/assets/%2e%2e%2f%2e%2e%2ftoken", &[404]),
        ("/assets/%252e%252e/token", &[404]),
        ("/assets/..\\token", &[400, 404]),
        ("/assets/%00app.js", &[404]),
        ("/assets/app.js%00", &[404]),
        ("/%c0%ae%c0%ae/token", &[400, 404]),
        ("/api/agents/1%2f..%2f1/events", &[400, 404]),
        ("/api/agents/-1", &[400, 404]),
        ("/api/agents/99999999999999999999", &[400, 404]),
        ("/api/agents/1'%20OR%201=1", &[400, 404]),
        ("/api/agents/%ff", &[400, 404]),
        ("/api/events?q=%00%ff%22*&limit=-1", &[200, 400]),
        ("/api/events?limit=99999999999999999999", &[200, 400]),
        ("/HEALTH", &[404]),
        ("/health/", &[404]),
        ("/health%20", &[404]),
        ("/health;x=1", &[404]),
        ("http://localhost/health", &[200]),
        ("http://evil.example/health", &[403]),
        ("http://localhost@evil.example/health", &[403]),
        ("ftp://localhost/health", &[200, 400, 403, 404]),
        ("*", &[400, 404]),
        ("health", &[400, 403]),
        ("/\u{0}", &[400]),
        ("/heal\tth", &[400]),
        ("/?\u{7f}", &[200, 400]),
    ];
    each_row(
        table,
        |(path, _)| format!("{path:?}"),
        |(path, expected)| {
            let mut stream = server.connect();
            stream.set_read_timeout(Some(SOON)).unwrap();
            let bytes = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
            stream.write_all(bytes.as_bytes()).unwrap();
            let answer = Response::read(&mut stream).unwrap_or_else(|| panic!("no answer to {path:?}"));
            assert!(expected.contains(&answer.status), "{path:?}: {} {}", answer.status, answer.text());
            assert!(!answer.text().contains(token.trim()) && !answer.text().contains("root:"), "{path:?}");
        },
    );
    each_row(
        ["/hook/..", "/hook/%2e%2e", "/hook/a%2fb", "/hook/%00", "/hook//stop", "/hook/"],
        |path| format!("{path:?}"),
        |path| {
            let answer = server.post(path, &event("odd", json!({})));
            assert!([200, 400, 404, 405].contains(&answer.status), "{path}: {}", answer.status);
        },
    );
    still_well(&server);
}

#[test]
fn a_body_that_is_too_big_gets_its_answer_while_it_is_still_being_sent() {
    let home = Home::new();
    let server = home.serve();
    let body = vec![b'x'; 20 << 20];
    each_row(
        ["Content-Length: 20971520\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n1400000\r\n"],
        |head| format!("{head:?}"),
        |head| {
            let mut stream = server.connect();
            let head = format!(
                "POST /hook/stop HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{head}"
            );
            stream.write_all(head.as_bytes()).unwrap();
            let mut sender = stream.try_clone().unwrap();
            let body = body.clone();
            let sending = std::thread::spawn(move || sender.write_all(&body).is_ok());
            assert_eq!(Response::read(&mut stream).unwrap().status, 413);
            let _ = sending.join();
        },
    );
    still_well(&server);
}

#[test]
fn requests_sent_together_are_answered_in_order() {
    let home = Home::new();
    let server = home.serve();
    let mut stream = server.connect();
    let one = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let two = "GET /nowhere HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(format!("{one}{one}{two}").as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let statuses: Vec<&str> = text.matches("HTTP/1.1 ").map(|_| "").collect();
    assert_eq!(statuses.len(), 3, "{text}");
    assert!(text.find("HTTP/1.1 404").unwrap() > text.rfind("HTTP/1.1 200").unwrap());
}

#[test]
fn idle_connections_make_room_for_requests() {
    allow_many_connections();
    let home = Home::new();
    let server = home.serve();
    let mut crowd: Vec<TcpStream> = Vec::new();
    while crowd.len() < 1500 {
        match TcpStream::connect(("127.0.0.1", server.port)) {
            Ok(stream) => crowd.push(stream),
            Err(_) => break,
        }
    }
    assert!(crowd.len() > 1100, "only {} connections", crowd.len());
    let start = Instant::now();
    for _ in 0..20 {
        still_well(&server);
    }
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

#[test]
fn bodies_that_never_arrive_delay_nobody() {
    let home = Home::new();
    let server = home.serve();
    let half = b"POST /hook/stop HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
    let _halves: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(half).unwrap();
            stream
        })
        .collect();
    let start = Instant::now();
    still_well(&server);
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    // A client that stops sending gets an error.
    let mut stream = server.connect();
    stream.write_all(half).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert!(Response::read(&mut stream).is_none_or(|answer| answer.status == 400));
}

/// Each head that arrives a byte at a time occupies its connection and nothing else.
#[test]
fn heads_that_arrive_byte_by_byte_delay_nobody() {
    let home = Home::new();
    let server = home.serve();
    let mut crowd: Vec<TcpStream> = (0..400).map(|_| server.connect()).collect();
    let start = Instant::now();
    for byte in b"POST /hook/stop HTTP/1.1\r\nHo" {
        for stream in &mut crowd {
            let _ = stream.write_all(&[*byte]);
        }
    }
    for _ in 0..10 {
        still_well(&server);
    }
    assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
}

#[test]
fn big_bodies_at_once_take_turns() {
    let home = Home::new();
    let server = home.serve();
    let prompt = "y".repeat(12 << 20);
    let taken = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for n in 0..12 {
            let (server, prompt, taken) = (&server, &prompt, &taken);
            scope.spawn(move || {
                let body = event(&format!("big-{n}"), json!({ "prompt": prompt })).to_string();
                let bytes =
                    request(server.port, "POST", "/hook/user-prompt-submit", &[], Some(body.as_bytes()));
                // A request that waited too long for room gets an error, or is cut off while it still sends. A
                // hook spools its event then.
                let status = server.raw(&bytes).map(|response| response.status);
                assert!([Some(200), Some(408), None].contains(&status), "{status:?}");
                taken.fetch_add(usize::from(status == Some(200)), Ordering::Relaxed);
            });
        }
    });
    assert!(taken.into_inner() > 0, "none was accepted: {}", server.log());
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    if let Some(peak) = peak.and_then(|peak| peak.trim().parse::<u64>().ok()) {
        assert!(peak < 400_000, "{peak} kB");
    }
    still_well(&server);
}

/// Fifteen megabytes of tiny values would be half a gigabyte as a tree.
#[cfg(target_os = "linux")]
#[test]
fn an_event_of_countless_values_needs_little_memory() {
    let home = Home::new();
    let server = home.serve();
    each_row(
        ["1,", "{},", "[],", "\"\",", "{\"a\":1},"],
        |filling| format!("{filling:?}"),
        |filling| {
            let many = filling.repeat((15 << 20) / filling.len());
            let body = format!(
                "{{\"tool_response\":[{}],\"session_id\":\"big\",\"hook_event_name\":\"Stop\",\"cwd\":\"/tmp\"}}",
                many.trim_end_matches(',')
            );
            let answer = server.request(
                "POST",
                "/hook/stop",
                &[("Content-Type", "application/json")],
                Some(body.as_bytes()),
            );
            assert_eq!(answer.status, 200, "{filling}: {}", answer.text());
        },
    );
    assert_small(&server);
    still_well(&server);
}

/// The most memory the server has had.
#[cfg(target_os = "linux")]
fn assert_small(server: &Server) {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kilobytes: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    println!("peak: {kilobytes} kB");
    assert!(kilobytes <= 100 << 10, "{kilobytes} kB");
}

/// What is asked stays open and is shown to everybody: a part of it is enough to say no.
#[cfg(target_os = "linux")]
#[test]
fn an_ask_of_countless_values_is_kept_in_part() {
    let many = |filling: &str| {
        let all = filling.repeat((14 << 20) / filling.len());
        all.trim_end_matches(',').to_owned()
    };
    let options =
        format!(r#"{{"questions":[{{"question":"q","options":[{}]}}]}}"#, many(r#"{"label":"x"},"#));
    let questions =
        format!(r#"{{"questions":[{}]}}"#, many(r#"{"question":"q","options":[{"label":"x"}]},"#));
    let edits =
        format!(r#"{{"file_path":"/tmp/x","edits":[{}]}}"#, many(r#"{"old_string":"a","new_string":"b"},"#));
    let texts = format!("[{}]", many(&format!("\"{}\",", "x".repeat(16 << 10))));
    each_row(
        [
            ("permission-request", "AskUserQuestion", &options),
            ("permission-request", "AskUserQuestion", &questions),
            ("pre-tool-use", "AskUserQuestion", &questions),
            ("permission-request", "MultiEdit", &edits),
            ("permission-request", "mcp__x__y", &texts),
        ],
        |(event, tool, input)| format!("{event} {tool} {input:.60}"),
        |(event, tool, input)| {
            let home = Home::new();
            let server = home.serve();
            for session in 0..3 {
                let body = format!(
                    r#"{{"session_id":"s{session}","cwd":"/tmp","tool_name":"{tool}","tool_use_id":"t","tool_input":{input}}}"#
                );
                let headers = [("Content-Type", "application/json")];
                let path = format!("/hook/{event}");
                let answer = server.request("POST", &path, &headers, Some(body.as_bytes()));
                assert_eq!(answer.status, 200, "{}", answer.text());
            }
            let board = server.get("/api/agents");
            let agents = board["agents"].as_array().unwrap();
            assert_eq!(agents.len(), 3);
            for agent in agents {
                assert_eq!(agent["interactions"][0]["tool_name"], tool);
                let bytes = agent.to_string().len();
                println!("{event} {tool}: {bytes} bytes of one agent");
                assert!(bytes < 1 << 20, "{bytes}");
            }
            assert_small(&server);
            still_well(&server);
        },
    );
}

/// There are more endless bodies than allowed connections, and hooks still get in.
#[test]
fn bodies_that_never_end_keep_no_hook_out() {
    allow_many_connections();
    let home = Home::new();
    let server = home.serve();
    let head = "POST /hook/stop HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
        Content-Length: 1000000\r\n\r\n{\"session_id\":";
    let endless: Vec<TcpStream> = (0..1300)
        .map(|_| {
            let mut stream = server.connect();
            let _ = stream.write_all(head.as_bytes());
            stream
        })
        .collect();
    for _ in 0..20 {
        still_well(&server);
    }
    assert_eq!(server.get("/hook/status")["events_received"], 20);
    drop(endless);
}

/// A FIFO in the spool is set aside, and the events behind it are drained.
#[cfg(unix)]
#[test]
fn a_fifo_in_the_spool_stops_nothing() {
    let home = Home::new();
    let spool = home.state().join("spool");
    std::fs::create_dir_all(&spool).unwrap();
    let fifo = spool.join("0000000000000001-0000000000000001-9.event");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let body = event("spooled", json!({"hook_event_name": "Stop"})).to_string();
    let record = format!("{{\"slug\":\"stop\",\"bytes\":{}}}\n{body}", body.len());
    let name = format!("0000000000000002-0000000000000001-{}.event", record.len());
    std::fs::write(spool.join(name), record).unwrap();
    let server = home.serve();
    wait_until("the spooled event", || server.get("/hook/status")["events_received"] == 1);
    assert!(!fifo.exists());
    still_well(&server);
}

/// A secret that is longer than any rule reads, in letters of several bytes: neither it nor what stands behind it in the
/// spool waits forever, and it is masked whole, spooled or stored.
#[test]
fn a_secret_of_many_letters_stops_nothing() {
    let home = Home::with_port(json!({}));
    let run = |session: &str, command: String| {
        home.send(
            "PreToolUse",
            session,
            home.path(),
            json!({"tool_name": "Bash", "tool_input": {"command": command}}),
        );
    };
    for pad in ["", "a", "ab", "abc"] {
        run("odd", format!("curl -u me:A1b2C3{pad}{}", "é→😀".repeat(100)));
    }
    run("behind", "npm test".into());
    let spooled = home.spooled();
    assert_eq!(spooled.len(), 5);
    assert!(spooled.iter().all(|(_, body)| !body.to_string().contains("é→")), "{spooled:?}");
    let server = home.serve();
    let commands = || -> Vec<String> {
        let events = server.get("/api/events?limit=100");
        let events = events["events"].as_array().unwrap().iter();
        let command = |event: &Value| Some(event["body"]["tool_input"]["command"].as_str()?.to_owned());
        events.filter_map(command).collect()
    };
    wait_until("all five", || commands().len() == 5);
    run("odd", format!("curl -u me:A1b2C3{}", "é→😀".repeat(100)));
    let all = commands();
    assert_eq!(all.iter().filter(|command| *command == "curl -u me:[masked:password]").count(), 5, "{all:?}");
    assert_eq!(all.iter().filter(|command| *command == "npm test").count(), 1, "{all:?}");
}
