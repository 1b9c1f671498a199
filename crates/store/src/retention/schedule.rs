//! The writer's background work: fills the search index, and deletes what retention no longer keeps.
//!
//! Everything here is done in steps of milliseconds. A hook that arrives meanwhile waits for the rest of a step, which
//! ends early for it, and for the step's COMMIT, which syncs nothing.
//!
//! The size limit holds however fast hooks come, because the amount to delete depends on what was added, not on time: a
//! database over its limit first frees a share of what it grew by since the last step, and then accepts more. The share
//! grows with the excess (`owed` in `pruning`): at half an `OVER_LIMIT_ONE_PART_IN` over the limit it is all of it,
//! above that more.

use crate::read::search;
use crate::retention::prune::{self, Deleted, Pass};
use crate::retention::pruning::{PRUNE_STEP, Pruning, Work, cutoff, unsynced};
use anyhow::Result;
use headspace_platform::config::Retention;
use rusqlite::Connection;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long the queue must be empty before all time goes into the index: hooks come in bursts.
const INDEX_AFTER_QUIET: Duration = Duration::from_millis(200);
/// If hooks never leave that much time, this counts as a pause,
const SHORT_PAUSE: Duration = Duration::from_millis(4);
/// and one pause is used this often.
const USE_PAUSE_EVERY: Duration = Duration::from_millis(100);
/// A step of indexing; it ends at once when a hook waits.
const INDEX_STEP: Duration = Duration::from_millis(5);
/// Hooks keep coming as long as the last one came within this time.
const BUSY_WINDOW: Duration = Duration::from_millis(300);
/// Two requests to prune whose cutoffs are this close count as one.
const SAME_CUTOFF_WITHIN: Duration = Duration::from_secs(60);
const FIRST_PRUNE_AFTER: Duration = Duration::from_secs(60);
const PRUNE_EVERY: Duration = Duration::from_secs(3600);
/// A database that is too big makes room when it has grown by one part in this many of its limit,
const MAKE_ROOM_ONE_PART_IN: u64 = 100;
/// or by this many bytes: what is owed at once must not take long.
const MAKE_ROOM_AFTER_BYTES: u64 = 64 << 10;
/// About how many bytes an event takes besides its body.
const ROW_BYTES_PER_EVENT: u64 = 1 << 10;
/// If nothing can be deleted, there is no point in trying again at once,
const RETRY_EMPTY_AFTER: Duration = Duration::from_secs(1);
/// and even less if it failed.
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
    /// The database may have grown since its size was checked.
    grown: bool,
    /// If it is too big, the earliest time to try again.
    next_try: Instant,
    /// Its size when last checked.
    used: u64,
    /// Its size after the last slice.
    paid: u64,
    /// About how many bytes will be written for events that came.
    unwritten: u64,
    pruning: Option<Pruning>,
    /// Done, but not reported yet.
    pruned: Option<Pruning>,
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

    /// How long until the next slice; growth counts as much as time.
    fn slice_in(&self, pruning: &Pruning) -> Duration {
        let after = MAKE_ROOM_AFTER_BYTES.min(self.retention.max_bytes / MAKE_ROOM_ONE_PART_IN);
        let owes = self.is_too_big() && !pruning.in_vain && self.growth() >= after;
        if owes { Duration::ZERO } else { pruning.due_in(self.is_busy()) }
    }

    /// What the database grew by since the last slice.
    fn growth(&self) -> u64 {
        self.used.saturating_sub(self.paid)
    }

    /// Reads the database's size, if it may have grown. That costs microseconds.
    fn look(&mut self, db: &Connection) -> Result<()> {
        if std::mem::take(&mut self.grown) {
            self.used = prune::space(db)?.used;
        }
        Ok(())
    }

    /// Whether rows have to be written before the next step: the step may delete events whose rows are not written yet,
    /// or it would have to, or the rows would take much space all at once.
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

    /// Call when the rows of everything that came are written.
    pub fn rows_written(&mut self) {
        self.grown |= std::mem::take(&mut self.unwritten) > 0;
    }

    /// Postpones the work; callers that wait for it learn that it is not done.
    pub fn postpone(&mut self) {
        self.pruning = None;
        self.next_prune = Instant::now() + FIRST_PRUNE_AFTER;
    }

    /// Call when this many events with this many bytes are stored.
    pub fn events_came(&mut self, events: u64, bytes: u64) {
        self.unindexed = true;
        self.grown = true;
        self.unwritten += bytes + events * ROW_BYTES_PER_EVENT;
        self.last_events = Some(Instant::now());
    }

    /// Begins now; `waiting` gets what was deleted.
    pub fn prune_now(&mut self, days: Option<u32>, waiting: oneshot::Sender<Deleted>) {
        let cutoff = cutoff(days.unwrap_or(self.retention.days));
        let pruning = self.pruning.get_or_insert_with(|| Pruning::by_age(cutoff));
        // A second request after a few seconds means the same; one for more starts from the beginning.
        if pruning.cutoff.is_none_or(|before| before.plus(SAME_CUTOFF_WITHIN) < cutoff) {
            (pruning.cutoff, pruning.spare) = (Some(cutoff), false);
            pruning.work = Work::Age(Pass::new(cutoff));
        }
        pruning.waiting.push(waiting);
    }

    /// Reports what was deleted to the callers that wait; call it when the deleted agents can no longer be found.
    pub fn tell(&mut self) {
        if let Some(pruned) = self.pruned.take() {
            pruned.end();
        }
    }

    /// One small step, if it is time; returns the agents that were deleted. Call [`RetentionSchedule::tell`]
    /// afterwards. `waiting`: whether a job waits, so that the step should be smaller.
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
        pruning.choose(self.used, self.retention.max_bytes, self.growth());
        let forgotten = pruning.slice(db, &self.retention, self.growth(), waiting)?;
        (self.grown, self.used) = (false, prune::space(db)?.used);
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

    /// Begins to prune if it is time, or if the database has grown too big; the first step is done by the next call,
    /// because the caller has to know before anything is deleted.
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

    /// Between two steps of deleting, the index gets one: deleting from it only adds marks, and a part of it that has
    /// only marks would be merged in one go, however long that takes. `false`: there was nothing to merge.
    fn merges(&mut self, db: &Connection, pruning: &mut Pruning, waiting: &dyn Fn() -> bool) -> Result<bool> {
        if !std::mem::take(&mut pruning.merges) || !std::mem::take(&mut self.unmerged) {
            return Ok(false);
        }
        let start = Instant::now();
        let minimum = pruning.minimum();
        let mut go_on = || start.elapsed() < minimum || start.elapsed() < PRUNE_STEP.1 && !waiting();
        let changed = db.total_changes();
        self.unmerged = !unsynced(db, |db| search::merge_some(db, &mut go_on))?;
        let merged = db.total_changes() - changed > 1;
        if merged {
            pruning.last_slice = Some(Instant::now());
        }
        Ok(merged)
    }

    /// Fills the search index, and merges its parts so that there are not too many.
    fn index(&mut self, db: &Connection, waiting: &dyn Fn() -> bool) -> Result<()> {
        let since = |at: Option<Instant>| at.map_or(Duration::MAX, |at| at.elapsed());
        let pause = since(self.last_events) >= SHORT_PAUSE && since(self.last_indexed) >= USE_PAUSE_EVERY;
        if waiting() || !(pause || since(self.last_events) >= INDEX_AFTER_QUIET) {
            return Ok(());
        }
        let end = Instant::now() + INDEX_STEP;
        let mut go_on = || Instant::now() < end && !waiting();
        // If this fails, it is tried again after the next events, not in a loop.
        if std::mem::take(&mut self.unmerged) {
            self.unmerged = !unsynced(db, |db| search::merge_some(db, &mut go_on))?;
        } else if std::mem::take(&mut self.unindexed) {
            self.unindexed = !unsynced(db, |db| search::index_some(db, &mut go_on))?;
            (self.unmerged, self.grown) = (true, true);
        } else {
            return Ok(());
        }
        self.last_indexed = Some(Instant::now());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retention::pruning::OVER_LIMIT_ONE_PART_IN;
    use crate::write::batch::{Batch, EventRecord, FactSources};
    use crate::write::projection_state::ProjectionState;
    use headspace_core::model::{Event, Facts, Source};
    use headspace_core::stamp::Stamp;
    use headspace_platform::clock::WallClock;
    use serde_json::json;

    fn record(session_id: String, body: serde_json::Value) -> EventRecord {
        let (text, now) = (body.to_string(), Stamp::now());
        let event = Event {
            id: 0,
            name: "UserPromptSubmit".into(),
            session_id,
            at: now,
            received_at: now,
            source: Source::Hook,
            body,
            facts: Facts::default(),
            agent_hint: None,
        };
        EventRecord { event, text, delivery_id: None, from_hook: true, tail: None }
    }

    /// A writer whose queue is never empty and that never has a pause.
    struct Flood {
        db: Connection,
        projection: ProjectionState,
        facts: FactSources,
        schedule: RetentionSchedule,
    }

    impl Flood {
        fn new(limit: u64) -> Flood {
            let mut db = Connection::open_in_memory().unwrap();
            crate::schema::migrate(&mut db).unwrap();
            let projection = ProjectionState::load(&db).unwrap();
            let schedule = RetentionSchedule::new(Retention { days: 30, max_bytes: limit });
            Flood { db, projection, facts: FactSources::new(), schedule }
        }

        /// One COMMIT of `count` events, and the retention step before the next.
        fn commit(&mut self, count: usize, text: &str) -> u64 {
            let Flood { db, projection, facts, schedule } = self;
            let transaction = db.unchecked_transaction().unwrap();
            let mut batch = Batch::new(&transaction, projection, facts).unwrap();
            let mut bytes = 0;
            for index in 0..count {
                let session = format!("s{}", index % 8);
                let body =
                    json!({"session_id": session, "cwd": "/somewhere", "prompt": text, "prompt_id": index});
                let mut record = record(session, body);
                bytes += record.text.len() as u64;
                assert!(batch.event(&mut record, index, false).is_ok());
            }
            let rows = batch.finish();
            transaction.commit().unwrap();
            projection.keep(rows);
            schedule.events_came(count as u64, bytes);
            if schedule.wants_rows() {
                projection.write(db).unwrap();
                schedule.rows_written();
            }
            schedule.step(db, &|| true).unwrap();
            schedule.tell();
            bytes
        }
    }

    #[test]
    fn the_size_limit_holds_however_much_comes_at_once_and_without_any_pause() {
        const LIMIT: u64 = 1_200_000;
        for (count, size) in [(1, 300), (1, 8000), (16, 300), (16, 3000), (400, 400)] {
            let text = "word ".repeat(size / 5);
            let mut flood = Flood::new(LIMIT);
            let (mut came, mut most, mut largest) = (0, 0, 0);
            while came < 2 * LIMIT {
                let before = prune::space(&flood.db).unwrap();
                came += flood.commit(count, &text);
                let after = prune::space(&flood.db).unwrap();
                most = most.max(after.used + after.free);
                largest = largest.max(after.used.saturating_sub(before.used));
            }
            // What a COMMIT adds is there before anything can be deleted for it.
            let allowed = LIMIT + LIMIT / OVER_LIMIT_ONE_PART_IN + largest;
            assert!(most <= allowed, "{count} of {size}: {most} bytes, allowed {allowed}");
        }
    }
}
