//! Event + world ▶ changes. Pure: no clock, no files, no database; whatever an event needs to know about the outside is
//! in its [`Facts`](crate::model::Facts).
//!
//! The path of an event: `correlate` finds its agent, `duplicates` drops repeats, `fields` takes what it reports besides
//! its effect. Then it is one of three kinds: a hook of the main thread (`effects`, with `conversation` and
//! `notifications`), a hook of a subagent (`subagents`), or something headspace saw by itself (`observations`). All of
//! them move the agent by a `step`, which uses the table in `state`; `interactions` and `conversation::turns` keep what
//! is asked and said, `intent` classifies it, `detail` describes it. `view` shows the result.

pub mod agent;
pub mod bounds;
pub mod context;
mod conversation;
mod correlate;
mod duplicates;
mod effects;
mod fields;
pub mod hash;
pub mod intent;
mod interactions;
mod observations;
pub mod state;
mod step;
mod subagents;

pub use crate::engine::agent::Agent;

use crate::engine::step::Step;
use crate::model::*;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The last id given to each kind of row. Part of the world, because a replay must produce the same ids.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counters {
    pub agent: i64,
    pub command: i64,
    pub turn: i64,
    pub interaction: i64,
}

/// All agents, and the indexes to find them.
#[derive(Clone, Debug, Default)]
pub struct World {
    /// Shared with readers; an agent is copied if it changes while a reader holds it.
    agents: BTreeMap<i64, Arc<Agent>>,
    counters: Counters,
    /// The agents that have or had a session, in the order they started it. Usually one; `--resume` beside a live client
    /// makes it two.
    by_session: HashMap<String, Vec<i64>>,
}

impl World {
    /// The world as the store saved it.
    pub fn load(agents: impl IntoIterator<Item = Agent>, counters: Counters) -> World {
        let mut world = World { counters, ..World::default() };
        for agent in agents {
            for session in &agent.sessions {
                world.by_session.entry(session.clone()).or_default().push(agent.id);
            }
            world.agents.insert(agent.id, Arc::new(agent));
        }
        world
    }

