//! What one batch of events writes. Everything here runs inside the ledger's transaction.

pub mod batch;
pub mod fact_lookup;
pub mod projection;
pub mod projection_state;

use crate::flag;
use crate::write::batch::EventRecord;
use anyhow::Result;
use headspace_core::engine::{Agent, Counters};
use headspace_core::json::serialize::to_text;
use headspace_core::model::*;
use headspace_core::stamp::Stamp;
use rusqlite::{CachedStatement, Connection, OptionalExtension, params};
use serde_json::Value;
use std::collections::BTreeMap;

/// How far a transcript has been read; committed together with what was found there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TailUpdate {
    pub path: String,
    pub session_id: String,
    pub offset: u64,
    pub inode: u64,
    /// Other data that the reader wants to remember.
    pub data: Option<Value>,
}

/// A step of the stream of changes, stored for clients that reconnect with a `Last-Event-ID`.
#[derive(Clone, Debug)]
pub struct ChangeRow {
    pub seq: i64,
    pub kind: &'static str,
    pub agent_id: i64,
    /// The id of the turn; its row has the rest.
    pub turn: Option<i64>,
    /// JSON, as sent.
    pub data: String,
}

/// The rows that events produce; a row that changed more than once is written once.
#[derive(Debug, Default)]
pub struct Rows {
    /// Agents whose documents changed, and the number of that step in the stream.
    pub touched: BTreeMap<i64, i64>,
    /// Hook events by the quarter of an hour they happened in: a drained spool may hold events of other days.
    pub received: BTreeMap<i64, u64>,
    pub sessions: BTreeMap<String, SessionRow>,
    pub commands: BTreeMap<i64, Command>,
    pub turns: Vec<Turn>,
    pub interactions: BTreeMap<i64, (i64, Interaction)>,
    pub subagents: BTreeMap<(i64, String, String), Subagent>,
    pub transitions: Vec<Transition>,
    /// What was spent, by agent, project and quarter of an hour.
    pub spent: BTreeMap<(i64, String, i64), Spent>,
    pub changes: Vec<ChangeRow>,
}

/// Time zones differ by quarters of an hour, so no day begins within one.
pub const QUARTER_HOUR: i64 = 15 * 60 * 1_000_000_000;

impl Rows {
    /// One more hook event, at this time.
    pub fn count(&mut self, at: Stamp) {
        *self.received.entry(at.0 / QUARTER_HOUR).or_default() += 1;
    }

    /// An agent spent money or tokens at this time.
    pub fn spend(&mut self, agent_id: i64, project: Option<String>, at: Stamp, spent: &Spent) {
        let key = (agent_id, project.unwrap_or_default(), at.0 / QUARTER_HOUR);
        self.spent.entry(key).or_default().add(spent);
    }

    /// Gives the changed agents their numbers in the stream, in the order of their ids.
    pub fn number_agents(&mut self, seq: &mut i64) {
        for number in self.touched.values_mut() {
            *seq += 1;
            *number = *seq;
        }
    }

    /// Adds the rows of later events.
    pub fn absorb(&mut self, later: Rows) {
        self.touched.extend(later.touched);
        for (quarter, events) in later.received {
            *self.received.entry(quarter).or_default() += events;
        }
        for (session_id, row) in later.sessions {
            match self.sessions.get_mut(&session_id) {
                Some(known) => {
                    known.agent_id = row.agent_id;
                    known.ended = row.ended.or(known.ended.take());
                }
                None => {
                    self.sessions.insert(session_id, row);
                }
            }
        }
        self.commands.extend(later.commands);
        self.turns.extend(later.turns);
        self.interactions.extend(later.interactions);
        self.subagents.extend(later.subagents);
        self.transitions.extend(later.transitions);
        for (key, spent) in later.spent {
            self.spent.entry(key).or_default().add(&spent);
        }
        self.changes.extend(later.changes);
    }

    pub fn is_empty(&self) -> bool {
        self.touched.is_empty()
            && self.received.is_empty()
            && self.sessions.is_empty()
            && self.changes.is_empty()
    }
}

