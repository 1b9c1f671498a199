//! What the server answers to a hook, and how long that takes.

use headspace_test_support::{Home, Server, each_row, event, run};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// A transcript whose last answer filled this many tokens.
fn transcript(home: &Home, session: &str, model: &str, tokens: u64) -> PathBuf {
    let path = home.path().join(format!("{session}.jsonl"));
    let line = json!({
        "type": "assistant", "uuid": format!("{session}-{tokens}"), "sessionId": session, "isSidechain": false,
        "timestamp": "2026-11-14T10:00:00.000Z",
        "message": {
            "id": "m", "role": "assistant", "model": model, "content": [{"type": "text", "text": "ok"}],
            "usage": {"input_tokens": tokens, "output_tokens": 5},
        },
    });
    std::fs::write(&path, format!("{line}\n")).unwrap();
    path
}

/// What the hook of a prompt says about the context, and what the board says.
fn told(server: &Server, session: &str, transcript: &Path) -> (Option<String>, f64) {
    let prompt = event(session, json!({"prompt": "go on", "transcript_path": transcript}));
    let answer = server.hook("user-prompt-submit", prompt);
    let said = answer["hook_output"]["hookSpecificOutput"]["additionalContext"].as_str().map(str::to_owned);
    let agent = server.get(&format!("/api/agents/{}", answer["agent_id"]));
    (said, agent["context"]["percent"].as_f64().unwrap())
}

#[test]
fn the_hook_and_the_board_agree_how_full_the_context_is() {
    let home = Home::new();
    let server = home.serve();
    each_row(
        [
            ("named", "claude-sonnet-4-5[1m]", "claude-sonnet-4-5", 19.0, false),
            ("large", "claude-opus-5-5", "claude-opus-5-5", 19.0, false),
            ("usual", "claude-sonnet-4-5", "claude-sonnet-4-5", 95.0, true),
        ],
        |(session, ..)| session.to_string(),
        |(session, model, in_transcript, percent, warns)| {
            let path = transcript(&home, session, in_transcript, 190_000);
            server.hook("session-start", event(session, json!({"source": "startup", "model": model})));
            let (said, board) = told(&server, session, &path);
            assert_eq!(board, percent, "{session}");
            assert_eq!(said.is_some(), warns, "{session}: {said:?}");
            assert!(said.is_none_or(|said| said.contains("Context at 95%")));
        },
    );
}

#[test]
fn a_configured_context_window_is_used_on_the_board_too() {
    let home = Home::new();
    home.configure(json!({"context": {"window": 400_000}}));
    let server = home.serve();
    let path = transcript(&home, "s", "claude-opus-5-5", 320_000);
    server.hook("session-start", event("s", json!({"source": "startup", "model": "claude-opus-5-5"})));
    let (said, board) = told(&server, "s", &path);
    assert_eq!(board, 80.0);
    assert!(said.as_ref().is_some_and(|said| said.contains("Context at 80%")), "{said:?}");
    assert_eq!(server.get("/api/agents")["agents"][0]["context"]["percent"], 80.0);
}

fn notify(home: &Home, server: &Server, payload: &Value) {
    let mut command = home.command(&["notify"]);
    command.env("CLAUDE_HEADSPACE_URL", server.url());
    assert!(run(command, payload.to_string()).status.success());
}

#[test]
fn the_hooks_latency_is_measured_and_shown_everywhere() {
    let home = Home::new();
    let server = home.serve();
    let metrics = || server.request("GET", "/metrics", &[], None).text();
    // A request posted by hand says nothing about the latency of `notify`.
    server.hook("stop", event("by-hand", json!({})));
    assert_eq!(server.get("/hook/status")["notify_ms"], Value::Null);
    assert!(!metrics().contains("headspace_notify_seconds"));
    for n in 0..3 {
        let prompt = format!("prompt {n}");
        let name = "UserPromptSubmit";
        notify(
            &home,
            &server,
            &json!({"hook_event_name": name, "session_id": "s", "cwd": "/p", "prompt": prompt}),
        );
    }
    let status = server.get("/hook/status");
    let (p50, p99) = (&status["notify_ms"]["p50"], &status["notify_ms"]["p99"]);
    assert!(p50.as_f64().is_some_and(|p50| p50 > 0.0), "{status}");
    assert!(p99.as_f64() >= p50.as_f64(), "{status}");
    assert_eq!(server.get("/api/board")["receiver"]["notify_ms"], status["notify_ms"]);
    let metrics = metrics();
    for line in ["# TYPE headspace_notify_seconds summary", "headspace_notify_seconds_count 3"] {
        assert!(metrics.contains(line), "{line}\n{metrics}");
    }
    for (quantile, ms) in [("0.5", p50), ("0.99", p99)] {
        let name = format!("headspace_notify_seconds{{quantile=\"{quantile}\"}} ");
        let seconds = metrics.lines().find_map(|line| line.strip_prefix(&name)?.parse::<f64>().ok());
        let seconds = seconds.unwrap_or_else(|| panic!("no {name}\n{metrics}"));
        assert!((seconds * 1000.0 - ms.as_f64().unwrap()).abs() < 1.0, "{seconds} s is not {ms} ms");
    }
}

#[test]
fn the_server_accepts_every_event_name_that_the_hook_sends() {
    let home = Home::new();
    let server = home.serve();
    for name in [format!("Ev{}", "x".repeat(100)), format!("Ev{}", "x".repeat(198)), "Y".repeat(200)] {
        notify(&home, &server, &json!({"hook_event_name": name, "session_id": "s", "cwd": "/p"}));
        let stored = server.get("/api/events?limit=1")["events"][0]["name"].clone();
        assert_eq!(stored, name, "taken at once, not by way of the spool");
    }
    let too_long = "x".repeat(201);
    notify(&home, &server, &json!({"hook_event_name": too_long, "session_id": "s", "cwd": "/p"}));
    assert_eq!(server.post(&format!("/hook/{too_long}"), &event("s", json!({}))).status, 404);
    let status = server.get("/hook/status");
    assert_eq!((&status["events_received"], &status["spool_pending"]), (&json!(3), &json!(0)));
}
