//! Limits, cost and tokens: what the client's status line and its transcripts say, where people look.

use headspace_core::stamp::Stamp;
use headspace_test_support::{Installation, run, succeeded, wait_for, wait_until};
use serde_json::{Value, json};
use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};

/// As the client sends it, with the limits that only accounts with a subscription have.
const STATUS_LINE: &str = include_str!("../../fixtures/payloads/StatusLine.json");

fn in_seconds(ahead: u64) -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs() + ahead
}

/// The client draws its status line: `headspace statusline` gets what it would get.
fn draws_its_line(board: &Installation, fields: Value) {
    let mut payload: Value = serde_json::from_str(STATUS_LINE).unwrap();
    payload.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    succeeded(run(board.command(&["statusline"]), payload.to_string()));
}

#[test]
fn status_ends_with_the_limits_and_with_what_today_cost() {
    let board = Installation::new(json!({}));
    let dir = board.project("api", "main");
    let transcript = board.at(".claude/projects/-api/s1.jsonl");
    std::fs::create_dir_all(transcript.parent().unwrap()).unwrap();
    std::fs::write(&transcript, "").unwrap();
    board.send("UserPromptSubmit", "s1", &dir, json!({"prompt": "go", "transcript_path": transcript}));
    let says = |id: &str, usage: Value| {
        let line = json!({
            "type": "assistant", "uuid": id, "sessionId": "s1", "isSidechain": false, "cwd": dir,
            // What is older than the prompt is history.
            "timestamp": Stamp(in_seconds(1) as i64 * 1_000_000_000),
            "message": {"id": id, "role": "assistant", "model": "claude-opus-5-5", "stop_reason": "end_turn",
                "content": [{"type": "text", "text": "So far."}], "usage": usage},
        });
        let mut file = std::fs::OpenOptions::new().append(true).open(&transcript).unwrap();
        writeln!(file, "{line}").unwrap();
    };
    // Only what is written while the transcript is watched was spent now.
    says("m1", json!({"input_tokens": 12}));
    wait_until("the transcript to be watched", || {
        board.server().get("/api/agents")["agents"][0]["context"]["used_tokens"] == 12
    });
    says(
        "m2",
        json!({"input_tokens": 1_000, "output_tokens": 2_400, "cache_creation_input_tokens": 20_000, "cache_read_input_tokens": 60_000}),
    );

    let limits = json!({
        "five_hour": {"used_percentage": 41.6, "resets_at": in_seconds(7_000)},
        "seven_day": {"used_percentage": 93, "resets_at": in_seconds(200_000)},
    });
    let about = json!({"session_id": "s1", "cwd": dir, "transcript_path": transcript, "rate_limits": limits});
    draws_its_line(&board, about.clone());
    let mut later = about;
    later["cost"] = json!({"total_cost_usd": 1.5});

    let footer = wait_for("cost and tokens in the footer", || {
        // The client draws it all the time, and what the server was late for is not sent again.
        draws_its_line(&board, later.clone());
        let shown = String::from_utf8(board.run(&["status"]).stdout).unwrap();
        let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        (words.contains("$1.50") && words.contains("83 k tokens")).then_some(words)
    });
    assert!(footer.contains("5 h limit 42 %, resets at "), "{footer}");
    assert!(footer.contains("7 d limit 93 %, resets 2 d from now"), "{footer}");
    assert!(footer.contains("today $1.50, 83 k tokens"), "{footer}");

    // The page draws its gauges from the same.
    let status = board.server().get("/hook/status");
    let gauges: Vec<(&Value, &Value)> = status["limits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|gauge| (&gauge["label"], &gauge["percent"]))
        .collect();
    assert_eq!(gauges, [(&json!("5 h"), &json!(41.6)), (&json!("7 d"), &json!(93.0))]);

    // Bars ask every few seconds and show none of it: they do not pay for it.
    let board_page = |query: &str| board.server().get(&format!("/api/board{query}"));
    assert_eq!(board_page("").get("spent_today"), None);
    assert_eq!(board_page("?spent=1")["spent_today"]["output_tokens"], 2_400);
}

#[test]
fn without_a_server_the_footer_says_what_was_stored() {
    let mut board = Installation::new(json!({}));
    let dir = board.project("api", "main");
    board.send("UserPromptSubmit", "s1", &dir, json!({"prompt": "go"}));
    wait_for("the cost", || {
        draws_its_line(&board, json!({"session_id": "s1", "cwd": dir, "cost": {"total_cost_usd": 0.75}}));
        let spent = board.server().get("/api/board?spent=1")["spent_today"]["cost_usd"].as_f64();
        spent.filter(|cost| *cost > 0.7)
    });
    board.stop();
    let shown = String::from_utf8(board.run(&["status"]).stdout).unwrap();
    assert!(shown.contains("server not running") && shown.contains("today $0.75"), "{shown}");
}
