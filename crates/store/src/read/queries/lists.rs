//! The rows of one agent, page by page: turns, commands, transitions.

use anyhow::Result;
use headspace_core::json::serialize::to_text;
use headspace_core::model::*;
use headspace_core::stamp::Stamp;
use headspace_core::wire::{StoredCommand, StoredTransition, StoredTurn};
use rusqlite::{Connection, Row};

/// Which of an agent's rows are requested: the newest, the newest before a given one, or the first after one.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    pub agent: i64,
    /// The id of a row of the same list.
    pub before: Option<i64>,
    /// Like `before`, but includes that row.
    pub through: Option<i64>,
    pub after: Option<i64>,
    pub limit: usize,
}

/// A part of a list, oldest first.
#[derive(Debug)]
pub struct Listed<T> {
    pub rows: Vec<T>,
    /// There is more: before this id, or after it if `after` was given.
    pub next: Option<i64>,
}

/// A table with rows of agents, as it is listed.
struct ListedTable<T> {
    name: &'static str,
    columns: &'static str,
    /// The columns that order the pages.
    cursor: &'static str,
    /// The columns that order the rows of a page.
    order: &'static str,
    object: fn(&Row) -> rusqlite::Result<T>,
}

impl<T> ListedTable<T> {
    fn list(&self, db: &Connection, page: Page) -> Result<Listed<T>> {
        let mut ids = self.ids(db, page)?;
        // One more than requested was read, to know whether there is more.
        let more = ids.len() > page.limit;
        ids.truncate(page.limit);
        let next = ids.last().copied().filter(|_| more);
        let ListedTable { name, columns, order, object, .. } = self;
        let sql = format!(
            "SELECT {columns} FROM {name} WHERE id IN (SELECT value FROM json_each(?1)) ORDER BY {order}"
        );
        let mut statement = db.prepare_cached(&sql)?;
        let rows = statement.query_map([to_text(&ids)?], object)?;
        Ok(Listed { rows: rows.collect::<rusqlite::Result<_>>()?, next })
    }

    fn ids(&self, db: &Connection, page: Page) -> Result<Vec<i64>> {
        let ListedTable { name, cursor, .. } = self;
        let direction = if page.after.is_some() { "ASC" } else { "DESC" };
        let order: Vec<String> = cursor.split(", ").map(|column| format!("{column} {direction}")).collect();
        let beyond = |id: &str, sign: &str| match *cursor {
            // This also works if the row itself has been deleted since.
            "id" => format!("({id} IS NULL OR id {sign} {id})"),
            _ => format!("({id} IS NULL OR ({cursor}) {sign} (SELECT {cursor} FROM {name} WHERE id = {id}))"),
        };
        let sql = format!(
            "SELECT id FROM {name} WHERE agent_id = ?1 AND {} AND {} AND {} ORDER BY {} LIMIT ?4",
            beyond("?2", "<"),
            beyond("?3", ">"),
            beyond("?5", "<="),
            order.join(", ")
        );
        let mut statement = db.prepare_cached(&sql)?;
        let values =
            rusqlite::params![page.agent, page.before, page.after, page.limit as i64 + 1, page.through];
        let ids = statement.query_map(values, |row| row.get(0))?;
        Ok(ids.collect::<rusqlite::Result<_>>()?)
    }
}

/// Turns, oldest first.
pub fn turns(db: &Connection, page: Page) -> Result<Listed<StoredTurn>> {
    ListedTable {
        name: "turns",
        columns: "id, command_id, session_id, actor, intent, text, timestamp, timestamp_source, confidence, event_id",
        cursor: "timestamp, id",
        order: "timestamp, id",
        object: turn,
    }
    .list(db, page)
}

/// The turns that these events made, newest event first.
pub fn turns_of_events(db: &Connection, events: &[i64]) -> Result<Vec<(i64, StoredTurn)>> {
    let mut statement = db.prepare_cached(
        "SELECT t.id, command_id, session_id, actor, intent, text, timestamp, timestamp_source, confidence, event_id,
                agent_id
         FROM turns t WHERE event_id IN (SELECT value FROM json_each(?1)) ORDER BY event_id DESC, t.id DESC",
    )?;
    let rows = statement.query_map([to_text(events)?], |row| Ok((row.get(10)?, turn(row)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn turn(row: &Row) -> rusqlite::Result<StoredTurn> {
    Ok(StoredTurn {
        id: row.get(0)?,
        command_id: row.get(1)?,
        session_id: row.get(2)?,
        actor: word(row, 3, Actor::from_word)?,
        intent: word(row, 4, Intent::from_word)?,
        text: row.get(5)?,
        timestamp: Stamp(row.get(6)?),
        timestamp_source: word(row, 7, TimestampSource::from_word)?,
        confidence: word(row, 8, Confidence::from_word)?,
        event_id: row.get(9)?,
    })
}

/// Commands (units of work), oldest first.
pub fn commands(db: &Connection, page: Page) -> Result<Listed<StoredCommand>> {
    ListedTable {
        name: "commands",
        columns: "id, session_id, state, instruction, started_at, completed_at, confidence",
        cursor: "id",
        order: "started_at, id",
        object: |row| {
            Ok(StoredCommand {
                id: row.get(0)?,
                session_id: row.get(1)?,
                state: word(row, 2, CommandState::from_word)?,
                instruction: row.get(3)?,
                started_at: Stamp(row.get(4)?),
                completed_at: row.get::<_, Option<i64>>(5)?.map(Stamp),
                confidence: word(row, 6, Confidence::from_word)?,
            })
        },
    }
    .list(db, page)
}

/// State transitions, oldest first.
pub fn transitions(db: &Connection, page: Page) -> Result<Listed<StoredTransition>> {
    ListedTable {
        name: "transitions",
        columns: "id, command_id, from_state, to_state, actor, intent, valid, confidence, source, event_id, at, why",
        cursor: "id",
        order: "id",
        object: |row| {
            Ok(StoredTransition {
                id: row.get(0)?,
                command_id: row.get(1)?,
                from: word(row, 2, CommandStateOrIdle::from_word)?,
                to: word(row, 3, CommandStateOrIdle::from_word)?,
                actor: word(row, 4, Actor::from_word)?,
                intent: word(row, 5, Intent::from_word)?,
                valid: row.get(6)?,
                confidence: word(row, 7, Confidence::from_word)?,
                source: word(row, 8, Source::from_word)?,
                event_id: row.get(9)?,
                at: Stamp(row.get(10)?),
                why: row.get(11)?,
            })
        },
    }
    .list(db, page)
}

/// A column that holds the word for an enum value.
fn word<T>(row: &Row, column: usize, read: fn(&str) -> Option<T>) -> rusqlite::Result<T> {
    let text: String = row.get(column)?;
    read(&text).ok_or_else(|| {
        let why = format!("unknown word {text:?}");
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, why.into())
    })
}
