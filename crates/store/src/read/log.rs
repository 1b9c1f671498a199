//! The log by position, for copying it elsewhere: which history it is, the events in a range, and the turns
//! those events made. A position is an event's id.

use crate::read::queries;
use crate::write;
use anyhow::{Context, Result};
use headspace_core::model::Turn;
use headspace_core::model::{Actor, Confidence, Intent, TimestampSource};
use headspace_core::stamp::Stamp;
use rusqlite::{Connection, OptionalExtension, Row};
use std::path::Path;

/// An event as it is in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedEvent {
    pub pos: i64,
    pub name: String,
    pub session_id: String,
    pub agent_id: Option<i64>,
    pub at: Stamp,
    pub received_at: Stamp,
    pub source: String,
    pub flags: i64,
    /// JSON.
    pub body: String,
}

/// Which history this database holds.
pub fn epoch(db: &Connection) -> Result<String> {
    queries::meta(db, "epoch")?.context("the database does not say which history it holds")
}

/// Gives the database a new history: it was restored, and no longer continues what was copied.
pub fn begin_epoch(path: &Path, epoch: &str) -> Result<()> {
    crate::check_regular(path)?;
    let db = Connection::open(path).with_context(|| format!("could not open {}", path.display()))?;
    db.busy_timeout(std::time::Duration::from_secs(5))?;
    write::meta(&db, "epoch", epoch)
}

/// The events with ids from `from` to `to`, up to `limit` of them or until their bodies exceed `bytes`; at least one.
pub fn range(db: &Connection, from: i64, to: i64, limit: usize, bytes: usize) -> Result<Vec<LoggedEvent>> {
    let mut query = db.prepare_cached(
        "SELECT id, name, session_id, agent_id, at, received_at, source, flags, body
         FROM events WHERE id BETWEEN ?1 AND ?2 ORDER BY id LIMIT ?3",
    )?;
    let mut rows = query.query(rusqlite::params![from, to, limit as i64])?;
    let (mut events, mut size) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let event = logged(row)?;
        size += event.body.len() + 200;
        if size > bytes && !events.is_empty() {
            break;
        }
        events.push(event);
    }
    Ok(events)
}

fn logged(row: &Row) -> rusqlite::Result<LoggedEvent> {
    Ok(LoggedEvent {
        pos: row.get(0)?,
        name: row.get(1)?,
        session_id: row.get(2)?,
        agent_id: row.get(3)?,
        at: Stamp(row.get(4)?),
        received_at: Stamp(row.get(5)?),
        source: row.get(6)?,
        flags: row.get(7)?,
        body: row.get(8)?,
    })
}

/// The parts of the event at a position that never change, to check whether two logs are the same there. `None`: there
/// is no such event (any more).
pub fn fixed_parts(db: &Connection, pos: i64) -> Result<Option<String>> {
    let mut query =
        db.prepare_cached("SELECT id, name, session_id, at, received_at FROM events WHERE id = ?1")?;
    let parts = query.query_row([pos], |row| {
        let (id, at, received): (i64, i64, i64) = (row.get(0)?, row.get(3)?, row.get(4)?);
        Ok(format!("{id}\n{}\n{}\n{at}\n{received}", row.get::<_, String>(1)?, row.get::<_, String>(2)?))
    });
    Ok(parts.optional()?)
}

/// The oldest event after `pos`; retention may have deleted those in between.
pub fn first_after(db: &Connection, pos: i64) -> Result<Option<i64>> {
    let mut query = db.prepare_cached("SELECT min(id) FROM events WHERE id > ?1")?;
    Ok(query.query_row([pos], |row| row.get(0))?)
}

/// The turns that the events from `from` to `to` made, oldest first.
pub fn turns(db: &Connection, from: i64, to: i64) -> Result<Vec<Turn>> {
    let mut query = db.prepare_cached(&format!(
        "SELECT {TURN_COLUMNS} FROM turns WHERE event_id BETWEEN ?1 AND ?2 ORDER BY timestamp, id"
    ))?;
    let turns = query.query_map([from, to], turn)?;
    Ok(turns.collect::<rusqlite::Result<_>>()?)
}

