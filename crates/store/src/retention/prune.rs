//! Retention: deletes what is older than the user wants to keep, a little at a time.
//!
//! By age: agents that ended before the cutoff are deleted with everything they left. Of the others, old rows are
//! deleted unless they belong to the current session of an agent that has not ended: a rebuild needs those to find the
//! same state.
//!
//! By size: `by_size` deletes the oldest events, regardless of the agent they belong to. [`Leftovers`] deletes what
//! those events left in other tables.

use crate::read::queries;
use crate::write;
use anyhow::Result;
use headspace_core::stamp::Stamp;
use rusqlite::{Connection, OptionalExtension, params};

/// Messages of the stream kept for clients that reconnect.
pub const CHANGES_KEPT: i64 = 100_000;
/// Rows read at once. Each is deleted separately, so that a step can end after any of them.
pub const ROWS_PER_READ: usize = 50;
/// Pages returned to the file system between two checks of the clock.
const PAGES_PER_STEP: u32 = 16;

/// Whether a step may continue; asked after about every row. The answer depends on the time and on waiting hooks.
pub type GoOn<'a> = &'a mut dyn FnMut() -> bool;

/// A table whose rows age: sorted by `id`, they are also roughly sorted by `time`.
struct AgingTable {
    name: &'static str,
    time: &'static str,
    /// Decides whether a living agent needs a row: by its session, or if that is not known, by its time.
    session: Option<&'static str>,
}

const TABLES: &[AgingTable] = &[
    AgingTable { name: "events", time: "received_at", session: Some("session_id") },
    AgingTable { name: "turns", time: "timestamp", session: Some("session_id") },
    AgingTable { name: "commands", time: "started_at", session: Some("session_id") },
    AgingTable { name: "interactions", time: "opened_at", session: None },
    AgingTable { name: "transitions", time: "at", session: None },
];

/// What an agent leaves behind besides events, and the key columns of each table.
const LEFT_BY_AGENTS: &[(&str, &str)] = &[
    ("turns", "id"),
    ("commands", "id"),
    ("interactions", "id"),
    ("transitions", "id"),
    ("subagents", "agent_id, session_id, subagent_id"),
    ("sessions", "session_id"),
];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deleted {
    pub agents: u64,
    pub events: u64,
}

/// One pass over the database, done in steps.
#[derive(Debug)]
pub struct Pass {
    cutoff: Stamp,
    stage: Stage,
    /// How far the stage has come.
    cursor: i64,
    /// The same where the key is a text.
    name: String,
    pub deleted: Deleted,
    /// Agents deleted since the last call.
    pub forgotten: Vec<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Agents that ended long ago.
    Agents,
    /// Rows of this table.
    Rows(usize),
    Changes,
    Sessions,
    Tails,
    Done,
}

impl Pass {
    pub fn new(cutoff: Stamp) -> Pass {
        let (deleted, forgotten) = (Deleted::default(), Vec::new());
        Pass { cutoff, stage: Stage::Agents, cursor: 0, name: String::new(), deleted, forgotten }
    }

    pub fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// Continues as long as it may, inside the caller's transaction.
    pub fn step(&mut self, db: &Connection, go_on: GoOn) -> Result<()> {
        while !self.is_done() {
            match self.stage {
                Stage::Agents => self.agent(db, go_on)?,
                Stage::Rows(table) => self.rows(db, table, go_on)?,
                Stage::Changes => self.changes(db)?,
                Stage::Sessions => self.sessions(db)?,
                Stage::Tails => self.tails(db)?,
                Stage::Done => {}
            }
            if !go_on() {
                break;
            }
        }
        if self.deleted != Deleted::default() {
            write::meta(db, "pruned", &self.cutoff.to_string())?;
        }
        Ok(())
    }

    fn next(&mut self, stage: Stage) {
        (self.stage, self.cursor) = (stage, 0);
        self.name.clear();
    }

