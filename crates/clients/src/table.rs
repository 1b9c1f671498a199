//! The table of clients, and what a row is made of.

use crate::Reader;
use crate::client::claude;
use crate::client::codex;
use crate::client::copilot;
use crate::client::cursor;
use crate::client::gemini;
use crate::client::opencode;
use crate::client::qwen;
use crate::incoming::{Incoming, Surroundings};
use headspace_platform::config;
use std::path::{Path, PathBuf};

/// Every client that is known by name. Claude is first; the others are in the order in which the environment is searched
/// for them (Qwen also sets a variable of Gemini's).
pub const CLIENTS: &[Row] =
    &[claude::ROW, codex::ROW, qwen::ROW, gemini::ROW, copilot::ROW, opencode::ROW, cursor::ROW];

/// One client.
#[derive(Clone, Copy)]
pub struct Row {
    /// On the command line, in events and in agents.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// One column wide.
    pub glyph: char,
    /// The version whose events were recorded.
    pub tried: &'static str,
    pub home: Home,
    /// What it is called on the PATH.
    pub program: &'static str,
    /// Words on its command line that make it a headless run, which cannot be answered.
    pub print_words: &'static [&'static str],
    /// Whether a process of this command line runs the hooks of many sessions.
    pub is_shared: fn(&[String]) -> bool,
    /// It reads its file as JSON with comments; the others ignore a file that has some.
    pub reads_comments: bool,
    pub registration: Registration,
    pub environment: Environment,
    /// Turns what the client sent into headspace's own event, where names alone do not do it.
    pub translate: fn(&mut Incoming, &Surroundings),
    pub transcript: Option<Transcript>,
    /// With `{session}` where the session's id belongs.
    pub resume: &'static str,
    pub guard: GuardForm,
    /// Context that a hook prints at SessionStart reaches the model.
    pub takes_context: bool,
    /// What the user has to do after an install, if anything.
    pub after_install: &'static str,
    /// Denials, interrupts and errors leave no trace: what it was last seen doing is a guess after a while.
    pub is_silent: bool,
}

/// Where the client keeps its configuration.
#[derive(Clone, Copy, Debug)]
pub struct Home {
    /// Names the directory, if it is set.
    pub variable: Option<&'static str>,
    /// Below the user's home; `$XDG_CONFIG_HOME` takes the place of a leading `.config`.
    pub folder: &'static str,
}

/// How our hook is registered.
#[derive(Clone, Copy, Debug)]
pub enum Registration {
    /// Claude's own settings file.
    ClaudeSettings,
    /// Groups of entries in a JSON file that is the user's: `{"hooks": {"Event": [{"hooks": [{…}]}]}}`.
    Groups { file: &'static str, unit: Unit, events: &'static [Event] },
    /// A file of our own beside the user's: `{"version": 1, "hooks": {"Event": [{…}]}}`.
    DropIn { file: &'static str, events: &'static [Event] },
    /// A program text of our own that the client loads; `{command}` stands for the JSON list of words to run.
    Plugin { file: &'static str, source: &'static str },
    /// It runs Claude's hooks; nothing of its own is written.
    None,
}

/// The unit of a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Milliseconds,
}

impl Unit {
    pub const fn of_seconds(self, seconds: u64) -> u64 {
        match self {
            Unit::Seconds => seconds,
            Unit::Milliseconds => seconds * 1000,
        }
    }
}

/// An event of the client's that we subscribe to.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub theirs: &'static str,
    /// What headspace calls it.
    pub ours: &'static str,
    /// How long the client may wait for our hook, in seconds.
    pub timeout: u64,
}

/// Longer than the hook ever takes: if a client waits this long, the machine is stuck, not the hook.
const HOOK_TIMEOUT: u64 = 10;

/// An event that is called the same here.
pub const fn same(name: &'static str) -> Event {
    Event { theirs: name, ours: name, timeout: HOOK_TIMEOUT }
}

pub const fn renamed(theirs: &'static str, ours: &'static str) -> Event {
    Event { theirs, ours, timeout: HOOK_TIMEOUT }
}

pub const fn within(name: &'static str, timeout: u64) -> Event {
    Event { theirs: name, ours: name, timeout }
}

