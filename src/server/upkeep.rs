//! What the writer does besides: fill the search index, and let go of what retention no longer keeps.
//!
//! Everything here is done in steps of milliseconds. A hook that comes meanwhile waits for the rest of a step, which ends
//! early for it, and for its COMMIT, which syncs nothing.

use super::cut::Cut;
use crate::clock::Stamp;
use crate::config::Retention;
use crate::log;
use crate::store::prune::{self, Deleted, GoOn, Pass};
use crate::store::{self, search};
use anyhow::Result;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long the line must be empty before all time goes into the index: hooks come in bursts.
const QUIET: Duration = Duration::from_millis(200);
/// Where hooks never leave that much, this is a pause,
const PAUSE: Duration = Duration::from_millis(4);
/// of which one so often is used.
const BETWEEN_PAUSES: Duration = Duration::from_millis(100);
/// A step of indexing; it ends at once for a hook.
const INDEXING: Duration = Duration::from_millis(5);
/// A step of pruning goes on for the first even if a hook waits, or it might never get on; at most for the second.
const SLICE: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(8));
/// What a step and its COMMIT together should take. A hook may be kept waiting for 50 ms.
const WITH_COMMIT: Duration = Duration::from_millis(12);
/// While hooks keep coming, pruning takes a slice this often.
const BETWEEN_SLICES: Duration = Duration::from_millis(50);
/// Hooks keep coming as long as the last one is not longer ago than this.
const LULL: Duration = Duration::from_millis(300);
/// Two requests to prune whose cutoffs are this near to each other are one.
const THE_SAME: Duration = Duration::from_secs(60);
const FIRST_PRUNE: Duration = Duration::from_secs(60);
const PRUNE_EVERY: Duration = Duration::from_secs(3600);
/// While the database grows, its size is looked at this often; that costs microseconds.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// If nothing can be deleted there is no use in trying at once again,
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// and less if it failed.
const AFTER_FAILURE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Upkeep {
    retention: Retention,
    unindexed: bool,
    /// The index may have parts to be merged.
    unmerged: bool,
    last_indexed: Option<Instant>,
    last_events: Option<Instant>,
    next_prune: Instant,
    /// The database may have grown since its size was looked at.
    grown: bool,
    next_look: Instant,
    pruning: Option<Pruning>,
    /// Done, but nobody has heard of it yet.
    pruned: Option<Pruning>,
}

#[derive(Debug)]
struct Pruning {
    work: Work,
    /// By age: what is older goes, or is gone already.
    cutoff: Option<Stamp>,
    total: Deleted,
    last_slice: Option<Instant>,
    /// How long the next slice may take: what the last ones cost decides.
    slice: Duration,
    /// How far beyond its limit the database is: 0 for not at all, 1 and more for too far.
    excess: f64,
    /// Free pages that stay in the file because they are needed again soon.
    spare: bool,
    /// It is the index's turn.
    merges: bool,
    waiting: Vec<oneshot::Sender<Deleted>>,
}

#[derive(Debug)]
enum Work {
    Age(Pass),
    Size(Cut),
    /// Free pages go back to the file system.
    Space,
    Done,
}

impl Upkeep {
    pub fn new(retention: Retention) -> Upkeep {
        Upkeep {
            retention,
            unindexed: true,
            unmerged: true,
            last_indexed: None,
            last_events: None,
            next_prune: Instant::now() + FIRST_PRUNE,
            grown: true,
            next_look: Instant::now(),
            pruning: None,
            pruned: None,
        }
    }

    /// How long to wait for jobs before there is something else to do.
    pub fn patience(&self) -> Duration {
        if let Some(pruning) = &self.pruning {
            return pruning.due_in(self.is_busy());
        }
        let now = Instant::now();
        let mut patience = self.next_prune.saturating_duration_since(now);
        if self.grown && self.retention.max_bytes > 0 {
            patience = patience.min(self.next_look.saturating_duration_since(now));
        }
        if self.unindexed || self.unmerged {
            let until_quiet =
                self.last_events.map_or(Duration::ZERO, |at| QUIET.saturating_sub(at.elapsed()));
            patience = patience.min(until_quiet);
        }
        patience
    }

    fn is_busy(&self) -> bool {
        self.last_events.is_some_and(|at| at.elapsed() < LULL)
    }

    /// The next step may delete something of which rows are not written yet.
    pub fn deletes(&self) -> bool {
        self.pruning.as_ref().is_some_and(|pruning| {
            matches!(pruning.work, Work::Age(_)) && pruning.due_in(self.is_busy()).is_zero()
        })
    }

