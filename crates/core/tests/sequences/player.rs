//! Plays a case into the engine the way the ledger would: facts first, then the event, then what the reconciler saw.

use crate::case::{Case, Recorded, fill, moment, pid, pid_start};
use crate::edge::{self, Observation};
use headspace_core::engine;
use headspace_core::engine::{Agent, World};
use headspace_core::model::*;
use headspace_core::stamp::Stamp;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// When the reconciler gets to read the transcript.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading {
    /// At once after each hook.
    Eager,
    /// Only if something waits for it.
    Lazy,
}

pub struct Player<'a> {
    pub case: &'a Case,
    pub world: World,
    /// Everything applied so far, as the store would have it.
    pub stored: Vec<(Event, Outcome)>,
    pub now: Stamp,
    reading: Reading,
    alive: BTreeSet<u32>,
    unread: Vec<(String, Value)>,
    contacted: BTreeSet<String>,
    gaps: Vec<Vec<(f64, String, Value)>>,
}

impl<'a> Player<'a> {
    pub fn new(case: &'a Case, reading: Reading) -> Player<'a> {
        let mut rows: Vec<(f64, String, Value)> = Vec::new();
        for transcript in case.transcript.iter().filter(|transcript| transcript.main) {
            for (at, line) in &transcript.lines {
                rows.push((*at, transcript.session_id.clone(), line.clone()));
            }
        }
        rows.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut gaps = vec![Vec::new(); case.steps.len() + 1];
        for row in rows {
            gaps[case.steps.iter().filter(|step| step.at <= row.0).count()].push(row);
        }
        Player {
            case,
            world: World::default(),
            stored: Vec::new(),
            now: moment(0.0),
            reading,
            alive: case.processes.iter().map(|process| process.n).collect(),
            unread: Vec::new(),
            contacted: BTreeSet::new(),
            gaps,
        }
    }

    /// One recorded hook event, as often as it was delivered.
    pub fn deliver(&mut self, step: &Recorded) {
        if step.restart_before {
            self.restart();
        }
        self.now = self.now.max(moment(step.at));
        let stamp = step.as_of.map_or(self.now, |k| moment(self.case.steps[k].at));
        let mut body = step.body.clone();
        fill(&mut body, stamp, self.now);
        let session = body["session_id"].as_str().unwrap().to_string();
        let name = body["hook_event_name"].as_str().unwrap().to_string();
        let awaits = self
            .world
            .agent_of_session(&session)
            .is_some_and(|agent| agent.state == AgentState::AwaitingInput);
        let textless = name == "Stop" && body.get("last_assistant_message").is_none();
        if textless || (awaits && name == "UserPromptSubmit") {
            self.read();
        }
        for _ in 0..if step.twice { 2 } else { 1 } {
            self.apply(name.clone(), session.clone(), stamp, Source::Hook, body.clone());
        }
    }

    /// What happens outside before the next hook: transcript lines, ended processes.
    pub fn pause(&mut self, after: Option<usize>, urgent: bool) {
        for (at, session, mut line) in std::mem::take(&mut self.gaps[after.map_or(0, |i| i + 1)]) {
            self.now = self.now.max(moment(at));
            fill(&mut line, self.now, self.now);
            self.unread.push((session, line));
        }
        let gone: Vec<u32> = self
            .case
            .processes
            .iter()
            .filter(|p| after.is_some() && p.exits_after == after)
            .map(|p| p.n)
            .collect();
        gone.iter().for_each(|n| {
            self.alive.remove(n);
        });
        if urgent || self.reading == Reading::Eager {
            self.read();
            self.bury();
        }
    }

    /// Reads what was written to the transcripts.
    pub fn read(&mut self) {
        for (session, line) in std::mem::take(&mut self.unread) {
            for Observation { name, source, at, body } in edge::observations(&line) {
                let at = at.unwrap_or(self.now).min(self.now);
                self.apply(name.to_string(), session.clone(), at, source, body);
            }
        }
    }

    /// Reports agents whose process has ended.
    fn bury(&mut self) {
        let gone: Vec<(String, u32, u64)> = self
            .world
            .agents()
            .filter(|agent| agent.ended_at.is_none())
            .filter_map(|agent| {
                let process = agent.place.process()?;
                let lives = self.alive.iter().any(|n| pid(*n) == process.pid);
                (!lives).then(|| (agent.session_id.clone(), process.pid, process.start))
            })
            .collect();
        for (session, pid, start) in gone {
            let body = json!({"claude_pid": pid, "claude_pid_start": start});
            self.apply(observed::PROCESS_GONE.to_string(), session, self.now, Source::Process, body);
        }
    }

    fn apply(&mut self, name: String, session_id: String, at: Stamp, source: Source, body: Value) {
        let mut event = Event {
            id: self.stored.len() as i64 + 1,
            name,
            session_id,
            at,
            received_at: self.now,
            source,
            facts: edge::facts(self.case, body.get("cwd").and_then(Value::as_str)),
            body,
            agent_hint: None,
        };
        let alive = |process: &Process| {
            self.alive.iter().any(|n| (pid(*n), pid_start(*n)) == (process.pid, process.start))
        };
        event.facts.alive = self.world.asks(&event).into_iter().filter(alive).collect();
        event.facts.first_since_start = self.contacted.insert(event.session_id.clone());
        let outcome = engine::apply(&mut self.world, &event);
        self.stored.push((event, outcome));
    }

    /// The server forgets everything but its store.
    pub fn restart(&mut self) {
        let agents: Vec<Agent> = self
            .world
            .agents()
            .map(|agent| serde_json::from_str(&serde_json::to_string(agent).unwrap()).unwrap())
            .collect();
        self.world = World::load(agents, self.world.counters());
        self.contacted.clear();
    }

    /// The turns of an agent as the store has them: corrections replace, order is by time.
    pub fn turns(&self, agent_id: i64) -> Vec<Turn> {
        let mut turns: Vec<Turn> = Vec::new();
        for change in self.stored.iter().flat_map(|(_, outcome)| &outcome.changes) {
            let Change::Turn(turn) = change else { continue };
            turns.retain(|old| old.id != turn.id);
            turns.push(turn.clone());
        }
        turns.retain(|turn| turn.agent_id == agent_id);
        turns.sort_by_key(|turn| (turn.timestamp, turn.id));
        turns
    }
}