#[derive(Clone, Debug)]
pub struct SessionRow {
    pub agent_id: i64,
    pub started_at: Stamp,
    pub ended: Option<(Stamp, String)>,
}

/// Stores events, with statements that are prepared once for all events of a COMMIT.
pub struct Events<'a> {
    insert: CachedStatement<'a>,
    delivered: CachedStatement<'a>,
}

impl<'a> Events<'a> {
    pub fn new(db: &'a Connection) -> Result<Events<'a>> {
        Ok(Events {
            insert: db.prepare_cached(
                "INSERT INTO events(id, name, session_id, agent_id, at, received_at, source, delivery_id, flags, facts, body)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            )?,
            delivered: db.prepare_cached("SELECT id, agent_id FROM events WHERE delivery_id = ?1")?,
        })
    }

    pub fn put(&mut self, record: &EventRecord, agent_id: Option<i64>, flags: i64) -> Result<()> {
        let event = &record.event;
        let facts = to_text(&event.facts)?;
        self.insert.execute(params![
            event.id,
            event.name,
            event.session_id,
            agent_id,
            event.at.0,
            event.received_at.0,
            event.source.word(),
            record.delivery_id,
            flags,
            (facts != "{}").then_some(facts),
            record.text,
        ])?;
        Ok(())
    }

    /// The event that came with this delivery id, and its agent.
    pub fn delivered(&mut self, delivery_id: &str) -> Result<Option<(i64, Option<i64>)>> {
        let event = self.delivered.query_row([delivery_id], |row| Ok((row.get(0)?, row.get(1)?)));
        Ok(event.optional()?)
    }
}

/// Adds the events after `after`, up to `up_to`, to the lists by agent and by name. Events already listed stay listed.
pub fn lists(db: &Connection, after: i64, up_to: i64) -> Result<()> {
    for list in [
        "INSERT OR IGNORE INTO events_by_agent
         SELECT agent_id, id FROM events WHERE id > ?1 AND id <= ?2 AND agent_id IS NOT NULL ORDER BY 1, 2",
        "INSERT OR IGNORE INTO events_by_name
         SELECT name, id FROM events WHERE id > ?1 AND id <= ?2 ORDER BY 1, 2",
    ] {
        db.prepare_cached(list)?.execute([after, up_to])?;
    }
    Ok(())
}

pub fn tail(db: &Connection, tail: &TailUpdate) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO tails(path, session_id, offset, inode, data) VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT(path) DO UPDATE SET session_id = ?2, offset = ?3, inode = ?4, data = ?5",
    )?
    .execute(params![
        tail.path,
        tail.session_id,
        tail.offset as i64,
        tail.inode as i64,
        tail.data.as_ref().map(Value::to_string)
    ])?;
    Ok(())
}

/// An agent's document, and the columns that queries use.
pub fn agent(db: &Connection, agent: &Agent, now: Stamp, changed_seq: i64) -> Result<()> {
    let (status, _) = agent.status(now);
    db.prepare_cached(
        "INSERT INTO agents(id, session_id, project, project_path, state, status, last_active_at, ended_at,
                            changed_seq, doc)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
         ON CONFLICT(id) DO UPDATE SET session_id = ?2, project = ?3, project_path = ?4, state = ?5, status = ?6,
             last_active_at = ?7, ended_at = ?8, changed_seq = ?9, doc = ?10",
    )?
    .execute(params![
        agent.id,
        agent.session_id,
        agent.place.project,
        agent.place.root,
        agent.state.word(),
        status.word(),
        agent.last_active_at.0,
        agent.ended_at.map(|at| at.0),
        changed_seq,
        to_text(agent)?,
    ])?;
    Ok(())
}

/// An agent as the deleted events left it.
pub fn base_agent(db: &Connection, agent: &Agent) -> Result<()> {
    db.prepare_cached("INSERT OR REPLACE INTO base(id, doc) VALUES (?1, ?2)")?
        .execute(params![agent.id, to_text(agent)?])?;
    Ok(())
}

