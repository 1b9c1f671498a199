//! "Yes" in a dialog of a client that does not say so before the command has ended: the command that was asked about
//! runs as a child of the client, in a shell of its own.

use crate::reconcile::watcher::Report;
use crate::reconcile::{AskedCommand, WatchTarget};
use headspace_clients::client::codex;
use headspace_core::model::{Source, observed};
use headspace_core::stamp::Stamp;
use headspace_platform::process;
use serde_json::json;
use std::time::{Duration, Instant};

/// How precise the start of a process is.
const START_IS_EXACT_TO: Duration = Duration::from_millis(100);
/// How deep below the client a command may run: behind a sandbox or two.
const MAX_DEPTH: usize = 6;
const MAX_PROCESSES: usize = 200;

/// A look at all processes costs milliseconds, and a question may stay open for hours.
const LOOK_FOR_DAEMONS_EVERY: Duration = Duration::from_secs(10);

/// Looks for the commands that clients ask about.
#[derive(Debug, Default)]
pub(super) struct RunningCommands {
    /// Processes that run commands for many sessions, and when they were looked for.
    daemons: Option<(Instant, Vec<u32>)>,
}

impl RunningCommands {
    /// The commands among those that were asked about that run by now.
    pub(super) fn find(&mut self, targets: &[WatchTarget], now: Stamp) -> Vec<Report> {
        let mut reports = Vec::new();
        for target in targets.iter().filter(|target| !target.asked_commands.is_empty()) {
            let clients = match (&target.shared_in, target.client) {
                (Some(_), _) => self.daemons(),
                (None, Some(client)) => vec![client.pid],
                (None, None) => Vec::new(),
            };
            let runs = |asked: &&AskedCommand| {
                // A question without an id can be identified only if it is the only one.
                (asked.tool_use_id.is_some() || target.open_dialogs == 1)
                    && clients.iter().any(|client| runs_below(*client, asked))
            };
            reports
                .extend(target.asked_commands.iter().filter(runs).map(|asked| allowed(target, asked, now)));
        }
        reports
    }

    fn daemons(&mut self) -> Vec<u32> {
        match &self.daemons {
            Some((at, pids)) if at.elapsed() < LOOK_FOR_DAEMONS_EVERY => pids.clone(),
            _ => {
                let pids = codex::daemons();
                self.daemons = Some((Instant::now(), pids.clone()));
                pids
            }
        }
    }
}

fn allowed(target: &WatchTarget, asked: &AskedCommand, now: Stamp) -> Report {
    Report {
        name: observed::ALLOWED,
        session_id: target.session_id.clone(),
        at: now,
        source: Source::Process,
        body: json!({
            "uuid": format!("runs-{}", asked.opened_at.0), "tool_use_id": asked.tool_use_id, "timestamp": now,
        }),
        tail: None,
    }
}

fn runs_below(client: u32, asked: &AskedCommand) -> bool {
    let mut level = vec![client];
    let mut seen = 0;
    for _ in 0..MAX_DEPTH {
        level = level.iter().flat_map(|pid| process::children(*pid)).collect();
        seen += level.len();
        if level.is_empty() || seen > MAX_PROCESSES {
            return false;
        }
        let is_new = |pid: u32| {
            process::started_at(pid).is_some_and(|at| at.plus(START_IS_EXACT_TO) >= asked.opened_at)
        };
        let is_it = |pid: &u32| runs(&process::command_line(*pid), &asked.line) && is_new(*pid);
        if level.iter().any(is_it) {
            return true;
        }
    }
    false
}

/// Whether a process of this command line runs the command: a shell that was given it, perhaps with something around it,
/// or the part of it that took the shell's place.
fn runs(words: &[String], line: &str) -> bool {
    let line = line.strip_suffix('…').unwrap_or(line).trim();
    let script = words.iter().skip(1).skip_while(|word| !is_command_flag(word)).nth(1);
    script.is_some_and(|script| !line.is_empty() && one_line(script).contains(line)) || is_part(words, line)
}

/// `sleep 20` of `make; sleep 20`; `/bin/sh ./build.sh 3` of `./build.sh 3`.
fn is_part(words: &[String], line: &str) -> bool {
    let parts = line.split([';', '|', '&', '\n']).map(str::trim).filter(|part| !part.is_empty());
    let line_from = |first: usize| words.get(first..).map(|words| words.join(" ")).unwrap_or_default();
    let is_this = |part: &str| (0..=1).any(|first| line_from(first) == part);
    parts.into_iter().any(is_this)
}

/// `-c`, `-lc`, `-ic`
fn is_command_flag(word: &str) -> bool {
    word.strip_prefix('-').is_some_and(|letters| {
        letters.len() <= 4
            && letters.ends_with('c')
            && letters.bytes().all(|letter| letter.is_ascii_lowercase())
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_shell_that_runs_the_command_or_its_part_is_recognized() {
        for (words, line, expected) in [
            (&["/bin/bash", "-c", "npm test"][..], "npm test", true),
            (&["bash", "-lc", "exec '/bin/bash' -c 'npm test'"], "npm test", true),
            (&["bash", "-c", "{ npm\n  test; }; code=$?"], "npm test;", true),
            (&["bash", "-c", "npm run build && npm run test:all"], "npm run build && npm…", true),
            (&["bash", "-c", "/opt/headspace notify --client codex"], "npm test", false),
            (&["sleep", "20"], "touch x; sleep 20", true),
            (&["/bin/sh", "./build.sh", "3"], "./build.sh 3", true),
            (&["sleep", "20"], "sleep 200", false),
            (&["git", "status", "--short"], "git status", false),
            (&["node", "server.js"], "npm test", false),
            (&["bash", "-c"], "npm test", false),
            (&["bash", "-c", "npm test"], "…", false),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(runs(&words, line), expected, "{words:?} for {line:?}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_command_that_was_asked_about_is_seen_when_it_runs() {
        use headspace_platform::clock::WallClock;
        let asked = |line: &str, opened_at| AskedCommand { line: line.into(), tool_use_id: None, opened_at };
        let before = Stamp::now();
        let mut child =
            std::process::Command::new("sh").args(["-c", "sleep 41.5; true"]).spawn().expect("a shell");
        let own = std::process::id();
        // For a moment a new process has no command line yet.
        let deadline = Instant::now() + Duration::from_secs(60);
        while !runs_below(own, &asked("sleep 41.5; true", before)) {
            assert!(Instant::now() < deadline, "the command was never seen");
            std::thread::yield_now();
        }
        assert!(!runs_below(own, &asked("sleep 41.6", before)));
        let later = Stamp::now().plus(Duration::from_secs(60));
        assert!(!runs_below(own, &asked("sleep 41.5; true", later)), "it ran before anybody was asked");
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
