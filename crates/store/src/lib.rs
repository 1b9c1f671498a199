//! The database: opening it safely, what is written with every batch, and what the surfaces read.
//!
//! One connection writes (it belongs to the server's ledger thread, or to an offline command that holds the lock);
//! readers have connections of their own, and with WAL neither side waits for the other.
//!
//! The store applies the engine of core to events, and knows nothing about HTTP, hooks or who uses it. Begin with
//! [`schema`], then [`write`](mod@write).

#![forbid(unsafe_code)]

pub mod carve;
pub mod lock;
pub mod on_disk;
pub mod read;
pub mod read_only;
pub mod recover;
pub mod replay;
pub mod retention;
pub mod schema;
pub mod wal;
pub mod write;

use anyhow::{Context, Result};
use fs_err as fs;
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_platform::config::Durability;
use headspace_platform::files;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bits of `events.flags`.
pub mod flag {
    /// The engine knew it already: kept, without effect.
    pub const DUPLICATE: i64 = 1;
    /// The engine failed on it: kept, without effect.
    pub const UNPROJECTED: i64 = 2;
    /// It created its agent; a replay gives the agent the same id.
    pub const CREATED: i64 = 4;
    /// A hook sent it: counted as received.
    pub const HOOK: i64 = 8;
    /// The first of those committed together: how a replay knows where the stream numbered the agents.
    pub const FIRST: i64 = 16;
}

/// A database that cannot be read, as opposed to one that cannot be reached.
#[derive(Debug)]
pub struct Damaged(pub String);

impl std::fmt::Display for Damaged {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the database is damaged: {}", self.0)
    }
}

impl std::error::Error for Damaged {}

/// Up to this size the whole file is checked at every start; it takes milliseconds.
const CHECK_UP_TO: u64 = 32 << 20;

/// Pages in the log before it is copied into the database.
const USUAL_LOG_PAGES: usize = 1500;

/// A log that grew beyond this is cut to it when it starts over.
const LOG_STAYS: u64 = 16 << 20;

/// Sets when COMMIT returns: with `Power`, when the data is on disk. With `Crash`, when it is in the log, which
/// survives a crash of the server; [`wal::sync`] brings it to disk.
pub fn set_durability(db: &Connection, durability: Durability) -> Result<()> {
    let level = match durability {
        Durability::Power => "FULL",
        Durability::Crash => "NORMAL",
    };
    db.pragma_update(None, "synchronous", level).context("could not make commits durable")
}

/// Runs `work`, which commits data that need not be durable yet: it goes to disk with the next event, and if the
/// machine crashes before that, only data that can be recomputed is lost. The log keeps the order, so nothing earlier
/// is lost. After an error, nothing may be promised on this connection until [`set_durability`] succeeds.
pub fn without_sync<T>(db: &Connection, work: impl FnOnce(&Connection) -> Result<T>) -> Result<T> {
    let level: i64 = db.pragma_query_value(None, "synchronous", |row| row.get(0))?;
    if level <= 1 {
        return work(db);
    }
    set_durability(db, Durability::Crash)?;
    let done = work(db);
    set_durability(db, Durability::Power)?;
    done
}

/// Opens the database for its one writer, brings it to this version, and makes every COMMIT durable.
pub fn open(path: &Path) -> Result<Connection> {
    if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        files::private_dir(dir)?;
    }
    check_regular(path)?;
    let is_new = make_private(path)?;
    let result = open_writer(path);
    if is_new && result.is_err() {
        // There was no room, say: half a database would only be in the way.
        for companion in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(with_suffix(path, companion));
        }
    }
    result.with_context(|| format!("could not open {}", path.display()))
}

