//! One writer per database: a lock that the system releases when its holder dies, however it dies.

use anyhow::{Context, Result};
use headspace_platform::files::{self, FileId};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Held as long as this value lives.
#[derive(Debug)]
pub struct Lock {
    #[allow(dead_code, reason = "the lock is held as long as the file is open")]
    file: File,
    /// Identifies the file, because it may be replaced.
    id: Option<FileId>,
}

impl Lock {
    /// The same lock, or a new one if the file was removed under us.
    pub fn again(self, path: &Path) -> Result<Lock> {
        if self.id.is_some() && files::id(&lock_file(path)) == self.id { Ok(self) } else { take(path) }
    }
}

fn lock_file(path: &Path) -> PathBuf {
    crate::with_suffix(path, ".lock")
}

/// Takes the lock of the database at `path`, or fails and says who holds it.
pub fn take(path: &Path) -> Result<Lock> {
    if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
        files::private_dir(dir)?;
    }
    let lock_path = lock_file(path);
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = files::open_regular(&lock_path, &mut options).map_err(|error| {
        let what = format!("could not open {}", lock_path.display());
        match files::is_not_regular(&error) {
            true => anyhow::anyhow!("{what}: {error}; move it away, and try again"),
            false => anyhow::Error::from(error).context(what),
        }
    })?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut pid = String::new();
            let _ = file.read_to_string(&mut pid);
            let who = match pid.trim().parse::<u32>() {
                Ok(pid) => format!("another headspace (pid {pid})"),
                Err(_) => "another headspace".to_owned(),
            };
            anyhow::bail!("{who} is using {}", path.display());
        }
        Err(TryLockError::Error(error)) => return Err(error).context("could not lock the database"),
    }
    // The pid only informs the next process that tries; the lock itself does not depend on it.
    let _ = file.set_len(0);
    let _ = file.rewind();
    let _ = write!(file, "{}", std::process::id());
    Ok(Lock { file, id: files::id(&lock_path) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_process_learns_who_holds_the_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("headspace.db");
        let first = take(&path).unwrap();
        let why = take(&path).unwrap_err().to_string();
        assert!(why.contains(&format!("pid {}", std::process::id())), "{why}");
        drop(first);
        take(&path).unwrap();
    }
}
