//! The tables, as a list of migrations that only ever grows: a released entry is never edited.

use anyhow::{Context, Result, bail};
use rusqlite::Connection;

/// `PRAGMA application_id` of our databases: "hdsp".
const APPLICATION_ID: i32 = 0x6864_7370;

/// Each entry takes the database from version `index` to `index + 1`.
pub const MIGRATIONS: &[&str] = &[V1, V2, V3, V4, V5];

const V1: &str = "
CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- Every accepted event, raw. `flags`: see store::flag. Times are nanoseconds since 1970.
CREATE TABLE events(
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    session_id TEXT NOT NULL,
    agent_id INTEGER,
    at INTEGER NOT NULL,
    received_at INTEGER NOT NULL,
    source TEXT NOT NULL,
    delivery_id TEXT,
    flags INTEGER NOT NULL DEFAULT 0,
    facts TEXT,
    body TEXT NOT NULL
);
CREATE UNIQUE INDEX events_delivery ON events(delivery_id) WHERE delivery_id IS NOT NULL;
CREATE INDEX events_agent ON events(agent_id);
CREATE INDEX events_name ON events(name);

-- Contentless: the text lives in events.body only. Filled in idle time up to meta.indexed.
CREATE VIRTUAL TABLE events_text USING fts5(
    text, content='', contentless_delete=1, detail=none, tokenize='unicode61 remove_diacritics 2'
);

CREATE TABLE agents(
    id INTEGER PRIMARY KEY,
    session_id TEXT NOT NULL,
    project TEXT,
    project_path TEXT,
    state TEXT NOT NULL,
    status TEXT NOT NULL,
    last_active_at INTEGER NOT NULL,
    ended_at INTEGER,
    changed_seq INTEGER NOT NULL,
    doc TEXT NOT NULL
);

CREATE TABLE sessions(
    session_id TEXT PRIMARY KEY,
    agent_id INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    end_reason TEXT
) WITHOUT ROWID;
CREATE INDEX sessions_agent ON sessions(agent_id);

CREATE TABLE commands(
    id INTEGER PRIMARY KEY,
    agent_id INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    state TEXT NOT NULL,
    instruction TEXT,
    started_at INTEGER NOT NULL,
    completed_at INTEGER,
    confidence TEXT NOT NULL
);
CREATE INDEX commands_agent ON commands(agent_id);

CREATE TABLE turns(
    id INTEGER PRIMARY KEY,
    agent_id INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    command_id INTEGER,
    actor TEXT NOT NULL,
    intent TEXT NOT NULL,
    text TEXT NOT NULL,
    timestamp INTEGER NOT NULL,
    timestamp_source TEXT NOT NULL,
    confidence TEXT NOT NULL,
    uuid TEXT,
    event_id INTEGER NOT NULL
);
CREATE INDEX turns_agent ON turns(agent_id, timestamp);

CREATE TABLE interactions(
    id INTEGER PRIMARY KEY,
    agent_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    tool_use_id TEXT,
    tool_name TEXT,
    subagent TEXT,
    text TEXT NOT NULL,
    options TEXT,
    opened_at INTEGER NOT NULL,
    closed_at INTEGER,
    event_id INTEGER NOT NULL
);
CREATE INDEX interactions_agent ON interactions(agent_id);

CREATE TABLE subagents(
    agent_id INTEGER NOT NULL,
    session_id TEXT NOT NULL,
    subagent_id TEXT NOT NULL,
    agent_type TEXT NOT NULL,
    status TEXT NOT NULL,
    status_detail TEXT,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    PRIMARY KEY(agent_id, session_id, subagent_id)
) WITHOUT ROWID;

