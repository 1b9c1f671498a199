//! Syncs the log to disk a moment after COMMIT, once for everything committed meanwhile.
//!
//! With `"durability": "crash"` an event is answered when it is in the log: the system has it, so it survives a crash
//! of the server. It can be lost only if the machine loses power, and only within [`SYNC_WITHIN`].

use anyhow::{Context, Result};
use headspace_platform::log;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The oldest event that is not on disk is at most this old, plus the time the disk needs.
const SYNC_WITHIN: Duration = Duration::from_millis(40);

/// Dropping it syncs everything to disk.
#[derive(Debug)]
pub struct LogSync {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    log: File,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// When the log was first written to after the last sync.
    written: Option<Instant>,
    /// Why the last sync failed.
    failure: Option<String>,
    stop: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sync(&self) -> Result<()> {
        // Taken before the sync: what is written during it counts for the next one.
        self.state().written = None;
        let synced = self.log.sync_data().context("could not bring the log to the disk");
        self.state().failure = synced.as_ref().err().map(|error| format!("{error:#}"));
        synced
    }
}

impl LogSync {
    /// For the database at `path`. It is open, so its log exists and stays the same file.
    pub fn start(path: &Path) -> Result<LogSync> {
        let log = crate::open_log(path).context("could not open the log")?;
        let shared = Arc::new(Shared { log, state: Mutex::default(), changed: Condvar::new() });
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("sync".into())
            .spawn(move || run(&own))
            .context("could not start a thread")?;
        Ok(LogSync { shared, thread: Some(thread) })
    }

    /// Call after a COMMIT. Only the first call after a sync costs anything.
    pub fn written(&self) {
        let mut state = self.shared.state();
        if state.written.is_none() {
            state.written = Some(Instant::now());
            self.shared.changed.notify_one();
        }
    }

    /// Why the last sync failed; the next successful sync clears it.
    pub fn failure(&self) -> Option<String> {
        self.shared.state().failure.clone()
    }

    /// When this returns, everything committed before is on disk.
    pub fn now(&self) -> Result<()> {
        self.shared.sync()
    }
}

impl Drop for LogSync {
    fn drop(&mut self) {
        self.shared.state().stop = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(shared: &Shared) {
    loop {
        let mut state = shared.state();
        while state.written.is_none() && !state.stop {
            state = shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        while let Some(written) = state.written.filter(|_| !state.stop) {
            let left = SYNC_WITHIN.saturating_sub(written.elapsed());
            if left.is_zero() {
                break;
            }
            state = shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        let (pending, stop) = (state.written.is_some(), state.stop);
        drop(state);
        if pending && let Err(error) = shared.sync() {
            log::line(&format!("{error:#}"));
        }
        if stop {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_on_disk_soon_and_at_the_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("headspace.db");
        let _db = crate::open(&path).unwrap();
        let sync = LogSync::start(&path).unwrap();
        sync.written();
        let end = Instant::now() + Duration::from_secs(20);
        while sync.shared.state().written.is_some() {
            assert!(Instant::now() < end, "not synced");
            std::thread::yield_now();
        }
        sync.written();
        let shared = Arc::clone(&sync.shared);
        drop(sync);
        assert!(shared.state().written.is_none());
    }
}
