//! "Just this once": a command that a person has allowed for one call within the next few minutes. The permission is a
//! file in the state directory, which the guard keeps agents from writing.

use headspace_platform::files;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// An unused permission expires after this long.
const PERMISSION_LASTS: Duration = Duration::from_secs(600);

fn file(state_dir: &Path) -> PathBuf {
    state_dir.join("guard-once.json")
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// The text that allows `command` once, and the file it belongs in.
pub fn allow(command: &str, state_dir: &Path) -> (PathBuf, String) {
    let until = now() + PERMISSION_LASTS.as_secs();
    (file(state_dir), format!("{}\n", json!({"command": command.trim(), "until": until})))
}

/// Whether the call in `payload` was allowed once. If so, that permission is now used up.
pub fn take(payload: &[u8], state_dir: &Path) -> bool {
    let path = file(state_dir);
    // Whoever else can write there could allow anything.
    let text = files::check_ours(state_dir, files::OTHERS_WRITE).and_then(|()| Ok(files::read_text(&path)?));
    let Ok(text) = text else { return false };
    let allowed: Value = serde_json::from_str(&text).unwrap_or_default();
    let call = crate::payload::read(payload).unwrap_or_default();
    let command = call["tool_input"]["command"].as_str().map(str::trim);
    let same = command.is_some() && command == allowed["command"].as_str();
    let in_time = allowed["until"].as_u64().is_some_and(|until| until >= now());
    // Of two simultaneous calls, only the one that removes the file gets the permission.
    same && in_time && std::fs::remove_file(&path).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_permission_works_once_and_only_for_its_command() {
        let dir = tempfile::tempdir().unwrap();
        let payload = |command: &str| {
            serde_json::to_vec(&json!({"tool_name": "Bash", "tool_input": {"command": command}})).unwrap()
        };
        assert!(!take(&payload("pkill -f vite"), dir.path()));
        let (path, text) = allow("pkill -f vite ", dir.path());
        std::fs::write(&path, text).unwrap();
        assert!(!take(&payload("pkill -f node"), dir.path()));
        assert!(!take(b"{", dir.path()));
        assert!(take(&payload("pkill -f vite"), dir.path()));
        assert!(!take(&payload("pkill -f vite"), dir.path()));
        std::fs::write(&path, r#"{"command": "ls", "until": 5}"#).unwrap();
        assert!(!take(&payload("ls"), dir.path()));
    }
}
