//! `<state>/hub.json`: which hub this machine has joined, and `<state>/hub-status.json`: how it goes. The first is the secret
//! one; the second is only for `hub status`, and nothing depends on it.

use crate::level::Level;
use anyhow::{Context, Result};
use headspace_core::stamp::Stamp;
use headspace_platform::{config, files};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Membership {
    pub url: String,
    /// The number of this machine at the hub, as text.
    pub edge: String,
    pub token: String,
    #[serde(default)]
    pub user: String,
    #[serde(default)]
    pub team: String,
    /// What was chosen when the machine joined.
    #[serde(default)]
    pub share: String,
    /// The most that the team takes.
    #[serde(default)]
    pub share_max: String,
    /// A file with certificates, instead of the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
}

impl Membership {
    pub fn share(&self) -> Level {
        Level::from_word(&self.share).unwrap_or(Level::States)
    }

    pub fn share_max(&self) -> Level {
        Level::from_word(&self.share_max).unwrap_or(Level::Full)
    }
}

pub fn path() -> PathBuf {
    config::state_dir().join("hub.json")
}

fn status_path() -> PathBuf {
    config::state_dir().join("hub-status.json")
}

/// `None`: this machine has joined no hub.
pub fn read() -> Result<Option<Membership>> {
    let path = path();
    let text = match files::read_text(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("could not read {}", path.display())),
    };
    let read = serde_json::from_slice(text.as_bytes());
    read.map(Some)
        .with_context(|| format!("could not understand {}: run `headspace hub join` again", path.display()))
}

pub fn write(membership: &Membership) -> Result<()> {
    files::private_dir(&config::state_dir())?;
    files::replace(&path(), &serde_json::to_vec_pretty(membership)?)?;
    let _ = std::fs::remove_file(status_path());
    Ok(())
}

/// `false`: there was none.
pub fn remove() -> Result<bool> {
    let _ = std::fs::remove_file(status_path());
    match std::fs::remove_file(path()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).context("could not remove hub.json"),
    }
}

/// How the link is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkStatus {
    /// Of which membership: another one's status says nothing.
    pub edge: String,
    /// The hub has everything up to here.
    pub pos: i64,
    /// Events that left since the server started.
    pub sent: u64,
    pub last_ok_at: Option<Stamp>,
    /// Hub minus machine, in seconds; 0 while it is no more than a slow journey.
    pub clock_off_s: i64,
    pub error: Option<String>,
}

pub fn read_status() -> Option<LinkStatus> {
    serde_json::from_slice(files::read_text(&status_path()).ok()?.as_bytes()).ok()
}

pub fn write_status(status: &LinkStatus) {
    if let Ok(bytes) = serde_json::to_vec(status) {
        let _ = files::replace(&status_path(), &bytes);
    }
}
