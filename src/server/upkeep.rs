//! What the writer does when nobody waits: fill the search index, and later give back old space.

use crate::store::search;
use anyhow::Result;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::time::{Duration, Instant};

/// How long the line must be empty before the index is filled: hooks come in bursts.
const QUIET: Duration = Duration::from_millis(200);
/// Events indexed in one step; a hook that arrives meanwhile waits for no more than this.
const INDEXED_AT_ONCE: usize = 100;
/// With nothing to do the writer still looks up this often.
const NOTHING_TO_DO: Duration = Duration::from_secs(600);

#[derive(Debug, Default)]
pub struct Upkeep {
    unindexed: bool,
    last_events: Option<Instant>,
}

impl Upkeep {
    pub fn new() -> Upkeep {
        Upkeep { unindexed: true, last_events: None }
    }

    /// How long to wait for jobs before there is something else to do.
    pub fn patience(&self) -> Duration {
        if self.unindexed {
            self.last_events.map_or(Duration::ZERO, |at| QUIET.saturating_sub(at.elapsed()))
        } else {
            NOTHING_TO_DO
        }
    }

    pub fn events_came(&mut self) {
        self.unindexed = true;
        self.last_events = Some(Instant::now());
    }

    pub fn prune_now(&mut self) {}

    /// One small step, if it is time. `true`: the world must be read again.
    pub fn step(&mut self, db: &Connection, idle: bool) -> Result<bool> {
        if idle && self.unindexed && self.last_events.is_none_or(|at| at.elapsed() >= QUIET) {
            // If this fails it is tried again after the next events, not in a loop.
            self.unindexed = false;
            let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
            let count = search::index_some(&transaction, INDEXED_AT_ONCE)?;
            transaction.commit()?;
            self.unindexed = count == INDEXED_AT_ONCE;
        }
        Ok(false)
    }
}
