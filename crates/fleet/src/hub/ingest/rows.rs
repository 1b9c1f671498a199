//! The rows of a batch, column by column, and the statements that insert them.

use crate::hub::database::Values;
use crate::protocol::Batch;
use std::collections::HashSet;
use std::sync::OnceLock;

/// How the rows of one table are inserted. `{edge}` stands for the machine's row, which has the history and the team,
/// and `{rows}` for the columns.
pub(super) struct Insert {
    sql: &'static str,
    /// The types of the columns, in the order of [`Columns::values`].
    types: &'static [&'static str],
    alone: OnceLock<String>,
}

pub(super) static EVENTS: Insert = Insert {
    sql: "INSERT INTO events (edge, epoch_no, pos, agent_id, session_id, name, at, source, flags, received_at, body)
    SELECT edge.id, edge.epoch_no, posted.pos, agent_id, session_id, posted.name, at, source, flags, now(), body
    FROM {edge}, {rows} AS posted(pos, agent_id, session_id, name, at, source, flags, body)",
    types: &["bigint", "bigint", "text", "text", "bigint", "text", "int", "text"],
    alone: OnceLock::new(),
};

/// A document written by a later position stays. Its time is that of the machine's row, which grows with every change even
/// if the database's clock is set back: streams ask for what is later than what they sent.
pub(super) static AGENTS: Insert = Insert {
    sql: "INSERT INTO agents (edge, epoch_no, id, team, project, share, status, last_active_at, ended_at, pos, changed_at, doc)
    SELECT edge.id, edge.epoch_no, posted.id, edge.team, project, share, status, last_active_at, ended_at, posted.pos, edge.changed_at, doc
    FROM {edge}, {rows} AS posted(id, share, pos, project, status, last_active_at, ended_at, doc)
    ON CONFLICT (edge, epoch_no, id) DO UPDATE SET
        team = excluded.team, project = excluded.project, share = excluded.share, status = excluded.status,
        last_active_at = excluded.last_active_at, ended_at = excluded.ended_at, pos = excluded.pos,
        changed_at = excluded.changed_at, doc = excluded.doc
    WHERE agents.pos <= excluded.pos",
    types: &["bigint", "smallint", "bigint", "text", "text", "bigint", "bigint", "text"],
    alone: OnceLock::new(),
};

pub(super) static TURNS: Insert = Insert {
    sql: "INSERT INTO turns (edge, epoch_no, id, agent_id, at, received_at, doc)
    SELECT edge.id, edge.epoch_no, posted.id, agent_id, at, now(), doc
    FROM {edge}, {rows} AS posted(id, agent_id, at, doc)
    ON CONFLICT (edge, epoch_no, id) DO UPDATE SET at = excluded.at, doc = excluded.doc",
    types: &["bigint", "bigint", "bigint", "text"],
    alone: OnceLock::new(),
};

impl Insert {
    /// As a separate statement: `$1` is the machine, the columns follow.
    pub fn alone(&'static self) -> &'static str {
        self.alone.get_or_init(|| {
            self.text("(SELECT id, epoch_no, team, changed_at FROM edges WHERE id = $1) AS edge", 2)
        })
    }

    /// As part of another statement, in which the columns are numbered from `first`.
    pub fn text(&self, edge: &str, first: usize) -> String {
        self.sql.replace("{edge}", edge).replace("{rows}", &self.unnested(first))
    }

    fn unnested(&self, first: usize) -> String {
        let columns: Vec<String> =
            self.types.iter().zip(first..).map(|(of, number)| format!("${number}::{of}[]")).collect();
        format!("unnest({})", columns.join(", "))
    }

    pub const fn len(&self) -> usize {
        self.types.len()
    }
}

/// Values for the columns of an [`Insert`].
pub(super) trait Columns: Sync {
    fn is_empty(&self) -> bool;
    fn values(&self) -> Values<'_>;
}

pub(super) struct EventColumns<'a> {
    pos: Vec<i64>,
    agents: Vec<Option<i64>>,
    sessions: Vec<&'a str>,
    names: Vec<&'a str>,
    at: Vec<i64>,
    sources: Vec<&'a str>,
    flags: Vec<i32>,
    bodies: Vec<&'a str>,
}

