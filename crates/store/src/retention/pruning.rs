//! One pruning from beginning to end: by age, by size, then the free pages. It is done in slices, and each slice sets
//! how long the next may take.

use crate as store;
use crate::retention::by_size::CutBySize;
use crate::retention::prune::{self, Deleted, GoOn, Pass};
use anyhow::Result;
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_platform::config::Retention;
use headspace_platform::log;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// Times of a pruning step: what it gets even if a hook waits, or it might never finish; and the most it may take.
pub(super) const PRUNE_STEP: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(8));
/// What a step and its COMMIT together should take. A hook may wait for up to 50 ms.
const STEP_WITH_COMMIT: Duration = Duration::from_millis(12);
/// While hooks keep coming, pruning takes a slice this often.
const PRUNE_WHILE_BUSY_EVERY: Duration = Duration::from_millis(50);
/// How far over its limit the database may be, as one part in this many, before more is deleted than added. It is then
/// reduced to the same amount below the limit, so that it is not always at the limit.
pub(super) const OVER_LIMIT_ONE_PART_IN: u64 = 20;
/// At most this many times the growth is owed, however far over the limit: the rest is deleted while no hook waits.
const MAX_OWED_RATIO: f64 = 8.0;

#[derive(Debug)]
pub(super) struct Pruning {
    pub(super) work: Work,
    /// By age: what is older is deleted, or was already.
    pub(super) cutoff: Option<Stamp>,
    pub(super) total: Deleted,
    pub(super) last_slice: Option<Instant>,
    /// How long the next slice may take: depends on the cost of the last ones.
    slice: Duration,
    /// How far over its limit the database is, in [`OVER_LIMIT_ONE_PART_IN`]s: 0 for not at all, from 1 on too far.
    pub(super) excess: f64,
    /// Deleting everything that may be deleted was not enough.
    pub(super) in_vain: bool,
    /// Keep free pages in the file because they are needed again soon.
    pub(super) spare: bool,
    /// The index is next.
    pub(super) merges: bool,
    pub(super) waiting: Vec<oneshot::Sender<Deleted>>,
}

#[derive(Debug)]
pub(super) enum Work {
    Age(Pass),
    /// With the pass that continues afterwards.
    Size(Box<CutBySize>, Option<Pass>),
    /// Returns free pages to the file system.
    Space,
    Done,
}

/// Runs in one transaction that is not synced, because no hook waits for it.
pub(super) fn unsynced<T>(db: &Connection, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
    store::without_sync(db, |db| {
        let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
        let done = work(&transaction)?;
        transaction.commit()?;
        Ok(done)
    })
}

/// Zero days means forever.
pub(super) fn cutoff(days: u32) -> Stamp {
    if days == 0 {
        return Stamp(i64::MIN);
    }
    Stamp::now().minus(Duration::from_secs(u64::from(days) * 24 * 60 * 60))
}

/// The size that a database is reduced to when it has more than `limit` bytes.
fn goal(limit: u64) -> u64 {
    limit - limit / OVER_LIMIT_ONE_PART_IN
}

/// Deletes the oldest events, even if a pass by age is not finished.
fn by_size(limit: u64, afterwards: Option<Pass>) -> Work {
    Work::Size(Box::new(CutBySize::to(goal(limit))), afterwards)
}

/// How many [`OVER_LIMIT_ONE_PART_IN`]s a database of `used` bytes is over its limit.
fn excess(used: u64, limit: u64) -> f64 {
    used.saturating_sub(limit) as f64 / (limit as f64 / OVER_LIMIT_ONE_PART_IN as f64).max(1.0)
}

/// How much must be freed when the database grew by `growth` bytes, even if a hook waits.
fn owed(growth: u64, excess: f64) -> u64 {
    (growth as f64 * (2.0 * excess).min(MAX_OWED_RATIO)) as u64
}

impl Pruning {
    pub(super) fn by_age(cutoff: Stamp) -> Pruning {
        Pruning::new(Work::Age(Pass::new(cutoff)), Some(cutoff))
    }

    pub(super) fn by_size(limit: u64) -> Pruning {
        Pruning::new(by_size(limit, None), None)
    }

    fn new(work: Work, cutoff: Option<Stamp>) -> Pruning {
        Pruning {
            work,
            cutoff,
            total: Deleted::default(),
            last_slice: None,
            slice: PRUNE_STEP.1 / 2,
            excess: 0.0,
            in_vain: false,
            spare: cutoff.is_none(),
            merges: false,
            waiting: Vec::new(),
        }
    }

