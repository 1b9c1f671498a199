//! What a client says of itself: `<config>/sessions/<pid>.json`, which it rewrites whenever it becomes busy or idle.
//!
//! It is the only trace of an Esc before any output: no hook tells of it, and the transcript has no line. The file
//! is nobody's contract, so it is believed only where all of it fits: this process, this session, idle since the
//! last sign of life. A client that writes no such file, or another, loses nothing but this.

use super::liveness::Client;
use crate::clients::Note;
use crate::clock::Stamp;
use std::path::Path;
use std::time::Duration;

/// Hooks and the transcript, which know more, have their say first.
const PATIENCE: Duration = Duration::from_secs(3);

/// Since when the client waits for a prompt, if it says so and that is news: it became idle after `active`, the
/// session's last sign of life.
pub fn idle_since(
    transcript: &Path,
    session_id: &str,
    client: Client,
    active: Stamp,
    now: Stamp,
) -> Option<Stamp> {
    let note = Note::beside(transcript, client.pid)?;
    let same_process =
        note.pid == Some(client.pid) && client.start.is_none_or(|start| note.started_at(start));
    let since = Stamp(note.status_updated_at?.checked_mul(1_000_000)?);
    let news = since > active && now >= since.plus(PATIENCE);
    let idle = note.status.as_deref() == Some("idle");
    (same_process && note.session_id == session_id && idle && news).then_some(since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn believed_only_where_all_of_it_fits() {
        let config = tempfile::tempdir().unwrap();
        std::fs::create_dir(config.path().join("sessions")).unwrap();
        let transcript = config.path().join("projects/-srv/s1.jsonl");
        let second = |n: i64| Stamp(n * 1_000_000_000);
        let says = |status: &str, session: &str, pid: u32, start: &str| {
            format!(
                r#"{{"pid":{pid},"sessionId":"{session}","procStart":{start},"status":"{status}","statusUpdatedAt":20000,"peerToken":"x"}}"#
            )
        };
        let fine = says("idle", "s1", 7, r#""99""#);
        for (text, active, now, expected) in [
            (fine.clone(), 10, 30, Some(second(20))),
            (says("idle", "s1", 7, "99"), 10, 30, Some(second(20))),
            (fine.clone(), 10, 22, None),
            (fine.clone(), 20, 30, None),
            (fine.clone(), 25, 30, None),
            (says("busy", "s1", 7, "99"), 10, 30, None),
            (says("waiting", "s1", 7, "99"), 10, 30, None),
            (says("idle", "s2", 7, "99"), 10, 30, None),
            (says("idle", "s1", 8, "99"), 10, 30, None),
            (says("idle", "s1", 7, "98"), 10, 30, None),
            (says("idle", "s1", 7, "null"), 10, 30, None),
            (fine[..40].to_owned(), 10, 30, None),
            (String::new(), 10, 30, None),
        ] {
            std::fs::write(config.path().join("sessions/7.json"), &text).unwrap();
            let client = Client { pid: 7, start: Some(99) };
            let found = idle_since(&transcript, "s1", client, second(active), second(now));
            assert_eq!(found, expected, "{text} active {active} now {now}");
        }
        let nobody = Client { pid: 8, start: None };
        assert_eq!(idle_since(&transcript, "s1", nobody, second(1), second(30)), None);
    }
}