    /// To be stored with every batch of events, in the same transaction.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    pub fn agents(&self) -> impl Iterator<Item = &Agent> {
        self.agents.values().map(|agent| &**agent)
    }

    /// Like [`World::agents`], but the items can be kept.
    pub fn shared(&self) -> impl Iterator<Item = &Arc<Agent>> {
        self.agents.values()
    }

    pub fn share(&self, id: i64) -> Option<Arc<Agent>> {
        self.agents.get(&id).cloned()
    }

    pub fn agent(&self, id: i64) -> Option<&Agent> {
        self.agents.get(&id).map(|agent| &**agent)
    }

    /// The agent a session belongs to: of several, the living one that has it now, and of those the last.
    pub fn agent_of_session(&self, session_id: &str) -> Option<&Agent> {
        self.holders(session_id).max_by_key(|agent| {
            (agent.ended_at.is_none(), agent.session_id == session_id, agent.last_active_at, agent.id)
        })
    }

    /// All agents that have or had this session.
    fn holders(&self, session_id: &str) -> impl Iterator<Item = &Agent> {
        let ids = self.by_session.get(session_id).map(Vec::as_slice).unwrap_or_default();
        ids.iter().filter_map(|id| self.agent(*id))
    }

    /// Forgets an agent that retention deleted.
    pub fn forget(&mut self, id: i64) {
        let Some(agent) = self.agents.remove(&id) else { return };
        for session in &agent.sessions {
            self.unlist(session, id);
        }
    }

    fn unlist(&mut self, session_id: &str, id: i64) {
        let Some(ids) = self.by_session.get_mut(session_id) else { return };
        ids.retain(|other| *other != id);
        if ids.is_empty() {
            self.by_session.remove(session_id);
        }
    }

    /// Agent ids up to this one are used up, even if those agents no longer exist.
    pub fn skip_agents(&mut self, last: i64) {
        self.counters.agent = self.counters.agent.max(last);
    }

    /// The processes that must be alive or dead to decide where this event belongs. The caller checks them and puts the
    /// living ones into [`Facts::alive`](crate::model::Facts::alive). Empty for the current session of an agent. Call this
    /// after [`Facts::root`](crate::model::Facts::root) is known. They are processes of the event's own host; on another
    /// host they cannot be checked and count as living.
    pub fn asks(&self, event: &Event) -> Vec<Process> {
        correlate::asks(self, event)
    }

    /// The agent of this event, created if necessary; `None` for an observation about no known agent.
    fn find_or_create_agent(&mut self, event: &Event) -> (Option<i64>, Method) {
        let (found, method) = correlate::find(self, event);
        if let Some(id) = found {
            return (Some(id), method);
        }
        if !observations::creates(&event.name) {
            return (None, method);
        }
        let id = event.agent_hint.unwrap_or(self.counters.agent + 1);
        self.counters.agent = self.counters.agent.max(id);
        let agent = Agent {
            id,
            session_id: event.session_id.clone(),
            sessions: vec![event.session_id.clone()],
            started_at: event.at,
            session_at: event.at,
            last_active_at: event.at,
            source: event.source,
            source_at: event.at,
            confidence: if event.source == Source::Hook { Confidence::High } else { Confidence::Medium },
            ..Agent::default()
        };
        self.agents.insert(id, Arc::new(agent));
        (Some(id), method)
    }

    /// Drops an agent's oldest sessions, in memory and in its document, so that a restart changes nothing.
    fn forget_sessions(&mut self, id: i64) {
        let Some(agent) = self.agents.get_mut(&id).filter(|agent| agent.sessions.len() > MAX_SESSIONS) else {
            return;
        };
        let agent = Arc::make_mut(agent);
        let mut forgotten = Vec::new();
        while agent.sessions.len() > MAX_SESSIONS {
            let session = agent.sessions.remove(0);
            forgotten.push(session);
        }
        for session in forgotten {
            self.unlist(&session, id);
        }
    }

    /// A session that moved to another agent leaves its old one, unless that one still runs it: then two processes do.
    /// Returns the agents it left.
    fn move_session(&mut self, session_id: &str, id: i64) -> Vec<i64> {
        match self.by_session.get(session_id).map(Vec::as_slice) {
            Some([only]) if *only == id => return Vec::new(),
            _ => {}
        }
        let ids = self.by_session.entry(session_id.to_string()).or_default();
        if !ids.contains(&id) {
            ids.push(id);
        }
        // The agent had ended and lost its session to another process; now it is back in it.
        if let Some(agent) = self.agents.get_mut(&id)
            && agent.session_id == session_id
            && !agent.sessions.iter().any(|session| session == session_id)
        {
            Arc::make_mut(agent).sessions.push(session_id.to_string());
        }
        let mut left = Vec::new();
        for other in ids.clone().into_iter().filter(|other| *other != id) {
            let keeps = |agent: &Arc<Agent>| agent.session_id == session_id && agent.ended_at.is_none();
            let Some(agent) = self.agents.get_mut(&other).filter(|agent| !keeps(agent)) else { continue };
            Arc::make_mut(agent).sessions.retain(|session| session != session_id);
            left.push(other);
        }
        for other in &left {
            self.unlist(session_id, *other);
        }
        left
    }

    /// Marks the names of agents that run the same session. Returns those whose mark changed.
    fn mark_shared_session(&mut self, session_id: &str) -> Vec<i64> {
        let ids = match self.by_session.get(session_id) {
            Some(ids) if ids.len() > 1 => ids.clone(),
            _ => return Vec::new(),
        };
        let runs = |agent: &Agent| agent.session_id == session_id && agent.ended_at.is_none();
        let several = ids.iter().filter(|id| self.agent(**id).is_some_and(runs)).count() > 1;
        let mut changed = Vec::new();
        for id in ids {
            let Some(agent) = self.agents.get_mut(&id) else { continue };
            let shared = several && runs(agent);
            if agent.names.shared != shared {
                Arc::make_mut(agent).names.shared = shared;
                changed.push(id);
            }
        }
        changed
    }
}

/// How many sessions an agent remembers: one whose directory has a script that runs `claude -p` gets thousands.
const MAX_SESSIONS: usize = 50;

/// Applies one event. Deterministic: the same events in the same order give the same world and the same changes.
pub fn apply(world: &mut World, event: &Event) -> Outcome {
    let (found, method) = world.find_or_create_agent(event);
    let Some(id) = found else {
        let (changes, touched) = (Vec::new(), Vec::new());
        return Outcome { agent_id: None, is_new_agent: false, method, duplicate: false, changes, touched };
    };
    let is_new_agent = method == Method::Created;
    let is_stray = !is_new_agent && is_end_of_unknown_session(world, event, id);
    let left = if is_stray { Vec::new() } else { world.move_session(&event.session_id, id) };
    let World { agents, counters, .. } = world;
    let Some(agent) = agents.get_mut(&id).map(Arc::make_mut) else {
        unreachable!("an agent just found exists")
    };
    if duplicates::is_repeat(agent, event) {
        let (changes, touched) = (Vec::new(), Vec::new());
        return Outcome { agent_id: Some(id), is_new_agent, method, duplicate: true, changes, touched };
    }
    let before = (agent.state, agent.status(event.received_at));
    let mut changes = Vec::new();
    if is_new_agent {
        changes.push(Change::AgentCreated { agent_id: id });
    }
    let mut step = Step { agent, counters, event, changes, fresh: true, marked: false };
    let is_newer = event.at > step.agent.state_at;
    let has_moved = !is_stray && switch_session(&mut step);
    fields::take(step.agent, event);
    // What the client says about its next session is not older than the end of the last one, which is only known by it.
    let of_next_session = has_moved && event.source == Source::Client && is_newer;
    step.fresh = of_next_session || is_fresh(step.agent, event);
    match event.text("agent_id") {
        _ if observations::is_observed(&event.name) => observations::apply(&mut step),
        Some(child) => subagents::apply(&mut step, child),
        None => effects::apply(&mut step),
    }
    emit_state_change(&mut step, before);
    let mut changes = step.changes;
    world.forget_sessions(id);
    let behind = correlate::left_behind(world, event, id);
    changes.extend(behind.iter().flat_map(|id| end_abandoned(world, event, *id)));
    let marked = world.mark_shared_session(&event.session_id);
    let mut touched = vec![id];
    for other in left.into_iter().chain(behind).chain(marked) {
        if !touched.contains(&other) {
            touched.push(other);
        }
    }
    Outcome { agent_id: Some(id), is_new_agent, method, duplicate: false, changes, touched }
}

