//! `<state>/hub.json`: which hub this machine has joined, and `<state>/hub-status.json`: how the link is doing. The
//! first is secret; the second is only for `hub status`, and nothing depends on it.

use crate::level::Level;
use anyhow::{Context, Result, ensure};
use headspace_core::json::serialize::to_text;
use headspace_core::stamp::Stamp;
use headspace_platform::{config, files};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Membership {
    pub url: String,
    /// This machine's number at the hub, as text.
    pub edge: String,
    pub token: String,
    #[serde(default)]
    pub user: String,
    #[serde(default)]
    pub team: String,
    /// The level chosen when the machine joined.
    #[serde(default)]
    pub share: String,
    /// The most that the team accepts.
    #[serde(default)]
    pub share_max: String,
    /// A file with certificates that replaces the system's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
}

impl Membership {
    /// Reads the file, and refuses values that no hub gives: both words become part of requests.
    pub fn parse(bytes: &[u8]) -> Result<Membership> {
        let read: Membership = serde_json::from_slice(bytes)?;
        read.check()?;
        Ok(read)
    }

    /// Whether the values have the form that hubs give.
    pub fn check(&self) -> Result<()> {
        let number = self.edge.len() <= 10 && self.edge.bytes().all(|byte| byte.is_ascii_digit());
        ensure!(number && !self.edge.is_empty(), "the machine's number is not a number");
        let plain = self.token.bytes().all(|byte| byte.is_ascii_graphic());
        ensure!(plain && (1..=512).contains(&self.token.len()), "the token is not one");
        Ok(())
    }

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

/// `None`: this machine has not joined a hub.
pub fn read() -> Result<Option<Membership>> {
    let path = path();
    let text = match files::read_text(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error).with_context(|| format!("could not read {}", path.display())),
    };
    let read = Membership::parse(text.as_bytes());
    read.map(Some)
        .with_context(|| format!("could not understand {}: run `headspace hub join` again", path.display()))
}

pub fn write(membership: &Membership) -> Result<()> {
    files::private_dir(&config::state_dir())?;
    files::replace(&path(), &serde_json::to_vec_pretty(membership)?)?;
    let _ = std::fs::remove_file(status_path());
    Ok(())
}

/// `false`: there was no file.
pub fn remove() -> Result<bool> {
    let _ = std::fs::remove_file(status_path());
    match std::fs::remove_file(path()) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error).context("could not remove hub.json"),
    }
}

/// The state of the link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LinkStatus {
    /// The membership it is about: the status of another one says nothing.
    pub edge: String,
    /// The hub has everything up to here.
    pub pos: i64,
    /// Events sent since the server started.
    pub sent: u64,
    pub last_ok_at: Option<Stamp>,
    /// Hub minus machine, in seconds; 0 while a slow connection could explain it.
    pub clock_off_s: i64,
    pub error: Option<String>,
}

pub fn read_status() -> Option<LinkStatus> {
    serde_json::from_slice(files::read_text(&status_path()).ok()?.as_bytes()).ok()
}

pub fn write_status(status: &LinkStatus) {
    if let Ok(text) = to_text(status) {
        let _ = files::replace(&status_path(), text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_could_not_have_been_written_is_refused() {
        let good = json!({"url": "https://hub.example.org", "edge": "7", "token": "ab12"});
        let read = Membership::parse(good.to_string().as_bytes()).unwrap();
        assert_eq!((read.share(), read.share_max()), (Level::States, Level::Full));
        for (field, odd) in [
            ("edge", json!("")),
            ("edge", json!("7/1")),
            ("edge", json!("7\r\nx: y")),
            ("edge", json!("99999999999")),
            ("edge", json!(7)),
            ("token", json!("")),
            ("token", json!("a b")),
            ("token", json!("a\r\nx: y")),
            ("token", json!("a".repeat(513))),
            ("url", json!(null)),
        ] {
            let mut wrong = good.clone();
            wrong[field] = odd;
            assert!(Membership::parse(wrong.to_string().as_bytes()).is_err(), "{wrong}");
        }
        for bytes in [&b""[..], b"{", b"[]", b"null", b"\xff"] {
            assert!(Membership::parse(bytes).is_err());
        }
    }
}
