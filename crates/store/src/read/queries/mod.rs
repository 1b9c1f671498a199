//! What the server and the offline commands start from: the agents as the engine left them, how far everything has
//! come, and the stream of changes. [`events`] finds events, [`lists`] an agent's turns, commands and transitions.

mod events;
mod lists;

pub(crate) use crate::read::queries::events::{EVENT_COLUMNS, stored_event};
pub use crate::read::queries::events::{EventQuery, FoundEvents, event_names, events, replay};
pub use crate::read::queries::lists::{Listed, Page, commands, transitions, turns, turns_of_events};

use crate::write::{StoreCursor, TailUpdate};
use anyhow::{Context, Result};
use headspace_core::engine::{Agent, Counters, World};
use headspace_core::stamp::Stamp;
use rusqlite::{Connection, OptionalExtension};
use serde_json::{Value, json};

pub fn marks(db: &Connection) -> Result<StoreCursor> {
    let mut marks = match meta(db, "marks")? {
        Some(text) => serde_json::from_str(&text).context("could not read the database's marks")?,
        None => StoreCursor::default(),
    };
    // An event is on disk before anything derived from it.
    marks.projected.get_or_insert(marks.event);
    marks.event = marks.event.max(newest(db)?);
    Ok(marks)
}

pub fn meta(db: &Connection, key: &str) -> Result<Option<String>> {
    let mut query = db.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
    Ok(query.query_row([key], |row| row.get(0)).optional()?)
}

/// Every agent, including ended ones, as the engine left them.
pub fn agents(db: &Connection) -> Result<Vec<Agent>> {
    documents(db, "agents")
}

fn documents(db: &Connection, table: &str) -> Result<Vec<Agent>> {
    let mut query = db.prepare(&format!("SELECT id, doc FROM {table} ORDER BY id"))?;
    let mut rows = query.query([])?;
    let mut agents = Vec::new();
    while let Some(row) = rows.next()? {
        let doc = row.get_ref(1)?.as_str()?;
        let agent = serde_json::from_slice(doc.as_bytes())
            .with_context(|| format!("could not read agent {}", row.get::<_, i64>(0).unwrap_or(0)))?;
        agents.push(agent);
    }
    Ok(agents)
}

pub fn world(db: &Connection) -> Result<(World, StoreCursor)> {
    let marks = marks(db)?;
    Ok((World::load(agents(db)?, marks.world), marks))
}

/// The ids used by the events that were deleted to save space.
pub fn base_counters(db: &Connection) -> Result<Counters> {
    match meta(db, "base")? {
        Some(text) => serde_json::from_str(&text).context("could not read the ids of deleted events"),
        None => Ok(Counters::default()),
    }
}

/// The world before the first event in the store; `None`: it is empty.
pub fn base(db: &Connection) -> Result<Option<World>> {
    if meta(db, "base")?.is_none() {
        return Ok(None);
    }
    Ok(Some(World::load(documents(db, "base")?, base_counters(db)?)))
}

/// The id of the newest event, 0 if there is none.
pub fn newest(db: &Connection) -> Result<i64> {
    Ok(db.prepare_cached("SELECT coalesce(max(id), 0) FROM events")?.query_row([], |row| row.get(0))?)
}

fn stamp(nanos: Option<i64>) -> Value {
    nanos.map_or(Value::Null, |nanos| json!(Stamp(nanos)))
}

/// Where the transcript reader stopped, for every transcript it knows.
pub fn tails(db: &Connection) -> Result<Vec<TailUpdate>> {
    let mut statement = db.prepare("SELECT path, session_id, offset, inode, data FROM tails")?;
    let rows = statement.query_map([], |row| {
        Ok(TailUpdate {
            path: row.get(0)?,
            session_id: row.get(1)?,
            offset: row.get::<_, i64>(2)? as u64,
            inode: row.get::<_, i64>(3)? as u64,
            data: row.get::<_, Option<String>>(4)?.and_then(|text| serde_json::from_str(&text).ok()),
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// One stored message of the stream. `agent_updated` has no data: only the current document counts.
#[derive(Clone, Debug)]
pub struct ReplayedChange {
    pub seq: i64,
    pub kind: String,
    pub agent_id: i64,
    pub data: Option<Value>,
}

/// The stream after `after`, oldest first; only the last of an agent's updates is kept.
pub fn changes(db: &Connection, after: i64, limit: usize) -> Result<Vec<ReplayedChange>> {
    let mut statement = db.prepare_cached(
        "SELECT c.seq, c.kind, c.agent_id, c.data, t.command_id, t.actor, t.intent, t.text, t.timestamp, t.id,
                a.project_path, a.project
         FROM changes c LEFT JOIN turns t ON t.id = c.ref LEFT JOIN agents a ON a.id = c.agent_id
         WHERE c.seq > ?1
         UNION ALL
         SELECT changed_seq, 'agent_updated', id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
         FROM agents WHERE changed_seq > ?1
         ORDER BY 1 LIMIT ?2",
    )?;
    let rows = statement.query_map(rusqlite::params![after, limit as i64], |row| {
        let turn: Option<i64> = row.get(9)?;
        let agent_id = row.get(2)?;
        let data = match turn {
            Some(turn_id) => Some(json!({
                "agent_id": agent_id,
                "project_id": row.get::<_, Option<String>>(10)?.or(row.get(11)?).unwrap_or_default(),
                "text": row.get::<_, String>(7)?, "actor": row.get::<_, String>(5)?,
                "intent": row.get::<_, String>(6)?, "command_id": row.get::<_, Option<i64>>(4)?,
                "turn_id": turn_id, "timestamp": stamp(row.get(8)?),
            })),
            None => row.get::<_, Option<String>>(3)?.and_then(|text| serde_json::from_str(&text).ok()),
        };
        Ok(ReplayedChange { seq: row.get(0)?, kind: row.get(1)?, agent_id, data })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// When a question was closed; `None` if it is open or does not exist.
pub fn closed_interaction(db: &Connection, id: i64) -> Result<Option<i64>> {
    let closed = db.query_row("SELECT closed_at FROM interactions WHERE id = ?1", [id], |row| row.get(0));
    Ok(closed.optional()?.flatten())
}