/// How a hook process knows that this client runs it, where the command does not say so.
#[derive(Clone, Copy, Debug)]
pub enum Environment {
    /// It sets no variable of its own.
    None,
    /// This variable is set.
    Has(&'static str),
    /// This variable holds the session's id: a child of the client inherits the variable, but has another session.
    Session(&'static str),
}

/// What the client reads from a hook that judges a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuardForm {
    /// `hookSpecificOutput` with allow, deny or ask.
    Claude,
    /// The same, but nothing other than a denial is understood: what should be asked is denied, with the reason.
    DenyOnly,
    /// `permissionDecision` at the top.
    TopLevel,
    /// It honors no decision.
    None,
}

/// The client's record of a session.
#[derive(Clone, Copy)]
pub struct Transcript {
    /// Whether a file has the name and the place of one.
    pub is_named: fn(&Path) -> bool,
    pub read: Reader,
    /// A subagent's own file, by the session's and the subagent's id.
    pub of_subagent: Option<fn(&Path, &str) -> Option<PathBuf>>,
    /// The file is an SQLite database whose rows are the lines.
    pub rows: Option<Rows>,
}

/// How the lines of a session are found in a database. They are numbered, and never change.
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    /// The number of the newest line of session `?1`.
    pub newest: &'static str,
    /// Number and text of at most `?3` lines of session `?1`, from number `?2` on, in order.
    pub read: &'static str,
}

pub fn named(name: &str) -> Option<&'static Row> {
    CLIENTS.iter().find(|row| row.name == name)
}

impl Row {
    /// Its configuration directory, for the user who runs this.
    pub fn directory(&self) -> PathBuf {
        if let Some(named) = self.home.variable.and_then(config::env_path) {
            return named;
        }
        match self.home.folder.strip_prefix(".config/") {
            Some(rest) => config::config_home().join(rest),
            None => config::home().join(self.home.folder),
        }
    }

    /// The file that install writes, if it writes one.
    pub fn file(&self) -> Option<PathBuf> {
        let name = match self.registration {
            Registration::Groups { file, .. }
            | Registration::DropIn { file, .. }
            | Registration::Plugin { file, .. } => file,
            Registration::ClaudeSettings => "settings.json",
            Registration::None => return None,
        };
        Some(self.directory().join(name))
    }

    /// The events we subscribe to. Claude's are listed elsewhere, with the settings; a plugin chooses its own.
    pub fn events(&self) -> &'static [Event] {
        match self.registration {
            Registration::Groups { events, .. } | Registration::DropIn { events, .. } => events,
            Registration::Plugin { .. } => opencode::EVENTS,
            Registration::ClaudeSettings | Registration::None => &[],
        }
    }

    /// What headspace calls an event of this client's.
    pub fn event(&self, theirs: &str) -> Option<&'static Event> {
        self.events().iter().find(|event| event.theirs == theirs)
    }

    /// The command that resumes a session, for a person to run.
    pub fn resume_command(&self, session_id: &str) -> String {
        self.resume.replace("{session}", session_id)
    }
}

impl std::fmt::Debug for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_row_is_told_from_the_others_by_name_glyph_and_file() {
        let mut names = HashSet::new();
        let mut glyphs = HashSet::new();
        let mut folders = HashSet::new();
        for row in CLIENTS {
            assert!(names.insert(row.name) && glyphs.insert(row.glyph) && folders.insert(row.home.folder));
            assert!(row.name.bytes().all(|byte| byte.is_ascii_lowercase()), "{row:?}");
            assert!(!row.glyph.is_ascii(), "{row:?}: groups have the ASCII glyphs");
            assert_eq!(named(row.name).map(|found| found.title), Some(row.title));
        }
    }

    #[test]
    fn the_page_has_the_same_glyphs_and_words() {
        let page = include_str!("../../../web/lib/clients.js");
        for row in CLIENTS {
            let line = format!(
                "{}: {{ glyph: '{}', title: '{}', resume: '{}' }},",
                row.name, row.glyph, row.title, row.resume
            );
            assert!(page.contains(&line), "web/lib/clients.js lacks: {line}");
        }
    }

    #[test]
    fn a_timeout_is_given_in_the_clients_unit() {
        assert_eq!(Unit::Seconds.of_seconds(HOOK_TIMEOUT), 10);
        assert_eq!(Unit::Milliseconds.of_seconds(HOOK_TIMEOUT), 10_000);
    }

    #[test]
    fn no_event_is_registered_twice() {
        for row in CLIENTS {
            let theirs: HashSet<&str> = row.events().iter().map(|event| event.theirs).collect();
            assert_eq!(theirs.len(), row.events().len(), "{row:?}");
        }
    }
}
