//! The ledger from the view of a thread that copies it elsewhere: what is committed, which agents were touched, and a
//! bell for what cannot wait. Nothing here makes the writer wait for its reader.

use crate::ledger::{Job, Ledger};
use headspace_core::model::AgentView;
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;

/// What the writer leaves for the copier.
#[derive(Debug, Default)]
pub struct CopyFeed {
    /// There is a reader.
    read: AtomicBool,
    state: Mutex<Touched>,
    bell: Condvar,
}

#[derive(Debug, Default)]
struct Touched {
    agents: HashSet<i64>,
    rung: bool,
}

impl CopyFeed {
    /// `matters`: an agent began or stopped needing a person, or something else changed that a person sees at a glance.
    pub fn touched(&self, agents: impl Iterator<Item = i64>, matters: bool) {
        if !self.read.load(Ordering::Relaxed) {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.agents.extend(agents);
        if matters && !state.rung {
            state.rung = true;
            drop(state);
            self.bell.notify_all();
        }
    }
}

/// The reader's side.
#[derive(Debug)]
pub struct Copier {
    ledger: Ledger,
    database: PathBuf,
}

/// Rows are written within milliseconds; a writer that takes longer than this is in trouble, and reports that itself.
const WRITTEN_WITHIN: Duration = Duration::from_secs(5);

impl Copier {
    pub(super) fn new(ledger: Ledger, database: PathBuf) -> Copier {
        ledger.published.copied.read.store(true, Ordering::Relaxed);
        Copier { ledger, database }
    }

    /// The newest committed event.
    pub fn newest(&self) -> i64 {
        self.ledger.marks().event
    }

    pub fn generation(&self) -> u64 {
        self.ledger.generation()
    }

    pub fn database(&self) -> &Path {
        &self.database
    }

    /// The agents that were touched since the last call.
    pub fn touched(&mut self) -> Vec<AgentView> {
        let ids = {
            let mut state = self.ledger.published.copied.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.rung = false;
            std::mem::take(&mut state.agents)
        };
        ids.into_iter().filter_map(|id| self.agent(id)).collect()
    }

    /// All agents that have not ended.
    pub fn living(&self) -> Vec<AgentView> {
        let agents = self.ledger.snapshot().agents(0);
        let now = Stamp::now();
        agents.iter().map(|agent| self.ledger.view(agent, now)).collect()
    }

    pub fn agent(&self, id: i64) -> Option<AgentView> {
        let agent = self.ledger.snapshot().agent(id)?;
        Some(self.ledger.view(&agent, Stamp::now()))
    }

    /// Whether the tables hold everything that was committed before.
    pub fn written(&self) -> bool {
        let (done, mut wait) = oneshot::channel();
        self.ledger.put(Job::WriteRows(done));
        let end = std::time::Instant::now() + WRITTEN_WITHIN;
        loop {
            match wait.try_recv() {
                Ok(()) => return true,
                Err(oneshot::error::TryRecvError::Closed) => return false,
                Err(oneshot::error::TryRecvError::Empty) if std::time::Instant::now() > end => return false,
                Err(oneshot::error::TryRecvError::Empty) => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// Waits this long, or until something matters; returns whether something did.
    pub fn wait(&self, at_most: Duration) -> bool {
        let feed = &self.ledger.published.copied;
        let state = feed.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = feed.bell.wait_timeout_while(state, at_most, |state| !state.rung);
        std::mem::take(&mut waited.unwrap_or_else(PoisonError::into_inner).0.rung)
    }

    pub fn is_closing(&self) -> bool {
        self.ledger.is_closed()
    }
}
