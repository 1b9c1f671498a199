//! Whatever a session says and does, its document has no control characters, and a tool call stays one line of code in it.

#![cfg_attr(fuzzing, no_main)]

use headspace_core::engine::Agent;
use headspace_core::export;
use headspace_core::model::{Actor, Confidence, Intent, TimestampSource};
use headspace_core::stamp::Stamp;
use headspace_core::wire::{StoredEvent, StoredTurn};
use serde_json::{Value, json};

pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let body: Value = serde_json::from_str(&text).unwrap_or_else(
        |_| json!({"tool_name": "Bash", "tool_use_id": "t", "tool_input": {"command": text}, "duration_ms": data.len()}),
    );
    let mut agent = Agent::default().view(Stamp(0), None);
    (agent.name, agent.project, agent.cwd) =
        (text.to_string(), Some(text.to_string()), Some(text.to_string()));
    let turn = StoredTurn {
        id: 1,
        command_id: None,
        session_id: "s".into(),
        actor: Actor::Agent,
        intent: Intent::Completion,
        text: text.to_string(),
        timestamp: Stamp(1),
        timestamp_source: TimestampSource::Server,
        confidence: Confidence::High,
        event_id: 1,
    };
    let event = |id: i64, name: &str| StoredEvent {
        id,
        name: name.into(),
        session_id: "s".into(),
        agent_id: Some(1),
        at: Stamp(id),
        received_at: Stamp(id),
        source: "hook".into(),
        duplicate: false,
        client: None,
        body: body.clone(),
    };
    let events = [event(2, "PreToolUse"), event(3, "PostToolUse")];
    let document = export::markdown(&agent, &text, &[turn], &events, data.len().is_multiple_of(2));
    assert!(document.starts_with("# "));
    let odd = document.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
    assert_eq!(odd, None, "{document:?}");
    // The call comes last, and is the last line.
    let call = document.lines().last().unwrap_or_default();
    assert!(call.starts_with("- `"), "{document:?}");
    let name = export::file_name(&agent, &text, "md");
    assert!(name.len() < 80 && name.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c)), "{name}");
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