pub fn base_counters(db: &Connection, counters: Counters) -> Result<()> {
    meta(db, "base", &to_text(&counters)?)
}

/// Everything but the agents' documents.
pub fn rows(db: &Connection, rows: &Rows) -> Result<()> {
    for (quarter, received) in &rows.received {
        day(db, Stamp(quarter * QUARTER_HOUR), *received)?;
    }
    for (session_id, row) in &rows.sessions {
        let (ended_at, reason) = match &row.ended {
            Some((at, reason)) => (Some(at.0), Some(reason.as_str())),
            None => (None, None),
        };
        db.prepare_cached(
            "INSERT INTO sessions(session_id, agent_id, started_at, ended_at, end_reason) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT(session_id) DO UPDATE SET agent_id = ?2, ended_at = ?4, end_reason = ?5",
        )?
        .execute(params![session_id, row.agent_id, row.started_at.0, ended_at, reason])?;
    }
    for command in rows.commands.values() {
        command_row(db, command)?;
    }
    for turn in &rows.turns {
        turn_row(db, turn)?;
    }
    for (agent_id, interaction) in rows.interactions.values() {
        interaction_row(db, *agent_id, interaction)?;
    }
    for ((agent_id, ..), subagent) in &rows.subagents {
        subagent_row(db, *agent_id, subagent)?;
    }
    for transition in &rows.transitions {
        transition_row(db, transition)?;
    }
    for ((agent_id, project, quarter), spent) in &rows.spent {
        spent_row(db, *agent_id, project, *quarter, spent)?;
    }
    for change in &rows.changes {
        db.prepare_cached("INSERT INTO changes(seq, kind, agent_id, ref, data) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![
                change.seq,
                change.kind,
                change.agent_id,
                change.turn,
                change.turn.is_none().then_some(change.data.as_str())
            ])?;
    }
    Ok(())
}

fn command_row(db: &Connection, command: &Command) -> Result<()> {
    db.prepare_cached(
        "INSERT OR REPLACE INTO commands(id, agent_id, session_id, state, instruction, started_at, completed_at, confidence)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        command.id,
        command.agent_id,
        command.session_id,
        command.state.word(),
        command.instruction,
        command.started_at.0,
        command.completed_at.map(|at| at.0),
        command.confidence.word(),
    ])?;
    Ok(())
}

fn turn_row(db: &Connection, turn: &Turn) -> Result<()> {
    db.prepare_cached(
        "INSERT OR REPLACE INTO turns(id, agent_id, session_id, command_id, actor, intent, text, timestamp,
                                      timestamp_source, confidence, uuid, event_id)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?
    .execute(params![
        turn.id,
        turn.agent_id,
        turn.session_id,
        turn.command_id,
        turn.actor.word(),
        turn.intent.word(),
        turn.text,
        turn.timestamp.0,
        turn.timestamp_source.word(),
        turn.confidence.word(),
        turn.uuid,
        turn.event_id,
    ])?;
    Ok(())
}

fn interaction_row(db: &Connection, agent_id: i64, interaction: &Interaction) -> Result<()> {
    let options = (!interaction.options.is_empty()).then(|| to_text(&interaction.options));
    db.prepare_cached(
        "INSERT OR REPLACE INTO interactions(id, agent_id, kind, tool_use_id, tool_name, subagent, text, options,
                                             opened_at, closed_at, event_id)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
    )?
    .execute(params![
        interaction.id,
        agent_id,
        interaction.kind.word(),
        interaction.tool_use_id,
        interaction.tool_name,
        interaction.subagent,
        interaction.text,
        options.transpose()?,
        interaction.opened_at.0,
        interaction.closed_at.map(|at| at.0),
        interaction.event_id,
    ])?;
    Ok(())
}

