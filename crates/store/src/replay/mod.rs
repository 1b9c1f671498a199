//! Applies stored events to the engine again: those the last server did not project, or all of them.

pub mod rebuild;

use crate as store;
use crate::flag;
use crate::read::queries;
use crate::write::batch::effect;
use crate::write::projection;
use crate::write::projection_state::ProjectionState;
use crate::write::{self, Rows, StoreCursor};
use anyhow::Result;
use headspace_core::engine::{self, Agent, World};
use headspace_core::model::{Event, Outcome};
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use rusqlite::{Connection, params};
use std::borrow::Cow;
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Events between two commits; also what has to be repeated if the engine fails on one of them. More than the writer
/// commits together.
const EVENTS_PER_COMMIT: usize = 2000;

/// Every table that is computed from the events.
const DERIVED: &[&str] = &[
    "agents",
    "sessions",
    "commands",
    "turns",
    "interactions",
    "subagents",
    "transitions",
    "events_by_agent",
    "events_by_name",
];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    pub events: u64,
    pub agents: usize,
    /// Events the engine failed on: kept, without effect.
    pub without_effect: u64,
}

/// The world as of the last event on disk, and the rows that are not written yet: those of the events after
/// `marks.projected`. They get the same numbers in the stream as before, which clients may have received before a
/// crash. Writes nothing.
pub fn caught_up(db: &Connection) -> Result<(World, StoreCursor, Rows)> {
    // One consistent snapshot: a server may be running.
    let _snapshot = db.unchecked_transaction()?;
    let (mut world, mut marks) = queries::world(db)?;
    let mut rows = Rows::default();
    let mut last = marks.projected.unwrap_or(marks.event);
    while let Some(chunk) = next(db, &mut last)? {
        let applied = apply(&mut world, &chunk, marks.seq, true);
        for past in &applied.past {
            marks.count(&mut rows, &past.event, past.flags);
        }
        rows.absorb(applied.rows);
        marks.seq = applied.seq;
    }
    Ok((world, marks, rows))
}

/// The agents without a server: includes the last events before it was killed, even if their rows were not written.
pub fn agents(path: &Path) -> Result<Vec<Agent>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let (world, ..) = caught_up(&store::open_to_read(path)?)?;
    Ok(world.agents().cloned().collect())
}

/// Empties the derived tables in `db` and fills them again. `progress` gets the number of events done.
pub fn replay(db: &mut Connection, mut progress: impl FnMut(u64)) -> Result<Replayed> {
    write_what_is_missing(db);
    let marks = queries::marks(db)?;
    // Where retention has deleted events, what they said about the agents can only be carried over.
    let pruned = queries::meta(db, "pruned")?.is_some();
    let before = if pruned { queries::agents(db)? } else { Vec::new() };
    let clear = db.transaction()?;
    for table in DERIVED {
        clear.execute(&format!("DELETE FROM {table}"), [])?;
    }
    if !pruned {
        clear.execute("DELETE FROM spent", [])?;
    }
    if pruned {
        // The ids of turns start again, so those in the stored stream are not valid any longer.
        clear.execute("DELETE FROM changes", [])?;
    }
    clear.commit()?;

    let mut world = queries::base(db)?.unwrap_or_default();
    if pruned {
        world.skip_agents(marks.world.agent);
    }
    let (mut done, mut last) = (Replayed::default(), 0);
    loop {
        let after = last;
        let Some(chunk) = next(db, &mut last)? else { break };
        let Applied { past, mut rows, without_effect, .. } = apply(&mut world, &chunk, marks.seq, false);
        let step = db.transaction()?;
        for past in &past {
            note(&step, past)?;
        }
        // The stream has already sent all this.
        rows.changes.clear();
        if pruned {
            // What deleted events said was spent is counted already, and so is this.
            rows.spent.clear();
        }
        write::rows(&step, &rows)?;
        write::lists(&step, after, last)?;
        step.commit()?;
        done.events += chunk.len() as u64;
        done.without_effect += without_effect;
        progress(done.events);
    }
    done.agents = finish(db, &world, marks, &before)?;
    Ok(done)
}

/// Counts and sends what a crash prevented. If the states cannot be read, that is unknown.
fn write_what_is_missing(db: &Connection) {
    let written = ProjectionState::load(db).and_then(|mut projection| projection.write(db));
    if let Err(error) = written {
        headspace_platform::log::line(&format!("the stream of changes may lack its last steps: {error:#}"));
    }
}