CREATE TABLE transitions(
    id INTEGER PRIMARY KEY,
    agent_id INTEGER NOT NULL,
    command_id INTEGER,
    from_state TEXT NOT NULL,
    to_state TEXT NOT NULL,
    actor TEXT NOT NULL,
    intent TEXT NOT NULL,
    valid INTEGER NOT NULL,
    confidence TEXT NOT NULL,
    source TEXT NOT NULL,
    event_id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    why TEXT NOT NULL
);
CREATE INDEX transitions_agent ON transitions(agent_id);

-- What the stream told, for Last-Event-ID. `agent_updated` has no rows here: agents.changed_seq says when an
-- agent changed last, and its document is what a client needs. A turn is kept by its id in `ref`.
CREATE TABLE changes(
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    agent_id INTEGER NOT NULL,
    ref INTEGER,
    data TEXT
);

-- Hook events per day of the user's calendar, kept as they come: counting them would read every event.
CREATE TABLE days(day TEXT PRIMARY KEY, events INTEGER NOT NULL) WITHOUT ROWID;

-- How far each transcript has been read.
CREATE TABLE tails(
    path TEXT PRIMARY KEY,
    session_id TEXT NOT NULL,
    offset INTEGER NOT NULL,
    inode INTEGER NOT NULL,
    data TEXT
) WITHOUT ROWID;
";

/// Which events belong to an agent or have a name. These are tables instead of indexes, because they are filled with
/// the other derived rows, a moment after the COMMIT that a hook waits for.
const V2: &str = "
CREATE TABLE events_by_agent(agent_id INTEGER, id INTEGER, PRIMARY KEY(agent_id, id)) WITHOUT ROWID;
CREATE TABLE events_by_name(name TEXT, id INTEGER, PRIMARY KEY(name, id)) WITHOUT ROWID;
INSERT INTO events_by_agent SELECT agent_id, id FROM events WHERE agent_id IS NOT NULL ORDER BY 1, 2;
INSERT INTO events_by_name SELECT name, id FROM events ORDER BY 1, 2;
DROP INDEX events_agent;
DROP INDEX events_name;
";

const V3: &str = "
-- The agents as they were after the last event that was deleted for want of room: a replay begins with them.
-- meta.base has the ids given by then.
CREATE TABLE base(id INTEGER PRIMARY KEY, doc TEXT NOT NULL);

-- Whoever ended long ago is found without reading everybody's document.
CREATE INDEX agents_ended ON agents(ended_at) WHERE ended_at IS NOT NULL;

-- Merging the parts of the search index is upkeep of its own, in small steps: as a by-product of writing it may take
-- as long as it likes.
INSERT INTO events_text(events_text, rank) VALUES ('automerge', 0);
";

const V4: &str = "
-- What was spent, by quarter of an hour since 1970, in which no day of any time zone begins. Kept when its events and its
-- agent are deleted: it is small, and a year of costs is worth more than its events.
CREATE TABLE spent(
    quarter INTEGER NOT NULL,
    agent_id INTEGER NOT NULL,
    project TEXT NOT NULL,
    micro_usd INTEGER NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    PRIMARY KEY(quarter, agent_id, project)
) WITHOUT ROWID;

-- Hook events per hour since 1970, counted as they come, like those per day.
CREATE TABLE hours(hour INTEGER PRIMARY KEY, events INTEGER NOT NULL);

-- A conversation is found by the events that said it.
CREATE INDEX turns_event ON turns(event_id);
";

/// Identifies the history: a database that was recreated or restored has other events under the same ids.
const V5: &str = "
INSERT OR IGNORE INTO meta(key, value)
SELECT 'epoch', substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-4' || substr(h, 14, 3) || '-a' || substr(h, 18, 3) || '-' || substr(h, 21, 12)
FROM (SELECT lower(hex(randomblob(16))) AS h);
";

/// The version this build writes.
pub const fn version() -> usize {
    MIGRATIONS.len()
}

