//! Backups of a settings file, and a record of what install wrote: by that, uninstall knows whether the file was changed
//! since.

use anyhow::{Context, Result};
use fs_err as fs;
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_platform::config;
use headspace_platform::files;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

/// How many backups of a file are kept, beside the one from before the first install.
const MAX_BACKUPS: usize = 10;

/// The file before the first install.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileOrigin {
    /// It did not exist.
    Absent,
    /// The name of the backup.
    Backup(String),
}

/// What install has done to one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InstallRecord {
    pub path: PathBuf,
    pub origin: Option<FileOrigin>,
    /// Fingerprints of the file as install left it, until another program changes it: the latest, and the one before in case
    /// the latest never reached the disk.
    pub written: Vec<String>,
    /// The choices of the last install, which `up` repeats.
    pub events: Option<Vec<String>>,
    pub script: bool,
    /// Directories that install created, outermost first.
    pub made: Vec<PathBuf>,
}

impl InstallRecord {
    /// Whether install wrote exactly these bytes.
    pub fn wrote(&self, bytes: &[u8]) -> bool {
        self.written.contains(&fingerprint(bytes))
    }
}

/// The backups of one settings file.
#[derive(Clone, Debug)]
pub struct Backups {
    dir: PathBuf,
    stem: String,
}

impl Backups {
    /// For the file behind all links. The name is for people; the number makes it unique.
    pub fn of(file: &Path) -> Backups {
        let name = |path: Option<&std::ffi::OsStr>| {
            let name = path.unwrap_or_default().to_string_lossy();
            name.trim_start_matches('.').chars().take(60).collect::<String>()
        };
        let folder = name(file.parent().and_then(Path::file_name));
        let key = fnv(file.as_os_str().as_encoded_bytes()) as u32;
        Backups {
            dir: config::state_dir().join("backups"),
            stem: format!("{folder}-{}-{key:08x}", name(file.file_name())),
        }
    }

    /// Saves `bytes` in a file that only its owner can read.
    pub fn save(&self, bytes: &[u8]) -> Result<PathBuf> {
        files::private_dir(&self.dir)?;
        let stamp: String = Stamp::now().to_string().chars().filter(|c| !matches!(c, '-' | ':')).collect();
        let path = self.dir.join(format!("{}.{stamp}.bak", self.stem));
        let mut file = files::create_private(&path).context("could not make a backup")?;
        file.write_all(bytes).and_then(|()| file.sync_all()).context("could not write the backup")?;
        Ok(path)
    }

    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        files::read(&self.dir.join(name)).ok()
    }

    /// Removes all but the newest, and never the one in `origin`.
    pub fn prune(&self, origin: Option<&FileOrigin>) {
        let prefix = format!("{}.", self.stem);
        let Ok(entries) = std::fs::read_dir(&self.dir) else { return };
        let mut names: Vec<String> = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter(|name| name.starts_with(&prefix) && name.ends_with(".bak"))
            .filter(|name| !matches!(origin, Some(FileOrigin::Backup(keep)) if keep == name))
            .collect();
        names.sort_unstable();
        let surplus = names.len().saturating_sub(MAX_BACKUPS);
        for name in &names[..surplus] {
            let _ = fs::remove_file(self.dir.join(name));
        }
    }

    pub fn record(&self) -> Option<InstallRecord> {
        serde_json::from_slice(&files::read(&self.record_path()).ok()?).ok()
    }

    pub fn keep(&self, record: &InstallRecord) -> Result<()> {
        files::private_dir(&self.dir)?;
        let text = serde_json::to_string_pretty(record)? + "\n";
        files::replace(&self.record_path(), text.as_bytes()).context("could not keep a record of the install")
    }

    pub fn forget(&self) {
        let _ = fs::remove_file(self.record_path());
    }

    fn record_path(&self) -> PathBuf {
        self.dir.join(format!("{}.installed.json", self.stem))
    }
}

/// Tells a changed file from an unchanged one; there is no reason to forge it.
pub fn fingerprint(bytes: &[u8]) -> String {
    format!("{}-{:032x}", bytes.len(), fnv(bytes))
}

/// FNV-1a, 128 bits.
fn fnv(bytes: &[u8]) -> u128 {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    bytes.iter().fold(BASIS, |hash, byte| (hash ^ u128::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fingerprint_is_the_published_function() {
        // Known values of FNV-1a with 128 bits.
        assert_eq!(fnv(b""), 0x6c62272e07bb014262b821756295c58d);
        assert_eq!(fnv(b"a"), 0xd228cb696f1a8caf78912b704e4a8964);
    }
}