    /// How long until the next slice: the further the database is over its limit, the less it can wait.
    pub(super) fn due_in(&self, busy: bool) -> Duration {
        let Some(last) = self.last_slice.filter(|_| busy) else { return Duration::ZERO };
        PRUNE_WHILE_BUSY_EVERY.mul_f64(1.0 - self.excess.min(1.0)).saturating_sub(last.elapsed())
    }

    /// How long a step runs even if a hook waits. A step that growth started only has to free what is owed.
    pub(super) fn minimum(&self) -> Duration {
        let rested = self.last_slice.is_none_or(|last| last.elapsed() >= PRUNE_WHILE_BUSY_EVERY);
        if rested { PRUNE_STEP.0 } else { Duration::ZERO }
    }

    /// If the database is too big and still growing, deleting by size cannot wait for anything else. Otherwise the
    /// events that are too old are deleted first: that may be enough.
    pub(super) fn choose(&mut self, used: u64, limit: u64, growth: u64) {
        if self.in_vain || growth == 0 || limit == 0 || used <= limit {
            return;
        }
        self.work = match std::mem::replace(&mut self.work, Work::Done) {
            Work::Age(pass) if excess(used, limit) >= 1.0 => by_size(limit, Some(pass)),
            Work::Space => by_size(limit, None),
            work => work,
        };
    }

    pub(super) fn slice(
        &mut self,
        db: &Connection,
        retention: &Retention,
        growth: u64,
        waiting: &dyn Fn() -> bool,
    ) -> Result<Vec<i64>> {
        let start = Instant::now();
        let owed = owed(growth, excess(prune::space(db)?.used, retention.max_bytes));
        let (minimum, maximum) = (self.minimum(), self.slice);
        let mut go_on = || {
            let spent = start.elapsed();
            spent < minimum || spent < maximum && !waiting()
        };
        let done = unsynced(db, |db| self.work(db, retention, owed, &mut go_on));
        if let Err(error) = done {
            match &mut self.work {
                Work::Size(cut, _) if cut.goes_on_after => log::line(&format!("{error:#}")),
                _ => return Err(error),
            }
        }
        let took = start.elapsed();
        let next = if took > STEP_WITH_COMMIT { self.slice / 2 } else { self.slice * 5 / 4 };
        self.slice = next.clamp(PRUNE_STEP.0, PRUNE_STEP.1);
        self.last_slice = Some(Instant::now());
        self.next_work(db, retention)
    }

    fn work(&mut self, db: &Connection, retention: &Retention, owed: u64, go_on: GoOn) -> Result<()> {
        match &mut self.work {
            Work::Age(pass) => pass.step(db, go_on)?,
            Work::Size(cut, _) => cut.step(db, owed, go_on)?,
            Work::Space => {
                let limit = retention.max_bytes;
                let spare = (limit + limit / OVER_LIMIT_ONE_PART_IN).saturating_sub(prune::space(db)?.used);
                if prune::give_back(db, if self.spare { spare } else { 0 }, go_on)? {
                    self.work = Work::Done;
                }
            }
            Work::Done => {}
        }
        Ok(())
    }

    /// Counts what was deleted, and starts the next kind of work when one is done. Returns the deleted agents.
    fn next_work(&mut self, db: &Connection, retention: &Retention) -> Result<Vec<i64>> {
        let limit = retention.max_bytes;
        let used = prune::space(db)?.used;
        self.excess = if limit == 0 { 0.0 } else { excess(used, limit) };
        let mut forgotten = Vec::new();
        self.work = match std::mem::replace(&mut self.work, Work::Done) {
            Work::Age(mut pass) => {
                forgotten = std::mem::take(&mut pass.forgotten);
                let gone = std::mem::take(&mut pass.deleted);
                self.total.agents += gone.agents;
                self.total.events += gone.events;
                match pass.is_done() {
                    true if self.excess > 0.0 && !self.in_vain => by_size(limit, None),
                    true => self.afterwards(),
                    false => Work::Age(pass),
                }
            }
            Work::Size(mut cut, pass) => {
                self.total.events += std::mem::take(&mut cut.deleted);
                if !cut.is_done() {
                    Work::Size(cut, pass)
                } else {
                    self.in_vain = cut.in_vain;
                    pass.map_or_else(|| self.afterwards(), Work::Age)
                }
            }
            work => work,
        };
        Ok(forgotten)
    }

    fn afterwards(&self) -> Work {
        if self.total == Deleted::default() { Work::Done } else { Work::Space }
    }

    pub(super) fn end(self) {
        if self.total != Deleted::default() {
            log::line(&format!("deleted {} old events and {} agents", self.total.events, self.total.agents));
        }
        for waiting in self.waiting {
            let _ = waiting.send(self.total);
        }
    }
}
