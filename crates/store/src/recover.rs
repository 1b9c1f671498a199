//! Copies what can still be read of a damaged database into a new one.

use crate as store;
use crate::carve::{self, LAST_ID, Pages};
use crate::flag;
use crate::read::queries;
use crate::write;
use anyhow::{Context, Result, ensure};
use headspace_core::engine::Agent;
use headspace_core::text;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

/// How many ids are tried one by one after the last readable event: more events than a few pages hold.
const LOOK_ONE_BY_ONE_FOR: u32 = 5_000;
/// How many ids are tried if a page of agents is damaged.
const MAX_AGENT_ID_TRIED: i64 = 1_000_000;

/// Events that could not be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// Those that are known to have been there.
    pub counted: u64,
    /// There may have been others, which cannot be counted.
    pub perhaps_more: bool,
}

impl std::ops::AddAssign for Lost {
    fn add_assign(&mut self, other: Lost) {
        self.counted += other.counted;
        self.perhaps_more |= other.perhaps_more;
    }
}

/// Copies every readable event of `source` after those `into` has; returns what is lost. Events that retention had
/// deleted between two readable ones count as lost if the damage is between the two.
pub fn recover_events(source: &Path, into: &Connection) -> Result<Lost> {
    store::check_regular(source)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let damaged = Connection::open_with_flags(source, flags)
        .with_context(|| format!("could not open {}", source.display()))?;
    // Without this SQLite reads nothing at all from a file that is shorter than it should be.
    let opened = damaged.pragma_update(None, "writable_schema", true).map_err(anyhow::Error::from);
    let readable = opened.and_then(|()| Ok(damaged.prepare("SELECT id FROM events").map(drop)?));
    match readable {
        Ok(()) => {}
        // Busy, or a failing disk: this says nothing about the file.
        Err(error) if !is_without_schema(&error) => return Err(error),
        Err(_) => {
            drop(damaged);
            return recover_without_schema(source, into);
        }
    }
    let last: i64 = damaged.query_row("SELECT max(id) FROM events", [], |row| row.get(0)).unwrap_or(i64::MAX);
    let mut next = 1 + queries::newest(into)?;
    let (mut at, mut failures, mut lost) = (0, 0_u32, 0_i64);
    // The last event before the damage being skipped. All ids after it, up to the next readable event, are lost.
    let mut whole = 0;
    into.execute_batch("BEGIN")?;
    // The same id means different things in two databases, so only the ids of the first one can be kept.
    let first = next == 1 && queries::base_counters(into)?.agent == 0;
    if first {
        base(&damaged, into)?;
    } else if queries::base_counters(&damaged).is_ok_and(|counters| counters.agent > 0) {
        let source = text::strip_control(&source.display().to_string());
        eprintln!("headspace: note: the agents in {source} start with the first event that is left there");
    }
    while at < last {
        match copy_after(&damaged, into, at, first, &mut next) {
            Ok(Some(id)) => {
                if failures > 0 {
                    lost += id - whole - 1;
                }
                (at, whole, failures) = (id, id, 0);
                continue;
            }
            Ok(None) => break,
            Err(error) => ensure!(is_unreadable(&error), error),
        }
        // The pages may be readable again somewhere after this. One by one at first, because what is skipped is lost.
        let steps = failures.saturating_sub(LOOK_ONE_BY_ONE_FOR);
        if steps > 20 {
            break;
        }
        at += 1 << steps;
        failures += 1;
    }
    // There were more after the last readable event; if their number is unknown, at least one.
    let perhaps_more = last >= LAST_ID && failures > 0;
    lost += match last < LAST_ID {
        true => (last - whole).max(0),
        false => i64::from(failures > 0),
    };
    into.execute_batch("COMMIT")?;
    let mut merged = queries::marks(into)?;
    if let Ok(marks) = queries::marks(&damaged) {
        merged.received += marks.received;
        merged.seq = merged.seq.max(marks.seq);
        merged.last_hook_at = merged.last_hook_at.max(marks.last_hook_at);
        merged.last_hook = marks.last_hook.or(merged.last_hook);
    }
    merged.event = next - 1;
    // Already counted and sent to clients, as far as that can be known.
    merged.projected = Some(merged.event);
    write::marks(into, &merged)?;
    Ok(Lost { counted: lost.max(0).unsigned_abs(), perhaps_more })
}

/// Damage, or a missing table: signs of a lost schema.
fn is_without_schema(error: &anyhow::Error) -> bool {
    let code = error.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
    store::is_damage(error) || code == Some(rusqlite::ErrorCode::Unknown)
}

