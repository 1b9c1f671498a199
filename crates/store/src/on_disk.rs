//! Notices that the files of an open database are no longer the ones that were opened: what is written to a removed file
//! is lost when the server ends, and nobody else can read it.

use crate::wal::tail::LogTail;
use anyhow::{Context, Result};
use headspace_platform::files::{self, FileId};
use rusqlite::Connection;
use std::path::{Path, PathBuf};

/// The files of a database, as they were when it was opened.
#[derive(Debug)]
pub struct FilesOnDisk {
    path: PathBuf,
    /// What is at the path: the database, or a link to it.
    entry: Option<FileId>,
    /// The database itself, and its path without links.
    target: Option<FileId>,
    real: PathBuf,
    log: PathBuf,
    /// `None` until there is a log.
    log_id: Option<FileId>,
    tail: LogTail,
}

/// What has happened to the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilesChanged {
    /// Nothing.
    No,
    /// The log has no name any more, or the database another one: what this connection has can be copied into the
    /// database.
    LogUnreachable,
    /// The log was emptied or cut: what it held is lost, and copying it would spoil the database.
    LogEmptied,
    /// The database was emptied.
    Emptied,
    /// The database was removed, or another one is in its place.
    Replaced,
}

impl FilesChanged {
    /// For people: what has happened to the database at `path`.
    pub fn describe(self, path: &Path) -> String {
        let path = path.display();
        match self {
            FilesChanged::No => format!("{path} is as it was"),
            FilesChanged::LogUnreachable => {
                format!(
                    "{path} or its log was removed or replaced under the running server; nothing was lost"
                )
            }
            FilesChanged::LogEmptied => {
                format!("the log of {path} was emptied under the running server; the events in it are lost")
            }
            FilesChanged::Emptied => format!("{path} was emptied under the running server"),
            FilesChanged::Replaced => format!("{path} was removed or replaced under the running server"),
        }
    }
}

impl FilesOnDisk {
    /// Right after the database at `path` was opened.
    pub fn of(path: &Path) -> FilesOnDisk {
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let log = crate::with_suffix(&real, "-wal");
        let log_id = entry_at(&log).0;
        FilesOnDisk {
            path: path.to_owned(),
            entry: entry_at(path).0,
            target: files::id(&real),
            real,
            log,
            log_id,
            tail: LogTail::default(),
        }
    }

    /// To be asked after a COMMIT by `db`, the connection to this database. Looks twice at the directory and thrice at the
    /// log, which every COMMIT can afford.
    pub fn changed(&mut self, db: &Connection) -> FilesChanged {
        let (entry, size) = entry_at(&self.path);
        let log = entry_at(&self.log).0;
        // SQLite makes the log when it is first needed.
        if self.log_id.is_none() {
            self.log_id = log;
        }
        let same_log = log == self.log_id;
        if same_log && !self.tail.is_whole(db, &self.log) {
            return FilesChanged::LogEmptied;
        }
        let is_link = self.entry != self.target;
        let same = entry == self.entry && same_log;
        if !is_link && same && size > 0 {
            return FilesChanged::No;
        }
        match std::fs::metadata(&self.path) {
            Ok(behind) if files::id_in(&behind) != self.target => return FilesChanged::Replaced,
            Ok(behind) if behind.len() == 0 => return FilesChanged::Emptied,
            Ok(_) => {}
            Err(_) => return FilesChanged::Replaced,
        }
        // The log lies beside the database, so its path matters too.
        let leads_there = std::fs::canonicalize(&self.path).is_ok_and(|real| real == self.real);
        let as_it_was = is_link && same && leads_there;
        if as_it_was { FilesChanged::No } else { FilesChanged::LogUnreachable }
    }

    /// Puts aside what would spoil the database that is opened at the path next. `old` is the connection to the one that
    /// was there. Returns where a database without its data is kept.
    pub fn make_way(&self, changed: FilesChanged, old: &Connection) -> Result<Option<PathBuf>> {
        match changed {
            FilesChanged::No | FilesChanged::LogUnreachable => Ok(None),
            FilesChanged::Emptied => crate::quarantine(&self.path).map(Some),
            FilesChanged::LogEmptied => {
                // Under another number: other connections still have the old index of the log. It is complete before the
                // old one is moved: there may be no room for it.
                let copy = crate::with_suffix(&self.path, ".copy");
                if let Err(error) = std::fs::copy(&self.path, &copy) {
                    let _ = std::fs::remove_file(&copy);
                    return Err(error).with_context(|| format!("could not copy {}", self.path.display()));
                }
                let aside = crate::quarantine(&self.path)?;
                if let Err(error) = std::fs::rename(&copy, &self.path) {
                    let _ = std::fs::rename(&aside, &self.path);
                    return Err(error).with_context(|| format!("could not copy {}", aside.display()));
                }
                // A part of the log may have been copied into it.
                crate::request_integrity_check(&self.path);
                Ok(Some(aside))
            }
            FilesChanged::Replaced => {
                self.take_log_away(old)?;
                Ok(None)
            }
        }
    }

