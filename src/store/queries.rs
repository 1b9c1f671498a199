//! What the server, the offline commands and the surfaces read.

use super::write::{Marks, TailUpdate};
use super::{flag, search};
use crate::clock::Stamp;
use crate::engine::{Agent, Counters, World};
use crate::model::*;
use anyhow::{Context, Result};
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};
use serde::Serialize;
use serde_json::{Value, json};

pub fn marks(db: &Connection) -> Result<Marks> {
    let mut marks = match meta(db, "marks")? {
        Some(text) => serde_json::from_str(&text).context("could not read the database's marks")?,
        None => Marks::default(),
    };
    // Events are on disk before anything else of them is.
    let last: Option<i64> = db.query_row("SELECT max(id) FROM events", [], |row| row.get(0))?;
    marks.projected.get_or_insert(marks.event);
    marks.event = marks.event.max(last.unwrap_or(0));
    Ok(marks)
}

pub fn meta(db: &Connection, key: &str) -> Result<Option<String>> {
    let mut query = db.prepare_cached("SELECT value FROM meta WHERE key = ?1")?;
    Ok(query.query_row([key], |row| row.get(0)).optional()?)
}

/// Every agent, ended ones too, as the engine left them.
pub fn agents(db: &Connection) -> Result<Vec<Agent>> {
    documents(db, "agents")
}

fn documents(db: &Connection, table: &str) -> Result<Vec<Agent>> {
    let mut query = db.prepare(&format!("SELECT id, doc FROM {table} ORDER BY id"))?;
    let mut rows = query.query([])?;
    let mut agents = Vec::new();
    while let Some(row) = rows.next()? {
        let doc = row.get_ref(1)?.as_str()?;
        let agent = serde_json::from_str(doc)
            .with_context(|| format!("could not read agent {}", row.get::<_, i64>(0).unwrap_or(0)))?;
        agents.push(agent);
    }
    Ok(agents)
}

pub fn world(db: &Connection) -> Result<(World, Marks)> {
    let marks = marks(db)?;
    Ok((World::load(agents(db)?, marks.world), marks))
}

/// The ids given by the events that were deleted for want of room.
pub fn base_counters(db: &Connection) -> Result<Counters> {
    match meta(db, "base")? {
        Some(text) => serde_json::from_str(&text).context("could not read the base's ids"),
        None => Ok(Counters::default()),
    }
}

/// The world that the events in the store come on top of; `None`: the empty one.
pub fn base(db: &Connection) -> Result<Option<World>> {
    if meta(db, "base")?.is_none() {
        return Ok(None);
    }
    Ok(Some(World::load(documents(db, "base")?, base_counters(db)?)))
}

/// An event as the surfaces see it.
#[derive(Clone, Debug, Serialize)]
pub struct EventView {
    pub id: i64,
    pub name: String,
    pub session_id: String,
    pub agent_id: Option<i64>,
    pub at: Stamp,
    pub received_at: Stamp,
    pub source: String,
    pub duplicate: bool,
    pub body: Value,
}

/// Which events are asked for; all conditions hold together.
#[derive(Clone, Debug, Default)]
pub struct EventQuery {
    /// Only newer than this id; the answer is then oldest first, from there on.
    pub after: Option<i64>,
    pub before: Option<i64>,
    pub agent: Option<i64>,
    /// Event names.
    pub names: Vec<String>,
    /// Words to be found in the event's texts.
    pub text: Option<String>,
    pub limit: usize,
}

impl EventQuery {
    /// The order in which events are looked for.
    pub fn order(&self) -> &'static str {
        if self.after.is_some() { "ASC" } else { "DESC" }
    }
}

const EVENT_COLUMNS: &str = "id, name, session_id, agent_id, at, received_at, source, flags, body";
/// Bytes of bodies in one answer, or a little more.
const MOST_BYTES: usize = 16 << 20;

/// Events that were found. Searching and reading have their limits, so there may be more than was asked for.
#[derive(Debug, Default)]
pub struct Found {
    /// Oldest first.
    pub events: Vec<EventView>,
    /// It was not looked further than this id: whoever wants the rest asks for what is before it, or after it if that
    /// was asked.
    pub looked_to: Option<i64>,
}