impl EventColumns<'_> {
    pub fn after(pos: i64, batch: &Batch) -> EventColumns<'_> {
        let fresh = batch.events.iter().position(|event| event.pos > pos).unwrap_or(batch.events.len());
        let events = &batch.events[fresh..];
        EventColumns {
            pos: events.iter().map(|event| event.pos).collect(),
            agents: events.iter().map(|event| event.agent_id).collect(),
            sessions: events.iter().map(|event| event.session_id.as_str()).collect(),
            names: events.iter().map(|event| event.name.as_str()).collect(),
            at: events.iter().map(|event| event.at).collect(),
            sources: events.iter().map(|event| event.source.as_str()).collect(),
            flags: events.iter().map(|event| event.flags).collect(),
            bodies: events.iter().map(|event| event.body.as_str()).collect(),
        }
    }
}

impl Columns for EventColumns<'_> {
    fn is_empty(&self) -> bool {
        self.pos.is_empty()
    }

    fn values(&self) -> Values<'_> {
        let EventColumns { pos, agents, sessions, names, at, sources, flags, bodies } = self;
        vec![pos, agents, sessions, names, at, sources, flags, bodies]
    }
}

pub(super) struct AgentColumns<'a> {
    pub ids: Vec<i64>,
    pub shares: Vec<i16>,
    /// The end of the batch, repeated for each row.
    positions: Vec<i64>,
    projects: Vec<Option<&'a str>>,
    statuses: Vec<&'a str>,
    active: Vec<i64>,
    ended: Vec<Option<i64>>,
    documents: Vec<&'a str>,
}

impl AgentColumns<'_> {
    pub fn of(batch: &Batch) -> AgentColumns<'_> {
        let agents = &batch.agents;
        AgentColumns {
            ids: agents.iter().map(|agent| agent.id).collect(),
            shares: agents.iter().map(|agent| agent.share).collect(),
            positions: vec![batch.to; agents.len()],
            projects: agents.iter().map(|agent| agent.project.as_deref()).collect(),
            statuses: agents.iter().map(|agent| agent.status.as_str()).collect(),
            active: agents.iter().map(|agent| agent.last_active_at).collect(),
            ended: agents.iter().map(|agent| agent.ended_at).collect(),
            documents: agents.iter().map(|agent| agent.doc.as_str()).collect(),
        }
    }
}

impl Columns for AgentColumns<'_> {
    fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    fn values(&self) -> Values<'_> {
        let AgentColumns { ids, shares, positions, projects, statuses, active, ended, documents } = self;
        vec![ids, shares, positions, projects, statuses, active, ended, documents]
    }
}

pub(super) struct TurnColumns<'a> {
    ids: Vec<i64>,
    owners: Vec<i64>,
    at: Vec<i64>,
    documents: Vec<&'a str>,
}

impl TurnColumns<'_> {
    pub fn of(batch: &Batch) -> TurnColumns<'_> {
        let turns =
            batch.agents.iter().flat_map(|agent| agent.turns.iter().map(move |turn| (agent.id, turn)));
        let mut turns: Vec<_> = turns.collect();
        // One statement cannot write a row twice, whatever a machine sends.
        let mut known = HashSet::new();
        turns.retain(|(_, turn)| known.insert(turn.id));
        TurnColumns {
            ids: turns.iter().map(|(_, turn)| turn.id).collect(),
            owners: turns.iter().map(|(agent, _)| *agent).collect(),
            at: turns.iter().map(|(_, turn)| turn.at).collect(),
            documents: turns.iter().map(|(_, turn)| turn.doc.as_str()).collect(),
        }
    }
}

impl Columns for TurnColumns<'_> {
    fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    fn values(&self) -> Values<'_> {
        let TurnColumns { ids, owners, at, documents } = self;
        vec![ids, owners, at, documents]
    }
}
