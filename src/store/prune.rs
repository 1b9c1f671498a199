//! Retention: what is older than the user wants to keep goes, a little at a time.
//!
//! Agents that ended before the cutoff go with everything they left. Of the others, old rows go unless they belong to
//! the current session of an agent that has not ended: a rebuild needs those to find the same state.

use super::{queries, write};
use crate::clock::Stamp;
use anyhow::Result;
use rusqlite::{Connection, params};
use std::time::{Duration, Instant};

/// Steps of the stream kept for clients that come back.
const CHANGES_KEPT: i64 = 100_000;
/// Rows looked at between two glances at the clock.
const GLANCE: usize = 50;
/// Pages given back to the file system between two glances.
const PAGES: u32 = 64;

/// A table with rows that grow old: in the order of `id` they also are in the order of `time`, more or less.
struct Table {
    name: &'static str,
    time: &'static str,
    /// Whether a row of a living agent is needed: by its session, or where that is not known, by its time.
    session: Option<&'static str>,
}

const TABLES: &[Table] = &[
    Table { name: "events", time: "received_at", session: Some("session_id") },
    Table { name: "turns", time: "timestamp", session: Some("session_id") },
    Table { name: "commands", time: "started_at", session: Some("session_id") },
    Table { name: "interactions", time: "opened_at", session: None },
    Table { name: "transitions", time: "at", session: None },
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
    cursor: i64,
    pub deleted: Deleted,
    /// Agents that are gone since the last look.
    pub forgotten: Vec<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Agents that ended long ago.
    Agents,
    /// Rows of this table.
    Rows(usize),
    Changes,
    Tails,
    Space,
    Done,
}

impl Pass {
    pub fn new(cutoff: Stamp) -> Pass {
        let deleted = Deleted::default();
        Pass { cutoff, stage: Stage::Agents, cursor: 0, deleted, forgotten: Vec::new() }
    }

    pub fn is_done(&self) -> bool {
        self.stage == Stage::Done
    }

    /// As much as fits into `time`, inside the caller's transaction.
    pub fn step(&mut self, db: &Connection, time: Duration) -> Result<()> {
        let start = Instant::now();
        while !self.is_done() && start.elapsed() < time {
            match self.stage {
                Stage::Agents => self.agent(db)?,
                Stage::Rows(table) => self.rows(db, table)?,
                Stage::Changes => self.changes(db)?,
                Stage::Tails => self.tails(db)?,
                Stage::Space => self.space(db)?,
                Stage::Done => {}
            }
        }
        if self.deleted != Deleted::default() {
            write::meta(db, "pruned", &self.cutoff.to_string())?;
        }
        Ok(())
    }

    fn next(&mut self, stage: Stage) {
        (self.stage, self.cursor) = (stage, 0);
    }

    /// One agent that ended before the cutoff: a part of its events, or, when none is left, the rest of it.
    fn agent(&mut self, db: &Connection) -> Result<()> {
        let mut query =
            db.prepare_cached("SELECT id FROM agents WHERE ended_at < ?1 AND last_active_at < ?1 LIMIT 1")?;
        let Some(id) = query.query_map([self.cutoff.0], |row| row.get::<_, i64>(0))?.next().transpose()?
        else {
            self.next(Stage::Rows(0));
            return Ok(());
        };
        let mut events = db.prepare_cached("SELECT id FROM events_by_agent WHERE agent_id = ?1 LIMIT ?2")?;
        let events: Vec<i64> = events
            .query_map(params![id, GLANCE as i64], |row| row.get(0))?
            .collect::<rusqlite::Result<_>>()?;
        for event in &events {
            self.delete_event(db, *event)?;
        }
        if !events.is_empty() {
            return Ok(());
        }
        // An agent of months may have left tens of thousands of these: some at a time, too.
        for table in ["turns", "commands", "interactions", "transitions"] {
            let some = format!(
                "DELETE FROM {table} WHERE id IN (SELECT id FROM {table} WHERE agent_id = ?1 LIMIT {GLANCE})"
            );
            if db.prepare_cached(&some)?.execute([id])? > 0 {
                return Ok(());
            }
        }
        for table in ["subagents", "sessions"] {
            db.prepare_cached(&format!("DELETE FROM {table} WHERE agent_id = ?1"))?.execute([id])?;
        }
        db.prepare_cached("DELETE FROM agents WHERE id = ?1")?.execute([id])?;
        self.deleted.agents += 1;
        self.forgotten.push(id);
        Ok(())
    }

    fn delete_event(&mut self, db: &Connection, id: i64) -> Result<()> {
        write::delete_event(db, id)?;
        self.deleted.events += 1;
        Ok(())
    }

