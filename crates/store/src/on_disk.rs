//! Notices that the files of an open database are no longer the ones that were opened: what is written to a removed file
//! is lost when the server ends, and nobody else can read it.

use headspace_platform::files::{self, FileId};
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
}

/// What has happened to the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilesChanged {
    /// Nothing.
    No,
    /// The database that was opened is still there, under another name or without its log: this connection can still
    /// write into it.
    KeepsDatabase,
    /// It is gone, empty, or another one.
    LostDatabase,
}

impl FilesOnDisk {
    /// Right after the database at `path` was opened.
    pub fn of(path: &Path) -> FilesOnDisk {
        let real = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let log = crate::with_suffix(&real, "-wal");
        FilesOnDisk {
            path: path.to_owned(),
            entry: entry_at(path).0,
            target: files::id(&real),
            real,
            log_id: entry_at(&log).0,
            log,
        }
    }

    /// To be asked right after a COMMIT, when the log is not empty. Looks twice at the directory, which every COMMIT can
    /// afford.
    pub fn changed(&mut self) -> FilesChanged {
        let (entry, size) = entry_at(&self.path);
        let (log, log_size) = entry_at(&self.log);
        // SQLite makes the log when it is first needed.
        if self.log_id.is_none() {
            self.log_id = log;
        }
        let is_link = self.entry != self.target;
        let same = entry == self.entry && log == self.log_id && (log_size > 0 || log.is_none());
        if !is_link && same && size > 0 {
            return FilesChanged::No;
        }
        let behind = std::fs::metadata(&self.path).ok();
        let still_there = behind.is_some_and(|meta| files::id_in(&meta) == self.target && meta.len() > 0);
        if !still_there {
            return FilesChanged::LostDatabase;
        }
        // The log lies beside the database, so its path matters too.
        let leads_there = std::fs::canonicalize(&self.path).is_ok_and(|real| real == self.real);
        let as_it_was = is_link && same && leads_there;
        if as_it_was { FilesChanged::No } else { FilesChanged::KeepsDatabase }
    }
}

/// The id and the size of what is at a path; a link is not followed.
fn entry_at(path: &Path) -> (Option<FileId>, u64) {
    match std::fs::symlink_metadata(path) {
        Ok(meta) => (files::id_in(&meta), meta.len()),
        Err(_) => (None, 0),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use FilesChanged::*;
    use std::fs;

    #[test]
    fn what_happens_to_the_files_is_noticed() {
        type Deed = fn(&Path, &Path);
        let table: [(&str, Deed, FilesChanged); 9] = [
            ("nothing", |_, _| {}, No),
            ("it grows", |db, _| fs::write(db, "longer than before").unwrap(), No),
            ("an emptied log", |_, log| fs::write(log, "").unwrap(), KeepsDatabase),
            ("no log", |_, log| fs::remove_file(log).unwrap(), KeepsDatabase),
            (
                "another log",
                |_, log| {
                    fs::rename(log, log.with_extension("old")).unwrap();
                    fs::write(log, "").unwrap();
                },
                KeepsDatabase,
            ),
            (
                "a link to it",
                |db, _| {
                    fs::rename(db, db.with_extension("moved")).unwrap();
                    std::os::unix::fs::symlink(db.with_extension("moved"), db).unwrap();
                },
                KeepsDatabase,
            ),
            ("removed", |db, _| fs::remove_file(db).unwrap(), LostDatabase),
            ("emptied", |db, _| fs::write(db, "").unwrap(), LostDatabase),
            (
                "replaced",
                |db, _| {
                    fs::rename(db, db.with_extension("old")).unwrap();
                    fs::write(db, "other").unwrap();
                },
                LostDatabase,
            ),
        ];
        for through_link in [false, true] {
            for (what, deed, expected) in table {
                let dir = tempfile::tempdir().unwrap();
                let real = dir.path().join("real.db");
                let log = dir.path().join("real.db-wal");
                fs::write(&real, "database").unwrap();
                fs::write(&log, "log").unwrap();
                let path = if through_link { dir.path().join("link.db") } else { real.clone() };
                if through_link {
                    std::os::unix::fs::symlink(&real, &path).unwrap();
                }
                let mut files = FilesOnDisk::of(&path);
                deed(&real, &log);
                assert_eq!(files.changed(), expected, "{what}, through a link: {through_link}");
            }
        }
    }

    #[test]
    fn a_log_that_comes_later_is_no_change() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.db");
        fs::write(&path, "database").unwrap();
        let mut files = FilesOnDisk::of(&path);
        assert_eq!(files.changed(), No);
        fs::write(dir.path().join("a.db-wal"), "log").unwrap();
        assert_eq!(files.changed(), No);
        fs::remove_file(dir.path().join("a.db-wal")).unwrap();
        assert_eq!(files.changed(), KeepsDatabase);
    }
}
