//! OpenAI's Codex: Claude's shape with an event for Esc, a prompt for trust, and a daemon that runs everybody's hooks.

use crate::incoming::Incoming;
use crate::json_lines::{self, at, number, text};
use crate::table::{Environment, Event, GuardForm, Home, Registration, Row, Transcript, Unit, same, within};
use headspace_core::model::Process;
use headspace_core::transcript::{Entry, Seen, Usage};
#[cfg(target_os = "linux")]
use headspace_platform::process;
use serde_json::Value;
use std::path::{Path, PathBuf};

pub const ROW: Row = Row {
    name: "codex",
    title: "Codex",
    glyph: '⬡',
    tried: "0.166.0",
    home: Home { variable: Some("CODEX_HOME"), folder: ".codex" },
    program: "codex",
    print_words: &["exec", "e"],
    is_shared: is_daemon,
    registration: Registration::Groups { file: "hooks.json", unit: Unit::Seconds, events: EVENTS },
    environment: Environment::None,
    translate: |incoming, _| translate(incoming),
    transcript: Some(Transcript { is_named, read }),
    resume: "codex resume {session}",
    guard: GuardForm::DenyOnly,
    takes_context: false,
    after_install: "start codex once and choose Trust: until then it runs no hook, and says nothing",
    is_silent: false,
};

/// The client cuts these two to three seconds, and warns at every start of what is longer.
const AT_THE_END: u64 = 3;

const EVENTS: &[Event] = &[
    same("SessionStart"),
    same("UserPromptSubmit"),
    same("PreToolUse"),
    same("PermissionRequest"),
    same("PostToolUse"),
    same("PreCompact"),
    same("PostCompact"),
    same("SubagentStart"),
    same("SubagentStop"),
    same("Stop"),
    within("Interrupt", AT_THE_END),
    within("SessionEnd", AT_THE_END),
];

fn translate(incoming: &mut Incoming) {
    incoming.keep_subagent_transcript_apart();
}

/// Whether a process of this command line is the shared daemon: it runs the hooks of every terminal, so neither its
/// environment nor its end says anything about one of them.
pub fn is_daemon(words: &[String]) -> bool {
    words.iter().skip(1).any(|word| word == "app-server" || word == "--managed-daemon")
}

/// Whether a process of this command line is Codex in a terminal.
pub fn is_terminal(words: &[String]) -> bool {
    let program = words.first().map(|word| word.rsplit('/').next().unwrap_or(word));
    let prints = words.iter().skip(1).any(|word| ROW.print_words.contains(&word.as_str()));
    program == Some(ROW.program) && !is_daemon(words) && !prints
}

/// A Codex that runs in a terminal.
#[derive(Clone, Debug, PartialEq)]
pub struct Terminal {
    pub process: Process,
    pub cwd: PathBuf,
    /// Its pane, if it was started inside tmux, and the socket of that tmux.
    pub pane: Option<String>,
    pub socket: Option<String>,
}

/// All that run now.
#[cfg(target_os = "linux")]
pub fn terminals() -> Vec<Terminal> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let terminal = |entry: std::fs::DirEntry| {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        if !is_terminal(&process::command_line(pid)) || !process::has_terminal(pid) {
            return None;
        }
        let process = Process { pid, start: process::start_time(pid)? };
        // Two words of its environment say where it is shown; nothing else of it is looked at.
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let value = |name: &[u8]| {
            let pairs = environment.split(|b| *b == 0);
            let found = pairs.filter_map(|pair| pair.strip_prefix(name)?.strip_prefix(b"=")).next()?;
            Some(String::from_utf8_lossy(found).into_owned()).filter(|text| !text.is_empty())
        };
        let socket = value(b"TMUX").and_then(|tmux| Some(tmux.split(',').next()?.to_owned()));
        Some(Terminal { process, cwd: process::cwd(pid)?, pane: value(b"TMUX_PANE"), socket })
    };
    entries.flatten().filter_map(terminal).collect()
}

/// Listing processes costs a process of its own there.
#[cfg(not(target_os = "linux"))]
pub fn terminals() -> Vec<Terminal> {
    Vec::new()
}

