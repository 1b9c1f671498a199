//! Reading a database when nothing can be written beside it: the disk is full, or mounted read-only.
//!
//! SQLite keeps the index of the log in a separate file, and cannot open the database without room for that file. There
//! are two ways around it: exclusively, with the index in memory, or without the log.

use crate::schema;
use anyhow::{Context, Result, ensure};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::path::Path;
use std::time::Duration;

/// Whether this error says that nothing can be written: no room, no permission, or a failing disk.
pub fn is_no_room(error: &anyhow::Error) -> bool {
    let refused = |cause: &(dyn std::error::Error + 'static)| {
        let io = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        let code = cause.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
        io == Some(std::io::ErrorKind::PermissionDenied)
            || matches!(
                code,
                Some(
                    ErrorCode::DiskFull
                        | ErrorCode::SystemIoFailure
                        | ErrorCode::ReadOnly
                        | ErrorCode::CannotOpen
                )
            )
    };
    headspace_platform::files::is_no_room(error) || error.chain().any(refused)
}

/// What there is to read where no database of this version is, and none can be made: nothing.
pub fn open_empty() -> Result<Connection> {
    let mut db = Connection::open_in_memory()?;
    schema::migrate(&mut db)?;
    db.pragma_update(None, "query_only", true)?;
    Ok(db)
}

/// Reads everything that is stored, including what is only in the log. If there is a log, no other connection is
/// possible while this one is open.
pub fn open_alone(path: &Path) -> Result<Connection> {
    crate::check_regular(path)?;
    let log = std::fs::metadata(crate::with_suffix(path, "-wal")).map_or(0, |meta| meta.len());
    if log == 0 {
        return open_without_log(path);
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let alone = Connection::open_with_flags(path, flags).map_err(anyhow::Error::from).and_then(|db| {
        db.busy_timeout(Duration::from_secs(5))?;
        // Must come before the first read: only then is the log's index kept in memory.
        db.pragma_update_and_check(None, "locking_mode", "EXCLUSIVE", |_| Ok(()))?;
        db.pragma_update(None, "wal_autocheckpoint", 0)?;
        db.pragma_update(None, "query_only", true)?;
        check_version(&db)?;
        Ok(db)
    });
    alone.or_else(|_| open_without_log(path))
}

/// Reads only what was copied from the log into the database. Safe only while nothing writes.
fn open_without_log(path: &Path) -> Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(address(path)?, flags)
        .with_context(|| format!("could not open {}", path.display()))?;
    db.pragma_update(None, "query_only", true)?;
    check_version(&db)?;
    Ok(db)
}

fn check_version(db: &Connection) -> Result<()> {
    ensure!(
        schema::found_version(db)? == schema::version(),
        "the database was written by another version of headspace: make room on the disk, and start the server once"
    );
    Ok(())
}

/// `file:…?immutable=1`, with characters that would end the path escaped.
fn address(path: &Path) -> Result<String> {
    let path = path.to_str().context("could not open the database: its path is not UTF-8")?;
    let escaped = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    Ok(format!("file:{escaped}?immutable=1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_only_in_the_log_is_read_alone_and_not_without_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a%20b?c#d.db");
        let db = crate::open(&path).unwrap();
        db.execute_batch("INSERT INTO days VALUES ('2026-01-01', 1); PRAGMA wal_checkpoint(TRUNCATE)")
            .unwrap();
        db.execute_batch("INSERT INTO days VALUES ('2026-01-02', 1)").unwrap();
        // As a killed server leaves it.
        let left = dir.path().join("left.db");
        for companion in ["", "-wal"] {
            std::fs::copy(crate::with_suffix(&path, companion), crate::with_suffix(&left, companion))
                .unwrap();
        }
        let days =
            |db: &Connection| db.query_row("SELECT count(*) FROM days", [], |row| row.get::<_, i64>(0));
        assert_eq!(days(&open_without_log(&left).unwrap()), Ok(1));
        let alone = open_alone(&left).unwrap();
        assert_eq!(days(&alone), Ok(2));
        assert!(!crate::with_suffix(&left, "-shm").exists(), "its index is in memory");
        drop((db, alone));
        let [one, other] = [(); 2].map(|()| open_alone(&path).unwrap());
        assert_eq!((days(&one), days(&other)), (Ok(2), Ok(2)), "without a log there can be several");
    }
}