/// Brings `db` to this build's version, each step in its own transaction.
pub fn migrate(db: &mut Connection) -> Result<()> {
    let found = found_version(db)?;
    if found > version() {
        bail!(
            "the database was written by a newer headspace (version {found}, this one supports up to {}): update headspace",
            version()
        );
    }
    if found == 0 {
        db.pragma_update(None, "application_id", APPLICATION_ID)?;
    }
    for (index, sql) in MIGRATIONS.iter().enumerate().skip(found) {
        let step = db.transaction()?;
        step.execute_batch(sql)
            .and_then(|()| step.pragma_update(None, "user_version", index as i64 + 1))
            .with_context(|| format!("could not migrate the database to version {}", index + 1))?;
        step.commit()?;
    }
    if found == 0 {
        // Creates the statistics tables now: as the first ones after the data they would move the schema itself to the
        // end of the file, and a file that lost its end would have lost everything.
        db.execute_batch("ANALYZE")?;
    }
    Ok(())
}

/// A table, a column or an index that a database of this version should have and this one lacks.
pub fn missing(db: &Connection) -> Result<Option<String>> {
    let mut whole = Connection::open_in_memory()?;
    migrate(&mut whole)?;
    let names = |db: &Connection| -> Result<Vec<String>> {
        let mut query = db.prepare(
            "SELECT name FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
             UNION ALL SELECT m.name || '.' || c.name FROM sqlite_schema m, pragma_table_info(m.name) c
             WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
        )?;
        let names = query.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        Ok(names)
    };
    let here = names(db)?;
    Ok(names(&whole)?.into_iter().find(|name| !here.contains(name)))
}

/// The version of an open database; an error if it belongs to another program.
pub fn found_version(db: &Connection) -> Result<usize> {
    let application: i32 = db.pragma_query_value(None, "application_id", |row| row.get(0))?;
    let found: u32 = db.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let tables: i64 = db.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    if tables > 0 && application != APPLICATION_ID {
        bail!("this database belongs to another program, not to headspace");
    }
    Ok(found as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(db: &Connection) -> Vec<String> {
        let mut query = db
            .prepare(
                "SELECT m.name || '.' || c.name || ' ' || c.type
                 FROM sqlite_schema m, pragma_table_info(m.name) c
                 WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY 1",
            )
            .unwrap();
        query.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn every_older_version_becomes_the_newest() {
        let mut newest = Connection::open_in_memory().unwrap();
        migrate(&mut newest).unwrap();
        for older in 0..=version() {
            let mut db = Connection::open_in_memory().unwrap();
            for (index, sql) in MIGRATIONS.iter().enumerate().take(older) {
                db.execute_batch(sql).unwrap();
                db.pragma_update(None, "user_version", index as i64 + 1).unwrap();
                db.pragma_update(None, "application_id", APPLICATION_ID).unwrap();
            }
            if older > 0 {
                db.execute_batch(
                    "INSERT INTO events(id, name, session_id, at, received_at, source, body)
                     VALUES (7, 'Stop', 's', 1, 1, 'hook', '{}')",
                )
                .unwrap();
            }
            migrate(&mut db).unwrap();
            assert_eq!(columns(&db), columns(&newest), "from version {older}");
            for table in ["events", "events_by_name"] {
                let kept: i64 =
                    db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
                // What comes after the migration is listed by the writer.
                assert_eq!(kept, i64::from(older == 1 || older > 1 && table == "events"), "{table}");
            }
            migrate(&mut db).unwrap();
        }
    }

    #[test]
    fn a_newer_database_is_refused_and_not_changed() {
        let mut db = Connection::open_in_memory().unwrap();
        migrate(&mut db).unwrap();
        db.pragma_update(None, "user_version", version() as i64 + 1).unwrap();
        let why = migrate(&mut db).unwrap_err().to_string();
        assert!(why.contains("newer headspace"), "{why}");
    }

    #[test]
    fn another_programs_database_is_refused() {
        let mut db = Connection::open_in_memory().unwrap();
        db.execute_batch("CREATE TABLE bookmarks(id)").unwrap();
        assert!(migrate(&mut db).is_err());
    }
}