/// What Codex calls an event in the keys of its consent: `PreToolUse` ▶ `pre_tool_use`.
fn trust_name(event: &str) -> String {
    headspace_core::event_names::slug_of(event).replace('-', "_")
}

/// Whether `config.toml` holds the user's consent to an entry of `hooks.json`: it is kept per file, event, group and
/// place in the group. What exactly was consented to only Codex knows.
pub fn is_trusted(config: &str, file: &Path, event: &str, group: usize, index: usize) -> bool {
    let key = format!("{}:{}:{group}:{index}", file.display(), trust_name(event));
    let quoted = [format!("\"{}\"", key.replace('\\', "\\\\").replace('"', "\\\"")), format!("'{key}'")];
    config
        .lines()
        .map(str::trim_start)
        .filter(|line| !line.starts_with('#'))
        .any(|line| quoted.iter().any(|key| line.contains(key.as_str())))
}

/// `rollout-<time>-<session>.jsonl`
fn is_named(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("rollout-") && name.ends_with(".jsonl")
}

/// Hooks say most of it; a failed API call and what fills the context only stand here.
fn read(line: &[u8]) -> Option<Entry> {
    let line = json_lines::parse(line, &["event_msg", "session_meta", "turn_context"])?;
    let payload = line.get("payload")?;
    let mut entry = json_lines::entry(&line, "ordinal");
    match text(&line, "type")? {
        "session_meta" => {
            entry.session_id = text(payload, "id").map(str::to_owned);
            entry.cwd = text(payload, "cwd").map(str::to_owned);
            entry.version = text(payload, "cli_version").map(str::to_owned);
        }
        "event_msg" => event(payload, &mut entry),
        _ => {}
    }
    Some(entry)
}

fn event(payload: &Value, entry: &mut Entry) {
    if let Some(turn) = text(payload, "turn_id") {
        // Unlike the ordinal the turn is the same however often the line is read.
        entry.uuid = format!("{turn}-{}", text(payload, "type").unwrap_or_default());
    }
    match text(payload, "type") {
        Some("task_complete") => {
            if let Some(error) = payload.get("error").filter(|error| !error.is_null()) {
                let message = text(error, "message").or_else(|| error.as_str()).unwrap_or("the API failed");
                entry.seen.push(Seen::ApiError { error: message.to_owned(), text: String::new() });
            } else if let Some(answer) = text(payload, "last_agent_message") {
                entry.seen.push(Seen::Text {
                    text: answer.to_owned(),
                    message_id: None,
                    stop_reason: Some("end_turn".to_owned()),
                });
            }
            entry.seen.push(Seen::TurnEnd);
        }
        Some("turn_aborted") => entry.seen.push(Seen::Interrupted { tool: false }),
        Some("token_count") => {
            if let Some(used_tokens) = at(payload, "/info/last_token_usage/input_tokens").and_then(number) {
                let window = at(payload, "/info/model_context_window").and_then(number);
                entry.seen.push(Seen::Usage(Usage { used_tokens, model: None, window, compacted: false }));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_terminal_is_told_from_the_daemon_and_from_a_print_run() {
        for (line, terminal, daemon) in [
            ("codex", true, false),
            ("/opt/bin/codex resume --last", true, false),
            ("codex app-server --listen unix:// --managed-daemon", false, true),
            ("codex app-server daemon pid-update-loop", false, true),
            ("codex exec x", false, false),
            ("vim codex", false, false),
        ] {
            assert_eq!((is_terminal(&words(line)), is_daemon(&words(line))), (terminal, daemon), "{line}");
        }
    }

    #[test]
    fn consent_is_kept_per_file_event_group_and_place() {
        let file = Path::new("/h/.codex/hooks.json");
        let config = "model = \"m\"\n[hooks.state.\"/h/.codex/hooks.json:pre_tool_use:1:0\"]\ntrusted_hash = \"sha256:0\"\n\
                      # [hooks.state.\"/h/.codex/hooks.json:stop:0:0\"]\n";
        assert!(is_trusted(config, file, "PreToolUse", 1, 0));
        assert!(!is_trusted(config, file, "PreToolUse", 0, 0));
        assert!(!is_trusted(config, file, "Stop", 0, 0));
        assert!(!is_trusted("", file, "PreToolUse", 1, 0));
    }
}
