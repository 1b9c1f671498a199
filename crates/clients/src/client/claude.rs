//! Claude Code: its row, and its processes on this machine: what they write about themselves, and which of them run a
//! session that no hook has reported.

use crate::table::{Environment, GuardForm, Home, Registration, Row};
use headspace_core::model::Process;
use headspace_platform::files;
use headspace_platform::process;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Claude speaks the language that headspace itself speaks: nothing of its events has to be translated. Its settings are
/// the business of `hooks::client_settings`, which knows more about them than a row could say.
pub const ROW: Row = Row {
    name: "claude",
    title: "Claude Code",
    glyph: '✻',
    tried: "2.1.139 and later",
    home: Home { variable: Some("CLAUDE_CONFIG_DIR"), folder: ".claude" },
    program: "claude",
    print_words: &["-p", "--print"],
    is_shared: |_| false,
    reads_comments: false,
    registration: Registration::ClaudeSettings,
    environment: Environment::None,
    translate: |_, _| {},
    transcript: None,
    resume: "claude --resume {session}",
    guard: GuardForm::Claude,
    takes_context: true,
    after_install: "",
    is_silent: false,
};

/// A process that is Claude Code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    pub pid: u32,
    /// As [`process::start_time`] gives it.
    pub start: Option<u64>,
    /// Where it was started; unknown for another user's process.
    pub cwd: Option<PathBuf>,
}

/// All that are running now, lowest pid first.
#[cfg(target_os = "linux")]
pub fn running() -> Vec<Client> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let client = |entry: std::fs::DirEntry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        is_client(&process::command_line(pid)).then(|| Client {
            pid,
            start: process::start_time(pid),
            cwd: process::cwd(pid),
        })
    };
    let mut found: Vec<Client> = entries.flatten().filter_map(client).collect();
    found.sort_unstable_by_key(|client| client.pid);
    found
}

#[cfg(not(target_os = "linux"))]
pub fn running() -> Vec<Client> {
    let Ok(out) = std::process::Command::new("ps").args(["-axo", "pid=,args="]).output() else {
        return Vec::new();
    };
    let client = |line: &str| {
        let (pid, args) = line.trim().split_once(' ')?;
        let words: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
        let pid = pid.parse().ok()?;
        is_client(&words).then(|| Client { pid, start: process::start_time(pid), cwd: process::cwd(pid) })
    };
    String::from_utf8_lossy(&out.stdout).lines().filter_map(client).collect()
}

/// Finds clients that were started since the last look.
#[derive(Debug, Default)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
pub struct Newcomers {
    known: HashSet<u32>,
    /// Seen once: a process that a shell has just started may still be the shell itself.
    young: HashSet<u32>,
    /// The newest pid the system gave out: while it is unchanged, nothing was started.
    last_pid: Option<String>,
}

impl Newcomers {
    #[cfg(target_os = "linux")]
    pub fn look(&mut self) -> Vec<Process> {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let last_pid = load.split_whitespace().next_back().map(str::to_owned);
        if last_pid.is_some() && last_pid == self.last_pid && self.young.is_empty() {
            return Vec::new();
        }
        self.last_pid = last_pid;
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let now: HashSet<u32> =
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        let (clients, others): (Vec<u32>, Vec<u32>) =
            now.difference(&self.known).copied().partition(|pid| is_client(&process::command_line(*pid)));
        self.young = others.into_iter().filter(|pid| !self.young.contains(pid)).collect();
        self.known = now.difference(&self.young).copied().collect();
        let process = |pid: u32| Some(Process { pid, start: process::start_time(pid)? });
        clients.into_iter().filter_map(process).collect()
    }

    /// Listing processes takes a process of its own on this system.
    #[cfg(not(target_os = "linux"))]
    pub fn look(&mut self) -> Vec<Process> {
        Vec::new()
    }
}

/// The working directory of a client that runs in a terminal with this configuration directory; `None` for any other
/// process.
#[cfg(target_os = "linux")]
pub fn interactive_in(pid: u32, config: &Path) -> Option<PathBuf> {
    let words = process::command_line(pid);
    let prints = |word: &String| word == "-p" || word == "--print";
    if !is_client(&words) || words.iter().any(prints) || !process::has_terminal(pid) {
        return None;
    }
    // Two variables of its environment tell whose it is; nothing else in it is read.
    let environment = std::fs::read(format!("/proc/{pid}/environ")).ok()?;
    let value = |name: &[u8]| {
        let found =
            environment.split(|b| *b == 0).find_map(|pair| pair.strip_prefix(name)?.strip_prefix(b"="))?;
        Some(PathBuf::from(String::from_utf8_lossy(found).into_owned()))
    };
    let theirs = value(b"CLAUDE_CONFIG_DIR").or_else(|| Some(value(b"HOME")?.join(".claude")))?;
    (theirs == config).then(|| process::cwd(pid)).flatten()
}

#[cfg(not(target_os = "linux"))]
pub fn interactive_in(_: u32, _: &Path) -> Option<PathBuf> {
    None
}

/// A native binary called `claude`, or node running its script.
fn is_client(words: &[String]) -> bool {
    let name = |word: &String| word.rsplit('/').next().unwrap_or(word).to_owned();
    let Some(program) = words.first().map(name) else { return false };
    let script = words.get(1).map(String::as_str).unwrap_or_default();
    program == "claude"
        || (program.starts_with("node")
            && (script.ends_with("/claude") || script.contains("claude-code/cli")))
}

