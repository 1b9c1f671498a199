//! All stored events once more through the engine: what the tables of states should say.

use super::projection;
use crate::clock::Stamp;
use crate::engine::{self, Agent, Counters, World};
use crate::model::{Event, Outcome};
use crate::store::write::{self, Rows};
use crate::store::{flag, queries};
use anyhow::Result;
use rusqlite::{Connection, params};
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Events between two commits; also what has to be repeated if the engine fails on one of them.
const CHUNK: usize = 2000;

/// Everything that is worked out from the events.
const DERIVED: &[&str] =
    &["agents", "sessions", "commands", "turns", "interactions", "subagents", "transitions"];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    pub events: u64,
    pub agents: usize,
    /// Events the engine failed on: kept, without effect.
    pub without_effect: u64,
}

/// Empties the tables of states in `db` and fills them anew. `progress` hears how many events are done.
pub fn replay(db: &mut Connection, mut progress: impl FnMut(u64)) -> Result<Replayed> {
    let mut marks = queries::marks(db)?;
    // Where retention has deleted events, what they told of the agents can only be taken over.
    let pruned = queries::meta(db, "pruned")?.is_some();
    let before = if pruned { queries::agents(db)? } else { Vec::new() };
    let clear = db.transaction()?;
    for table in DERIVED {
        clear.execute(&format!("DELETE FROM {table}"), [])?;
    }
    if pruned {
        // Numbers of turns start again, so those the stream remembers are not theirs any more.
        clear.execute("DELETE FROM changes", [])?;
    }
    clear.commit()?;

    let counters = if pruned {
        Counters { agent: marks.world.agent, ..Counters::default() }
    } else {
        Counters::default()
    };
    let mut world = World::load([], counters);
    let mut done = Replayed::default();
    let mut last = 0;
    loop {
        let chunk = queries::replay(db, last, CHUNK)?;
        let Some((end, _)) = chunk.last() else { break };
        last = end.id;
        let (outcomes, failing) = apply(&mut world, &chunk);
        let step = db.transaction()?;
        let mut rows = Rows::default();
        for (event, flags, outcome) in outcomes {
            note(&step, &event.event, flags, event.agent_id, outcome.as_ref())?;
            if let Some(outcome) = outcome {
                projection::collect(&mut rows, &world, &mut marks.seq, &event.event, outcome);
            }
        }
        // The stream has told all this before.
        rows.changes.clear();
        write::rows(&step, &rows)?;
        step.commit()?;
        done.events += chunk.len() as u64;
        done.without_effect += failing;
        progress(done.events);
    }
    done.agents = finish(db, world, marks, &before)?;
    Ok(done)
}

/// An event and the agent it had before.
struct Past<'a> {
    event: std::borrow::Cow<'a, Event>,
    agent_id: Option<i64>,
}

type Applied<'a> = Vec<(Past<'a>, i64, Option<Outcome>)>;

/// As the writer does it: an event the engine fails on has no effect, and the world is as if it had not come.
fn apply<'a>(world: &mut World, chunk: &'a [(Event, i64)]) -> (Applied<'a>, u64) {
    let start = world.clone();
    let mut failing: HashSet<i64> = HashSet::new();
    loop {
        let mut outcomes = Vec::with_capacity(chunk.len());
        let mut failed = None;
        for (event, flags) in chunk {
            let agent_id = event.agent_hint;
            let mut event = std::borrow::Cow::Borrowed(event);
            // An id somebody has already is no id for a new agent.
            if agent_id.is_some_and(|id| world.agent(id).is_some()) {
                event.to_mut().agent_hint = None;
            }
            let outcome = if failing.contains(&event.id) {
                None
            } else {
                match catch_unwind(AssertUnwindSafe(|| engine::apply(world, &event))) {
                    Ok(outcome) => Some(outcome),
                    Err(_) => {
                        failed = Some(event.id);
                        break;
                    }
                }
            };
            outcomes.push((Past { event, agent_id }, *flags, outcome));
        }
        match failed {
            Some(id) => {
                failing.insert(id);
                *world = start.clone();
            }
            None => return (outcomes, failing.len() as u64),
        }
    }
}

/// Corrects what the event's row says of its agent and its effect.
fn note(
    db: &Connection,
    event: &Event,
    flags: i64,
    agent_id: Option<i64>,
    outcome: Option<&Outcome>,
) -> Result<()> {
    let (now, agent_now) = match outcome {
        None => (flag::UNPROJECTED, agent_id),
        Some(outcome) => (
            i64::from(outcome.duplicate) * flag::DUPLICATE + i64::from(outcome.is_new_agent) * flag::CREATED,
            outcome.agent_id,
        ),
    };
    if (now, agent_now) != (flags, agent_id) {
        db.prepare_cached("UPDATE events SET flags = ?2, agent_id = ?3 WHERE id = ?1")?
            .execute(params![event.id, now, agent_now])?;
    }
    Ok(())
}

fn finish(db: &mut Connection, world: World, mut marks: write::Marks, before: &[Agent]) -> Result<usize> {
    let now = Stamp::now();
    let step = db.transaction()?;
    let mut count = 0;
    for agent in world.agents() {
        let mut agent = agent.clone();
        if let Some(old) = before.iter().find(|old| old.id == agent.id) {
            carry_over(old, &mut agent);
        }
        marks.seq += 1;
        write::agent(&step, &agent, now, marks.seq)?;
        count += 1;
    }
    marks.world = world.counters();
    write::marks(&step, &marks)?;
    step.commit()?;
    Ok(count)
}

/// What only deleted events told.
fn carry_over(old: &Agent, new: &mut Agent) {
    new.started_at = new.started_at.min(old.started_at);
    new.turn_count = new.turn_count.max(old.turn_count);
    if new.names.given.is_none() {
        new.names.given.clone_from(&old.names.given);
    }
    let mut sessions = old.sessions.clone();
    sessions.retain(|session| !new.sessions.contains(session));
    sessions.append(&mut new.sessions);
    new.sessions = sessions;
}
