//! What the writer does besides: fill the search index, and let go of what retention no longer keeps.
//!
//! Everything here is done in steps of milliseconds. A hook that comes meanwhile waits for the rest of a step, which ends
//! early for it, and for its COMMIT, which syncs nothing.
//!
//! The limit on the size holds however fast hooks come, because what must go is measured by what came and not by time: a
//! database beyond its limit first makes room for a share of what it grew by since the last step, and then takes more.
//! The share grows with the excess ([`owed`]): half a [`OVER_LIMIT_ONE_PART_IN`] beyond the limit it is all of it, and beyond that more.

use crate as store;
use crate::retention::by_size::CutBySize;
use crate::retention::prune::{self, Deleted, GoOn, Pass};
use crate::search;
use anyhow::Result;
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_platform::config::Retention;
use headspace_platform::log;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long the line must be empty before all time goes into the index: hooks come in bursts.
const INDEX_AFTER_QUIET: Duration = Duration::from_millis(200);
/// Where hooks never leave that much, this is a pause,
const SHORT_PAUSE: Duration = Duration::from_millis(4);
/// of which one so often is used.
const USE_PAUSE_EVERY: Duration = Duration::from_millis(100);
/// A step of indexing; it ends at once for a hook.
const INDEX_STEP: Duration = Duration::from_millis(5);
/// A step of pruning goes on for the first even if a hook waits, or it might never get on; at most for the second.
const PRUNE_STEP: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(8));
/// What a step and its COMMIT together should take. A hook may be kept waiting for 50 ms.
const STEP_WITH_COMMIT: Duration = Duration::from_millis(12);
/// While hooks keep coming, pruning takes a slice this often.
const PRUNE_WHILE_BUSY_EVERY: Duration = Duration::from_millis(50);
/// Hooks keep coming as long as the last one is not longer ago than this.
const BUSY_WINDOW: Duration = Duration::from_millis(300);
/// Two requests to prune whose cutoffs are this near to each other are one.
const SAME_CUTOFF_WITHIN: Duration = Duration::from_secs(60);
const FIRST_PRUNE_AFTER: Duration = Duration::from_secs(60);
const PRUNE_EVERY: Duration = Duration::from_secs(3600);
/// The database may be beyond its limit by one part in so many before more goes than comes; it is brought down to as much
/// below its limit, so that it is not always at it.
const OVER_LIMIT_ONE_PART_IN: u64 = 20;
/// A database that is too big makes room when it has grown by one part in so many of its limit,
const MAKE_ROOM_ONE_PART_IN: u64 = 100;
/// or by so many bytes: what is owed at once must not take long.
const MAKE_ROOM_AFTER_BYTES: u64 = 64 << 10;
/// About so much an event leaves behind besides its body.
const ROW_BYTES_PER_EVENT: u64 = 1 << 10;
/// So many times what the database grew by is the most that is owed, however far beyond the limit: the rest goes while
/// nobody waits.
const MAX_OWED_RATIO: f64 = 8.0;
/// If nothing can be deleted there is no use in trying at once again,
const RETRY_EMPTY_AFTER: Duration = Duration::from_secs(1);
/// and less if it failed.
const RETRY_FAILED_AFTER: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct RetentionSchedule {
    retention: Retention,
    unindexed: bool,
    /// The index may have parts to be merged.
    unmerged: bool,
    last_indexed: Option<Instant>,
    last_events: Option<Instant>,
    next_prune: Instant,
    /// The database may have grown since its size was looked at.
    grown: bool,
    /// If it is too big, nothing can be done about it before.
    next_try: Instant,
    /// How big it is.
    used: u64,
    /// How big it was after the last slice.
    paid: u64,
    /// About so many bytes are going to be written for events that came.
    unwritten: u64,
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
    /// How far beyond its limit the database is, in [`OVER_LIMIT_ONE_PART_IN`]s: 0 for not at all, 1 and more for too far.
    excess: f64,
    /// Deleting what may be deleted was not enough.
    in_vain: bool,
    /// Free pages that stay in the file because they are needed again soon.
    spare: bool,
    /// It is the index's turn.
    merges: bool,
    waiting: Vec<oneshot::Sender<Deleted>>,
}

#[derive(Debug)]
enum Work {
    Age(Pass),
    /// And the pass that goes on afterwards.
    Size(Box<CutBySize>, Option<Pass>),
    /// Free pages go back to the file system.
    Space,
    Done,
}

