//! Requests nobody honest sends: each gets its bounded answer, and honest ones go on meanwhile.

use crate::world::{Answer, Home, Server, event, request};
use serde_json::json;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

fn still_well(server: &Server) {
    let answer = server.hook("stop", event("honest", json!({})));
    assert_eq!(answer["status"], "ok");
}

#[test]
fn lies_and_nonsense_are_answered_or_hung_up_on() {
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
    for (bytes, expected) in table {
        let mut stream = server.connect();
        let _ = stream.write_all(bytes.as_bytes());
        let _ = stream.shutdown(Shutdown::Write);
        // Being hung up on is an answer too.
        let answer = Answer::read(&mut stream);
        let shown: String = bytes.chars().take(100).collect();
        assert!(
            answer.as_ref().is_none_or(|answer| expected.contains(&answer.status)),
            "{shown:?}: {answer:?}"
        );
    }
    assert_eq!(server.get("/hook/status")["events_received"], 0);
    still_well(&server);
}

#[test]
fn a_body_that_is_too_big_gets_its_answer_while_it_is_still_being_sent() {
    let home = Home::new();
    let server = home.serve();
    let body = vec![b'x'; 20 << 20];
    for head in ["Content-Length: 20971520\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n1400000\r\n"] {
        let mut stream = server.connect();
        let head = format!(
            "POST /hook/stop HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{head}"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut sender = stream.try_clone().unwrap();
        let body = body.clone();
        let sending = std::thread::spawn(move || sender.write_all(&body).is_ok());
        assert_eq!(Answer::read(&mut stream).unwrap().status, 413);
        let _ = sending.join();
    }
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
fn idle_crowds_make_room_for_those_who_ask() {
    let limit = libc::rlimit { rlim_cur: 4096, rlim_max: 4096 };
    // SAFETY: the pointer is to a living rlimit.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
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
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn bodies_that_never_come_keep_nobody_waiting() {
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
    assert!(start.elapsed() < Duration::from_secs(5));
    // Whoever gives up sending is told so.
    let mut stream = server.connect();
    stream.write_all(half).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert!(Answer::read(&mut stream).is_none_or(|answer| answer.status == 400));
}

#[test]
fn big_bodies_at_once_take_turns() {
    let home = Home::new();
    let server = home.serve();
    let prompt = "y".repeat(12 << 20);
    std::thread::scope(|scope| {
        for n in 0..12 {
            let (server, prompt) = (&server, &prompt);
            scope.spawn(move || {
                let body = event(&format!("big-{n}"), json!({ "prompt": prompt })).to_string();
                let bytes =
                    request(server.port, "POST", "/hook/user-prompt-submit", &[], Some(body.as_bytes()));
                // Waiting for room too long is an honest answer; the hook spools then.
                let status = server.raw(&bytes).unwrap().status;
                assert!([200, 408].contains(&status), "{status}");
            });
        }
    });
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    if let Some(peak) = peak.and_then(|peak| peak.trim().parse::<u64>().ok()) {
        assert!(peak < 400_000, "{peak} kB");
    }
    still_well(&server);
}