fn open_writer(path: &Path) -> Result<Connection> {
    let mut db = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    let opened = (|| -> Result<()> {
        db.busy_timeout(Duration::from_secs(5))?;
        // Must come before the first page is written, so before WAL.
        db.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        db.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
        set_durability(&db, Durability::Power)?;
        db.pragma_update(None, "wal_autocheckpoint", USUAL_LOG_PAGES as i64)?;
        db.pragma_update(None, "foreign_keys", false)?;
        db.pragma_update(None, "journal_size_limit", LOG_STAYS as i64)?;
        db.pragma_update(None, "temp_store", "MEMORY")?;
        db.set_prepared_statement_cache_capacity(64);
        schema::migrate(&mut db)?;
        let small = std::fs::metadata(path).map(|meta| meta.len()).unwrap_or(0) <= CHECK_UP_TO;
        if small || suspect_file(path).exists() {
            let verdict: String = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
            if verdict != "ok" {
                return Err(Damaged(verdict).into());
            }
            let _ = std::fs::remove_file(suspect_file(path));
        }
        if let Some(missing) = schema::missing(&db)? {
            return Err(Damaged(format!("{missing} is missing")).into());
        }
        // The derived data has to make sense too: it is read in a moment anyway.
        read::queries::world(&db).map_err(|error| {
            if makes_no_sense(&error) { Damaged(format!("{error:#}")).into() } else { error }
        })?;
        // Both are written together: one without the other is damage, not a crash.
        let agents: bool = db.query_row("SELECT EXISTS (SELECT 1 FROM agents)", [], |row| row.get(0))?;
        if agents && read::queries::meta(&db, "marks")?.is_none() {
            return Err(
                Damaged("there are agents, but no record of how far events were applied".into()).into()
            );
        }
        // An agent is deleted after its events.
        let owned: bool =
            db.query_row("SELECT EXISTS (SELECT 1 FROM events_by_agent)", [], |row| row.get(0))?;
        if owned && !agents {
            return Err(Damaged("there are events of agents, but no agents".into()).into());
        }
        Ok(())
    })();
    opened.map_err(|error| if is_damage(&error) { damaged(error) } else { error })?;
    Ok(db)
}

/// Lets the log grow to its usual size at once: a COMMIT that extends a file takes half as long again, because the
/// file's length has to go to disk too. What is written for that is rolled back before a reader could see it.
pub fn preallocate_wal(db: &Connection, path: &Path) -> Result<()> {
    // With a small cache, pages go to the log before the end of their transaction.
    db.pragma_update(None, "cache_size", 16)?;
    let fill = || -> Result<()> {
        let taken_back = db.unchecked_transaction()?;
        let size = (USUAL_LOG_PAGES - 10) * 4096;
        taken_back
            .execute_batch(&format!("CREATE TABLE room(x); INSERT INTO room VALUES (zeroblob({size}))"))?;
        taken_back.rollback()?;
        Ok(open_log(path)?.sync_data()?)
    };
    let filled = fill();
    db.pragma_update(None, "cache_size", -2000)?;
    filled
}

/// Writes to the log and leaves everything as it was: fails if there is no room.
pub fn write_something(db: &Connection) -> Result<()> {
    const PROBE: &str =
        "INSERT INTO meta(key, value) VALUES ('probe', ''); DELETE FROM meta WHERE key = 'probe'";
    let transaction = db.unchecked_transaction()?;
    transaction.execute_batch(PROBE)?;
    transaction.commit()?;
    Ok(())
}

/// Like [`open`], but moves a damaged database aside and starts a new one. Returns where the old one is.
pub fn open_or_start_afresh(path: &Path) -> Result<(Connection, Option<PathBuf>)> {
    match open(path) {
        Ok(db) => Ok((db, None)),
        Err(error) if error.chain().any(|cause| cause.is::<Damaged>()) => {
            let aside = quarantine(path)?;
            let kept = || format!("the database was damaged, and is kept as {}", aside.display());
            Ok((open(path).with_context(kept)?, Some(aside)))
        }
        Err(error) => Err(error),
    }
}

/// A read-only connection that never waits for a writer. If nothing can be written to the disk, there is no writer, and
/// only one reader at a time.
pub fn open_to_read(path: &Path) -> Result<Connection> {
    open_beside_writer(path).or_else(|error| match read_only::is_no_room(&error) {
        true => read_only::open_alone(path).map_err(|_| error),
        false => Err(error),
    })
}

