//! A transaction in the making: events in order, each with the facts that had to be looked up for it.

use crate::flag;
use crate::write::fact_lookup::FactLookup;
use crate::write::projection;
use crate::write::projection_state::ProjectionState;
use crate::write::{self, Events, Rows, TailUpdate};
use anyhow::Result;
use headspace_core::engine;
use headspace_core::model::*;
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_platform::{machine, process};
use rusqlite::Connection;
use serde_json::Value;
use std::collections::{HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

pub enum Failure {
    /// The engine failed on the job with this index.
    Engine(usize),
    Store(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Store(error.into())
    }
}

/// An event ready to be stored, with the other columns of its row. It is neither the event before (whose text is not
/// masked yet) nor the event after (readers and the engine have no use for the extra columns). The store accepts
/// nothing else, so unmasked text cannot get there.
#[derive(Debug)]
pub struct EventRecord {
    pub event: Event,
    /// The body as it is stored.
    pub text: String,
    pub delivery_id: Option<String>,
    pub from_hook: bool,
    /// How far a transcript was read to find this; committed together with it.
    pub tail: Option<TailUpdate>,
}

/// The result of an event that is on disk.
#[derive(Clone, Debug)]
pub struct Receipt {
    pub event_id: i64,
    pub agent_id: Option<i64>,
    pub is_new_agent: bool,
    pub method: Method,
    pub duplicate: bool,
    /// The agent's own state and its status right after this event.
    pub state: Option<AgentState>,
    pub status: Option<Status>,
}

pub struct Batch<'a> {
    db: &'a Connection,
    events: Events<'a>,
    pub projection: &'a mut ProjectionState,
    pub facts: &'a mut FactSources,
    pub rows: Rows,
    /// The batch has an event.
    begun: bool,
}

/// What is known about the outside world.
pub struct FactSources {
    lookup: FactLookup,
    met: KnownSessions,
    /// This machine, as `notify` names it.
    machine: Machine,
}

/// Sessions seen since the server started, up to the number for which a restart could matter. If a session is dropped
/// from here, its next event is marked once more as the first since the start.
#[derive(Default)]
struct KnownSessions {
    sessions: HashSet<String>,
    order: VecDeque<String>,
}

impl KnownSessions {
    const MAX_KNOWN_SESSIONS: usize = 10_000;

    /// `true`: the session is new.
    fn meet(&mut self, session: &str) -> bool {
        if self.sessions.contains(session) {
            return false;
        }
        if self.order.len() >= KnownSessions::MAX_KNOWN_SESSIONS
            && let Some(oldest) = self.order.pop_front()
        {
            self.sessions.remove(&oldest);
        }
        self.order.push_back(session.to_owned());
        self.sessions.insert(session.to_owned())
    }

    fn forget(&mut self, sessions: &[String]) {
        for session in sessions {
            self.sessions.remove(session);
        }
        let KnownSessions { sessions, order } = self;
        order.retain(|session| sessions.contains(session));
    }
}

impl FactSources {
    /// Retention has deleted the agent of these sessions.
    pub fn forget(&mut self, sessions: &[String]) {
        self.met.forget(sessions);
    }

    #[allow(clippy::new_without_default, reason = "it reads the machine's id")]
    pub fn new() -> FactSources {
        FactSources { lookup: FactLookup::default(), met: KnownSessions::default(), machine: machine::this() }
    }
}

