//! Clients that wait at their first dialog: in a directory that is not trusted yet, the client asks before it runs any
//! hook or writes any file. All there is to see is a process.

use crate::reconcile::watcher::Report;
use headspace_clients as clients;
use headspace_clients::Newcomers;
use headspace_core::model::{Process, Source, observed, stand_in_session};
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_platform::{files, process};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A client in a trusted directory writes its file within this time.
const CLIENT_FILE_WITHIN: Duration = Duration::from_millis(1500);
/// A process that did not ask by then is something else.
const FORGET_AFTER: Duration = Duration::from_secs(3600);

/// Clients of which only the process is known.
#[derive(Default)]
pub(super) struct TrustDialogs {
    newcomers: Newcomers,
    waiting: HashMap<Process, Instant>,
}

impl TrustDialogs {
    /// The clients that ask whether to trust their directory, each returned once. `known`: whether anything else is known.
    pub(super) fn look(&mut self, config: &Path, known: impl Fn(Process) -> bool) -> Vec<Report> {
        for process in self.newcomers.look() {
            self.waiting.insert(process, Instant::now());
        }
        let mut reports = Vec::new();
        self.waiting.retain(|client, since| {
            if !process::lives(*client) || known(*client) || since.elapsed() > FORGET_AFTER {
                return false;
            }
            if since.elapsed() < CLIENT_FILE_WITHIN {
                return true;
            }
            match clients::interactive_in(client.pid, config).filter(|place| !is_trusted(config, place)) {
                Some(place) => {
                    reports.extend(asks(*client, &place));
                    false
                }
                // Another user's configuration, or a client that is about to write its file.
                None => since.elapsed() < 4 * CLIENT_FILE_WITHIN,
            }
        });
        reports
    }

    /// Whether some process has to be checked again soon.
    pub(super) fn waits(&self) -> bool {
        !self.waiting.is_empty()
    }
}

/// An agent that needs its user. It has no session yet; when it gets one, its process shows that it is the same agent.
fn asks(client: Process, place: &Path) -> Vec<Report> {
    let at = Stamp::now();
    let session_id = stand_in_session(client.pid, client.start);
    let report = |name, body| Report {
        name,
        session_id: session_id.clone(),
        at,
        source: Source::Client,
        body,
        tail: None,
    };
    let process = json!({"claude_pid": client.pid, "claude_pid_start": client.start, "timestamp": at});
    let with = |more: Value| {
        let mut body = process.clone();
        for (key, value) in more.as_object().into_iter().flatten() {
            body[key] = value.clone();
        }
        body
    };
    vec![
        report(observed::SESSION_FOUND, with(json!({"cwd": place.to_string_lossy(), "entrypoint": "cli"}))),
        report(
            observed::CLIENT_STATUS,
            with(json!({"status": "waiting", "waiting_for": "Trust this folder?"})),
        ),
    ]
}

/// Whether the user has trusted this directory, or one above it.
fn is_trusted(config: &Path, place: &Path) -> bool {
    let beside: Option<PathBuf> = config.parent().map(|home| home.join(".claude.json"));
    [Some(config.join(".claude.json")), beside].into_iter().flatten().any(|file| {
        let Ok(text) = files::read(&file) else { return false };
        let state: Value = serde_json::from_slice(&text).unwrap_or_default();
        let trusted = |place: &Path| {
            state["projects"][place.to_string_lossy().as_ref()]["hasTrustDialogAccepted"] == true
        };
        place.ancestors().any(trusted)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trusted_directory_includes_all_below_it() {
        let home = tempfile::tempdir().unwrap();
        let config = home.path().join(".claude");
        assert!(!is_trusted(&config, Path::new("/srv/app")));
        let state = r#"{"projects": {"/srv/app": {"hasTrustDialogAccepted": true}, "/srv/new": {}}}"#;
        std::fs::write(home.path().join(".claude.json"), state).unwrap();
        for (place, trusted) in
            [("/srv/app", true), ("/srv/app/src", true), ("/srv/new", false), ("/srv", false)]
        {
            assert_eq!(is_trusted(&config, Path::new(place)), trusted, "{place}");
        }
    }

    #[test]
    fn a_directory_may_have_any_name() {
        use std::os::unix::ffi::OsStrExt;
        let place = Path::new(std::ffi::OsStr::from_bytes(b"/srv/caf\xe9"));
        let reports = asks(Process { pid: 7, start: 1 }, place);
        assert_eq!(reports[0].body["cwd"], "/srv/caf\u{fffd}");
    }
}