impl RetentionSchedule {
    pub fn new(retention: Retention) -> RetentionSchedule {
        RetentionSchedule {
            retention,
            unindexed: true,
            unmerged: true,
            last_indexed: None,
            last_events: None,
            next_prune: Instant::now() + FIRST_PRUNE_AFTER,
            grown: true,
            next_try: Instant::now(),
            used: 0,
            paid: 0,
            unwritten: 0,
            pruning: None,
            pruned: None,
        }
    }

    /// How long to wait for jobs before there is something else to do.
    pub fn patience(&self) -> Duration {
        if self.grown {
            return Duration::ZERO;
        }
        if let Some(pruning) = &self.pruning {
            return self.slice_in(pruning);
        }
        let now = Instant::now();
        let mut patience = self.next_prune.saturating_duration_since(now);
        if self.is_too_big() {
            patience = patience.min(self.next_try.saturating_duration_since(now));
        }
        if self.unindexed || self.unmerged {
            let until_quiet =
                self.last_events.map_or(Duration::ZERO, |at| INDEX_AFTER_QUIET.saturating_sub(at.elapsed()));
            patience = patience.min(until_quiet);
        }
        patience
    }

    fn is_busy(&self) -> bool {
        self.last_events.is_some_and(|at| at.elapsed() < BUSY_WINDOW)
    }

    fn is_too_big(&self) -> bool {
        self.retention.max_bytes > 0 && self.used > self.retention.max_bytes
    }

    /// How long until the next slice; what came counts as much as the time.
    fn slice_in(&self, pruning: &Pruning) -> Duration {
        let after = MAKE_ROOM_AFTER_BYTES.min(self.retention.max_bytes / MAKE_ROOM_ONE_PART_IN);
        let owes = self.is_too_big() && !pruning.in_vain && self.came() >= after;
        if owes { Duration::ZERO } else { pruning.due_in(self.is_busy()) }
    }

    /// What the database grew by since the last slice.
    fn came(&self) -> u64 {
        self.used.saturating_sub(self.paid)
    }

    /// Looks how big the database is, if it may have grown. That costs microseconds.
    fn look(&mut self, db: &Connection) -> Result<()> {
        if std::mem::take(&mut self.grown) {
            self.used = prune::room(db)?.used;
        }
        Ok(())
    }

    /// Rows have to be written before the next step: it may delete something of which they are not written yet, or it
    /// would have to, or they would take much room all at once.
    pub fn wants_rows(&self) -> bool {
        let limit = self.retention.max_bytes;
        if limit > 0 && self.unwritten >= limit / MAKE_ROOM_ONE_PART_IN {
            return true;
        }
        self.pruning.as_ref().is_some_and(|pruning| {
            let deletes = match &pruning.work {
                Work::Age(_) => true,
                Work::Size(cut, _) => cut.wants_rows,
                Work::Space | Work::Done => false,
            };
            deletes && self.slice_in(pruning).is_zero()
        })
    }

    /// Rows of everything that came are written.
    pub fn rows_written(&mut self) {
        self.grown |= std::mem::take(&mut self.unwritten) > 0;
    }

    /// Not now, and not again at once; who waits for it hears that it is not done.
    pub fn postpone(&mut self) {
        self.pruning = None;
        self.next_prune = Instant::now() + FIRST_PRUNE_AFTER;
    }

    /// So many events with so many bytes are stored.
    pub fn events_came(&mut self, events: u64, bytes: u64) {
        self.unindexed = true;
        self.grown = true;
        self.unwritten += bytes + events * ROW_BYTES_PER_EVENT;
        self.last_events = Some(Instant::now());
    }

