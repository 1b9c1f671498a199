//! The files in which clients write what they are doing, `<config>/sessions/<pid>.json`, and when to trust them.
//!
//! A client rewrites its file at every change, before or after the hook that reports the same. The hook knows more, so a
//! change is reported only when it has lasted for a moment, unless no hook can report it: "Yes" in a dialog, and all that
//! a session without hooks does.

use crate::reconcile::WatchTarget;
use crate::reconcile::liveness::ClientProcess;
use crate::reconcile::watcher::Report;
use headspace_clients::Note;
use headspace_core::model::{ClientState, Source, observed};
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use serde_json::json;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The directory, and what was in it when it was last read.
#[derive(Debug)]
pub(super) struct ClientFiles {
    directory: PathBuf,
    seen: HashMap<u32, (FileVersion, Option<Note>)>,
}

/// Shows whether a file was rewritten, without reading it.
type FileVersion = (Option<SystemTime>, u64);

impl ClientFiles {
    pub(super) fn new(directory: PathBuf) -> ClientFiles {
        ClientFiles { directory, seen: HashMap::new() }
    }

    /// The clients whose files changed since the last call.
    pub(super) fn look(&mut self) -> Vec<u32> {
        let mut there = HashMap::with_capacity(self.seen.len());
        let mut changed = Vec::new();
        for entry in std::fs::read_dir(&self.directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let Some(pid) = pid_of(&path) else { continue };
            let Ok(meta) = entry.metadata() else { continue };
            let written = (meta.modified().ok(), meta.len());
            match self.seen.remove(&pid) {
                Some(known) if known.0 == written => drop(there.insert(pid, known)),
                before => {
                    let note = Note::read(&path).filter(|note| note.pid == Some(pid));
                    let same = before.is_some_and(|(_, before)| before == note);
                    // Caught while it was being written: the next file event, or the next round, has the rest.
                    let whole = note.is_some();
                    if whole && !same {
                        changed.push(pid);
                    }
                    there.insert(pid, (if whole { written } else { (None, 0) }, note));
                }
            }
        }
        self.seen = there;
        changed
    }

    pub(super) fn note(&self, pid: u32) -> Option<&Note> {
        self.seen.get(&pid)?.1.as_ref()
    }

    /// The clients that say they run this session.
    pub(super) fn running(&self, session_id: &str) -> Vec<u32> {
        let runs = |(_, note): &(FileVersion, Option<Note>)| {
            note.as_ref().is_some_and(|note| note.session_id == session_id)
        };
        self.seen.iter().filter(|(_, file)| runs(file)).map(|(pid, _)| *pid).collect()
    }
}

fn pid_of(path: &Path) -> Option<u32> {
    if path.extension()? != "json" {
        return None;
    }
    path.file_stem()?.to_str()?.parse().ok()
}

pub(super) fn status(note: &Note) -> Option<ClientState> {
    ClientState::from_word(note.status.as_deref()?)
}

/// How long a change must last before it is reported.
pub(super) fn settles_after(note: &Note, target: Option<&WatchTarget>, hooks_speak: bool) -> Duration {
    /// For an unknown session: its first hook may be on its way.
    const FIRST_HOOK_WITHIN: Duration = Duration::from_millis(1000);
    /// A hook describes the dialog, or reports the prompt or the end of the turn.
    const HOOK_FOLLOWS_WITHIN: Duration = Duration::from_millis(400);
    /// Several dialogs queue up: the next one may be on the screen before the client has written so.
    const NEXT_DIALOG_WITHIN: Duration = Duration::from_millis(300);
    /// The transcript gets a line for a refusal or an interrupt.
    const LINE_FOLLOWS_WITHIN: Duration = Duration::from_millis(200);
    let Some(target) = target else { return if hooks_speak { FIRST_HOOK_WITHIN } else { Duration::ZERO } };
    if !hooks_speak {
        return Duration::ZERO;
    }
    match (status(note), target.open_dialogs) {
        (Some(ClientState::Busy), 1) | (Some(ClientState::Waiting), 1..) => Duration::ZERO,
        (Some(ClientState::Busy), 2..) => NEXT_DIALOG_WITHIN,
        (Some(ClientState::Idle | ClientState::Shell), 1..) => LINE_FOLLOWS_WITHIN,
        _ => HOOK_FOLLOWS_WITHIN,
    }
}