/// What a client writes about itself in `<config>/sessions/<pid>.json`. This is not a contract: any field may be
/// missing. Older clients do not rewrite it when the session changes (`/clear`, `--continue`), so the session id can
/// confirm a match, but never rule one out.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Note {
    pub session_id: String,
    pub pid: Option<u32>,
    /// As the kernel counts it: a number written as text.
    #[serde(default)]
    proc_start: Value,
    /// `busy`, `idle`, `waiting` or `shell`.
    pub status: Option<String>,
    /// Which dialog is open.
    pub waiting_for: Option<String>,
    /// Milliseconds.
    pub status_updated_at: Option<i64>,
    pub started_at: Option<i64>,
    pub cwd: Option<String>,
    pub entrypoint: Option<String>,
    pub version: Option<String>,
    name: Option<String>,
    name_source: Option<String>,
}

/// Those seen so far have 700 bytes.
const MAX_NOTE_BYTES: u64 = 64 << 10;

impl Note {
    /// The note of the process that writes this transcript, `<config>/projects/<directory>/<session>.jsonl`.
    pub fn beside(transcript: &Path, pid: u32) -> Option<Note> {
        Note::read(&transcript.ancestors().nth(3)?.join(format!("sessions/{pid}.json")))
    }

    /// The process that wrote it, if that very process still runs.
    pub fn writer(&self) -> Option<Process> {
        let pid = self.pid?;
        let start = process::start_time(pid)?;
        self.is_by(start).then_some(Process { pid, start })
    }

    /// The name the user gave the session.
    pub fn title(&self) -> Option<&str> {
        self.name.as_deref().filter(|_| self.name_source.as_deref() == Some("user"))
    }

    /// Whether it was written by a process that started then.
    fn is_by(&self, start: u64) -> bool {
        let noted = &self.proc_start;
        noted.as_u64() == Some(start) || noted.as_str().is_some_and(|text| text.parse() == Ok(start))
    }

    /// Must be a regular file and not too big: reading a pipe without a writer would block.
    pub fn read(path: &Path) -> Option<Note> {
        std::fs::symlink_metadata(path).ok().filter(|meta| meta.is_file() && meta.len() <= MAX_NOTE_BYTES)?;
        serde_json::from_slice(&files::read_up_to(path, MAX_NOTE_BYTES).ok()?).ok()
    }
}

/// The process in `running` that must be running this session: the one that says so itself, or the only one in the
/// session's directory that no other session claims. `None` if in doubt: a wrong match would end the agent.
pub fn of_session<'a>(
    running: &'a [Client],
    taken: &HashSet<u32>,
    session_id: &str,
    transcript: &Path,
    cwd: &Path,
) -> Option<&'a Client> {
    let directory = transcript.parent()?;
    let says_so = |client: &&Client| {
        let note = Note::beside(transcript, client.pid);
        note.is_some_and(|note| note.session_id == session_id)
    };
    if let Some(client) = running.iter().find(says_so) {
        return Some(client);
    }
    let here = |client: &&Client| {
        client.cwd.as_deref().is_some_and(|place| {
            place == cwd || directory.file_name().is_some_and(|name| name == directory_name(place).as_str())
        })
    };
    let mut free = running.iter().filter(here).filter(|client| !taken.contains(&client.pid));
    let only = free.next()?;
    free.next().is_none().then_some(only)
}

/// The name of the client's transcript directory for `place`.
pub fn directory_name(place: &Path) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    place.to_string_lossy().chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_is_distinguished_from_processes_that_mention_it() {
        for (line, expected) in [
            ("/usr/local/bin/claude --resume", true),
            ("claude", true),
            ("node /usr/bin/claude -p hi", true),
            ("node /x/node_modules/@anthropic-ai/claude-code/cli.js", true),
            ("vim claude.md", false),
            ("node server.js claude", false),
            ("", false),
        ] {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(is_client(&words), expected, "{line}");
        }
    }

    #[test]
    fn a_session_is_matched_to_a_process_only_without_doubt() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("sessions")).unwrap();
        std::fs::write(dir.path().join("sessions/3.json"), r#"{"pid":3,"sessionId":"noted"}"#).unwrap();
        let at = |pid, cwd: &str| Client { pid, start: Some(1), cwd: Some(cwd.into()) };
        let running = [at(1, "/a"), at(2, "/b"), at(3, "/b"), at(4, "/c/my.site")];
        let find = |session: &str, directory: &str, cwd: &str, taken: &[u32]| {
            let transcript = dir.path().join("projects").join(directory).join(format!("{session}.jsonl"));
            let taken = taken.iter().copied().collect();
            of_session(&running, &taken, session, &transcript, Path::new(cwd)).map(|client| client.pid)
        };
        assert_eq!(find("s", "-a", "/a", &[]), Some(1));
        assert_eq!(find("s", "-a", "/a", &[1]), None, "another session has it");
        assert_eq!(find("s", "-b", "/b", &[]), None, "either of two");
        assert_eq!(find("s", "-b", "/b", &[3]), Some(2));
        assert_eq!(find("noted", "-b", "/b", &[]), Some(3));
        // The session went on to a directory below the one it was started in.
        assert_eq!(find("s", "-c-my-site", "/c/my.site/src", &[]), Some(4));
        assert_eq!(find("s", "-nowhere", "/nowhere", &[]), None);
    }
}