/// Whether a session ends that was never reported, in the process of an agent that has another session. Clients open
/// sessions for themselves (to find a title, for example), and their end is not the agent's.
fn is_end_of_unknown_session(world: &World, event: &Event, id: i64) -> bool {
    event.name == "SessionEnd"
        && world.agent(id).is_some_and(|agent| {
            agent.ended_at.is_none()
                && agent.session_id != event.session_id
                && !agent.sessions.contains(&event.session_id)
        })
}

/// Another session becomes the agent's current one: whatever the old one had open is over. A session that was here
/// before returns only by a start or a prompt; its late events are history. Returns whether the session was changed.
fn switch_session(step: &mut Step) -> bool {
    let (agent, event) = (&mut *step.agent, step.event);
    let same_process = correlate::is_same_process(agent, event);
    if agent.session_id == event.session_id {
        // The client returned to its session, was found by its status, and no hook reported it.
        if agent.ended_at.is_some_and(|ended| event.at > ended)
            && event.name == observed::CLIENT_STATUS
            && !same_process
        {
            step.revive();
        }
        return false;
    }
    let was_here = agent.sessions.contains(&event.session_id);
    if was_here && !correlate::returns(agent, event) {
        return false;
    }
    // Background work belongs to the process, not to the conversation.
    let cleared = event.name == "SessionStart" && event.text("source") == Some("clear");
    if (same_process || cleared) && agent.ended_at.is_none() {
        step.close_main_thread();
    } else {
        step.close_all();
        step.agent.children.clear();
    }
    step.revive();
    let agent = &mut *step.agent;
    agent.session_id = event.session_id.clone();
    agent.sessions.retain(|session| *session != event.session_id);
    agent.sessions.push(event.session_id.clone());
    agent.error = None;
    agent.unseen = false;
    agent.hooked = false;
    agent.session_at = event.at;
    (agent.last_said, agent.last_words) = (None, None);
    agent.names.title = None;
    agent.names.prompt = None;
    let metrics = &mut agent.metrics;
    (metrics.used_tokens, metrics.percent, metrics.warned) = (None, None, None);
    agent.memory.silent_stop = None;
    true
}

/// The client continues as another agent: this one ends.
fn end_abandoned(world: &mut World, event: &Event, id: i64) -> Vec<Change> {
    let World { agents, counters, .. } = world;
    let Some(agent) = agents.get_mut(&id).map(Arc::make_mut) else { return Vec::new() };
    let before = (agent.state, agent.status(event.received_at));
    let mut step = Step { agent, counters, event, changes: Vec::new(), fresh: true, marked: false };
    step.end("resume");
    emit_state_change(&mut step, before);
    step.changes
}

/// Whether the event may change the main thread's state.
fn is_fresh(agent: &Agent, event: &Event) -> bool {
    let revives = matches!(event.name.as_str(), "SessionStart" | "UserPromptSubmit" | observed::PROMPT);
    let newer = match event.source {
        // A turn cannot end in the millisecond it began.
        Source::Transcript => event.is_after(agent.state_at) && event.at >= agent.turn_at,
        // At the same instant, the hook wins.
        Source::Client => event.at > agent.state_at,
        Source::Hook | Source::Process | Source::Answer => event.is_after(agent.state_at),
    };
    event.session_id == agent.session_id && newer && (agent.ended_at.is_none() || revives)
}

/// Records where the state comes from, and the change if the agent looks different now.
fn emit_state_change(step: &mut Step, before: (AgentState, (Status, Option<String>))) {
    let (level, event) = (step.level(), step.event);
    let agent = &mut *step.agent;
    if step.marked {
        agent.source = event.source;
        agent.source_at = event.at;
        let inferred = agent.command.as_ref().is_some_and(|command| command.confidence == Confidence::Low);
        agent.confidence = if inferred { Confidence::Low } else { level };
    }
    let (from, (status, status_detail)) = (before.0, agent.status(event.received_at));
    if (from, &before.1) != (agent.state, &(status, status_detail.clone())) {
        step.changes.push(Change::StateChanged(StateChanged {
            agent_id: agent.id,
            project: agent.place.project.clone(),
            from,
            to: agent.state,
            status,
            status_detail,
            confidence: agent.confidence,
            source: agent.source,
            timestamp: event.at,
        }));
    }
}