fn open_beside_writer(path: &Path) -> Result<Connection> {
    check_regular(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)
        .with_context(|| format!("could not open {}", path.display()))?;
    db.busy_timeout(Duration::from_secs(5))?;
    db.pragma_update(None, "query_only", true)?;
    let found = schema::found_version(&db)?;
    anyhow::ensure!(
        found <= schema::version(),
        "the database was written by a newer headspace: update headspace"
    );
    anyhow::ensure!(
        found == schema::version(),
        "the database was written by an older headspace: start the server once, which updates it"
    );
    Ok(db)
}

/// Records that a statement found damage, so that the next start checks the whole file.
pub fn request_integrity_check(path: &Path) {
    let mut options = OpenOptions::new();
    let _ = files::open_regular(&suspect_file(path), options.write(true).create(true).truncate(true));
}

/// Whether this error says that the file's content is broken.
pub fn is_damage(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.is::<Damaged>()
            || cause
                .downcast_ref::<rusqlite::Error>()
                .and_then(rusqlite::Error::sqlite_error_code)
                .is_some_and(|code| matches!(code, ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
    })
}

/// Whether this error says that what was read is not what headspace writes. A failing disk does not count: it may work
/// again at the next start.
fn makes_no_sense(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.is::<serde_json::Error>()
            || matches!(
                cause.downcast_ref::<rusqlite::Error>(),
                Some(rusqlite::Error::FromSqlConversionFailure(..) | rusqlite::Error::InvalidColumnType(..))
            )
            || cause.is::<rusqlite::types::FromSqlError>()
    })
}

fn damaged(error: anyhow::Error) -> anyhow::Error {
    if error.is::<Damaged>() { error } else { Damaged(format!("{error:#}")).into() }
}

/// Moves the database and its companions to `NAME.damaged-STAMP`, or to a later stamp if there is a file of that name: what was
/// put aside before is never replaced.
pub fn quarantine(path: &Path) -> Result<PathBuf> {
    let aside = free_name(path, "damaged")?;
    for companion in ["", "-wal", "-shm"] {
        let from = with_suffix(path, companion);
        if from.exists() {
            fs::rename(&from, with_suffix(&aside, companion))
                .context("could not move the damaged database aside")?;
        }
    }
    let _ = std::fs::remove_file(suspect_file(path));
    Ok(aside)
}

/// `NAME.WHY-STAMP`, or a later stamp if there is a file of that name.
fn free_name(path: &Path, why: &str) -> Result<PathBuf> {
    let now = Stamp::now().0 / 1_000_000_000;
    let mut names = (now..).map(|stamp| with_suffix(path, &format!(".{why}-{stamp}")));
    let is_free = |name: &PathBuf| ["", "-wal", "-shm"].iter().all(|end| !with_suffix(name, end).exists());
    names.find(is_free).context("could not find a name for the old database")
}

fn suspect_file(path: &Path) -> PathBuf {
    with_suffix(path, ".suspect")
}

/// Call before SQLite opens the database: it opens whatever is there, and would wait forever at a FIFO. What does not exist
/// is fine. The error says what it is and what to do.
pub fn check_regular(path: &Path) -> Result<()> {
    for companion in ["", "-wal", "-shm", "-journal"] {
        let file = with_suffix(path, companion);
        let Ok(meta) = std::fs::metadata(&file) else { continue };
        if let Err(why) = files::check_regular(&meta) {
            anyhow::bail!("could not open {}: {why}; move it away, and try again", file.display());
        }
    }
    Ok(())
}

/// The log beside the database; beside its target if there is a link at `path`.
fn open_log(path: &Path) -> std::io::Result<std::fs::File> {
    let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    files::open_regular(&with_suffix(&real, "-wal"), OpenOptions::new().read(true))
}

