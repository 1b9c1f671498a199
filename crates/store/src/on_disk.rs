//! Notices that the files of an open database are no longer the ones that were opened: what is written to a removed file
//! is lost when the server ends, and nobody else can read it.

use anyhow::{Context, Result};
use headspace_platform::files::{self, FileId};
use rusqlite::Connection;
use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom};
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
    /// The log's size when it was last looked at.
    log_size: u64,
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
        let (log_id, log_size) = entry_at(&log);
        FilesOnDisk {
            path: path.to_owned(),
            entry: entry_at(path).0,
            target: files::id(&real),
            real,
            log,
            log_id,
            log_size,
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
        let same_log = log == self.log_id;
        if same_log && self.is_cut(log_size) {
            return FilesChanged::LogEmptied;
        }
        self.log_size = log_size;
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

    /// Whether somebody else made the log smaller, and frames are missing now. SQLite itself cuts it to
    /// [`LOG_STAYS`](crate::LOG_STAYS) when it starts over; a program that copied all of it into the database may have
    /// emptied it.
    fn is_cut(&self, log_size: u64) -> bool {
        log_size < self.log_size.min(crate::LOG_STAYS) && !has_all_frames(&self.log)
    }

    /// Puts aside what would spoil the database that is opened at the path next. `old` is the connection to the one that
    /// was there. Returns where a database without its data is kept.
    pub fn make_way(&self, changed: FilesChanged, old: &Connection) -> Result<Option<PathBuf>> {
        match changed {
            FilesChanged::No | FilesChanged::LogUnreachable => Ok(None),
            FilesChanged::Emptied => crate::quarantine(&self.path).map(Some),
            FilesChanged::LogEmptied => {
                // Under another number: other connections still have the old index of the log.
                let aside = crate::quarantine(&self.path)?;
                let copy = crate::with_suffix(&self.path, ".copy");
                std::fs::copy(&aside, &copy)
                    .and_then(|_| std::fs::rename(&copy, &self.path))
                    .with_context(|| format!("could not copy {}", aside.display()))?;
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

/// Whether every frame in the log belongs to what its header began: there is no hole.
fn has_all_frames(log: &Path) -> bool {
    const HEADER: usize = 32;
    const FRAME_HEADER: u64 = 24;
    let read = || -> std::io::Result<bool> {
        let mut file = files::open_regular(log, OpenOptions::new().read(true))?;
        let size = file.metadata()?.len();
        let mut header = [0; HEADER];
        file.read_exact(&mut header)?;
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_be_bytes);
        // The last bit tells the order of bytes in checksums.
        if word(&header[..4]) & !1 != 0x377f_0682 {
            return Ok(false);
        }
        let (page, salts) = (u64::from(word(&header[8..12])), &header[16..24]);
        let mut at = HEADER as u64;
        while at + FRAME_HEADER + page <= size {
            let mut frame = [0; FRAME_HEADER as usize];
            file.seek(SeekFrom::Start(at))?;
            file.read_exact(&mut frame)?;
            if frame[8..16] != *salts {
                return Ok(false);
            }
            at += FRAME_HEADER + page;
        }
        Ok(true)
    };
    read().unwrap_or(false)
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
        let table: [(&str, Deed, FilesChanged); 10] = [
            ("nothing", |_, _| {}, No),
            ("it grows", |db, _| fs::write(db, "longer than before").unwrap(), No),
            ("an emptied log", |_, log| fs::write(log, "").unwrap(), LogEmptied),
            (
                "an emptied log that is written to",
                |_, log| {
                    fs::write(log, "").unwrap();
                    fs::write(log, [0; 2]).unwrap();
                },
                LogEmptied,
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
            ("emptied", |db, _| fs::write(db, "").unwrap(), Emptied),
            (
                "replaced",
                |db, _| {
                    fs::rename(db, db.with_extension("old")).unwrap();
                    fs::write(db, "other").unwrap();
                },
                Replaced,
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
        assert_eq!(files.changed(), LogUnreachable);
    }
}