impl<'a> Batch<'a> {
    pub fn new(
        db: &'a Connection,
        projection: &'a mut ProjectionState,
        facts: &'a mut FactSources,
    ) -> Result<Batch<'a>> {
        Ok(Batch { db, events: Events::new(db)?, projection, facts, rows: Rows::default(), begun: false })
    }

    /// Stores the event and applies it. `fails`: the engine is known to fail on it, so it has no effect.
    pub fn event(&mut self, record: &mut EventRecord, index: usize, fails: bool) -> Result<Receipt, Failure> {
        if let Some(delivery_id) = &record.delivery_id
            && let Some((event_id, agent_id)) = self.events.delivered(delivery_id)?
        {
            if let Some(tail) = &record.tail {
                write::tail(self.db, tail)?;
            }
            return Ok(self.receipt(event_id, agent_id, None, true));
        }
        self.projection.marks.event += 1;
        record.event.id = self.projection.marks.event;
        self.gather(&mut record.event);
        let event = &record.event;
        let world = &mut self.projection.world;
        let outcome = if fails {
            None
        } else {
            let applied = catch_unwind(AssertUnwindSafe(|| engine::apply(world, event)));
            Some(applied.map_err(|_| Failure::Engine(index))?)
        };
        let agent_id = match &outcome {
            Some(outcome) => outcome.agent_id,
            None => self.projection.world.agent_of_session(&event.session_id).map(|agent| agent.id),
        };
        let first = !std::mem::replace(&mut self.begun, true);
        let flags = effect(outcome.as_ref())
            + i64::from(record.from_hook) * flag::HOOK
            + i64::from(first) * flag::FIRST;
        self.events.put(record, agent_id, flags)?;
        if let Some(tail) = &record.tail {
            write::tail(self.db, tail)?;
        }
        self.projection.marks.count(&mut self.rows, event, flags);
        let duplicate = flags & flag::DUPLICATE != 0;
        let receipt = self.receipt(event.id, agent_id, outcome.as_ref(), duplicate);
        if let Some(outcome) = outcome {
            let ProjectionState { world, marks, .. } = &mut *self.projection;
            projection::collect(&mut self.rows, world, &mut marks.seq, event, outcome);
        }
        Ok(receipt)
    }

    fn receipt(
        &self,
        event_id: i64,
        agent_id: Option<i64>,
        outcome: Option<&Outcome>,
        duplicate: bool,
    ) -> Receipt {
        let agent = agent_id.and_then(|id| self.projection.world.agent(id));
        Receipt {
            event_id,
            agent_id,
            is_new_agent: outcome.is_some_and(|outcome| outcome.is_new_agent),
            method: outcome.map_or(Method::SessionId, |outcome| outcome.method),
            duplicate,
            state: agent.map(|agent| agent.state),
            status: agent.map(|agent| agent.status(Stamp::now()).0),
        }
    }

    /// Looks up the facts that the engine may not look up itself.
    fn gather(&mut self, event: &mut Event) {
        let FactSources { lookup, met, machine } = &mut *self.facts;
        // This stays true if the batch is retried.
        let first_since_start = event.facts.first_since_start || met.meet(&event.session_id);
        let ask = std::mem::take(&mut event.facts.ask);
        let mut found = Facts { first_since_start, ask, ..Facts::default() };
        let fresh = matches!(event.name.as_str(), "SessionStart" | "CwdChanged" | "UserPromptSubmit");
        let cwd = event.text("cwd").or_else(|| event.text("working_directory"));
        let moved = if event.name == "CwdChanged" { event.text("new_cwd") } else { None };
        lookup.directory(&mut found, moved.or(cwd), fresh);
        let here = is_here(event, machine);
        found.elsewhere = !here;
        event.facts = found;
        let asked = self.projection.world.asks(event);
        // We cannot look at another machine's processes; the engine is told that they live.
        event.facts.alive = asked.into_iter().filter(|process| !here || process::lives(*process)).collect();
    }

    /// The rows of its events, with every step numbered.
    pub fn finish(mut self) -> Rows {
        self.rows.number_agents(&mut self.projection.marks.seq);
        self.rows
    }
}

/// Whether the event comes from this machine, so that its processes can be looked at. An event with our id and another
/// name may come from a container that shares our state directory. A hook's client is alive, so if we do not see it, it
/// is not here.
fn is_here(event: &Event, here: &Machine) -> bool {
    let machine = Machine::of(&event.body);
    if !machine.is(here) {
        return false;
    }
    let number = |field: &str| event.body.get(field).and_then(Value::as_u64);
    let process =
        number("claude_pid").and_then(|pid| u32::try_from(pid).ok()).zip(number("claude_pid_start"));
    let renamed = machine.name.is_some() && machine.name != here.name;
    !renamed || process.is_none_or(|(pid, start)| process::lives(Process { pid, start }))
}

/// The engine's result for an event, as flags for its row.
pub fn effect(outcome: Option<&Outcome>) -> i64 {
    match outcome {
        None => flag::UNPROJECTED,
        Some(outcome) => {
            i64::from(outcome.duplicate) * flag::DUPLICATE + i64::from(outcome.is_new_agent) * flag::CREATED
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_met_once_and_never_too_many() {
        let mut met = KnownSessions::default();
        for session in 0..KnownSessions::MAX_KNOWN_SESSIONS * 2 {
            assert!(met.meet(&session.to_string()));
            assert!(!met.meet(&session.to_string()));
        }
        assert_eq!(
            (met.sessions.len(), met.order.len()),
            (KnownSessions::MAX_KNOWN_SESSIONS, KnownSessions::MAX_KNOWN_SESSIONS)
        );
        assert!(met.meet("0"), "the oldest has fallen out");
        met.forget(&["0".into(), "nobody".into()]);
        assert_eq!(
            (met.sessions.len(), met.order.len()),
            (KnownSessions::MAX_KNOWN_SESSIONS - 1, KnownSessions::MAX_KNOWN_SESSIONS - 1)
        );
        assert!(met.meet("0"));
    }
}
