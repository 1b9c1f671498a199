//! Stored events once more through the engine: those the last server did not come to work out, or all of them.

use super::batch::effect;
use super::{memory, projection};
use crate::clock::Stamp;
use crate::engine::{self, Agent, Counters, World};
use crate::model::{Event, Outcome};
use crate::store::write::{self, Marks, Rows};
use crate::store::{flag, queries};
use anyhow::Result;
use rusqlite::{Connection, params};
use std::borrow::Cow;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Events between two commits; also what has to be repeated if the engine fails on one of them.
const CHUNK: usize = 2000;
/// Clients may have been told steps of the stream that a crash took with it: what is told again gets numbers beyond
/// all of those.
const BEYOND: i64 = 1_000_000;

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

/// Works out the events that came after those whose rows are written.
pub fn catch_up(db: &mut Connection, world: &mut World, marks: &mut Marks) -> Result<()> {
    let mut last = marks.projected.unwrap_or(marks.event);
    let newest = marks.event;
    if last < newest {
        marks.seq += BEYOND;
    }
    while let Some(chunk) = next(db, &mut last)? {
        let (applied, _) = apply(world, &chunk);
        let mut rows = Rows::default();
        for past in applied {
            marks.count(&mut rows, &past.event, past.flags);
            if let Some(outcome) = past.outcome {
                projection::collect(&mut rows, world, &mut marks.seq, &past.event, outcome);
            }
        }
        for seq in rows.touched.values_mut() {
            marks.seq += 1;
            *seq = marks.seq;
        }
        marks.event = last;
        let step = db.transaction()?;
        memory::put(&step, world, marks, &rows)?;
        step.commit()?;
    }
    marks.event = newest;
    Ok(())
}

/// Empties the tables of states in `db` and fills them anew. `progress` hears how many events are done.
pub fn replay(db: &mut Connection, mut progress: impl FnMut(u64)) -> Result<Replayed> {
    let mut marks = queries::marks(db)?;
    // Where retention has deleted events, what they told of the agents can only be taken over.
    let pruned = queries::meta(db, "pruned")?.is_some();
    let before = if pruned { queries::agents(db)? } else { Vec::new() };
    // Those a crash kept from being counted.
    let uncounted: i64 = db.query_row(
        "SELECT count(*) FROM events WHERE id > ?1 AND flags & ?2 = ?3",
        params![marks.projected, flag::HOOK | flag::DUPLICATE, flag::HOOK],
        |row| row.get(0),
    )?;
    marks.received += uncounted.unsigned_abs();
    let clear = db.transaction()?;
    for table in DERIVED {
        clear.execute(&format!("DELETE FROM {table}"), [])?;
    }
    if pruned {
        // Numbers of turns start again, so those the stream remembers are not theirs any more.
        clear.execute("DELETE FROM changes", [])?;
    }
    clear.commit()?;

    let agent = if pruned { marks.world.agent } else { 0 };
    let mut world = World::load([], Counters { agent, ..Counters::default() });
    let (mut done, mut last) = (Replayed::default(), 0);
    while let Some(chunk) = next(db, &mut last)? {
        let (applied, failing) = apply(&mut world, &chunk);
        let step = db.transaction()?;
        let mut rows = Rows::default();
        for past in applied {
            note(&step, &past)?;
            if let Some(outcome) = past.outcome {
                projection::collect(&mut rows, &world, &mut marks.seq, &past.event, outcome);
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
    done.agents = finish(db, &world, marks, &before)?;
    Ok(done)
}

/// The events after `last`, which then is the last of them; `None` when there are no more.
fn next(db: &Connection, last: &mut i64) -> Result<Option<Vec<(Event, i64)>>> {
    let chunk = queries::replay(db, *last, CHUNK)?;
    let Some((end, _)) = chunk.last() else { return Ok(None) };
    *last = end.id;
    Ok(Some(chunk))
}

/// An event, what its row says of it, and what the engine says now.
struct Past<'a> {
    event: Cow<'a, Event>,
    flags: i64,
    agent_id: Option<i64>,
    outcome: Option<Outcome>,
}

/// As the writer does it: an event the engine fails on has no effect, and the world is as if it had not come.
fn apply<'a>(world: &mut World, chunk: &'a [(Event, i64)]) -> (Vec<Past<'a>>, u64) {
    let start = world.clone();
    let mut failing: HashSet<i64> = HashSet::new();
    loop {
        let mut applied = Vec::with_capacity(chunk.len());
        let mut failed = None;
        for (event, flags) in chunk {
            let agent_id = event.agent_hint;
            let mut event = Cow::Borrowed(event);
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
            applied.push(Past { event, flags: *flags, agent_id, outcome });
        }
        match failed {
            Some(id) => {
                failing.insert(id);
                *world = start.clone();
            }
            None => return (applied, failing.len() as u64),
        }
    }
}

/// Corrects what the event's row says of its agent and its effect.
fn note(db: &Connection, past: &Past) -> Result<()> {
    let flags = effect(past.outcome.as_ref()) + (past.flags & flag::HOOK);
    let agent_id = match &past.outcome {
        Some(outcome) => outcome.agent_id,
        None => past.agent_id,
    };
    if (flags, agent_id) != (past.flags, past.agent_id) {
        db.prepare_cached("UPDATE events SET flags = ?2, agent_id = ?3 WHERE id = ?1")?.execute(params![
            past.event.id,
            flags,
            agent_id
        ])?;
    }
    Ok(())
}

fn finish(db: &mut Connection, world: &World, mut marks: Marks, before: &[Agent]) -> Result<usize> {
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
    marks.projected = Some(marks.event);
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