    /// Not now, and not again at once; who waits for it hears that it is not done.
    pub fn postpone(&mut self) {
        self.pruning = None;
        self.next_prune = Instant::now() + FIRST_PRUNE;
    }

    pub fn events_came(&mut self) {
        self.unindexed = true;
        self.grown = true;
        self.last_events = Some(Instant::now());
    }

    /// Begins now; whoever waits hears what was deleted.
    pub fn prune_now(&mut self, days: Option<u32>, waiting: oneshot::Sender<Deleted>) {
        let cutoff = cutoff(days.unwrap_or(self.retention.days));
        let pruning = self.pruning.get_or_insert_with(|| Pruning::by_age(cutoff));
        // Who asks again after a few seconds means the same; what is more goes from the beginning.
        if pruning.cutoff.is_none_or(|before| before.plus(THE_SAME) < cutoff) {
            (pruning.cutoff, pruning.spare) = (Some(cutoff), false);
            pruning.work = Work::Age(Pass::new(cutoff));
        }
        pruning.waiting.push(waiting);
    }

    /// Tells those who wait what was deleted; to be called when nobody can find it any more.
    pub fn tell(&mut self) {
        if let Some(pruned) = self.pruned.take() {
            pruned.end();
        }
    }

    /// One small step, if it is time; the agents that are gone after it. Then [`Upkeep::tell`]. `waiting`: somebody
    /// does, so it should be a smaller one.
    pub fn step(&mut self, db: &Connection, waiting: &dyn Fn() -> bool) -> Result<Vec<i64>> {
        self.begin(db)?;
        let busy = self.is_busy();
        let Some(mut pruning) = self.pruning.take() else {
            self.index(db, waiting)?;
            return Ok(Vec::new());
        };
        if !pruning.due_in(busy).is_zero() || self.merges(db, &mut pruning, waiting)? {
            self.pruning = Some(pruning);
            return Ok(Vec::new());
        }
        self.next_look = Instant::now() + AFTER_FAILURE;
        let forgotten = pruning.slice(db, &self.retention, waiting)?;
        (self.unmerged, pruning.merges) = (true, true);
        if matches!(pruning.work, Work::Done) {
            let again = if pruning.total.events > 0 { LOOK_EVERY } else { LOOK_AGAIN };
            self.next_look = Instant::now() + again;
            self.pruned = Some(pruning);
        } else {
            self.pruning = Some(pruning);
        }
        Ok(forgotten)
    }

    /// Begins to prune if it is time, or if the database has grown too big; the first step is the next one, because the
    /// caller has to know before anything is deleted.
    fn begin(&mut self, db: &Connection) -> Result<()> {
        let now = Instant::now();
        if self.pruning.is_some() {
            return Ok(());
        }
        if now >= self.next_prune {
            self.next_prune = now + PRUNE_EVERY;
            self.pruning = Some(Pruning::by_age(cutoff(self.retention.days)));
        } else if self.grown && now >= self.next_look && self.retention.max_bytes > 0 {
            self.grown = false;
            self.next_look = now + LOOK_EVERY;
            if prune::room(db)?.used > self.retention.max_bytes {
                self.pruning = Some(Pruning::by_size(self.retention.max_bytes));
            }
        }
        Ok(())
    }

    /// Between two steps of deleting the index gets one: what is deleted from it is only marked, and a part of it that is
    /// nothing but marks would be merged in one go, however long that takes. `false`: there was nothing to merge.
    fn merges(&mut self, db: &Connection, pruning: &mut Pruning, waiting: &dyn Fn() -> bool) -> Result<bool> {
        if !std::mem::take(&mut pruning.merges) || !std::mem::take(&mut self.unmerged) {
            return Ok(false);
        }
        let start = Instant::now();
        let mut go_on = || start.elapsed() < SLICE.0 || start.elapsed() < SLICE.1 && !waiting();
        let changed = db.total_changes();
        self.unmerged = !in_passing(db, |db| search::merge_some(db, &mut go_on))?;
        let merged = db.total_changes() - changed > 1;
        if merged {
            pruning.last_slice = Some(Instant::now());
        }
        Ok(merged)
    }

