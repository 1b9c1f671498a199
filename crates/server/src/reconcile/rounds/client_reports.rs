//! What the files of clients say, and when it is reported: hooks report most of it first and better.

use crate::reconcile::client_files;
use crate::reconcile::liveness::ClientProcess;
use crate::reconcile::rounds::{LOOK_WHILE_WAITING_EVERY, ReconcilerThread};
use crate::reconcile::settings_watch::HookPresence;
use crate::reconcile::watcher::{AgentNow, Report, TranscriptWatcher};
use crate::reconcile::{WatchTarget, lock};
use headspace_clients as clients;
use headspace_clients::Note;
use headspace_core::model::{ClientState, Source, observed};
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often the end of a turn waits for hooks in the spool.
const MAX_WAITS_FOR_SPOOL: u8 = 8;

/// A change of a client's file before it becomes an event.
#[derive(Clone, Copy)]
pub(super) struct Settling {
    pub(super) due: Instant,
    pub(super) waited_for_spool: u8,
}

/// A client whose turn was reported to be over.
pub(super) struct Stopped {
    pub(super) pid: u32,
    pub(super) look_at: Instant,
    pub(super) stop_at: Stamp,
}

impl ReconcilerThread {
    /// Reads the clients' files that changed; what they say is reported when it has lasted for a moment.
    pub(super) fn look_at_clients(&mut self) {
        for pid in self.clients.look() {
            let Some(note) = self.clients.note(pid) else { continue };
            let Some(client) = note.writer().map(ClientProcess::from) else { continue };
            let target = self.shared.host.target_of(client);
            let wait = client_files::settles_after(note, target.as_ref(), self.hooks_speak(&note.session_id));
            self.settling.insert(pid, Settling { due: Instant::now() + wait, waited_for_spool: 0 });
        }
    }

    /// Whether hooks report what this session does.
    pub(super) fn hooks_speak(&self, session_id: &str) -> bool {
        match self.shared.watch(session_id) {
            Some(watched) => lock(&watched).main.hooks_speak(),
            None => lock(&self.shared.hooks).is_none_or(|hooks| hooks == HookPresence::Installed),
        }
    }

    pub(super) fn report_settled(&mut self) {
        let now = Instant::now();
        let due: Vec<(u32, Settling)> = self
            .settling
            .iter()
            .filter(|(_, settling)| settling.due <= now)
            .map(|(pid, s)| (*pid, *s))
            .collect();
        for (pid, settling) in due {
            self.settling.remove(&pid);
            let Some(note) = self.clients.note(pid).cloned() else { continue };
            self.report_client(&note, settling);
        }
    }

    /// Reports a client's file as an event, after what its transcript says.
    fn report_client(&mut self, note: &Note, settling: Settling) {
        let Some(client) = note.writer().map(ClientProcess::from) else { return };
        let Some(pid) = note.pid else { return };
        // A starting client writes no status at first, and may not know its session yet.
        let Some(status) = client_files::status(note) else { return };
        let Some(target) = self.shared.host.target_of(client) else {
            return self.found_by_file(note, client);
        };
        if target.session_id != note.session_id && !self.can_have_moved(note, &target) {
            return;
        }
        let rests = matches!(status, ClientState::Idle | ClientState::Shell);
        let waited_for_spool = settling.waited_for_spool + 1;
        if rests && !target.idle && waited_for_spool < MAX_WAITS_FOR_SPOOL && self.shared.host.hooks_wait() {
            let due = Instant::now() + LOOK_WHILE_WAITING_EVERY;
            self.settling.insert(pid, Settling { due, waited_for_spool });
            return;
        }
        if target.session_id == note.session_id {
            if rests && let Some(watched) = self.shared.watched_of(&target) {
                lock(&watched).main.client_rests();
            }
            self.read_session(&note.session_id, Some(&target));
        }
        let transcript = self.transcript_of(note);
        self.shared.record(vec![client_files::report(note, client, transcript.as_deref(), None)]);
    }

    /// Whether the client can have left the session it was known to have for the one that its file names (`/clear`,
    /// `/resume`). Older clients do not update the id in their file, and hooks report the change better: they are waited for
    /// as long as they speak. Without them the file is all there is, but it does not overrule what hooks said before unless
    /// the client writes a transcript of that session.
    fn can_have_moved(&self, note: &Note, target: &WatchTarget) -> bool {
        match self.shared.watched_of(target) {
            Some(watched) => !lock(&watched).main.hooks_speak(),
            None if target.hooked => self.transcript_of(note).is_some(),
            None => !self.hooks_speak(&target.session_id),
        }
    }

    /// Where the client writes this session's transcript, if it has begun.
    fn transcript_of(&self, note: &Note) -> Option<PathBuf> {
        let directory = clients::directory_name(Path::new(note.cwd.as_deref()?));
        let path = self.places.projects().join(directory).join(format!("{}.jsonl", note.session_id));
        path.is_file().then_some(path)
    }

    /// A client that no hook reported: it is older than the installation, or runs without our hooks.
    fn found_by_file(&mut self, note: &Note, client: ClientProcess) {
        let now = Stamp::now();
        let transcript = self.transcript_of(note);
        let status = client_files::report(note, client, transcript.as_deref(), None);
        let mut reports = vec![Report {
            name: observed::SESSION_FOUND,
            session_id: note.session_id.clone(),
            at: status.at,
            source: Source::Client,
            body: json!({
                "cwd": note.cwd, "transcript_path": transcript.as_ref().map(|path| path.to_string_lossy()), "timestamp": status.at,
                "entrypoint": note.entrypoint, "version": note.version,
                "claude_pid": client.pid, "claude_pid_start": client.start,
            }),
            tail: None,
        }];
        let unwatched = transcript.filter(|_| self.shared.watch(&note.session_id).is_none());
        match unwatched.and_then(|path| TranscriptWatcher::find(&note.session_id, path, now)) {
            Some((mut watch, _)) => {
                reports.extend(watch.settle(now, AgentNow::NO_AGENT));
                reports.push(status);
                self.shared.record_found(&note.session_id, watch, reports);
            }
            None => {
                reports.push(status);
                self.shared.record(reports);
            }
        }
        self.next_round = Instant::now();
    }

    /// A client that is still busy though its turn was reported to be over continues with something.
    pub(super) fn check_stopped_clients(&mut self) {
        let now = Instant::now();
        let (due, later): (Vec<Stopped>, Vec<Stopped>) =
            std::mem::take(&mut self.stopped).into_iter().partition(|stopped| stopped.look_at <= now);
        self.stopped = later;
        if due.is_empty() {
            return;
        }
        self.look_at_clients();
        for Stopped { pid, stop_at, .. } in due {
            let Some(note) = self.clients.note(pid).cloned() else { continue };
            let Some(client) = note.writer().map(ClientProcess::from) else { continue };
            let since = Stamp(note.status_updated_at.unwrap_or_default().saturating_mul(1_000_000));
            let busy = client_files::status(&note) == Some(ClientState::Busy);
            let target = self.shared.host.target_of(client);
            let idle = target.is_some_and(|target| target.idle && target.session_id == note.session_id);
            if busy && idle && since <= stop_at {
                // It never stopped: whatever it writes from now on is newer.
                let went_on = stop_at.plus(Duration::from_millis(1));
                let report = client_files::report(&note, client, None, Some(went_on));
                self.shared.record(vec![report]);
            }
        }
    }
}