    /// The log of the old database must not be applied to the one that replaced it.
    fn take_log_away(&self, old: &Connection) -> Result<()> {
        let is_ours = self.log_id.is_some() && entry_at(&self.log).0 == self.log_id;
        if !is_ours {
            return Ok(());
        }
        // Wherever the old database is now, it is whole then.
        let is_copied = crate::wal::checkpoint::copy_all(old).unwrap_or(false);
        let aside = crate::free_name(&self.path, "replaced")?;
        for companion in ["-wal", "-shm"] {
            let path = crate::with_suffix(&self.real, companion);
            let gone = match is_copied {
                true => std::fs::remove_file(&path),
                false => std::fs::rename(&path, crate::with_suffix(&aside, companion)),
            };
            match gone {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("could not move {}", path.display()));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The id and the size of what is at a path; a link is not followed.
fn entry_at(path: &Path) -> (Option<FileId>, u64) {
    match std::fs::symlink_metadata(path) {
        Ok(meta) => (files::id_in(&meta), meta.len()),
        Err(_) => (None, 0),
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;
    use FilesChanged::*;
    use std::fs;

    /// A database with a log that has something.
    fn database(path: &Path) -> Connection {
        let db = Connection::open(path).unwrap();
        db.execute_batch("PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t(x);")
            .unwrap();
        write(&db);
        db
    }

    /// Fails where the log is spoiled, sometimes.
    fn write(db: &Connection) {
        let _ = db.execute_batch("INSERT INTO t VALUES (hex(randomblob(3000)))");
    }

    fn cut(path: &Path, size: u64) {
        fs::OpenOptions::new().write(true).open(path).unwrap().set_len(size).unwrap();
    }

    #[test]
    fn what_happens_to_the_files_is_noticed() {
        type Deed = fn(&Path, &Path);
        let table: [(&str, Deed, FilesChanged); 12] = [
            ("nothing", |_, _| {}, No),
            ("an emptied log", |_, log| cut(log, 0), LogEmptied),
            ("a log cut to its header", |_, log| cut(log, 32), LogEmptied),
            (
                "a log whose last byte is cut",
                |_, log| cut(log, fs::metadata(log).unwrap().len() - 1),
                LogEmptied,
            ),
            (
                "an emptied log that is as long as before",
                |_, log| {
                    let size = fs::metadata(log).unwrap().len();
                    cut(log, 0);
                    cut(log, size);
                },
                LogEmptied,
            ),
            (
                "a log that another program copied and emptied",
                |db, _| {
                    let other = Connection::open(db).unwrap();
                    other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
                },
                No,
            ),
            ("no log", |_, log| fs::remove_file(log).unwrap(), LogUnreachable),
            (
                "another log",
                |_, log| {
                    fs::rename(log, log.with_extension("old")).unwrap();
                    fs::write(log, "").unwrap();
                },
                LogUnreachable,
            ),
            (
                "a link to it",
                |db, _| {
                    fs::rename(db, db.with_extension("moved")).unwrap();
                    std::os::unix::fs::symlink(db.with_extension("moved"), db).unwrap();
                },
                LogUnreachable,
            ),
            ("removed", |db, _| fs::remove_file(db).unwrap(), Replaced),
            ("emptied", |db, _| cut(db, 0), Emptied),
            (
                "replaced",
                |db, _| {
                    fs::rename(db, db.with_extension("old")).unwrap();
                    fs::write(db, "other").unwrap();
                },
                Replaced,
            ),
        ];
        let ways = [(false, false), (false, true), (true, false), (true, true)];
        for (through_link, is_written_to) in ways {
            for (what, deed, expected) in table {
                let dir = tempfile::tempdir().unwrap();
                let real = dir.path().join("real.db");
                let log = dir.path().join("real.db-wal");
                let path = if through_link { dir.path().join("link.db") } else { real.clone() };
                let db = database(&real);
                if through_link {
                    std::os::unix::fs::symlink(&real, &path).unwrap();
                }
                let mut files = FilesOnDisk::of(&path);
                for _ in 0..20 {
                    write(&db);
                    assert_eq!(files.changed(&db), No, "{what}");
                }
                deed(&real, &log);
                if is_written_to {
                    write(&db);
                }
                let case = format!("{what}, through a link: {through_link}, written to: {is_written_to}");
                assert_eq!(files.changed(&db), expected, "{case}");
                // What is not mended is noticed the next time, too.
                assert_eq!(files.changed(&db), expected, "{case}");
            }
        }
    }

    #[test]
    fn a_log_that_starts_over_or_comes_later_is_no_change() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        drop(database(&path));
        let db = Connection::open(&path).unwrap();
        let mut files = FilesOnDisk::of(&path);
        assert_eq!(files.changed(&db), No, "there is no log yet");
        for round in 0..40 {
            write(&db);
            assert_eq!(files.changed(&db), No, "round {round}");
            if round % 4 == 3 {
                let mode = ["PASSIVE", "RESTART", "TRUNCATE"][round / 4 % 3];
                db.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(())).unwrap();
            }
        }
        fs::remove_file(dir.path().join("a.db-wal")).unwrap();
        assert_eq!(files.changed(&db), LogUnreachable);
    }

    /// Another program may have all of the log copied, and then writes for long.
    #[test]
    fn a_program_that_writes_too_does_not_spoil_the_log() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let db = database(&path);
        let mut files = FilesOnDisk::of(&path);
        assert_eq!(files.changed(&db), No);
        let other = Connection::open(&path).unwrap();
        other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
        db.busy_timeout(std::time::Duration::ZERO).unwrap();
        other.execute_batch("BEGIN IMMEDIATE; INSERT INTO t VALUES (1)").unwrap();
        assert!(db.execute_batch("INSERT INTO t VALUES (2)").is_err());
        assert_eq!(files.changed(&db), No);
        other.execute_batch("COMMIT").unwrap();
        write(&db);
        assert_eq!(files.changed(&db), No);
    }

    #[test]
    fn without_room_for_a_copy_the_database_stays_where_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        let db = database(&path);
        let files = FilesOnDisk::of(&path);
        // Nothing can be written there.
        fs::create_dir(dir.path().join("a.db.copy")).unwrap();
        assert!(files.make_way(LogEmptied, &db).is_err());
        assert!(path.exists() && dir.path().join("a.db-wal").exists());
    }
}
