//! When a database has grown too big, deletes its oldest events, regardless of the agent they belong to.
//!
//! A session that runs for weeks is not a reason to keep everything, and its agent must not change. So every event that
//! is deleted is applied to the engine again, and the result is stored as the base that a replay begins with. The base
//! and the remaining events give exactly the same agents as all events did.

use crate::read::queries;
use crate::retention::prune::{self, GoOn, Leftovers, Space};
use crate::{flag, replay, write};
use anyhow::Result;
use headspace_core::engine::{Agent, World};
use rusqlite::Connection;
use std::collections::{BTreeSet, HashSet};

/// Events deleted between two checks of the size.
const EVENTS_PER_LOOK: usize = 10;
/// The newest events are kept, however little space there is.
const NEWEST_KEPT: i64 = 20;
/// How many messages of the stream are kept at least, for clients that are briefly disconnected.
const MIN_CHANGES_KEPT: i64 = 1000;

/// Deletes until the rest fits, in steps.
#[derive(Debug)]
pub struct CutBySize {
    goal: u64,
    base: Base,
    leftovers: Leftovers,
    /// Events the engine fails on now, though it did not when they came.
    failing: HashSet<i64>,
    /// The last step failed because of such an event. It is known now, so trying again makes sense.
    pub goes_on_after: bool,
    /// More could be deleted if its rows were written.
    pub wants_rows: bool,
    done: bool,
    /// Done, but what must be kept exceeds the limit.
    pub in_vain: bool,
    pub deleted: u64,
}

#[derive(Debug)]
enum Base {
    /// Documents read so far: with thousands of agents this takes time, too.
    Reading(Vec<Agent>),
    Read(Box<World>),
}

impl CutBySize {
    /// Deletes until the database holds no more than `goal` bytes.
    pub fn to(goal: u64) -> CutBySize {
        CutBySize {
            goal,
            base: Base::Reading(Vec::new()),
            leftovers: Leftovers::default(),
            failing: HashSet::new(),
            goes_on_after: false,
            wants_rows: false,
            done: false,
            in_vain: false,
            deleted: 0,
        }
    }

    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Continues as long as it may, and until `owed` bytes are free, inside the caller's transaction. Only events whose
    /// rows are written may be deleted.
    pub fn step(&mut self, db: &Connection, owed: u64, go_on: GoOn) -> Result<()> {
        (self.goes_on_after, self.wants_rows) = (false, false);
        if let Base::Reading(agents) = &mut self.base {
            if !read_base(db, agents, owed, go_on)? {
                return Ok(());
            }
            let world = World::load(std::mem::take(agents), queries::base_counters(db)?);
            self.base = Base::Read(Box::new(world));
        }
        let Base::Read(world) = &mut self.base else { return Ok(()) };
        let marks = queries::marks(db)?;
        let projected = marks.projected.unwrap_or(marks.event);
        let last = projected - NEWEST_KEPT;
        let mut touched = BTreeSet::new();
        let mut through = None;
        let deleted = self.deleted;
        let begun_at = prune::space(db)?.used;
        loop {
            let Space { used, .. } = prune::space(db)?;
            if used <= self.goal {
                self.done = true;
                break;
            }
            let oldest = queries::replay(db, 0, EVENTS_PER_LOOK)?;
            // Keep as many messages as there are events, or the stream would outlive the events it is about.
            let events = oldest.first().map_or(0, |(event, _)| marks.event - event.id);
            let changes = events.clamp(MIN_CHANGES_KEPT, prune::CHANGES_KEPT);
            let mut surplus = 0;
            for _ in 0..EVENTS_PER_LOOK {
                // One event may cause many messages: they must be deleted faster than they come.
                let some = prune::changes(db, marks.seq - changes)?;
                surplus += some;
                if some < prune::ROWS_PER_READ {
                    break;
                }
            }
            let mut gone = 0;
            for (event, flags) in oldest.into_iter().take_while(|(event, _)| event.id <= last) {
                if flags & flag::UNPROJECTED == 0 && !self.failing.contains(&event.id) {
                    let Some(outcome) = replay::again(world, &event) else {
                        // The state of the world is unknown now: this whole step is rolled back.
                        self.failing.insert(event.id);
                        self.goes_on_after = true;
                        self.base = Base::Reading(Vec::new());
                        self.deleted = deleted;
                        anyhow::bail!("could not apply event {} again: the engine failed on it", event.id);
                    };
                    touched.extend(outcome.agent_id);
                    touched.extend(outcome.touched);
                }
                prune::event_row(db, event.id)?;
                through = Some(event.id);
                gone += 1;
            }
            if let Some(through) = through {
                self.leftovers.step(db, through)?;
            }
            self.deleted += gone;
            if gone == 0 && surplus == 0 {
                self.wants_rows = marks.event > projected;
                (self.done, self.in_vain) = (!self.wants_rows, !self.wants_rows);
                break;
            }
            if begun_at.saturating_sub(used) >= owed && !go_on() {
                break;
            }
        }
        if through.is_some() {
            for agent in touched.iter().filter_map(|id| world.agent(*id)) {
                write::base_agent(db, agent)?;
            }
            write::base_counters(db, world.counters())?;
        }
        Ok(())
    }
}

