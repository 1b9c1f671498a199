//! What the reconciler stands on: the agents it watches for, and the ledger that takes its reports.

use super::ledger::{Ledger, NewEvent};
use super::liveness::Client;
use super::log;
use super::reconcile::{Ground, Seat};
use super::watch::Report;
use crate::clock::Stamp;
use crate::engine::Agent;
use crate::model::AgentState;
use crate::process;
use crate::store::queries;
use crate::store::write::TailUpdate;
use crate::transcript::Mark;
use anyhow::Result;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

/// How often a report is handed in again while the store cannot take it.
const ATTEMPTS: u32 = 10;

pub struct ServerGround {
    ledger: Ledger,
    /// Processes of other machines cannot be looked at.
    host: Option<String>,
}

impl ServerGround {
    pub fn new(ledger: Ledger) -> ServerGround {
        ServerGround { ledger, host: process::host_name() }
    }

    fn seat_of(&self, agent: &Agent) -> Seat {
        let here = agent.place.host.is_none() || agent.place.host == self.host;
        let client = agent.place.claude_pid.filter(|_| here);
        Seat {
            session_id: agent.session_id.clone(),
            transcript_path: agent.place.transcript_path.as_ref().map(PathBuf::from),
            idle: agent.state == AgentState::Idle,
            asks: agent.interactions.iter().any(|open| open.subagent.is_none()),
            asking_subagents: agent
                .interactions
                .iter()
                .filter_map(|open| Some((open.subagent.clone()?, open.opened_at)))
                .collect(),
            busy: agent.state != AgentState::Idle
                || !agent.interactions.is_empty()
                || agent.live_tasks() > 0
                || agent.phase.is_some(),
            client: client.map(|pid| Client { pid, start: agent.place.claude_pid_start }),
            active: agent.last_active_at,
        }
    }
}

impl Ground for ServerGround {
    fn seats(&self) -> Vec<Seat> {
        let agents = self.ledger.snapshot().agents(false);
        agents.iter().map(|agent| self.seat_of(agent)).collect()
    }

    fn seat(&self, session_id: &str) -> Option<Seat> {
        let agent = self.ledger.snapshot().agent_of_session(session_id)?;
        (agent.session_id == session_id).then(|| self.seat_of(&agent))
    }

    fn knows(&self, session_id: &str) -> bool {
        self.ledger.snapshot().agent_of_session(session_id).is_some()
    }

    fn last_hook_at(&self) -> Option<Stamp> {
        self.ledger.marks().last_hook_at
    }

    /// Waits until they are stored: what was read of a transcript is not read again.
    fn submit(&self, reports: Vec<Report>) {
        let events: Vec<NewEvent> = reports.into_iter().map(new_event).collect();
        for _ in 0..ATTEMPTS {
            let pending = self.ledger.submit_all(events.clone());
            if pending.into_iter().all(|pending| pending.wait().is_ok()) || self.ledger.is_closed() {
                return;
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        log::line("could not store what transcripts say: given up");
    }
}

/// The same line of a transcript is the same event, however often it is read.
pub fn new_event(report: Report) -> NewEvent {
    let field = |name: &str| report.body.get(name).and_then(Value::as_str).unwrap_or_default();
    let line = field("uuid");
    let id = format!("{}:{}:{line}:{}", report.name, report.session_id, field("tool_use_id"));
    let id = (!line.is_empty()).then_some(id);
    let tail = report.tail.map(|mark| tail_update(&report.session_id, &mark));
    let mut body = report.body;
    if let Value::Object(fields) = &mut body {
        fields.insert("session_id".into(), json!(report.session_id));
    }
    let mut event = NewEvent::observed(report.name, &report.session_id, report.at, report.source, body);
    (event.delivery_id, event.tail) = (id, tail);
    event
}

fn tail_update(session_id: &str, mark: &Mark) -> TailUpdate {
    TailUpdate {
        path: mark.path.to_string_lossy().into_owned(),
        session_id: session_id.to_owned(),
        offset: mark.offset,
        inode: mark.inode,
        data: mark.check.map(|check| json!(check)),
    }
}

/// How far the transcripts were read, by session.
pub fn marks(db: &Connection) -> Result<HashMap<String, Mark>> {
    let marks = queries::tails(db)?.into_iter().map(|tail| {
        let mark = Mark {
            path: PathBuf::from(tail.path),
            offset: tail.offset,
            inode: tail.inode,
            check: tail.data.and_then(|data| data.as_u64()),
        };
        (tail.session_id, mark)
    });
    Ok(marks.collect())
}
