//! Where hooks keep events while the disk takes none: a directory of the user's own in memory, which outlives every process,
//! but neither a restart of the machine nor the user's last logout.
//!
//! The system makes `$XDG_RUNTIME_DIR` (`/run/user/UID`) when the user logs in. It is used only if it belongs to us and no one
//! else can write there: then no one else can have put anything in our way.

use crate::files;
use anyhow::{Result, ensure};
use std::path::{Path, PathBuf};

/// A directory below one that the system made for this user.
#[derive(Clone, Debug)]
pub struct SecondPlace {
    runtime: PathBuf,
    below: PathBuf,
}

impl SecondPlace {
    pub fn new(runtime: PathBuf, below: PathBuf) -> SecondPlace {
        SecondPlace { runtime, below }
    }

    pub fn dir(&self) -> PathBuf {
        self.runtime.join(&self.below)
    }

    /// Whether the system made it for us. After `su`, the variable may still name another user's.
    pub fn is_made_for_us(&self) -> bool {
        std::fs::metadata(&self.runtime).is_ok_and(|meta| files::is_ours(&meta))
    }

    /// Fails if another user can have put something there. The directories below the first need not exist.
    pub fn check(&self) -> Result<()> {
        check_directory(&self.runtime, &std::fs::metadata(&self.runtime)?)?;
        let mut path = self.runtime.clone();
        for part in self.below.components() {
            path.push(part);
            match std::fs::symlink_metadata(&path) {
                Ok(meta) => check_directory(&path, &meta)?,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

fn check_directory(path: &Path, meta: &std::fs::Metadata) -> Result<()> {
    ensure!(meta.is_dir(), "could not trust {}: it is not a directory", path.display());
    files::check_owner_and_mode(path, meta, files::OTHERS_WRITE)
}
