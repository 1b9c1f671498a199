//! What only the screen shows: the permission mode after Shift+Tab, which the client writes nowhere. tmux panes can be
//! read. That costs a process, so it is done only while a person looks at the board, and in a separate thread.

use crate::reconcile::watcher::Report;
use crate::reconcile::{ReconcilerState, WatchTarget, lock};
use headspace_core::model::{Source, observed};
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_platform::terminal::tmux;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often screens are read while a person looks.
const READ_SCREENS_EVERY: Duration = Duration::from_millis(1500);
/// After this long without a request, the board counts as not looked at.
const VIEWED_FOR: Duration = Duration::from_secs(4);

/// Whether a person looks at the board.
#[derive(Default)]
pub(super) struct Viewers {
    last: Mutex<Option<Instant>>,
    came: Condvar,
    stop: AtomicBool,
}

impl Viewers {
    /// The agents were requested.
    pub(super) fn look(&self) {
        *lock(&self.last) = Some(Instant::now());
        self.came.notify_one();
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.came.notify_one();
    }

    /// Waits until a person looks; `false` when the server ends.
    fn wait(&self) -> bool {
        let mut last = lock(&self.last);
        while !self.stop.load(Ordering::Relaxed) && last.is_none_or(|last| last.elapsed() > VIEWED_FOR) {
            last = self.came.wait(last).unwrap_or_else(PoisonError::into_inner);
        }
        !self.stop.load(Ordering::Relaxed)
    }

    fn pause(&self) {
        let until = Instant::now() + READ_SCREENS_EVERY;
        let mut last = lock(&self.last);
        while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            if self.stop.load(Ordering::Relaxed) {
                return;
            }
            last = self.came.wait_timeout(last, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// The thread: reads the screens of all agents in tmux while a person looks.
pub(super) fn run(shared: &Arc<ReconcilerState>) {
    while shared.viewers.wait() {
        let targets = shared.host.targets();
        let mut by_socket: BTreeMap<Option<&str>, Vec<&WatchTarget>> = BTreeMap::new();
        for target in targets.iter().filter(|target| target.client.is_some()) {
            if let Some(pane) = &target.pane {
                by_socket.entry(pane.socket.as_deref()).or_default().push(target);
            }
        }
        let reports: Vec<Report> =
            by_socket.into_iter().flat_map(|(socket, targets)| modes(socket, &targets)).collect();
        shared.record(reports);
        shared.viewers.pause();
    }
}

/// The modes that differ from those we know.
fn modes(socket: Option<&str>, targets: &[&WatchTarget]) -> Vec<Report> {
    let panes: Vec<&str> =
        targets.iter().filter_map(|target| Some(target.pane.as_ref()?.id.as_str())).collect();
    let screens = tmux::screens(socket, &panes);
    let news = |target: &&WatchTarget| {
        let (pane, client) = (target.pane.as_ref()?, target.client?);
        let screen = screens.iter().find(|screen| screen.pane == pane.id)?;
        let mode = mode_on(&screen.text).filter(|mode| Some(*mode) != target.permission_mode.as_deref())?;
        // The pane may belong to another process by now.
        if !headspace_platform::process::descends(client.pid, screen.pid) {
            return None;
        }
        let now = Stamp::now();
        Some(Report {
            name: observed::DETAILS,
            session_id: target.session_id.clone(),
            at: now,
            source: Source::Client,
            body: json!({
                "permission_mode": mode, "claude_pid": client.pid, "claude_pid_start": client.start, "timestamp": now,
            }),
            tail: None,
        })
    };
    targets.iter().filter_map(news).collect()
}

/// The client's words for each mode, in the line below the prompt.
const MODES: &[(&str, &str)] = &[
    ("accept edits on", "acceptEdits"),
    ("plan mode on", "plan"),
    ("auto mode on", "auto"),
    ("bypass permissions on", "bypassPermissions"),
    ("don't ask on", "dontAsk"),
    ("manual mode on", "default"),
];

/// The mode a screen shows. Only the last lines count, and only after the sign the client puts before it: text in the
/// conversation is ignored.
fn mode_on(screen: &str) -> Option<&'static str> {
    let lines: Vec<&str> = screen.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let below = lines.iter().rposition(|line| line.starts_with('─')).map_or(0, |rule| rule + 1);
    let line = lines[below..].iter().find(|line| line.starts_with(['⏵', '⏸']))?;
    MODES.iter().find(|(words, _)| line.contains(words)).map(|(_, mode)| *mode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mode_is_read_only_below_the_prompt() {
        let screen =
            |line: &str| format!("● plan mode on\n⏸ plan mode on\n────────\n❯ \n────────\n  {line}\n\n");
        for (line, mode) in [
            ("⏵⏵ accept edits on (shift+tab to cycle)", Some("acceptEdits")),
            ("⏸ plan mode on (shift+tab to cycle)", Some("plan")),
            ("⏸ manual mode on · ? for shortcuts", Some("default")),
            ("⏵⏵ bypass permissions on", Some("bypassPermissions")),
            ("? for shortcuts", None),
            ("plan mode on", None),
            ("⏸ something new on", None),
        ] {
            assert_eq!(mode_on(&screen(line)), mode, "{line}");
        }
        assert_eq!(mode_on(""), None);
    }
}