/// Reads more documents of the base, at least `owed` bytes; `true`: all are read.
fn read_base(db: &Connection, agents: &mut Vec<Agent>, owed: u64, go_on: GoOn) -> Result<bool> {
    let mut query = db.prepare_cached("SELECT doc FROM base WHERE id > ?1 ORDER BY id")?;
    let mut rows = query.query([agents.last().map_or(0, |agent| agent.id)])?;
    let mut read = 0;
    while let Some(row) = rows.next()? {
        let text = row.get_ref(0)?.as_str()?;
        agents.push(serde_json::from_slice(text.as_bytes())?);
        read += text.len() as u64;
        if read >= owed && !go_on() {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;
    use serde_json::json;

    /// Two consecutive sessions in one directory, and one elsewhere, with everything a base has to remember.
    fn database(events: i64) -> Connection {
        let mut db = Connection::open_in_memory().unwrap();
        schema::migrate(&mut db).unwrap();
        for id in 1..=events {
            let (session, cwd) =
                [("a", "/here"), ("b", "/there"), (if id < events / 2 { "a" } else { "c" }, "/here")]
                    [(id % 3) as usize];
            let call = json!({"tool_name": "Bash", "tool_use_id": format!("t{}", id / 21),
                "tool_input": {"command": "ls"}});
            let (name, mut body) = match id / 3 % 7 {
                0 => ("SessionStart", json!({"source": "resume", "model": "opus"})),
                1 => ("UserPromptSubmit", json!({"prompt": format!("number {id}")})),
                2 => ("PreToolUse", call),
                3 => ("PermissionRequest", call),
                4 => ("PostToolUse", call),
                5 => ("SubagentStart", json!({"agent_id": format!("sub-{id}"), "agent_type": "Explore"})),
                _ => ("Stop", json!({"last_assistant_message": format!("Did {id}.")})),
            };
            (body["session_id"], body["cwd"]) = (json!(session), json!(cwd));
            let at = id * 1_000_000_000;
            db.execute(
                "INSERT INTO events(id, name, session_id, at, received_at, source, flags, body)
                 VALUES (?1, ?2, ?3, ?4, ?4, 'hook', 8, ?5)",
                rusqlite::params![id, name, session, at, body.to_string()],
            )
            .unwrap();
        }
        replay::replay(&mut db, |_| {}).unwrap();
        db
    }

    fn rows(db: &Connection, table: &str) -> Vec<(i64, String)> {
        let mut query = db.prepare(&format!("SELECT id, doc FROM {table} ORDER BY id")).unwrap();
        query.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn the_agents_stay_the_same_wherever_the_events_are_cut() {
        let mut db = database(400);
        let all = rows(&db, "agents");
        assert!(all.len() >= 2);
        let mut cut = CutBySize::to(0);
        let mut steps = 0;
        while !cut.is_done() {
            cut.step(&db, 0, &mut || false).unwrap();
            replay::replay(&mut db, |_| {}).unwrap();
            assert_eq!(rows(&db, "agents"), all, "after {} events", cut.deleted);
            steps += 1;
        }
        assert!(steps > 20);
        assert_eq!(cut.deleted, 380);
        // Another cut continues from there.
        assert_eq!(queries::base(&db).unwrap().unwrap().agents().count(), rows(&db, "base").len());
    }
}