/// The events after `last`, up to the end of a COMMIT; sets `last` to the last of them. `None`: there are no more.
fn next(db: &Connection, last: &mut i64) -> Result<Option<Vec<(Event, i64)>>> {
    let mut chunk = queries::replay(db, *last, EVENTS_PER_COMMIT)?;
    if chunk.len() == EVENTS_PER_COMMIT
        && let Some(begun) = chunk.iter().rposition(|(_, flags)| flags & flag::FIRST != 0)
        && begun > 0
    {
        chunk.truncate(begun);
    }
    let Some((end, _)) = chunk.last() else { return Ok(None) };
    *last = end.id;
    Ok(Some(chunk))
}

/// An event, what its row says about it, and the engine's result now.
struct PastEvent<'a> {
    event: Cow<'a, Event>,
    flags: i64,
    agent_id: Option<i64>,
    effect: i64,
    /// The agent it belongs to now.
    owner: Option<i64>,
}

#[derive(Default)]
struct Applied<'a> {
    past: Vec<PastEvent<'a>>,
    rows: Rows,
    /// The last number used in the stream.
    seq: i64,
    without_effect: u64,
}

/// Does what the writer does: an event the engine fails on has no effect, as if it had not come. With `failed`, events
/// that failed then fail again.
fn apply<'a>(world: &mut World, chunk: &'a [(Event, i64)], seq: i64, failed: bool) -> Applied<'a> {
    let start = world.clone();
    let known = chunk.iter().filter(|(_, flags)| failed && flags & flag::UNPROJECTED != 0);
    let mut failing: HashSet<i64> = known.map(|(event, _)| event.id).collect();
    loop {
        match attempt(world, chunk, seq, &failing) {
            Ok(applied) => return applied,
            Err(id) => {
                failing.insert(id);
                *world = start.clone();
            }
        }
    }
}

/// Stops at the event on which the engine fails, and returns its id.
fn attempt<'a>(
    world: &mut World,
    chunk: &'a [(Event, i64)],
    seq: i64,
    failing: &HashSet<i64>,
) -> Result<Applied<'a>, i64> {
    let mut done = Applied { seq, without_effect: failing.len() as u64, ..Applied::default() };
    // Rows of the current COMMIT: its agents get their numbers after all its other changes.
    let mut rows = Rows::default();
    for (event, flags) in chunk {
        if flags & flag::FIRST != 0 {
            rows.number_agents(&mut done.seq);
            done.rows.absorb(std::mem::take(&mut rows));
        }
        let agent_id = event.agent_hint;
        let event = with_free_hint(world, event);
        let outcome = if failing.contains(&event.id) {
            None
        } else {
            let applied = catch_unwind(AssertUnwindSafe(|| engine::apply(world, &event)));
            Some(applied.map_err(|_| event.id)?)
        };
        let effect = effect(outcome.as_ref());
        let owner = outcome.as_ref().map_or(agent_id, |outcome| outcome.agent_id);
        if let Some(outcome) = outcome {
            projection::collect(&mut rows, world, &mut done.seq, &event, outcome);
        }
        done.past.push(PastEvent { event, flags: *flags, agent_id, effect, owner });
    }
    rows.number_agents(&mut done.seq);
    done.rows.absorb(rows);
    Ok(done)
}

/// Drops the hint if an existing agent already has that id.
fn with_free_hint<'a>(world: &World, event: &'a Event) -> Cow<'a, Event> {
    let mut event = Cow::Borrowed(event);
    if event.agent_hint.is_some_and(|id| world.agent(id).is_some()) {
        event.to_mut().agent_hint = None;
    }
    event
}

/// Applies one stored event as it was applied before. `None`: the engine fails on it, and the world is unusable now.
pub fn again(world: &mut World, event: &Event) -> Option<Outcome> {
    let event = with_free_hint(world, event);
    catch_unwind(AssertUnwindSafe(|| engine::apply(world, &event))).ok()
}

/// Corrects the agent and the effect in the event's row.
fn note(db: &Connection, past: &PastEvent) -> Result<()> {
    let flags = past.effect + (past.flags & (flag::HOOK | flag::FIRST));
    if (flags, past.owner) != (past.flags, past.agent_id) {
        db.prepare_cached("UPDATE events SET flags = ?2, agent_id = ?3 WHERE id = ?1")?.execute(params![
            past.event.id,
            flags,
            past.owner
        ])?;
    }
    Ok(())
}

fn finish(db: &mut Connection, world: &World, mut marks: StoreCursor, before: &[Agent]) -> Result<usize> {
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

/// Keeps what only deleted events said.
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
