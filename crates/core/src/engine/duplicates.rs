//! Recognizes the same event arriving twice: a double install, a spooled copy beside a delivered one.

use crate::engine::agent::Agent;
use crate::engine::hash;
use crate::engine::step::remember;
use crate::model::{Event, Source};
use crate::stamp::Stamp;
use std::time::Duration;

/// What notify adds to the client's payload, except the pid: these fields differ between two copies of one event.
fn is_added_by_notify(field: &str) -> bool {
    matches!(
        field,
        "tmux_session"
            | "tmux_pane"
            | "terminal"
            | "claude_pid_start"
            | "entrypoint"
            | "headspace_session_id"
            | "session_role"
            | "session_mode"
            | "host"
            | "host_id"
            | "sent_at"
            | "delivery_id"
    )
}

/// Two copies of one hook call are stamped within this.
const SAME_CALL_WITHIN: Duration = Duration::from_secs(2);

/// Whether this event arrived before; if not, remembers it. It did if payload and pid are equal, and either the payload
/// names its prompt or its own time and came within two seconds, or `sent_at` is exactly the same. Without any of these,
/// two equal events are two.
pub(super) fn is_repeat(agent: &mut Agent, event: &Event) -> bool {
    if event.source != Source::Hook || crate::engine::observations::is_observed(&event.name) {
        return false;
    }
    let Some(body) = event.body.as_object() else { return false };
    let payload = body
        .iter()
        .filter(|(key, _)| !is_added_by_notify(key))
        .fold(hash::bytes(0, event.name.as_bytes()), |sum, (key, value)| {
            sum.wrapping_add(hash::entry(key, value))
        });
    // A client that gives the time of the call gives both copies the same.
    let dated = body.get("timestamp").is_some_and(|time| time.is_string() || time.is_number());
    let named = dated || event.text("prompt_id").is_some();
    let stamped = event.text("sent_at").is_some();
    let repeat = agent.memory.heard.iter().any(|(known, at)| {
        let apart = crate::engine::conversation::turns::apart(Stamp(*at), event.at);
        *known == payload && ((named && apart <= SAME_CALL_WITHIN) || (stamped && apart.is_zero()))
    });
    if !repeat {
        remember(&mut agent.memory.heard, (payload, event.at.0));
    }
    repeat
}
