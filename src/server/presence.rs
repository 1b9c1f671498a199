//! What a client says of itself: `<config>/sessions/<pid>.json`, which it rewrites whenever it becomes busy or idle.
//!
//! It is the only trace of an Esc before any output: no hook tells of it, and the transcript has no line. The file
//! is nobody's contract, so it is believed only where all of it fits: this process, this session, idle since the
//! last sign of life. A client that writes no such file, or another, loses nothing but this.

use super::liveness::Client;
use crate::clock::Stamp;
use serde::Deserialize;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

/// What we have seen has 700 bytes.
const LARGEST: u64 = 64 << 10;
/// Hooks and the transcript, which know more, have their say first.
const PATIENCE: Duration = Duration::from_secs(3);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Presence {
    pid: u32,
    session_id: String,
    /// As the kernel counts it; some versions write it as text.
    #[serde(default)]
    proc_start: serde_json::Value,
    status: String,
    /// Milliseconds.
    status_updated_at: i64,
}

/// Since when the client waits for a prompt, if it says so and that is news: it became idle after `active`, the
/// session's last sign of life.
pub fn idle_since(
    transcript: &Path,
    session_id: &str,
    client: Client,
    active: Stamp,
    now: Stamp,
) -> Option<Stamp> {
    // <config>/projects/<directory>/<session>.jsonl
    let path = transcript.ancestors().nth(3)?.join(format!("sessions/{}.json", client.pid));
    let says: Presence = serde_json::from_slice(&small_file(&path)?).ok()?;
    let same_process =
        says.pid == client.pid && client.start.is_none_or(|start| is_number(&says.proc_start, start));
    let since = Stamp(says.status_updated_at.checked_mul(1_000_000)?);
    let news = since > active && now >= since.plus(PATIENCE);
    (same_process && says.session_id == session_id && says.status == "idle" && news).then_some(since)
}

fn is_number(value: &serde_json::Value, number: u64) -> bool {
    value.as_u64() == Some(number) || value.as_str().is_some_and(|text| text.parse() == Ok(number))
}

fn small_file(path: &Path) -> Option<Vec<u8>> {
    // Not a pipe that nobody writes to.
    if !std::fs::symlink_metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(LARGEST).read_to_end(&mut bytes).ok()?;
    Some(bytes)
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
