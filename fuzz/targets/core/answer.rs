//! `cargo +nightly fuzz run answer`: whatever a page posts as an answer and whatever answers `headspace wait` in the
//! server's place, only a whole answer to exactly this ask is read, and only a decision that is one is printed.

#![cfg_attr(fuzzing, no_main)]

use headspace_core::answering;
use headspace_core::model::Interaction;
use headspace_notify::wait::LineByLine;
use serde_json::value::RawValue;
use serde_json::{Value, json};

const DIGEST: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// The first line is posted by a page, the rest is what `wait` reads.
pub fn run(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let (posted, served) = (&data[..end], data.get(end + 1..).unwrap_or_default());
    if let Ok(body) = serde_json::from_slice::<Value>(posted) {
        post(&body);
    }
    serve(served);
}

fn post(body: &Value) {
    for (tool, kind, input) in asks() {
        let asked = interaction(tool, kind, &input);
        let Ok(decided) = answering::read_answer(&asked, body) else { continue };
        assert_eq!(body["digest"], DIGEST);
        assert!(asked.choices().0.contains(&decided.choice));
        let line = decided.line("ab", DIGEST);
        let raw = RawValue::from_string(input.to_string()).expect("JSON");
        let printed = answering::decision(line.as_bytes(), "ab", DIGEST, tool, &raw)
            .expect("what is read can be printed");
        check(&printed, tool, &input);
        for (id, digest) in [("ac", DIGEST), ("ab", "")] {
            assert_eq!(answering::decision(line.as_bytes(), id, digest, tool, &raw), None);
        }
    }
}

fn serve(bytes: &[u8]) {
    // In two parts, what is not ours may end at another place; it may not print anything else either.
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let whole: Vec<Vec<u8>> = lines(&[bytes]).into_iter().chain(lines(&[first, second])).collect();
    for (tool, _, input) in asks() {
        let raw = RawValue::from_string(input.to_string()).expect("JSON");
        for line in &whole {
            if let Some(printed) = answering::decision(line, "ab", DIGEST, tool, &raw) {
                check(&printed, tool, &input);
            }
        }
    }
}

fn lines(parts: &[&[u8]]) -> Vec<Vec<u8>> {
    let (mut answer, mut lines) = (LineByLine::default(), Vec::new());
    for part in parts {
        answer.feed(part);
        while let Ok(Some(line)) = answer.line() {
            lines.push(line);
        }
    }
    lines
}

/// Nothing but what the client knows: no permission, no mode, and no input but the one that was asked about.
fn check(printed: &str, tool: &str, input: &Value) {
    let value: Value = serde_json::from_str(printed).expect("JSON");
    let decision = value["hookSpecificOutput"]["decision"].as_object().expect("a decision").clone();
    let allowed = decision["behavior"] == "allow";
    assert!(allowed || decision["behavior"] == "deny");
    for key in decision.keys() {
        let known: &[&str] =
            if allowed { &["behavior", "updatedInput"] } else { &["behavior", "message", "interrupt"] };
        assert!(known.contains(&key.as_str()), "{key}");
    }
    if let Some(updated) = decision.get("updatedInput") {
        let mut echo = updated.clone();
        if tool == "AskUserQuestion" {
            echo.as_object_mut().expect("an object").remove("answers");
        }
        assert_eq!(echo, *input);
    } else {
        assert!(!allowed || !matches!(tool, "AskUserQuestion" | "ExitPlanMode"));
    }
}

fn asks() -> [(&'static str, &'static str, Value); 3] {
    [
        ("Bash", "permission", json!({"command": "ls"})),
        ("ExitPlanMode", "plan", json!({"plan": "# Plan\n", "n": 1.5})),
        (
            "AskUserQuestion",
            "question",
            json!({"questions": [{"question": "Q?", "options": [{"label": "A"}, {"label": "B"}]},
                {"question": "R?", "multiSelect": true, "options": [{"label": "C"}, {"label": "D"}]}]}),
        ),
    ]
}

fn interaction(tool: &str, kind: &str, input: &Value) -> Interaction {
    serde_json::from_value(json!({
        "id": 1, "kind": kind, "tool_use_id": null, "tool_name": tool, "subagent": null, "text": "x",
        "opened_at": "2026-11-14T10:00:00Z", "closed_at": null, "event_id": 1,
        "asked": {"input": input, "key": 1},
        "answer": {"state": "open", "digest": DIGEST, "at": "2026-11-14T10:00:00Z"},
    }))
    .expect("an interaction")
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