    fn rows(&mut self, db: &Connection, index: usize) -> Result<()> {
        let Some(table) = TABLES.get(index) else {
            self.next(Stage::Changes);
            return Ok(());
        };
        let old = old_rows(db, table, self.cursor)?;
        for row in &old {
            self.cursor = row.id;
            if row.time >= self.cutoff {
                // Nothing behind it is older, or only by a clock that jumped.
                self.next(Stage::Rows(index + 1));
                return Ok(());
            }
            if row.needed {
                continue;
            }
            if table.name == "events" {
                self.delete_event(db, row.id)?;
            } else {
                db.prepare_cached(&format!("DELETE FROM {} WHERE id = ?1", table.name))?.execute([row.id])?;
            }
        }
        if old.len() < GLANCE {
            self.next(Stage::Rows(index + 1));
        }
        Ok(())
    }

    fn changes(&mut self, db: &Connection) -> Result<()> {
        let keep_after = queries::marks(db)?.seq - CHANGES_KEPT;
        let gone = db
            .prepare_cached("DELETE FROM changes WHERE seq IN (SELECT seq FROM changes WHERE seq < ?1 ORDER BY seq LIMIT ?2)")?
            .execute(params![keep_after, GLANCE as i64])?;
        if gone < GLANCE {
            self.next(Stage::Tails);
        }
        Ok(())
    }

    /// How far transcripts were read, of sessions that are forgotten or were left long ago. Should one come back all the
    /// same, its transcript is met at its end.
    fn tails(&mut self, db: &Connection) -> Result<()> {
        db.prepare_cached(
            "DELETE FROM tails WHERE session_id NOT IN (
                SELECT s.session_id FROM sessions s JOIN agents a ON a.id = s.agent_id
                WHERE (a.session_id = s.session_id AND a.ended_at IS NULL)
                    OR coalesce(s.ended_at, s.started_at) >= ?1)",
        )?
        .execute([self.cutoff.0])?;
        self.next(Stage::Space);
        Ok(())
    }

    fn space(&mut self, db: &Connection) -> Result<()> {
        let free: u32 = db.pragma_query_value(None, "freelist_count", |row| row.get(0))?;
        if self.deleted == Deleted::default() || free == 0 {
            self.next(Stage::Done);
            return Ok(());
        }
        let mut vacuum = db.prepare(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
        let mut rows = vacuum.query([])?;
        while rows.next()?.is_some() {}
        Ok(())
    }
}

struct OldRow {
    id: i64,
    time: Stamp,
    needed: bool,
}

fn old_rows(db: &Connection, table: &Table, cursor: i64) -> Result<Vec<OldRow>> {
    let Table { name, time, session } = table;
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
         WHERE t.id > ?1 ORDER BY t.id LIMIT {GLANCE}"
    ))?;
    let rows = query.query_map([cursor], |row| {
        Ok(OldRow { id: row.get(0)?, time: Stamp(row.get(1)?), needed: row.get(2)? })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Bytes of the database that hold something.
pub fn used_bytes(db: &Connection) -> Result<u64> {
    let pragma = |name: &str| db.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let pages = pragma("page_count")? - pragma("freelist_count")?;
    Ok((pages * pragma("page_size")?).unsigned_abs())
}

/// A cutoff that lets about a tenth of the events go, for a database that has grown too big. `None`: there are none.
pub fn cutoff_for_size(db: &Connection) -> Result<Option<Stamp>> {
    let (first, last): (Option<i64>, Option<i64>) =
        db.query_row("SELECT min(id), max(id) FROM events", [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let (Some(first), Some(last)) = (first, last) else { return Ok(None) };
    let at = first + (last - first) / 10 + 1;
    let time =
        db.query_row("SELECT received_at FROM events WHERE id >= ?1 ORDER BY id LIMIT 1", [at], |row| {
            row.get(0)
        });
    Ok(time.ok().map(Stamp))
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
        crate::store::schema::migrate(&mut db).unwrap();
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
        crate::store::search::index_some(&db, 10).unwrap();
        write::lists(&db, 0, 5).unwrap();
        db
    }

    #[test]
    fn what_ended_long_ago_goes_and_what_a_living_agent_needs_stays() {
        let db = database();
        let mut pass = Pass::new(Stamp(200));
        while !pass.is_done() {
            pass.step(&db, Duration::from_millis(1)).unwrap();
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
            ("sessions", 2),
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
    fn nothing_old_means_nothing_to_do() {
        let db = database();
        let mut pass = Pass::new(Stamp(5));
        pass.step(&db, Duration::from_secs(1)).unwrap();
        assert!(pass.is_done());
        assert_eq!((count(&db, "events"), count(&db, "agents"), count(&db, "tails")), (5, 2, 3));
        assert_eq!(queries::meta(&db, "pruned").unwrap(), None);
    }
}
