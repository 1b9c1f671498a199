//! `headspace rebuild`: the states worked out anew, in a copy that replaces the database when it is whole.

use super::replay::{self, Replayed};
use super::salvage::salvage;
use crate::config;
use crate::count::counted;
use crate::store::{self, lock, with_suffix};
use crate::terminal::plain;
use anyhow::{Context, Result, ensure};
use fs_err as fs;
use rusqlite::Connection;
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
        let events = |number: u64| counted(number, "event");
        println!("Rebuilt {} from {}.", counted(done.agents, "agent"), events(done.events));
        if done.without_effect > 0 {
            println!("{} had no effect: headspace has a bug there.", events(done.without_effect));
        }
        if unreadable > 0 {
            println!("{} could not be read.", events(unreadable));
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

/// For `serve`, which found the database damaged and put it `aside`: if all of its events can be read, they are put into the
/// place of the one it began instead, and everything is worked out from them. How many there were; `None` if some are
/// lost, which a person should decide about.
pub fn by_itself(path: &Path, aside: &Path) -> Result<Option<u64>> {
    let copy = with_suffix(path, ".rebuild");
    remove(&copy);
    let companions = ["-wal", "-shm"].map(|end| with_suffix(aside, end));
    let made = companions.iter().filter(|companion| !companion.exists()).collect::<Vec<_>>();
    let done = (|| {
        let mut db = fast(store::open(&copy)?)?;
        let lost = salvage(aside, &db)?;
        let total: i64 = db.query_row("SELECT count(*) FROM events", [], |row| row.get(0))?;
        if lost > 0 || total == 0 {
            return Ok(None);
        }
        let replayed = replay::replay(&mut db, |_| {})?;
        db.execute_batch("PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE)")?;
        drop(db);
        fs::File::open(&copy)?.sync_all()?;
        swap(&copy, path)?;
        Ok(Some(replayed.events))
    })();
    remove(&copy);
    // Reading makes them, empty; what is kept aside is to be found by its name alone.
    for companion in made {
        let _ = std::fs::remove_file(companion);
    }
    done
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
            let _ = write!(std::io::stderr(), "\r{}", plain(&line));
        }
    }

    fn end(&self) {
        if self.on {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