/// The newest events that match, oldest of them first; with `after`, the first ones after it.
pub fn events(db: &Connection, query: &EventQuery) -> Result<Found> {
    let mut conditions = vec!["1".to_owned()];
    let mut values: Vec<Sql> = Vec::new();
    let mut condition = |sql: &str, value: Sql| {
        values.push(value);
        conditions.push(sql.replace('?', &format!("?{}", values.len())));
    };
    if let Some(after) = query.after {
        condition("id > ?", after.into());
    }
    if let Some(before) = query.before {
        condition("id < ?", before.into());
    }
    if let Some(agent) = query.agent {
        condition("agent_id = ?", agent.into());
    }
    if !query.names.is_empty() {
        let list = serde_json::to_string(&query.names)?;
        condition("name IN (SELECT value FROM json_each(?))", list.into());
    }
    // First the ids, then the rows: only those that are shown are read whole.
    let conditions = conditions.join(" AND ");
    let (ids, looked_to) = match &query.text {
        None => {
            let sql = format!(
                "SELECT id FROM events WHERE {conditions} ORDER BY id {} LIMIT {}",
                query.order(),
                query.limit
            );
            let mut statement = db.prepare_cached(&sql)?;
            let ids = statement.query_map(params_from_iter(values), |row| row.get(0))?;
            (ids.collect::<rusqlite::Result<_>>()?, None)
        }
        Some(text) => search::find(db, query, text, &conditions, values)?,
    };
    read(db, query, ids, looked_to)
}

fn read(db: &Connection, query: &EventQuery, ids: Vec<i64>, mut looked_to: Option<i64>) -> Result<Found> {
    let mut statement = db.prepare_cached(&format!("SELECT {EVENT_COLUMNS} FROM events WHERE id = ?1"))?;
    let (mut events, mut bytes) = (Vec::with_capacity(ids.len()), 0);
    for id in ids {
        if bytes > MOST_BYTES {
            looked_to = events.last().map(|event: &EventView| event.id);
            break;
        }
        let read = statement.query_row([id], |row| {
            bytes += row.get_ref(8)?.as_bytes()?.len();
            event_view(row)
        });
        events.extend(read.optional()?);
    }
    if query.after.is_none() {
        events.reverse();
    }
    Ok(Found { events, looked_to })
}

fn event_view(row: &Row) -> rusqlite::Result<EventView> {
    Ok(EventView {
        id: row.get(0)?,
        name: row.get(1)?,
        session_id: row.get(2)?,
        agent_id: row.get(3)?,
        at: Stamp(row.get(4)?),
        received_at: Stamp(row.get(5)?),
        source: row.get(6)?,
        duplicate: row.get::<_, i64>(7)? & flag::DUPLICATE != 0,
        body: serde_json::from_str(row.get_ref(8)?.as_str()?).unwrap_or(Value::Null),
    })
}

/// The stored events from `after` on, as the engine takes them, with their flags; for a replay. The hint is the agent
/// each one had: the engine takes that id if it has to make the agent, because what made it was deleted since.
pub fn replay(db: &Connection, after: i64, limit: usize) -> Result<Vec<(Event, i64)>> {
    let mut statement = db.prepare_cached(
        "SELECT id, name, session_id, agent_id, at, received_at, source, flags, body, facts
         FROM events WHERE id > ?1 ORDER BY id LIMIT ?2",
    )?;
    let mut rows = statement.query(rusqlite::params![after, limit as i64])?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        let view = event_view(row)?;
        let flags: i64 = row.get(7)?;
        let facts = match row.get_ref(9)?.as_str_or_null()? {
            Some(text) => serde_json::from_str(text).unwrap_or_default(),
            None => Facts::default(),
        };
        let event = Event {
            id: view.id,
            name: view.name,
            session_id: view.session_id,
            at: view.at,
            received_at: view.received_at,
            source: Source::from_word(&view.source).unwrap_or(Source::Hook),
            body: view.body,
            facts,
            agent_hint: view.agent_id,
        };
        events.push((event, flags));
    }
    Ok(events)
}

fn stamp(nanos: Option<i64>) -> Value {
    nanos.map_or(Value::Null, |nanos| json!(Stamp(nanos)))
}