/// The event for a change. `at`: since when it is true, if that is not when the client says it changed.
pub(super) fn report(
    note: &Note,
    client: ClientProcess,
    transcript: Option<&Path>,
    at: Option<Stamp>,
) -> Report {
    let changed = note.status_updated_at.or(note.started_at).and_then(|at| at.checked_mul(1_000_000));
    let at = at.or(changed.map(Stamp)).unwrap_or_else(Stamp::now).min(Stamp::now());
    let mut body = json!({
        "status": note.status, "waiting_for": note.waiting_for, "title": note.title(),
        "claude_pid": client.pid, "claude_pid_start": client.start, "entrypoint": note.entrypoint, "timestamp": at,
    });
    if let Some(transcript) = transcript {
        body["transcript_path"] = json!(transcript.to_string_lossy());
    }
    Report {
        name: observed::CLIENT_STATUS,
        session_id: note.session_id.clone(),
        at,
        source: Source::Client,
        body,
        tail: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(open_dialogs: usize) -> WatchTarget {
        WatchTarget {
            session_id: "s".into(),
            transcript_path: None,
            idle: false,
            asks: open_dialogs > 0,
            answered: false,
            open_dialogs,
            asking_subagents: Vec::new(),
            busy: true,
            client: None,
            shared_in: None,
            resumed: false,
            hooked: true,
            asked_commands: Vec::new(),
            pane: None,
            permission_mode: None,
            active: Stamp::now(),
        }
    }

    fn note(status: &str) -> Note {
        serde_json::from_value(json!({"pid": 7, "sessionId": "s", "status": status, "statusUpdatedAt": 5}))
            .unwrap()
    }

    #[test]
    fn only_what_no_hook_can_report_is_reported_at_once() {
        for (status, dialogs, hooks, at_once) in [
            ("busy", 1, true, true),
            ("busy", 0, true, false),
            ("busy", 2, true, false),
            ("idle", 0, true, false),
            ("idle", 1, true, false),
            ("waiting", 1, true, true),
            ("waiting", 0, true, false),
            ("waiting", 0, false, true),
            ("idle", 0, false, true),
            ("busy", 0, false, true),
        ] {
            let wait = settles_after(&note(status), Some(&target(dialogs)), hooks);
            assert_eq!(wait.is_zero(), at_once, "{status}, {dialogs} dialogs, hooks {hooks}");
            assert!(wait < Duration::from_millis(500));
        }
        assert!(!settles_after(&note("idle"), None, true).is_zero());
    }

    #[test]
    fn a_file_counts_as_changed_when_its_content_changes_and_is_complete() {
        let dir = tempfile::tempdir().unwrap();
        let mut files = ClientFiles::new(dir.path().join("sessions"));
        assert!(files.look().is_empty(), "no such directory");
        std::fs::create_dir(dir.path().join("sessions")).unwrap();
        let path = dir.path().join("sessions/7.json");
        let write = |text: &str, second: u64| {
            std::fs::write(&path, text).unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
            std::fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        };
        let busy = r#"{"pid":7,"sessionId":"s","status":"busy","statusUpdatedAt":5}"#;
        write(busy, 1);
        assert_eq!(files.look(), [7]);
        assert!(files.look().is_empty());
        write(busy, 2);
        assert!(files.look().is_empty(), "rewritten, and nothing changed");
        write(&busy[..30], 3);
        assert!(files.look().is_empty(), "half of it");
        write(&busy.replace("busy", "idle"), 3);
        assert_eq!(files.look(), [7]);
        write(&busy.replace(":7", ":8"), 4);
        assert!(files.look().is_empty(), "another process's");
        std::fs::remove_file(&path).unwrap();
        assert!(files.look().is_empty() && files.note(7).is_none());
    }
}
