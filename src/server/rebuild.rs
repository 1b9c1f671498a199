//! `headspace rebuild`: the states worked out anew, in a copy that replaces the database when it is whole.

use super::replay::{self, Replayed};
use crate::store::{self, lock, queries, with_suffix};
use crate::{config, terminal};
use anyhow::{Context, Result, ensure};
use fs_err as fs;
use rusqlite::{Connection, OpenFlags};
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Work out every state anew from the stored events
///
/// The server must not run. Everything is done in a copy, which takes the database's place when it is whole.
/// A damaged database gives what can be read of it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace rebuild\n  headspace rebuild --from ~/.local/state/headspace/headspace.db.damaged-1763287331"
)]
pub struct RebuildArgs {
    /// The database
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    /// Also take the events of this database, damaged or not
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Print what was done as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &RebuildArgs) -> Result<ExitCode> {
    let path = args.db.clone().unwrap_or_else(config::database);
    ensure!(path.exists() || args.from.is_some(), "could not find {}: no server has run yet", path.display());
    let _lock =
        lock::take(&path).context("could not rebuild while a server runs (`headspace down` stops it)")?;
    let copy = with_suffix(&path, ".rebuild");
    remove(&copy);
    let done = rebuild(&path, &copy, args.from.as_deref());
    if done.is_err() {
        remove(&copy);
    }
    let (done, unreadable) = done?;
    if args.json {
        let report = json!({"events": done.events, "agents": done.agents, "without_effect": done.without_effect,
            "unreadable": unreadable});
        println!("{report}");
    } else {
        println!("Rebuilt {} agents from {} events.", done.agents, done.events);
        if done.without_effect > 0 {
            println!("{} events had no effect: headspace has a bug with them.", done.without_effect);
        }
        if unreadable > 0 {
            println!("{unreadable} events could not be read.");
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Builds `copy` and puts it into the place of `path`. Also tells how many events could not be read.
fn rebuild(path: &Path, copy: &Path, from: Option<&Path>) -> Result<(Replayed, u64)> {
    let healthy = path.exists() && copied(path, copy)?;
    let mut unreadable = 0;
    if from.is_some() || !healthy {
        remove(copy);
        let db = fast(store::open(copy)?)?;
        for source in from.into_iter().chain(path.exists().then_some(path)) {
            unreadable += salvage(source, &db)?;
        }
    }
    let mut db = fast(store::open(copy)?)?;
    let total: i64 = db.query_row("SELECT count(*) FROM events", [], |row| row.get(0))?;
    let mut progress = Progress::new(total.unsigned_abs());
    let done = replay::replay(&mut db, |count| progress.show(count))?;
    progress.end();
    db.execute_batch("PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE)")?;
    drop(db);
    fs::File::open(copy)?.sync_all()?;
    if !healthy && path.exists() {
        store::put_aside(path)?;
    }
    swap(copy, path)?;
    Ok((done, unreadable))
}

/// A whole copy of the database, compact; `false` if it is damaged.
fn copied(path: &Path, copy: &Path) -> Result<bool> {
    let result = store::open(path).and_then(|db| {
        db.execute("VACUUM INTO ?1", [text(copy)?]).context("could not copy the database")?;
        Ok(())
    });
    match result {
        Ok(()) => Ok(true),
        Err(error) if store::is_damage(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The copy is worth nothing until it is whole, so it need not be safe before.
fn fast(db: Connection) -> Result<Connection> {
    db.pragma_update(None, "synchronous", "OFF")?;
    Ok(db)
}

/// The old database's log is empty by now; its companions would not fit the new one.
fn swap(copy: &Path, path: &Path) -> Result<()> {
    for companion in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(with_suffix(path, companion));
    }
    fs::rename(copy, path).context("could not put the rebuilt database in place")?;
    if let Some(dir) = path.parent()
        && let Ok(dir) = fs::File::open(dir)
    {
        let _ = dir.sync_all();
    }
    Ok(())
}

fn remove(copy: &Path) {
    for companion in ["", "-wal", "-shm", ".suspect"] {
        let _ = std::fs::remove_file(with_suffix(copy, companion));
    }
}

fn text(path: &Path) -> Result<&str> {
    path.to_str().context("could not copy the database: its path is not UTF-8")
}

/// Copies every event of `source` that can be read behind those `into` has; how many could not.
fn salvage(source: &Path, into: &Connection) -> Result<u64> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let damaged = Connection::open_with_flags(source, flags)
        .with_context(|| format!("could not open {}", source.display()))?;
    // Without it SQLite gives nothing at all of a file that is shorter than it should be.
    damaged.pragma_update(None, "writable_schema", true)?;
    if damaged.prepare("SELECT id FROM events").is_err() {
        let source = terminal::plain(&source.display().to_string());
        eprintln!("headspace: note: nothing of {source} can be read: not even its schema is whole");
        return Ok(0);
    }
    let last: i64 = damaged
        .query_row("SELECT max(id) FROM events", [], |row| row.get(0))
        .or_else(|_| damaged.query_row("SELECT seq FROM sqlite_sequence LIMIT 1", [], |row| row.get(0)))
        .unwrap_or(i64::MAX);
    let mut next =
        1 + into.query_row("SELECT coalesce(max(id), 0) FROM events", [], |row| row.get::<_, i64>(0))?;
    let (mut at, mut stride, mut unreadable) = (0, 1, 0);
    into.execute_batch("BEGIN")?;
    while at < last {
        match copy_after(&damaged, into, at, &mut next) {
            Ok(Some(id)) => {
                (at, stride) = (id, 1);
                continue;
            }
            Ok(None) => break,
            Err(error) => ensure!(is_unreadable(&error), error),
        }
        // Somewhere behind here the pages are readable again, or not at all.
        if stride > 1 << 20 {
            break;
        }
        at += stride;
        unreadable += 1;
        stride *= 2;
    }
    into.execute_batch("COMMIT")?;
    let mut merged = queries::marks(into)?;
    if let Ok(marks) = queries::marks(&damaged) {
        merged.received += marks.received;
        merged.seq = merged.seq.max(marks.seq);
        merged.last_hook_at = merged.last_hook_at.max(marks.last_hook_at);
        merged.last_hook = marks.last_hook.or(merged.last_hook);
    }
    merged.event = next - 1;
    // Counted and told before, as far as that can be known.
    merged.projected = Some(merged.event);
    store::write::marks(into, &merged)?;
    Ok(unreadable)
}

/// An event that is not whole, or not where it should be.
#[derive(Debug)]
struct Damaged;

impl std::fmt::Display for Damaged {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str("an event is damaged")
    }
}

impl std::error::Error for Damaged {}

fn is_unreadable(error: &anyhow::Error) -> bool {
    error.is::<Damaged>() || store::is_damage(error)
}

/// Copies the first event after `at`; its id there, or `None` if there is none. Where pages are gone, SQLite may give
/// a row with less in it than was stored: that is unreadable too.
fn copy_after(damaged: &Connection, into: &Connection, at: i64, next: &mut i64) -> Result<Option<i64>> {
    let mut query = damaged.prepare_cached(
        "SELECT id, name, session_id, at, received_at, source, delivery_id, facts, body, flags & 8
         FROM events WHERE id > ?1 ORDER BY id LIMIT 1",
    )?;
    let mut rows = query.query([at])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let id: i64 = row.get(0)?;
    // Pages in disorder can lead back to where we were, for ever.
    ensure!(id > at && is_whole(row), Damaged);
    // What came before the damage decides; the same delivery again is the same event.
    let copied = into
        .prepare_cached(
            "INSERT OR IGNORE INTO events(id, name, session_id, at, received_at, source, delivery_id, facts, body, flags)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute(rusqlite::params![
            *next,
            row.get::<_, String>(1)?,
            row.get::<_, String>(2)?,
            row.get::<_, i64>(3)?,
            row.get::<_, i64>(4)?,
            row.get::<_, String>(5)?,
            row.get::<_, Option<String>>(6)?,
            row.get::<_, Option<String>>(7)?,
            row.get::<_, String>(8)?,
            row.get::<_, i64>(9)?,
        ])?;
    *next += copied as i64;
    Ok(Some(id))
}

/// Whether every column holds what an event has there, and the body is an object to its end.
fn is_whole(row: &rusqlite::Row<'_>) -> bool {
    let text = |at: usize| row.get_ref(at).ok()?.as_str().ok().filter(|text| !text.is_empty());
    let number = |at: usize| row.get::<_, i64>(at).is_ok();
    let body =
        text(8).and_then(|body| serde_json::from_str::<serde_json::Map<_, serde_json::Value>>(body).ok());
    [1, 2, 5].into_iter().all(|at| text(at).is_some())
        && [3, 4, 9].into_iter().all(number)
        && [6, 7].into_iter().all(|at| row.get::<_, Option<String>>(at).is_ok())
        && body.is_some()
}

/// How far it is, for whoever watches; nothing in a log.
struct Progress {
    total: u64,
    shown: Option<u64>,
    on: bool,
}

impl Progress {
    fn new(total: u64) -> Progress {
        Progress { total, shown: None, on: std::io::stderr().is_terminal() }
    }

    fn show(&mut self, count: u64) {
        let percent = count * 100 / self.total.max(1);
        if self.on && self.shown != Some(percent) {
            self.shown = Some(percent);
            let line = format!("rebuilding: {percent} % of {} events", self.total);
            let _ = write!(std::io::stderr(), "\r{}", terminal::plain(&line));
        }
    }

    fn end(&self) {
        if self.on {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
