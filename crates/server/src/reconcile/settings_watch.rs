//! Checks whether the user's settings.json still has our hooks. Other tools rewrite that file, and a client without our
//! hooks looks like a client that does nothing.

use headspace_hooks::client_settings::{locate, merge};
use headspace_platform::config;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What the file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookPresence {
    Installed,
    Missing,
    /// `disableAllHooks`.
    SwitchedOff,
    Unreadable,
}

impl HookPresence {
    pub const fn word(self) -> &'static str {
        match self {
            HookPresence::Installed => "installed",
            HookPresence::Missing => "missing",
            HookPresence::SwitchedOff => "switched_off",
            HookPresence::Unreadable => "unreadable",
        }
    }
}

/// The file, and what it said when it last changed.
#[derive(Debug)]
pub struct SettingsWatch {
    path: PathBuf,
    program: Option<String>,
    seen: Option<(SystemTime, u64)>,
    said: HookPresence,
}

impl SettingsWatch {
    pub fn of_user() -> SettingsWatch {
        SettingsWatch::at(config::claude_dir().join("settings.json"), locate::program().ok())
    }

    pub fn at(path: PathBuf, program: Option<String>) -> SettingsWatch {
        SettingsWatch { path, program, seen: None, said: HookPresence::Missing }
    }

    /// Whether this path is the file, directly or as the target of a link.
    pub fn is(&self, path: &Path) -> bool {
        path == self.path || Some(path) == self.target().as_deref()
    }

    /// The directory of the actual file if the path is a link: it is rewritten there.
    pub fn directory(&self) -> Option<PathBuf> {
        Some(self.target()?.parent()?.to_owned())
    }

    fn target(&self) -> Option<PathBuf> {
        std::fs::canonicalize(&self.path).ok()
    }

    /// Reads the file if it changed.
    pub fn look(&mut self) -> HookPresence {
        let stat = std::fs::metadata(&self.path).ok();
        let now = stat.and_then(|stat| Some((stat.modified().ok()?, stat.len())));
        if now.is_none() {
            self.said = HookPresence::Missing;
        } else if now != self.seen {
            self.said = match headspace_platform::files::read_text(&self.path) {
                Ok(text) => hooks_in(&text, self.program.as_deref()),
                Err(_) => HookPresence::Unreadable,
            };
        }
        self.seen = now;
        self.said
    }
}

fn hooks_in(text: &str, program: Option<&str>) -> HookPresence {
    let Ok(found) = merge::find(text, program) else { return HookPresence::Unreadable };
    let settings: serde_json::Value = serde_json::from_str(&config::strict_json(text)).unwrap_or_default();
    if settings["disableAllHooks"] == true {
        HookPresence::SwitchedOff
    } else if found.is_empty() {
        HookPresence::Missing
    } else {
        HookPresence::Installed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OURS: &str =
        r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/usr/bin/headspace notify"}]}]}}"#;
    const OTHERS: &str = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "echo done"}]}]}}"#;

    #[test]
    fn a_file_that_lost_our_hooks_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        let mut settings = SettingsWatch::at(path.clone(), None);
        assert_eq!(settings.look(), HookPresence::Missing);
        for (text, said) in [
            (OURS, HookPresence::Installed),
            (OTHERS, HookPresence::Missing),
            (&OURS.replacen('{', r#"{"disableAllHooks": true, "#, 1), HookPresence::SwitchedOff),
            ("{ not json", HookPresence::Unreadable),
            (OURS, HookPresence::Installed),
        ] {
            std::fs::write(&path, text).unwrap();
            // Two writes may share a timestamp; a user's do not.
            settings.seen = None;
            assert_eq!(settings.look(), said, "{text}");
            assert_eq!(settings.look(), said, "{text}");
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(settings.look(), HookPresence::Missing);
    }
}