    /// Fills the search index, and keeps it from falling into too many parts.
    fn index(&mut self, db: &Connection, waiting: &dyn Fn() -> bool) -> Result<()> {
        let since = |at: Option<Instant>| at.map_or(Duration::MAX, |at| at.elapsed());
        let pause = since(self.last_events) >= PAUSE && since(self.last_indexed) >= BETWEEN_PAUSES;
        if waiting() || !(pause || since(self.last_events) >= QUIET) {
            return Ok(());
        }
        let end = Instant::now() + INDEXING;
        let mut go_on = || Instant::now() < end && !waiting();
        // If this fails it is tried again after the next events, not in a loop.
        if std::mem::take(&mut self.unmerged) {
            self.unmerged = !in_passing(db, |db| search::merge_some(db, &mut go_on))?;
        } else if std::mem::take(&mut self.unindexed) {
            self.unindexed = !in_passing(db, |db| search::index_some(db, &mut go_on))?;
            (self.unmerged, self.grown) = (true, true);
        } else {
            return Ok(());
        }
        self.last_indexed = Some(Instant::now());
        Ok(())
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

/// What a database of at most `limit` bytes is brought down to when it has more, so that it is not always at its limit.
fn goal(limit: u64) -> u64 {
    limit - limit / 20
}

impl Pruning {
    fn by_age(cutoff: Stamp) -> Pruning {
        Pruning::new(Work::Age(Pass::new(cutoff)), Some(cutoff))
    }

    fn by_size(limit: u64) -> Pruning {
        Pruning::new(Work::Size(Cut::to(goal(limit))), None)
    }

    fn new(work: Work, cutoff: Option<Stamp>) -> Pruning {
        Pruning {
            work,
            cutoff,
            total: Deleted::default(),
            last_slice: None,
            slice: SLICE.1 / 2,
            excess: 0.0,
            spare: cutoff.is_none(),
            merges: false,
            waiting: Vec::new(),
        }
    }

    /// How long until the next slice: the further the database is beyond its limit, the less it can wait.
    fn due_in(&self, busy: bool) -> Duration {
        let Some(last) = self.last_slice.filter(|_| busy) else { return Duration::ZERO };
        BETWEEN_SLICES.mul_f64(1.0 - self.excess.min(1.0)).saturating_sub(last.elapsed())
    }

    fn slice(
        &mut self,
        db: &Connection,
        retention: &Retention,
        waiting: &dyn Fn() -> bool,
    ) -> Result<Vec<i64>> {
        let start = Instant::now();
        // Far beyond the limit more has to go than comes, whoever waits.
        let sure = SLICE.0.mul_f64(1.0 + 4.0 * self.excess.min(2.0));
        let most = self.slice.max(sure);
        let mut go_on = || {
            let spent = start.elapsed();
            spent < sure || spent < most && !waiting()
        };
        let done = in_passing(db, |db| self.work(db, retention, &mut go_on));
        if let Err(error) = done {
            match &mut self.work {
                Work::Size(cut) if cut.goes_on_after => log::line(&format!("{error:#}")),
                _ => return Err(error),
            }
        }
        let took = start.elapsed();
        let next = if took > WITH_COMMIT.max(most) { self.slice / 2 } else { self.slice * 5 / 4 };
        self.slice = next.clamp(SLICE.0, SLICE.1);
        self.last_slice = Some(Instant::now());
        self.go_over(db, retention)
    }

    fn work(&mut self, db: &Connection, retention: &Retention, go_on: GoOn) -> Result<()> {
        match &mut self.work {
            Work::Age(pass) => pass.step(db, go_on)?,
            Work::Size(cut) => cut.step(db, go_on)?,
            Work::Space => {
                let limit = retention.max_bytes;
                let spare = (limit + limit / 20).saturating_sub(prune::room(db)?.used);
                if prune::give_back(db, if self.spare { spare } else { 0 }, go_on)? {
                    self.work = Work::Done;
                }
            }
            Work::Done => {}
        }
        Ok(())
    }

    /// Counts what is gone, and goes over to the next kind of work when one is done. The agents that are gone.
    fn go_over(&mut self, db: &Connection, retention: &Retention) -> Result<Vec<i64>> {
        let limit = retention.max_bytes;
        let used = prune::room(db)?.used;
        let mut forgotten = Vec::new();
        match &mut self.work {
            Work::Age(pass) => {
                forgotten = std::mem::take(&mut pass.forgotten);
                let gone = std::mem::take(&mut pass.deleted);
                self.total.agents += gone.agents;
                self.total.events += gone.events;
                if pass.is_done() {
                    self.work = match limit > 0 && used > limit {
                        true => Work::Size(Cut::to(goal(limit))),
                        false => self.afterwards(),
                    };
                }
            }
            Work::Size(cut) => {
                self.excess = used.saturating_sub(limit) as f64 / (limit as f64 / 20.0).max(1.0);
                self.total.events += std::mem::take(&mut cut.deleted);
                if cut.is_done() {
                    self.work = self.afterwards();
                }
            }
            Work::Space | Work::Done => {}
        }
        Ok(forgotten)
    }

    fn afterwards(&self) -> Work {
        if self.total == Deleted::default() { Work::Done } else { Work::Space }
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
