//! What the writer does when nobody waits: fill the search index, and let go of what retention no longer keeps.

use super::log;
use crate::clock::Stamp;
use crate::config::Retention;
use crate::store::prune::{self, Deleted, Pass};
use crate::store::{self, search};
use anyhow::Result;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long the line must be empty before the index is filled: hooks come in bursts.
const QUIET: Duration = Duration::from_millis(200);
/// Events indexed in one step; a hook that arrives meanwhile waits for no more than this.
const INDEXED_AT_ONCE: usize = 100;
/// Time for one step of pruning, at most and at least; a hook that comes then waits for it and its COMMIT, which takes
/// as long again, or longer on a slow disk.
const SLICE: (Duration, Duration) = (Duration::from_millis(3), Duration::from_millis(10));
/// What a step and its COMMIT together should take. A hook may be kept waiting for 50 ms.
const WITH_COMMIT: Duration = Duration::from_millis(15);
/// While hooks keep coming, pruning takes a slice this often.
const BETWEEN_SLICES: Duration = Duration::from_millis(100);
/// Hooks keep coming as long as the last one is not longer ago than this.
const LULL: Duration = Duration::from_millis(300);
const FIRST_PRUNE: Duration = Duration::from_secs(60);
const PRUNE_EVERY: Duration = Duration::from_secs(3600);

#[derive(Debug)]
pub struct Upkeep {
    retention: Retention,
    unindexed: bool,
    last_events: Option<Instant>,
    next_prune: Instant,
    pruning: Option<Pruning>,
    /// Done, but nobody has heard of it yet.
    pruned: Option<Pruning>,
}

#[derive(Debug)]
struct Pruning {
    pass: Pass,
    total: Deleted,
    last_slice: Option<Instant>,
    /// How long the next slice may take: what the last ones cost decides.
    slice: Duration,
    waiting: Vec<oneshot::Sender<Deleted>>,
}

impl Upkeep {
    pub fn new(retention: Retention) -> Upkeep {
        Upkeep {
            retention,
            unindexed: true,
            last_events: None,
            next_prune: Instant::now() + FIRST_PRUNE,
            pruning: None,
            pruned: None,
        }
    }

    /// How long to wait for jobs before there is something else to do.
    pub fn patience(&self) -> Duration {
        if let Some(pruning) = &self.pruning {
            let lull = self.last_events.is_none_or(|at| at.elapsed() >= LULL);
            let since = pruning.last_slice.filter(|_| !lull).map(|at| at.elapsed());
            return since.map_or(Duration::ZERO, |since| BETWEEN_SLICES.saturating_sub(since));
        }
        let until_prune = self.next_prune.saturating_duration_since(Instant::now());
        if self.unindexed {
            let until_quiet =
                self.last_events.map_or(Duration::ZERO, |at| QUIET.saturating_sub(at.elapsed()));
            until_quiet.min(until_prune)
        } else {
            until_prune
        }
    }

    /// The next step may delete.
    pub fn deletes(&self) -> bool {
        self.pruning.is_some()
    }

    /// Not now, and not again at once; who waits for it hears that it is not done.
    pub fn postpone(&mut self) {
        self.pruning = None;
        self.next_prune = Instant::now() + FIRST_PRUNE;
    }

    pub fn events_came(&mut self) {
        self.unindexed = true;
        self.last_events = Some(Instant::now());
    }

    /// Begins now; whoever waits hears what was deleted.
    pub fn prune_now(&mut self, days: Option<u32>, waiting: oneshot::Sender<Deleted>) {
        let days = days.unwrap_or(self.retention.days);
        let mut pruning = self.pruning.take().unwrap_or_else(|| Pruning::new(cutoff(days)));
        pruning.waiting.push(waiting);
        self.pruning = Some(pruning);
    }

    /// Tells those who wait what was deleted; to be called when nobody can find it any more.
    pub fn tell(&mut self) {
        if let Some(pruned) = self.pruned.take() {
            pruned.end();
        }
    }

    /// One small step, if it is time; the agents that are gone after it. Then [`Upkeep::tell`].
    pub fn step(&mut self, db: &Connection, idle: bool) -> Result<Vec<i64>> {
        if idle && self.unindexed && self.last_events.is_none_or(|at| at.elapsed() >= QUIET) {
            // If this fails it is tried again after the next events, not in a loop.
            self.unindexed = false;
            let count = in_passing(db, |db| search::index_some(db, INDEXED_AT_ONCE))?;
            self.unindexed = count == INDEXED_AT_ONCE;
        }
        if self.pruning.is_none() && Instant::now() >= self.next_prune {
            // From the next step on: the caller has to know before anything is deleted.
            self.pruning = Some(Pruning::new(cutoff(self.retention.days)));
            return Ok(Vec::new());
        }
        let Some(mut pruning) = self.pruning.take() else { return Ok(Vec::new()) };
        self.next_prune = Instant::now() + PRUNE_EVERY;
        let busy = !idle || self.last_events.is_some_and(|at| at.elapsed() < LULL);
        if busy && pruning.last_slice.is_some_and(|at| at.elapsed() < BETWEEN_SLICES) {
            self.pruning = Some(pruning);
            return Ok(Vec::new());
        }
        let forgotten = pruning.slice(db)?;
        if pruning.pass.is_done() && !pruning.again(db, &self.retention)? {
            self.pruned = Some(pruning);
        } else {
            self.pruning = Some(pruning);
        }
        Ok(forgotten)
    }
}

/// In one transaction, which nobody waits for.
fn in_passing<T>(db: &Connection, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
    store::unhurried(db, |db| {
        let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
        let done = work(&transaction)?;
        transaction.commit()?;
        Ok(done)
    })
}

/// Zero days mean for ever.
fn cutoff(days: u32) -> Stamp {
    if days == 0 {
        return Stamp(i64::MIN);
    }
    Stamp::now().minus(Duration::from_secs(u64::from(days) * 24 * 60 * 60))
}

impl Pruning {
    fn new(cutoff: Stamp) -> Pruning {
        Pruning {
            pass: Pass::new(cutoff),
            total: Deleted::default(),
            last_slice: None,
            slice: SLICE.1 / 2,
            waiting: Vec::new(),
        }
    }

    fn slice(&mut self, db: &Connection) -> Result<Vec<i64>> {
        let start = Instant::now();
        in_passing(db, |db| self.pass.step(db, self.slice))?;
        let took = start.elapsed();
        let next = if took > WITH_COMMIT { self.slice / 2 } else { self.slice * 5 / 4 };
        self.slice = next.clamp(SLICE.0, SLICE.1);
        self.last_slice = Some(Instant::now());
        Ok(std::mem::take(&mut self.pass.forgotten))
    }

    /// Another pass, if there is still too much and the last one could find something to delete.
    fn again(&mut self, db: &Connection, retention: &Retention) -> Result<bool> {
        let deleted = self.pass.deleted;
        self.total.agents += deleted.agents;
        self.total.events += deleted.events;
        let first = self.total == deleted;
        let too_big = retention.max_bytes > 0 && prune::used_bytes(db)? > retention.max_bytes;
        if !too_big || (!first && deleted.events == 0) {
            return Ok(false);
        }
        let Some(cutoff) = prune::cutoff_for_size(db)? else { return Ok(false) };
        self.pass = Pass::new(cutoff);
        Ok(true)
    }

    fn end(self) {
        if self.total != Deleted::default() {
            log::line(&format!("deleted {} old events and {} agents", self.total.events, self.total.agents));
        }
        for waiting in self.waiting {
            let _ = waiting.send(self.total);
        }
    }
}
