//! Which Claude Code is installed, and which events it knows.

use headspace_core::model::event_names::EVENTS;
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// `2.1.325`
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub [u32; 3]);

impl Version {
    /// Older clients ignore the whole file if it names an event they do not know.
    const TOLERANT: Version = Version([2, 1, 101]);
    /// Older clients do not know `args` in an entry: they run the command alone, through a shell.
    const EXEC_FORM: Version = Version([2, 1, 139]);

    /// Reads the first word that looks like a version: `2.1.325 (Claude Code)`.
    pub fn parse(text: &str) -> Option<Version> {
        text.split_whitespace().find_map(|word| {
            let mut parts = word.trim_start_matches('v').splitn(3, '.');
            let mut next = || {
                let part = parts.next()?;
                let digits = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
                part[..digits].parse().ok()
            };
            Some(Version([next()?, next()?, next()?]))
        })
    }

    pub fn knows_exec_form(self) -> bool {
        self >= Version::EXEC_FORM
    }

    /// Whether a settings file may name `event` with this client.
    pub fn takes(self, event: &str) -> bool {
        if self >= Version::TOLERANT {
            return true;
        }
        let since = SINCE.iter().find(|(name, _)| *name == event);
        since.is_some_and(|(_, since)| self >= Version(*since))
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [major, minor, patch] = self.0;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// The version that introduced each event, from the client's changelog, up to [`Version::TOLERANT`]. Events that are not
/// listed came later. Where the changelog does not say: the first version known to have it.
const SINCE: [(&str, [u32; 3]); 23] = [
    ("PreToolUse", [1, 0, 38]),
    ("PostToolUse", [1, 0, 38]),
    ("Notification", [1, 0, 38]),
    ("Stop", [1, 0, 38]),
    ("SubagentStop", [1, 0, 41]),
    ("PreCompact", [1, 0, 48]),
    ("UserPromptSubmit", [1, 0, 54]),
    ("SessionStart", [1, 0, 62]),
    ("SessionEnd", [1, 0, 85]),
    ("SubagentStart", [2, 0, 43]),
    ("PermissionRequest", [2, 0, 45]),
    ("Setup", [2, 1, 10]),
    ("PostToolUseFailure", [2, 1, 33]),
    ("TeammateIdle", [2, 1, 33]),
    ("TaskCompleted", [2, 1, 33]),
    ("ConfigChange", [2, 1, 49]),
    ("PostCompact", [2, 1, 76]),
    ("Elicitation", [2, 1, 76]),
    ("ElicitationResult", [2, 1, 76]),
    ("StopFailure", [2, 1, 78]),
    ("CwdChanged", [2, 1, 83]),
    ("TaskCreated", [2, 1, 84]),
    ("PermissionDenied", [2, 1, 89]),
];

/// The events to install for a client of this version; an unknown version counts as today's.
pub fn events(version: Option<Version>) -> Vec<&'static str> {
    let names = EVENTS.iter().filter(|event| event.subscribed).map(|event| event.name);
    names.filter(|name| version.is_none_or(|version| version.takes(name))).collect()
}

/// Asks `claude --version`.
pub fn version() -> Option<Version> {
    version_of("claude")
}

/// Asks a program on the PATH for its version, for at most as long as a person waits without wondering.
pub fn version_of(program: &str) -> Option<Version> {
    let program = headspace_platform::process::on_path(program)?;
    let mut child = Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let deadline = Instant::now() + Duration::from_secs(3);
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    // It has ended, and a version fits any pipe, so its output is there. A process that inherited the pipe is not waited
    // for.
    let mut said = [0u8; 256];
    let count = child.stdout.take()?.read(&mut said).ok()?;
    Version::parse(&String::from_utf8_lossy(&said[..count]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_compared() {
        assert_eq!(Version::parse("2.1.325 (Claude Code)\n"), Some(Version([2, 1, 325])));
        assert_eq!(Version::parse("claude v1.0.9-beta.2"), Some(Version([1, 0, 9])));
        assert_eq!(Version::parse("Claude Code, a version of its own"), None);
        assert!(Version([2, 1, 9]) < Version([2, 1, 10]));
    }

    #[test]
    fn an_old_client_gets_only_the_names_it_knows() {
        assert_eq!(events(None).len(), 28);
        assert_eq!(events(Some(Version([2, 1, 101]))).len(), 28);
        let old = events(Some(Version([2, 0, 44])));
        assert!(old.contains(&"SubagentStart") && !old.contains(&"PermissionRequest"), "{old:?}");
        assert_eq!(events(Some(Version([2, 1, 100]))).len(), SINCE.len());
        for (name, _) in SINCE {
            assert!(
                headspace_core::model::event_names::by_name(name).is_some_and(|spec| spec.subscribed),
                "{name}"
            );
        }
    }
}