/// The same for a file whose schema is lost: the events are recognized by their shape.
fn recover_without_schema(source: &Path, into: &Connection) -> Result<Lost> {
    let shown = text::strip_control(&source.display().to_string());
    let mut pages = Pages::open(source)?;
    let (found, highest) = pages.events();
    let Some((first, last)) = found.first().zip(found.last()).map(|(first, last)| (first.id, last.id)) else {
        eprintln!(
            "headspace: note: the schema of {shown} is damaged, and no event could be found in its pages; how many \
             there were cannot be known"
        );
        let counted = highest.map_or(0, i64::unsigned_abs);
        return Ok(Lost { counted, perhaps_more: highest.is_none() });
    };
    let mut next = 1 + queries::newest(into)?;
    let keep_ids = next == 1 && queries::base_counters(into)?.agent == 0;
    let mut copied = 0;
    into.execute_batch("BEGIN")?;
    for place in &found {
        let Some(row) = pages.event(*place) else { continue };
        let new = if keep_ids { row.id } else { next };
        let stored = insert(into, new, &row)?;
        if stored > 0 {
            next = new + 1;
        }
        copied += 1;
    }
    into.execute_batch("COMMIT")?;
    let mut marks = queries::marks(into)?;
    marks.event = next - 1;
    marks.projected = Some(marks.event);
    write::marks(into, &marks)?;
    // Ids are consecutive: each one missing between two events was an event.
    let last = highest.map_or(last, |highest| highest.max(last));
    let counted = (last - first + 1 - copied).max(0).unsigned_abs();
    // Events before the first one may have been deleted to save room, or may be lost.
    let perhaps_more = first > 1 || highest.is_none();
    let noun = if copied == 1 { "event was" } else { "events were" };
    eprintln!(
        "headspace: note: the schema of {shown} is damaged: {copied} {noun} found by looking at its pages one by one"
    );
    Ok(Lost { counted, perhaps_more })
}

/// Copies the agents as they were after the events that were deleted to save space. Without the ids used by then,
/// nothing can build on them.
fn base(damaged: &Connection, into: &Connection) -> Result<()> {
    let Ok(counters) = queries::base_counters(damaged) else {
        eprintln!("headspace: note: the state before the first event that is left could not be read");
        return Ok(());
    };
    if counters.agent == 0 {
        return Ok(());
    }
    let mut at = 0;
    for _ in 0..counters.agent.min(MAX_AGENT_ID_TRIED) {
        match agent_after(damaged, at) {
            Ok(Some(agent)) => {
                write::base_agent(into, &agent)?;
                at = agent.id;
            }
            Ok(None) => break,
            // The next one may be on another page.
            Err(_) => at += 1,
        }
    }
    write::base_counters(into, counters)
}

/// The first agent of the base after `at`.
fn agent_after(damaged: &Connection, at: i64) -> Result<Option<Agent>> {
    let mut query = damaged.prepare_cached("SELECT id, doc FROM base WHERE id > ?1 ORDER BY id LIMIT 1")?;
    let mut rows = query.query([at])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let agent: Agent = serde_json::from_slice(row.get_ref(1)?.as_bytes()?)?;
    ensure!(agent.id > at && agent.id == row.get::<_, i64>(0)?, DamagedRow);
    Ok(Some(agent))
}

/// A row that is incomplete, or not where it should be.
#[derive(Debug)]
struct DamagedRow;

impl std::fmt::Display for DamagedRow {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("a row is damaged")
    }
}

impl std::error::Error for DamagedRow {}

fn is_unreadable(error: &anyhow::Error) -> bool {
    error.is::<DamagedRow>() || store::is_damage(error)
}

/// Copies the first event after `at`; returns its old id, or `None` if there is none. Where pages are missing, SQLite
/// may return a row with less in it than was stored: that counts as unreadable too.
fn copy_after(
    damaged: &Connection,
    into: &Connection,
    at: i64,
    keep_id: bool,
    next: &mut i64,
) -> Result<Option<i64>> {
    let mut query = damaged.prepare_cached(
        "SELECT id, name, session_id, at, received_at, source, delivery_id, facts, body, flags & 8
         FROM events WHERE id > ?1 ORDER BY id LIMIT 1",
    )?;
    let mut rows = query.query([at])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let id: i64 = row.get(0)?;
    // Pages in the wrong order could otherwise lead back to where we were, forever.
    ensure!(id > at && id < LAST_ID && is_whole(row), DamagedRow);
    let new = if keep_id { id } else { *next };
    let row = carve::Row {
        id,
        name: row.get(1)?,
        session_id: row.get(2)?,
        at: row.get(3)?,
        received_at: row.get(4)?,
        source: row.get(5)?,
        delivery_id: row.get(6)?,
        facts: row.get(7)?,
        body: row.get(8)?,
        flags: row.get(9)?,
    };
    let copied = insert(into, new, &row)?;
    if copied > 0 {
        *next = new + 1;
    }
    Ok(Some(id))
}

/// Stores an event under the id `new`; returns how many rows that made. An event that is there already wins: it is the copy from
/// before the damage, or the same delivery. Of the flags only [`flag::HOOK`] is kept; a replay sets the others.
fn insert(into: &Connection, new: i64, row: &carve::Row) -> Result<usize> {
    let mut statement = into.prepare_cached(
        "INSERT OR IGNORE INTO events(id, name, session_id, at, received_at, source, delivery_id, facts, body, flags)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?;
    Ok(statement.execute(rusqlite::params![
        new,
        row.name,
        row.session_id,
        row.at,
        row.received_at,
        row.source,
        row.delivery_id,
        row.facts,
        row.body,
        row.flags & flag::HOOK,
    ])?)
}

/// Whether every column holds what an event has there, and the body is a complete object.
fn is_whole(row: &rusqlite::Row<'_>) -> bool {
    let text = |at: usize| row.get_ref(at).ok()?.as_str().ok().filter(|text| !text.is_empty());
    let number = |at: usize| row.get::<_, i64>(at).is_ok();
    let body =
        text(8).and_then(|body| serde_json::from_str::<serde_json::Map<_, serde_json::Value>>(body).ok());
    [1, 2, 5].into_iter().all(|at| text(at).is_some())
        && [3, 4, 9].into_iter().all(number)
        && [6, 7].into_iter().all(|at| row.get::<_, Option<String>>(at).is_ok())
        && body.is_some()
}