/// `headspace.db` + `-wal` ▶ `headspace.db-wal`.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// SQLite gives its companions the mode of the database, so the database is made private before SQLite sees it. Returns
/// whether there was none.
fn make_private(path: &Path) -> Result<bool> {
    match files::create_private(path) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error).with_context(|| format!("could not make {}", path.display())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_database_is_put_aside_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("headspace.db");
        std::fs::write(&path, b"this is not a database, whatever it says".repeat(100)).unwrap();
        let (db, aside) = open_or_start_afresh(&path).unwrap();
        assert_eq!(schema::found_version(&db).unwrap(), schema::version());
        let kept = std::fs::read(aside.unwrap()).unwrap();
        assert!(kept.starts_with(b"this is not a database"));
    }

    #[test]
    fn a_database_that_was_put_aside_is_not_replaced_by_the_next_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("headspace.db");
        let aside: Vec<PathBuf> = (0..3)
            .map(|number| {
                std::fs::write(&path, format!("damaged {number}")).unwrap();
                quarantine(&path).unwrap()
            })
            .collect();
        for (number, kept) in aside.iter().enumerate() {
            assert_eq!(std::fs::read_to_string(kept).unwrap(), format!("damaged {number}"));
        }
    }

    #[test]
    fn a_truncated_database_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("headspace.db");
        drop(open(&path).unwrap());
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(file.metadata().unwrap().len() / 2).unwrap();
        assert!(open_or_start_afresh(&path).unwrap().1.is_some());
    }

    #[test]
    fn commits_are_durable_again_whatever_came_between() {
        let dir = tempfile::tempdir().unwrap();
        let db = open(&dir.path().join("headspace.db")).unwrap();
        let level = || db.pragma_query_value(None, "synchronous", |row| row.get::<_, i64>(0)).unwrap();
        without_sync(&db, |db| Ok(db.execute_batch("INSERT INTO days VALUES ('2026-01-01', 1)")?)).unwrap();
        assert_eq!(level(), 2);
        without_sync(&db, |db| Ok(db.execute_batch("INSERT INTO nothing VALUES (1)")?)).unwrap_err();
        assert_eq!(level(), 2);
        set_durability(&db, Durability::Crash).unwrap();
        without_sync(&db, |db| Ok(db.execute_batch("INSERT INTO days VALUES ('2026-01-02', 1)")?)).unwrap();
        assert_eq!(level(), 1);
    }

    #[test]
    fn preallocating_the_log_leaves_no_trace_in_the_database() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("headspace.db");
        let db = open(&path).unwrap();
        let pages = || db.pragma_query_value(None, "page_count", |row| row.get::<_, i64>(0)).unwrap();
        let before = pages();
        preallocate_wal(&db, &path).unwrap();
        let log = std::fs::metadata(with_suffix(&path, "-wal")).unwrap().len();
        assert!(log > 4 << 20, "{log}");
        assert_eq!(pages(), before);
        db.execute_batch("INSERT INTO days VALUES ('2026-01-01', 1)").unwrap();
        assert_eq!(std::fs::metadata(with_suffix(&path, "-wal")).unwrap().len(), log);
        // A crash in the middle leaves nothing of it in the database either.
        let copy = dir.path().join("copy.db");
        for companion in ["", "-wal"] {
            std::fs::copy(with_suffix(&path, companion), with_suffix(&copy, companion)).unwrap();
        }
        let copied = open(&copy).unwrap();
        let days: i64 = copied.query_row("SELECT sum(events) FROM days", [], |row| row.get(0)).unwrap();
        assert_eq!(days, 1);
        assert!(copied.prepare("SELECT * FROM room").is_err());
    }

    #[test]
    fn a_newer_database_is_kept_in_place() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("headspace.db");
        open(&path).unwrap().pragma_update(None, "user_version", schema::version() as i64 + 1).unwrap();
        let why = format!("{:#}", open_or_start_afresh(&path).unwrap_err());
        assert!(why.contains("newer headspace"), "{why}");
        assert!(path.exists());
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("headspace.db");
        let _db = open(&path).unwrap();
        for companion in ["", "-wal", "-shm"] {
            let mode = std::fs::metadata(with_suffix(&path, companion)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{companion}");
        }
    }
}