    /// One agent that ended before the cutoff: deletes some of what it left, or, when nothing is left, the agent.
    fn agent(&mut self, db: &Connection, go_on: GoOn) -> Result<()> {
        let mut query = db.prepare_cached(
            "SELECT id FROM agents WHERE ended_at IS NOT NULL AND ended_at < ?1 AND last_active_at < ?1 LIMIT 1",
        )?;
        let Some(id) = query.query_map([self.cutoff.0], |row| row.get::<_, i64>(0))?.next().transpose()?
        else {
            self.next(Stage::Rows(0));
            return Ok(());
        };
        let mut events = db.prepare_cached("SELECT id FROM events_by_agent WHERE agent_id = ?1 LIMIT ?2")?;
        let events: Vec<i64> = events
            .query_map(params![id, ROWS_PER_READ as i64], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for event in &events {
            event_row(db, *event)?;
            self.deleted.events += 1;
            if !go_on() {
                break;
            }
        }
        if !events.is_empty() {
            return Ok(());
        }
        // An agent that lived for months may have left tens of thousands of these: delete only some at a time, too.
        for (table, key) in LEFT_BY_AGENTS {
            let some = format!(
                "DELETE FROM {table} WHERE ({key}) IN (SELECT {key} FROM {table} WHERE agent_id = ?1 LIMIT {ROWS_PER_READ})"
            );
            if db.prepare_cached(&some)?.execute([id])? > 0 {
                return Ok(());
            }
        }
        for table in ["base", "agents"] {
            db.prepare_cached(&format!("DELETE FROM {table} WHERE id = ?1"))?.execute([id])?;
        }
        self.deleted.agents += 1;
        self.forgotten.push(id);
        Ok(())
    }

    fn rows(&mut self, db: &Connection, index: usize, go_on: GoOn) -> Result<()> {
        let Some(table) = TABLES.get(index) else {
            self.next(Stage::Changes);
            return Ok(());
        };
        let old = old_rows(db, table, self.cursor)?;
        for row in &old {
            if row.time >= self.cutoff {
                // Nothing after it is older, unless a clock jumped.
                self.next(Stage::Rows(index + 1));
                return Ok(());
            }
            self.cursor = row.id;
            if row.needed {
                continue;
            }
            if table.name == "events" {
                event_row(db, row.id)?;
                self.deleted.events += 1;
            } else {
                db.prepare_cached(&format!("DELETE FROM {} WHERE id = ?1", table.name))?.execute([row.id])?;
            }
            if !go_on() {
                return Ok(());
            }
        }
        if old.len() < ROWS_PER_READ {
            self.next(Stage::Rows(index + 1));
        }
        Ok(())
    }

    fn changes(&mut self, db: &Connection) -> Result<()> {
        if changes(db, queries::marks(db)?.seq - CHANGES_KEPT)? < ROWS_PER_READ {
            self.next(Stage::Sessions);
        }
        Ok(())
    }

    /// Sessions that no agent is in any longer, and their subagents: an agent that lives on would keep them forever.
    fn sessions(&mut self, db: &Connection) -> Result<()> {
        let mut query = db.prepare_cached(&format!(
            "SELECT s.session_id, s.agent_id, coalesce(s.ended_at, s.started_at) < ?2
                    AND (a.id IS NULL OR a.ended_at IS NOT NULL OR a.session_id <> s.session_id)
             FROM sessions s LEFT JOIN agents a ON a.id = s.agent_id
             WHERE s.session_id > ?1 ORDER BY s.session_id LIMIT {ROWS_PER_READ}"
        ))?;
        let some: Vec<(String, i64, bool)> = query
            .query_map(params![self.name, self.cutoff.0], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            .collect::<rusqlite::Result<_>>()?;
        for (session, agent, _) in some.iter().filter(|(.., old)| *old) {
            db.prepare_cached("DELETE FROM subagents WHERE agent_id = ?1 AND session_id = ?2")?
                .execute(params![agent, session])?;
            db.prepare_cached("DELETE FROM sessions WHERE session_id = ?1")?.execute([session])?;
        }
        self.advance(some.len(), some.into_iter().last().map(|(session, ..)| session), Stage::Tails);
        Ok(())
    }

    /// How far transcripts were read, for sessions that were deleted or left long ago. If such a session comes back,
    /// its transcript is read from its end.
    fn tails(&mut self, db: &Connection) -> Result<()> {
        let mut query = db.prepare_cached(&format!(
            "SELECT t.path, EXISTS (SELECT 1 FROM sessions s JOIN agents a ON a.id = s.agent_id
                WHERE s.session_id = t.session_id
                    AND (a.session_id = s.session_id AND a.ended_at IS NULL
                        OR coalesce(s.ended_at, s.started_at) >= ?2))
             FROM tails t WHERE t.path > ?1 ORDER BY t.path LIMIT {ROWS_PER_READ}"
        ))?;
        let some: Vec<(String, bool)> = query
            .query_map(params![self.name, self.cutoff.0], |row| Ok((row.get(0)?, row.get(1)?)))?
            .collect::<rusqlite::Result<_>>()?;
        for (path, _) in some.iter().filter(|(_, needed)| !needed) {
            db.prepare_cached("DELETE FROM tails WHERE path = ?1")?.execute([path])?;
        }
        self.advance(some.len(), some.into_iter().last().map(|(path, _)| path), Stage::Done);
        Ok(())
    }

    /// After `count` rows with text keys, the last of them `last`: continues there, or with the next stage.
    fn advance(&mut self, count: usize, last: Option<String>, then: Stage) {
        match last {
            Some(last) if count == ROWS_PER_READ => self.name = last,
            _ => self.next(then),
        }
    }
}

/// Deletes an event, also from the lists and the search index.
pub fn event_row(db: &Connection, id: i64) -> Result<()> {
    let deleted = db
        .prepare_cached("DELETE FROM events WHERE id = ?1 RETURNING agent_id, name")?
        .query_row([id], |row| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, String>(1)?)))
        .optional()?;
    let Some((agent_id, name)) = deleted else { return Ok(()) };
    db.prepare_cached("DELETE FROM events_by_agent WHERE agent_id = ?1 AND id = ?2")?
        .execute(params![agent_id, id])?;
    db.prepare_cached("DELETE FROM events_by_name WHERE name = ?1 AND id = ?2")?
        .execute(params![name, id])?;
    if id <= crate::read::search::indexed(db)? {
        db.prepare_cached("DELETE FROM events_text WHERE rowid = ?1")?.execute([id])?;
    }
    Ok(())
}

