//! What the next event builds on: the world, and the rows that are computed but not written yet.
//!
//! Events are durable before anyone learns about them. Everything else is computed from them, so it may be written a
//! moment later and together: what a crash loses is recomputed from the events when the store is read next.

use crate as store;
use crate::replay;
use crate::write::{self, Rows, StoreCursor};
use anyhow::Result;
use headspace_core::engine::World;
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::time::{Duration, Instant};

/// Rows are written when no event came for this long,
const WRITE_ROWS_AFTER_QUIET: Duration = Duration::from_millis(5);
/// or when the oldest of them is this old.
const WRITE_ROWS_AT_LATEST: Duration = Duration::from_millis(100);
/// After a failure there is no point in retrying soon.
const RETRY_ROWS_AFTER: Duration = Duration::from_secs(1);

pub struct ProjectionState {
    pub world: World,
    pub marks: StoreCursor,
    unwritten: Rows,
    due: Option<Due>,
}

#[derive(Clone, Copy)]
struct Due {
    latest: Instant,
    quiet: Instant,
}

impl ProjectionState {
    /// Loads the state as of the last event. Rows that the last server did not write are written soon.
    pub fn load(db: &Connection) -> Result<ProjectionState> {
        let (world, marks, unwritten) = replay::caught_up(db)?;
        let now = Instant::now();
        let behind = marks.projected != Some(marks.event);
        let due = behind.then_some(Due { latest: now, quiet: now });
        Ok(ProjectionState { world, marks, unwritten, due })
    }

    /// Takes rows of events that are on disk.
    pub fn keep(&mut self, rows: Rows) {
        self.unwritten.absorb(rows);
        let now = Instant::now();
        let latest = self.due.map_or(now + WRITE_ROWS_AT_LATEST, |due| due.latest);
        self.due = Some(Due { latest, quiet: now + WRITE_ROWS_AFTER_QUIET });
    }

    /// How long until rows should be written; `None` if there are none.
    pub fn write_in(&self) -> Option<Duration> {
        let due = self.due?;
        Some(due.latest.min(due.quiet).saturating_duration_since(Instant::now()))
    }

    /// Writes all rows, and records that they are written.
    pub fn write(&mut self, db: &Connection) -> Result<()> {
        if self.due.is_none() {
            return Ok(());
        }
        // If it fails, it is tried again a little later.
        let again = Instant::now() + RETRY_ROWS_AFTER;
        self.due = Some(Due { latest: again, quiet: again });
        store::without_sync(db, |db| {
            let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
            put(&transaction, &self.world, &mut self.marks, &self.unwritten)?;
            Ok(transaction.commit()?)
        })?;
        self.unwritten = Rows::default();
        self.due = None;
        Ok(())
    }
}

/// Writes the rows, documents and marks of the events up to `marks.event`.
fn put(db: &Connection, world: &World, marks: &mut StoreCursor, rows: &Rows) -> Result<()> {
    let now = Stamp::now();
    write::rows(db, rows)?;
    write::lists(db, marks.projected.unwrap_or(0), marks.event)?;
    for (id, seq) in &rows.touched {
        if let Some(agent) = world.agent(*id) {
            write::agent(db, agent, now, *seq)?;
        }
    }
    marks.world = world.counters();
    marks.projected = Some(marks.event);
    write::marks(db, marks)
}
