//! Recomputes all agent states from the stored events, in a copy that replaces the database when it is complete.

use crate::recover::{Lost, recover_events};
use crate::replay::{self, Replayed};
use crate::with_suffix;
use anyhow::{Context, Result};
use fs_err as fs;
use rusqlite::Connection;
use std::path::Path;

/// Replays the events of `path`, and of `from` if given, into a copy that replaces `path`. Also returns which events
/// could not be read. `progress` gets the number of replayed events and the total.
pub fn rebuild(path: &Path, from: Option<&Path>, progress: impl FnMut(u64, u64)) -> Result<(Replayed, Lost)> {
    let copy = with_suffix(path, ".rebuild");
    remove(&copy);
    let done = rebuild_in(path, &copy, from, progress);
    if done.is_err() {
        remove(&copy);
    }
    done
}

fn rebuild_in(
    path: &Path,
    copy: &Path,
    from: Option<&Path>,
    mut progress: impl FnMut(u64, u64),
) -> Result<(Replayed, Lost)> {
    let healthy = path.exists() && copied(path, copy)?;
    let mut unreadable = Lost::default();
    if from.is_some() || !healthy {
        remove(copy);
        let db = fast(crate::open(copy)?)?;
        for source in from.into_iter().chain(path.exists().then_some(path)) {
            unreadable += recover_events(source, &db)?;
        }
    }
    let mut db = fast(crate::open(copy)?)?;
    let total: i64 = db.query_row("SELECT count(*) FROM events", [], |row| row.get(0))?;
    let done = replay::replay(&mut db, |count| progress(count, total.unsigned_abs()))?;
    bring_to_disk(db, copy)?;
    if !healthy && path.exists() {
        crate::quarantine(path)?;
    }
    swap(copy, path)?;
    Ok((done, unreadable))
}

/// For `serve`, which found the database damaged and moved it `aside`: if all its events can be read, they replace the
/// new database that was begun, and everything is recomputed from them. Returns their number; `None` if some are lost,
/// because then a person should decide.
pub fn by_itself(path: &Path, aside: &Path) -> Result<Option<u64>> {
    let copy = with_suffix(path, ".rebuild");
    remove(&copy);
    let companions = ["-wal", "-shm"].map(|end| with_suffix(aside, end));
    let made = companions.iter().filter(|companion| !companion.exists()).collect::<Vec<_>>();
    let done = (|| {
        let mut db = fast(crate::open(&copy)?)?;
        let lost = recover_events(aside, &db)?;
        let total: i64 = db.query_row("SELECT count(*) FROM events", [], |row| row.get(0))?;
        if lost != Lost::default() || total == 0 {
            return Ok(None);
        }
        let replayed = replay::replay(&mut db, |_| {})?;
        bring_to_disk(db, &copy)?;
        swap(&copy, path)?;
        Ok(Some(replayed.events))
    })();
    remove(&copy);
    // Reading creates them, empty; a database that was moved aside consists of one file only.
    for companion in made {
        let _ = std::fs::remove_file(companion);
    }
    done
}

/// A complete, compact copy of the database; `false` if it is damaged.
fn copied(path: &Path, copy: &Path) -> Result<bool> {
    let result = crate::open(path).and_then(|db| {
        // SQLite fills an empty file that exists; one that it creates itself can be read by other users.
        crate::make_private(copy)?;
        db.execute("VACUUM INTO ?1", [text(copy)?]).context("could not copy the database")?;
        Ok(())
    });
    match result {
        Ok(()) => Ok(true),
        Err(error) if crate::is_damage(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The copy is useless until it is complete, so it need not be durable until then.
fn fast(db: Connection) -> Result<Connection> {
    db.pragma_update(None, "synchronous", "OFF")?;
    Ok(db)
}

/// Closes the complete copy; when this returns, it is one file, and on disk.
fn bring_to_disk(db: Connection, copy: &Path) -> Result<()> {
    db.execute_batch("PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE)")?;
    drop(db);
    Ok(fs::File::open(copy)?.sync_all()?)
}

/// The old database's log is empty by now; its companion files would not match the new one.
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_rebuilt_database_is_as_private_as_before() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("headspace.db");
        drop(crate::open(&path).unwrap());
        rebuild(&path, None, |_, _| {}).unwrap();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{mode:o}");
    }
}