    /// Begins now; whoever waits hears what was deleted.
    pub fn prune_now(&mut self, days: Option<u32>, waiting: oneshot::Sender<Deleted>) {
        let cutoff = cutoff(days.unwrap_or(self.retention.days));
        let pruning = self.pruning.get_or_insert_with(|| Pruning::by_age(cutoff));
        // Who asks again after a few seconds means the same; what is more goes from the beginning.
        if pruning.cutoff.is_none_or(|before| before.plus(SAME_CUTOFF_WITHIN) < cutoff) {
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

    /// One small step, if it is time; the agents that are gone after it. Then [`RetentionSchedule::tell`]. `waiting`: somebody
    /// does, so it should be a smaller one.
    pub fn step(&mut self, db: &Connection, waiting: &dyn Fn() -> bool) -> Result<Vec<i64>> {
        self.look(db)?;
        self.begin();
        let Some(mut pruning) = self.pruning.take() else {
            self.index(db, waiting)?;
            return Ok(Vec::new());
        };
        if !self.slice_in(&pruning).is_zero() || self.merges(db, &mut pruning, waiting)? {
            self.pruning = Some(pruning);
            return Ok(Vec::new());
        }
        self.next_try = Instant::now() + RETRY_FAILED_AFTER;
        pruning.choose(self.used, self.retention.max_bytes, self.came());
        let forgotten = pruning.slice(db, &self.retention, self.came(), waiting)?;
        (self.grown, self.used) = (false, prune::room(db)?.used);
        self.paid = self.used;
        (self.unmerged, pruning.merges) = (true, true);
        if matches!(pruning.work, Work::Done) {
            let again = if pruning.in_vain { RETRY_EMPTY_AFTER } else { Duration::ZERO };
            self.next_try = Instant::now() + again;
            self.pruned = Some(pruning);
        } else {
            self.pruning = Some(pruning);
        }
        Ok(forgotten)
    }

    /// Begins to prune if it is time, or if the database has grown too big; the first step is the next one, because the
    /// caller has to know before anything is deleted.
    fn begin(&mut self) {
        let now = Instant::now();
        if self.pruning.is_some() {
            return;
        }
        if now >= self.next_prune {
            self.next_prune = now + PRUNE_EVERY;
            self.pruning = Some(Pruning::by_age(cutoff(self.retention.days)));
        } else if self.is_too_big() && now >= self.next_try {
            self.pruning = Some(Pruning::by_size(self.retention.max_bytes));
        } else {
            self.paid = self.used;
        }
    }

    /// Between two steps of deleting the index gets one: what is deleted from it is only marked, and a part of it that is
    /// nothing but marks would be merged in one go, however long that takes. `false`: there was nothing to merge.
    fn merges(&mut self, db: &Connection, pruning: &mut Pruning, waiting: &dyn Fn() -> bool) -> Result<bool> {
        if !std::mem::take(&mut pruning.merges) || !std::mem::take(&mut self.unmerged) {
            return Ok(false);
        }
        let start = Instant::now();
        let sure = pruning.sure();
        let mut go_on = || start.elapsed() < sure || start.elapsed() < PRUNE_STEP.1 && !waiting();
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
        let pause = since(self.last_events) >= SHORT_PAUSE && since(self.last_indexed) >= USE_PAUSE_EVERY;
        if waiting() || !(pause || since(self.last_events) >= INDEX_AFTER_QUIET) {
            return Ok(());
        }
        let end = Instant::now() + INDEX_STEP;
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
    store::without_sync(db, |db| {
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

/// What a database of at most `limit` bytes is brought down to when it has more.
fn goal(limit: u64) -> u64 {
    limit - limit / OVER_LIMIT_ONE_PART_IN
}

/// The oldest events go, whatever a pass by age still has to do.
fn by_size(limit: u64, afterwards: Option<Pass>) -> Work {
    Work::Size(Box::new(CutBySize::to(goal(limit))), afterwards)
}

/// How many [`OVER_LIMIT_ONE_PART_IN`]s a database of `used` bytes is beyond its limit.
fn excess(used: u64, limit: u64) -> f64 {
    used.saturating_sub(limit) as f64 / (limit as f64 / OVER_LIMIT_ONE_PART_IN as f64).max(1.0)
}

/// How much room must be made when the database grew by `came` bytes, whoever waits.
fn owed(came: u64, excess: f64) -> u64 {
    (came as f64 * (2.0 * excess).min(MAX_OWED_RATIO)) as u64
}

impl Pruning {
    fn by_age(cutoff: Stamp) -> Pruning {
        Pruning::new(Work::Age(Pass::new(cutoff)), Some(cutoff))
    }

    fn by_size(limit: u64) -> Pruning {
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

    /// How long until the next slice: the further the database is beyond its limit, the less it can wait.
    fn due_in(&self, busy: bool) -> Duration {
        let Some(last) = self.last_slice.filter(|_| busy) else { return Duration::ZERO };
        PRUNE_WHILE_BUSY_EVERY.mul_f64(1.0 - self.excess.min(1.0)).saturating_sub(last.elapsed())
    }

    /// How long a step goes on even if a hook waits. One that is there for what came has enough with what is owed.
    fn sure(&self) -> Duration {
        let rested = self.last_slice.is_none_or(|last| last.elapsed() >= PRUNE_WHILE_BUSY_EVERY);
        if rested { PRUNE_STEP.0 } else { Duration::ZERO }
    }

    /// What is too much cannot wait for anything else, if it becomes more all the time. Otherwise what is too old goes
    /// first: it may be enough.
    fn choose(&mut self, used: u64, limit: u64, came: u64) {
        if self.in_vain || came == 0 || limit == 0 || used <= limit {
            return;
        }
        self.work = match std::mem::replace(&mut self.work, Work::Done) {
            Work::Age(pass) if excess(used, limit) >= 1.0 => by_size(limit, Some(pass)),
            Work::Space => by_size(limit, None),
            work => work,
        };
    }

    fn slice(
        &mut self,
        db: &Connection,
        retention: &Retention,
        came: u64,
        waiting: &dyn Fn() -> bool,
    ) -> Result<Vec<i64>> {
        let start = Instant::now();
        let owed = owed(came, excess(prune::room(db)?.used, retention.max_bytes));
        let (sure, most) = (self.sure(), self.slice);
        let mut go_on = || {
            let spent = start.elapsed();
            spent < sure || spent < most && !waiting()
        };
        let done = in_passing(db, |db| self.work(db, retention, owed, &mut go_on));
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
        self.go_over(db, retention)
    }

    fn work(&mut self, db: &Connection, retention: &Retention, owed: u64, go_on: GoOn) -> Result<()> {
        match &mut self.work {
            Work::Age(pass) => pass.step(db, go_on)?,
            Work::Size(cut, _) => cut.step(db, owed, go_on)?,
            Work::Space => {
                let limit = retention.max_bytes;
                let spare = (limit + limit / OVER_LIMIT_ONE_PART_IN).saturating_sub(prune::room(db)?.used);
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

    fn end(self) {
        if self.total != Deleted::default() {
            log::line(&format!("deleted {} old events and {} agents", self.total.events, self.total.agents));
        }
        for waiting in self.waiting {
            let _ = waiting.send(self.total);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::EventRecord;
    use crate::batch::{Batch, FactSources};
    use crate::projection_state::ProjectionState;
    use headspace_server::ledger::NewEvent;
    use serde_json::json;

    /// A writer that has always more in line than it can take, and never a moment of its own.
    struct Flood {
        db: Connection,
        memory: ProjectionState,
        around: FactSources,
        upkeep: RetentionSchedule,
    }

    impl Flood {
        fn new(limit: u64) -> Flood {
            let mut db = Connection::open_in_memory().unwrap();
            crate::schema::migrate(&mut db).unwrap();
            let memory = ProjectionState::load(&db).unwrap();
            let upkeep = RetentionSchedule::new(Retention { days: 30, max_bytes: limit });
            Flood { db, memory, around: FactSources::new(), upkeep }
        }

        /// One COMMIT of `count` events, and whatever upkeep does before the next.
        fn commit(&mut self, count: usize, text: &str) -> u64 {
            let Flood { db, memory, around, upkeep } = self;
            let transaction = db.unchecked_transaction().unwrap();
            let mut batch = Batch::new(&transaction, memory, around).unwrap();
            let mut bytes = 0;
            for index in 0..count {
                let session = format!("s{}", index % 8);
                let body =
                    json!({"session_id": session, "cwd": "/somewhere", "prompt": text, "prompt_id": index});
                let new = NewEvent::hook("UserPromptSubmit".into(), session, body);
                let (event, text) = new.recorded(false);
                bytes += text.len() as u64;
                let mut record = EventRecord { event, text, delivery_id: None, from_hook: true, tail: None };
                assert!(batch.event(&mut record, index, false).is_ok());
            }
            let rows = batch.finish();
            transaction.commit().unwrap();
            memory.keep(rows);
            upkeep.events_came(count as u64, bytes);
            if upkeep.wants_rows() {
                memory.write(db).unwrap();
                upkeep.rows_written();
            }
            upkeep.step(db, &|| true).unwrap();
            upkeep.tell();
            bytes
        }
    }

    #[test]
    fn the_limit_holds_however_much_comes_at_once_and_though_nobody_ever_pauses() {
        const LIMIT: u64 = 1_200_000;
        for (count, size) in [(1, 300), (1, 8000), (16, 300), (16, 3000), (400, 400)] {
            let text = "word ".repeat(size / 5);
            let mut flood = Flood::new(LIMIT);
            let (mut came, mut most, mut largest) = (0, 0, 0);
            while came < 2 * LIMIT {
                let before = prune::room(&flood.db).unwrap();
                came += flood.commit(count, &text);
                let after = prune::room(&flood.db).unwrap();
                most = most.max(after.used + after.free);
                largest = largest.max(after.used.saturating_sub(before.used));
            }
            // What a COMMIT brings is there before anything can go for it.
            let allowed = LIMIT + LIMIT / OVER_LIMIT_ONE_PART_IN + largest;
            assert!(most <= allowed, "{count} of {size}: {most} bytes, allowed {allowed}");
        }
    }
}