/// The newest turns of an agent: a later event may have corrected what an earlier one made.
pub fn newest_turns(db: &Connection, agent: i64, many: usize) -> Result<Vec<Turn>> {
    let mut query = db.prepare_cached(&format!(
        "SELECT {TURN_COLUMNS} FROM turns WHERE agent_id = ?1 ORDER BY timestamp DESC, id DESC LIMIT ?2"
    ))?;
    let turns = query.query_map([agent, many as i64], turn)?;
    Ok(turns.collect::<rusqlite::Result<_>>()?)
}

const TURN_COLUMNS: &str = "id, agent_id, session_id, command_id, actor, intent, text, timestamp, timestamp_source, \
                            confidence, uuid, event_id";

fn turn(row: &Row) -> rusqlite::Result<Turn> {
    let word = |column: usize| row.get::<_, String>(column);
    Ok(Turn {
        id: row.get(0)?,
        agent_id: row.get(1)?,
        session_id: row.get(2)?,
        command_id: row.get(3)?,
        actor: Actor::from_word(&word(4)?).unwrap_or(Actor::Agent),
        intent: Intent::from_word(&word(5)?).unwrap_or(Intent::Progress),
        text: row.get(6)?,
        timestamp: Stamp(row.get(7)?),
        timestamp_source: TimestampSource::from_word(&word(8)?).unwrap_or(TimestampSource::Server),
        confidence: Confidence::from_word(&word(9)?).unwrap_or(Confidence::Low),
        uuid: row.get(10)?,
        event_id: row.get(11)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database() -> (tempfile::TempDir, std::path::PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("headspace.db");
        let db = crate::open(&path).unwrap();
        for id in [1, 2, 5, 6, 7] {
            db.execute(
                "INSERT INTO events(id, name, session_id, agent_id, at, received_at, source, body)
                 VALUES (?1, 'Stop', 's', 1, ?1, ?1, 'hook', '{\"x\":\"0123456789\"}')",
                [id],
            )
            .unwrap();
        }
        (dir, path)
    }

    #[test]
    fn every_database_is_a_history_of_its_own_until_it_gets_another_epoch() {
        let ((_a, a), (_b, b)) = (database(), database());
        let of = |path: &Path| epoch(&crate::open(path).unwrap()).unwrap();
        assert_eq!(of(&a).len(), 36);
        assert_eq!(of(&a), of(&a));
        assert_ne!(of(&a), of(&b));
        begin_epoch(&a, "00000000-0000-4000-8000-000000000001").unwrap();
        assert_eq!(of(&a), "00000000-0000-4000-8000-000000000001");
    }

    #[test]
    fn the_log_is_read_by_position_in_bounded_pieces_and_over_holes() {
        let (_dir, path) = database();
        let db = crate::open(&path).unwrap();
        let ids = |from, to, limit, bytes| -> Vec<i64> {
            range(&db, from, to, limit, bytes).unwrap().iter().map(|event| event.pos).collect()
        };
        assert_eq!(ids(1, 9, 100, 1 << 20), [1, 2, 5, 6, 7]);
        assert_eq!(ids(2, 6, 100, 1 << 20), [2, 5, 6]);
        assert_eq!(ids(1, 9, 2, 1 << 20), [1, 2]);
        assert_eq!(ids(1, 9, 100, 1), [1], "one always, however large");
        assert_eq!(first_after(&db, 2).unwrap(), Some(5));
        assert_eq!(first_after(&db, 7).unwrap(), None);
        assert_eq!(fixed_parts(&db, 3).unwrap(), None);
        assert_ne!(fixed_parts(&db, 5).unwrap(), fixed_parts(&db, 6).unwrap());
    }
}