/// Which of an agent's rows are asked for: the newest, or the newest before a certain one.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    pub agent: i64,
    /// The id of a row of the same list.
    pub before: Option<i64>,
    pub limit: usize,
}

/// Rows of `sql` (its parameters: agent, before, limit) as JSON objects.
fn list(
    db: &Connection,
    sql: &str,
    page: Page,
    object: fn(&Row) -> rusqlite::Result<Value>,
) -> Result<Vec<Value>> {
    let mut statement = db.prepare_cached(sql)?;
    let values = rusqlite::params![page.agent, page.before, page.limit as i64];
    Ok(statement.query_map(values, object)?.collect::<rusqlite::Result<_>>()?)
}

/// What was said, oldest first.
pub fn turns(db: &Connection, page: Page) -> Result<Vec<Value>> {
    list(
        db,
        "SELECT id, command_id, session_id, actor, intent, text, timestamp, timestamp_source, confidence, event_id
         FROM turns WHERE id IN (
             SELECT id FROM turns WHERE agent_id = ?1
                 AND (?2 IS NULL OR (timestamp, id) < (SELECT timestamp, id FROM turns WHERE id = ?2))
             ORDER BY timestamp DESC, id DESC LIMIT ?3)
         ORDER BY timestamp, id",
        page,
        |row| {
            Ok(json!({
                "id": row.get::<_, i64>(0)?, "command_id": row.get::<_, Option<i64>>(1)?,
                "session_id": row.get::<_, String>(2)?, "actor": row.get::<_, String>(3)?,
                "intent": row.get::<_, String>(4)?, "text": row.get::<_, String>(5)?,
                "timestamp": stamp(row.get(6)?), "timestamp_source": row.get::<_, String>(7)?,
                "confidence": row.get::<_, String>(8)?, "event_id": row.get::<_, i64>(9)?,
            }))
        },
    )
}

/// Units of work, oldest first.
pub fn commands(db: &Connection, page: Page) -> Result<Vec<Value>> {
    list(
        db,
        "SELECT id, session_id, state, instruction, started_at, completed_at, confidence
         FROM commands WHERE id IN (
             SELECT id FROM commands WHERE agent_id = ?1 AND (?2 IS NULL OR id < ?2) ORDER BY id DESC LIMIT ?3)
         ORDER BY started_at, id",
        page,
        |row| {
            Ok(json!({
                "id": row.get::<_, i64>(0)?, "session_id": row.get::<_, String>(1)?,
                "state": row.get::<_, String>(2)?, "instruction": row.get::<_, Option<String>>(3)?,
                "started_at": stamp(row.get(4)?), "completed_at": stamp(row.get(5)?),
                "confidence": row.get::<_, String>(6)?,
            }))
        },
    )
}

/// Steps of the state machine, oldest first.
pub fn transitions(db: &Connection, page: Page) -> Result<Vec<Value>> {
    list(
        db,
        "SELECT id, command_id, from_state, to_state, actor, intent, valid, confidence, source, event_id, at, why
         FROM transitions WHERE id IN (
             SELECT id FROM transitions WHERE agent_id = ?1 AND (?2 IS NULL OR id < ?2) ORDER BY id DESC LIMIT ?3)
         ORDER BY id",
        page,
        |row| {
            Ok(json!({
                "id": row.get::<_, i64>(0)?, "command_id": row.get::<_, Option<i64>>(1)?,
                "from": row.get::<_, String>(2)?, "to": row.get::<_, String>(3)?,
                "actor": row.get::<_, String>(4)?, "intent": row.get::<_, String>(5)?,
                "valid": row.get::<_, bool>(6)?, "confidence": row.get::<_, String>(7)?,
                "source": row.get::<_, String>(8)?, "event_id": row.get::<_, i64>(9)?,
                "at": stamp(row.get(10)?), "why": row.get::<_, String>(11)?,
            }))
        },
    )
}

/// Where the reader of transcripts stopped, for every one it knows.
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

/// One step of the stream, read back. `agent_updated` comes without data: the current document is what counts.
#[derive(Clone, Debug)]
pub struct ReplayedChange {
    pub seq: i64,
    pub kind: String,
    pub agent_id: i64,
    pub data: Option<Value>,
}

/// The stream after `after`, oldest first; of an agent's updates only the last is kept.
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