/// Deletes some messages of the stream before `keep_after`; returns how many.
pub fn changes(db: &Connection, keep_after: i64) -> Result<usize> {
    Ok(db
        .prepare_cached(
            "DELETE FROM changes WHERE seq IN (SELECT seq FROM changes WHERE seq < ?1 ORDER BY seq LIMIT ?2)",
        )?
        .execute(params![keep_after, ROWS_PER_READ as i64])?)
}

struct OldRow {
    id: i64,
    time: Stamp,
    needed: bool,
}

fn old_rows(db: &Connection, table: &AgingTable, cursor: i64) -> Result<Vec<OldRow>> {
    let AgingTable { name, time, session } = table;
    let needed = match session {
        Some(session) => format!("a.session_id = t.{session}"),
        None => {
            format!(
                "t.{time} >= coalesce((SELECT started_at FROM sessions s WHERE s.session_id = a.session_id), 0)"
            )
        }
    };
    let mut query = db.prepare_cached(&format!(
        "SELECT t.id, t.{time}, coalesce(a.ended_at IS NULL AND {needed}, 0)
         FROM {name} t LEFT JOIN agents a ON a.id = t.agent_id
         WHERE t.id > ?1 ORDER BY t.id LIMIT {ROWS_PER_READ}"
    ))?;
    let rows = query.query_map([cursor], |row| {
        Ok(OldRow { id: row.get(0)?, time: Stamp(row.get(1)?), needed: row.get(2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// What was computed from events that are deleted: rows that are closed and that nothing else refers to.
#[derive(Debug, Default)]
pub struct Leftovers {
    cursors: [i64; LEFTOVERS.len()],
}

/// Tables roughly in the order of their events, and when a row of them is closed.
const LEFTOVERS: [(&str, &str); 3] =
    [("turns", "1"), ("transitions", "1"), ("interactions", "closed_at IS NOT NULL")];

impl Leftovers {
    /// Deletes some of what the events up to `through` left; call it again for every few events.
    pub fn step(&mut self, db: &Connection, through: i64) -> Result<()> {
        for ((table, over), cursor) in LEFTOVERS.iter().zip(&mut self.cursors) {
            let mut query = db.prepare_cached(&format!(
                "SELECT id, event_id <= ?2, {over} FROM {table} WHERE id > ?1 ORDER BY id LIMIT {ROWS_PER_READ}"
            ))?;
            let rows: Vec<(i64, bool, bool)> = query
                .query_map(params![*cursor, through], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
                .collect::<rusqlite::Result<_>>()?;
            for (id, _, over) in rows.into_iter().take_while(|(_, gone, _)| *gone) {
                *cursor = id;
                if over {
                    db.prepare_cached(&format!("DELETE FROM {table} WHERE id = ?1"))?.execute([id])?;
                }
            }
        }
        // Commands before the first one that a transition still refers to.
        db.prepare_cached(&format!(
            "DELETE FROM commands WHERE id IN (SELECT id FROM commands WHERE state = 'complete' AND id <
                (SELECT command_id FROM transitions WHERE command_id IS NOT NULL ORDER BY id LIMIT 1)
             ORDER BY id LIMIT {ROWS_PER_READ})"
        ))?
        .execute([])?;
        Ok(())
    }
}

/// The database's pages, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// Pages in use.
    pub used: u64,
    /// Pages that are empty but still part of the file.
    pub free: u64,
}

/// How big the database is; this reads only its first page.
pub fn space(db: &Connection) -> Result<Space> {
    let mut query = db.prepare_cached(
        "SELECT page_count, freelist_count, page_size
         FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()",
    )?;
    let (pages, free, size): (i64, i64, i64) =
        query.query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(Space { used: ((pages - free) * size).unsigned_abs(), free: (free * size).unsigned_abs() })
}

/// Returns pages to the file system until only `keep` bytes of them are free; `true` when that is done.
pub fn give_back(db: &Connection, keep: u64, go_on: GoOn) -> Result<bool> {
    loop {
        let free = space(db)?.free;
        if free <= keep {
            return Ok(true);
        }
        let mut vacuum = db.prepare_cached(&format!("PRAGMA incremental_vacuum({PAGES_PER_STEP})"))?;
        let mut rows = vacuum.query([])?;
        while rows.next()?.is_some() {}
        if !go_on() {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(db: &Connection, table: &str) -> i64 {
        db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    }

    /// Two agents, one ended long ago; the living one has an old session and an old but current one.
    fn database() -> Connection {
        let mut db = Connection::open_in_memory().unwrap();
        crate::schema::migrate(&mut db).unwrap();
        db.execute_batch(
            "INSERT INTO agents VALUES
                (1, 'gone', 'p', '/p', 'idle', 'idle', 50, 60, 1, '{}'),
                (2, 'now', 'p', '/p', 'idle', 'idle', 500, NULL, 2, '{}');
             INSERT INTO sessions VALUES ('gone', 1, 10, 60, 'x'), ('before', 2, 20, 30, 'x'), ('now', 2, 40, NULL, NULL);
             INSERT INTO events(id, name, session_id, agent_id, at, received_at, source, body) VALUES
                (1, 'Stop', 'gone', 1, 10, 10, 'hook', '{\"prompt\":\"one\"}'),
                (2, 'Stop', 'before', 2, 20, 20, 'hook', '{\"prompt\":\"two\"}'),
                (3, 'Stop', 'now', 2, 40, 40, 'hook', '{\"prompt\":\"three\"}'),
                (4, 'Stop', 'nobody', NULL, 50, 50, 'hook', '{}'),
                (5, 'Stop', 'before', 2, 300, 300, 'hook', '{}');
             INSERT INTO tails VALUES
                ('/gone', 'gone', 1, 1, NULL), ('/before', 'before', 1, 1, NULL), ('/now', 'now', 1, 1, NULL),
                ('/nobody', 'nobody', 1, 1, NULL);
             INSERT INTO turns VALUES
                (1, 2, 'before', NULL, 'user', 'command', 'x', 20, 'server', 'high', NULL, 2),
                (2, 2, 'now', NULL, 'user', 'command', 'x', 40, 'server', 'high', NULL, 3);
             INSERT INTO transitions VALUES
                (1, 2, NULL, 'idle', 'commanded', 'user', 'command', 1, 'high', 'hook', 2, 20, ''),
                (2, 2, NULL, 'idle', 'commanded', 'user', 'command', 1, 'high', 'hook', 3, 40, '');",
        )
        .unwrap();
        crate::read::search::index_some(&db, &mut || true).unwrap();
        write::lists(&db, 0, 5).unwrap();
        db
    }

    #[test]
    fn agents_that_ended_long_ago_are_deleted_and_what_a_living_one_needs_is_kept() {
        let db = database();
        let mut pass = Pass::new(Stamp(200));
        while !pass.is_done() {
            // Every step may be the last for a while.
            pass.step(&db, &mut || false).unwrap();
        }
        assert_eq!(pass.deleted, Deleted { agents: 1, events: 3 });
        assert_eq!(pass.forgotten, [1]);
        let left: Vec<i64> = db
            .prepare("SELECT id FROM events")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<rusqlite::Result<_>>()
            .unwrap();
        assert_eq!(left, [3, 5]);
        for (table, rows) in [
            ("agents", 1),
            ("sessions", 1),
            ("turns", 1),
            ("transitions", 1),
            ("tails", 1),
            ("events_by_agent", 2),
            ("events_by_name", 2),
        ] {
            assert_eq!(count(&db, table), rows, "{table}");
        }
        assert!(queries::meta(&db, "pruned").unwrap().is_some());
    }

    #[test]
    fn a_pass_deletes_nothing_if_nothing_is_old() {
        let db = database();
        let mut pass = Pass::new(Stamp(5));
        pass.step(&db, &mut || true).unwrap();
        assert!(pass.is_done());
        assert_eq!((count(&db, "events"), count(&db, "agents"), count(&db, "tails")), (5, 2, 3));
        assert_eq!(queries::meta(&db, "pruned").unwrap(), None);
    }
}