fn subagent_row(db: &Connection, agent_id: i64, subagent: &Subagent) -> Result<()> {
    db.prepare_cached(
        "INSERT OR REPLACE INTO subagents(agent_id, session_id, subagent_id, agent_type, status, status_detail,
                                          started_at, ended_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?
    .execute(params![
        agent_id,
        subagent.session_id,
        subagent.agent_id,
        subagent.agent_type,
        subagent.status.word(),
        subagent.status_detail,
        subagent.started_at.0,
        subagent.ended_at.map(|at| at.0),
    ])?;
    Ok(())
}

fn transition_row(db: &Connection, transition: &Transition) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO transitions(agent_id, command_id, from_state, to_state, actor, intent, valid, confidence,
                                 source, event_id, at, why)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    )?
    .execute(params![
        transition.agent_id,
        transition.command_id,
        transition.from.word(),
        transition.to.word(),
        transition.actor.word(),
        transition.intent.word(),
        transition.valid,
        transition.confidence.word(),
        transition.source.word(),
        transition.event_id,
        transition.at.0,
        transition.why,
    ])?;
    Ok(())
}

/// What a row of `spent` counts at most: a billion dollars, or as many tokens. Clients report the figures, and SQLite
/// refuses a sum that overflows: one absurd figure would break the statistics for good.
const MAX_SPENT_PER_ROW: i64 = 1 << 50;

fn spent_row(db: &Connection, agent_id: i64, project: &str, quarter: i64, spent: &Spent) -> Result<()> {
    let capped =
        |number: u64| i64::try_from(number).map_or(MAX_SPENT_PER_ROW, |number| number.min(MAX_SPENT_PER_ROW));
    db.prepare_cached(
        "INSERT INTO spent(quarter, agent_id, project, micro_usd, input, output, cache_write, cache_read)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
         ON CONFLICT DO UPDATE SET micro_usd = min(micro_usd + ?4, ?9), input = min(input + ?5, ?9),
             output = min(output + ?6, ?9), cache_write = min(cache_write + ?7, ?9),
             cache_read = min(cache_read + ?8, ?9)",
    )?
    .execute(params![
        quarter,
        agent_id,
        project,
        capped(spent.micro_usd),
        capped(spent.input_tokens),
        capped(spent.output_tokens),
        capped(spent.cache_write_tokens),
        capped(spent.cache_read_tokens),
        MAX_SPENT_PER_ROW,
    ])?;
    Ok(())
}

/// What must survive a restart besides the rows: the ids used so far, stored in the same transaction as their rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct StoreCursor {
    pub event: i64,
    pub seq: i64,
    /// Hook events accepted in total.
    pub received: u64,
    pub last_hook_at: Option<Stamp>,
    pub last_hook: Option<String>,
    /// The last event whose rows are written. The rows of later events are recomputed when the store is opened.
    pub projected: Option<i64>,
    pub world: Counters,
}

impl StoreCursor {
    /// Counts a hook event that was not received before.
    pub fn count(&mut self, rows: &mut Rows, event: &Event, flags: i64) {
        if flags & flag::HOOK != 0 && flags & flag::DUPLICATE == 0 {
            self.received += 1;
            self.last_hook_at = Some(event.received_at);
            self.last_hook = Some(event.name.clone());
            rows.count(event.at);
        }
    }
}

pub fn marks(db: &Connection, marks: &StoreCursor) -> Result<()> {
    meta(db, "marks", &to_text(marks)?)
}

/// Counts hook events for the day and the hour of `at`.
fn day(db: &Connection, at: Stamp, events: u64) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO hours(hour, events) VALUES (?1, ?2) ON CONFLICT(hour) DO UPDATE SET events = events + ?2",
    )?
    .execute(params![at.0 / (4 * QUARTER_HOUR), events as i64])?;
    db.prepare_cached(
        "INSERT INTO days(day, events) VALUES (date(?1, 'unixepoch', 'localtime'), ?2)
         ON CONFLICT(day) DO UPDATE SET events = events + ?2",
    )?
    .execute(params![at.0 / 1_000_000_000, events as i64])?;
    Ok(())
}

pub fn meta(db: &Connection, key: &str, value: &str) -> Result<()> {
    db.prepare_cached(
        "INSERT INTO meta(key, value) VALUES (?1, ?2) ON CONFLICT(key) DO UPDATE SET value = ?2",
    )?
    .execute([key, value])?;
    Ok(())
}
