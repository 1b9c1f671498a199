//! OpenAI's Codex: Claude's shape with an event for Esc, a prompt for trust, and a daemon that runs everybody's hooks.

use crate::client::json_lines::{self, at, number, text};
use crate::incoming::Incoming;
use crate::table::{Environment, Event, GuardForm, Home, Registration, Row, Transcript, Unit, same, within};
use headspace_core::model::Process;
use headspace_core::stamp::Stamp;
use headspace_core::transcript::{Entry, Seen, Usage};
use headspace_platform::file_look::FileLooks;
use headspace_platform::files;
#[cfg(target_os = "linux")]
use headspace_platform::process;
use serde_json::Value;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub const ROW: Row = Row {
    name: "codex",
    title: "Codex",
    glyph: '⬡',
    tried: "0.169.0",
    home: Home { variable: Some("CODEX_HOME"), folder: ".codex" },
    program: "codex",
    print_words: &["exec", "e"],
    is_shared: is_daemon,
    reads_comments: false,
    registration: Registration::Groups { file: "hooks.json", unit: Unit::Seconds, events: EVENTS },
    environment: Environment::None,
    translate: |incoming, _| translate(incoming),
    transcript: Some(Transcript { is_named, read, of_subagent: Some(of_subagent), rows: None }),
    resume: "codex resume {session}",
    guard: GuardForm::DenyOnly,
    takes_context: false,
    after_install: "start codex once and choose Trust: until then it runs no hook, and says nothing",
    is_silent: false,
};

/// The client limits these two to three seconds, and warns at every start about a longer timeout.
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
    // In plan mode it is a dialog; in the other modes it fails at once.
    let asks = incoming.text("tool_name") == Some("request_user_input");
    if asks
        && incoming
            .text("transcript_path")
            .is_some_and(|path| says_planning(Path::new(path), FileLooks::of_process(), is_planning))
    {
        incoming.put("tool_name", "AskUserQuestion");
    }
}

/// A rollout that does not answer within this time says nothing: the thread that serves all hooks waits for it.
const LOOK_WITHIN: Duration = Duration::from_millis(100);

fn says_planning(rollout: &Path, looks: &FileLooks, look: fn(&Path) -> bool) -> bool {
    let path = rollout.to_owned();
    is_named(rollout) && looks.at_file(rollout, LOOK_WITHIN, move || look(&path)).unwrap_or(false)
}

/// Whether the newest turn of a rollout is in plan mode: the hook's own mode does not say so.
fn is_planning(rollout: &Path) -> bool {
    if !rollout.is_file() {
        return false;
    }
    let end = last_bytes(rollout).unwrap_or_default();
    let Some(at) = memchr::memmem::rfind(&end, b"\"type\":\"turn_context\"") else { return false };
    let line = end[at..].split(|byte| *byte == b'\n').next().unwrap_or_default();
    memchr::memmem::find(line, b"\"collaboration_mode\":{\"mode\":\"plan\"").is_some()
}

/// The end of a rollout, which grows to hundreds of megabytes; every turn begins with its context.
fn last_bytes(rollout: &Path) -> std::io::Result<Vec<u8>> {
    const LOOKED_AT: u64 = 4 << 20;
    let mut file = files::open_regular(rollout, std::fs::OpenOptions::new().read(true))?;
    let size = file.metadata()?.len();
    file.seek(SeekFrom::Start(size.saturating_sub(LOOKED_AT)))?;
    let mut end = Vec::new();
    file.take(LOOKED_AT).read_to_end(&mut end)?;
    Ok(end)
}

/// Whether a process of this command line is the shared daemon: it runs the hooks of every terminal, so neither its
/// environment nor its end says anything about one of them.
pub fn is_daemon(words: &[String]) -> bool {
    words.iter().skip(1).any(|word| word == "app-server" || word == "--managed-daemon")
}

/// The daemons that run now.
#[cfg(target_os = "linux")]
pub fn daemons() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_one = |pid: &u32| {
        let words = process::command_line(*pid);
        program_of(&words) == Some(ROW.program) && is_daemon(&words)
    };
    pids.filter(is_one).collect()
}

#[cfg(not(target_os = "linux"))]
pub fn daemons() -> Vec<u32> {
    Vec::new()
}

fn program_of(words: &[String]) -> Option<&str> {
    words.first().map(|word| word.rsplit('/').next().unwrap_or(word))
}

/// Whether a process of this command line is Codex in a terminal.
pub fn is_terminal(words: &[String]) -> bool {
    let prints = words.iter().skip(1).any(|word| ROW.print_words.contains(&word.as_str()));
    program_of(words) == Some(ROW.program) && !is_daemon(words) && !prints
}

/// A Codex that runs in a terminal.
#[derive(Clone, Debug, PartialEq)]
pub struct Terminal {
    pub process: Process,
    /// The directory its sessions begin in.
    pub cwd: PathBuf,
    /// When it was started, if the system says so.
    pub since: Option<Stamp>,
    /// The session that its command line names.
    pub resumes: Option<String>,
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
        let words = process::command_line(pid);
        if !is_terminal(&words) || !process::has_terminal(pid) {
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
        let cwd = process::cwd(pid)?;
        Some(Terminal {
            process,
            cwd: directory_of(&words).map_or(cwd.clone(), |named| cwd.join(named)),
            since: process::started_at(pid),
            resumes: resumed_by(&words),
            pane: value(b"TMUX_PANE"),
            socket,
        })
    };
    entries.flatten().filter_map(terminal).collect()
}

/// Listing processes costs a process of its own there.
#[cfg(not(target_os = "linux"))]
pub fn terminals() -> Vec<Terminal> {
    Vec::new()
}

/// The directory that a command line names: `-C DIR`, `--cd DIR`, `--cd=DIR`.
#[cfg(any(target_os = "linux", test))]
fn directory_of(words: &[String]) -> Option<&str> {
    let after = |flag: &str| Some(words.get(words.iter().position(|word| word == flag)? + 1)?.as_str());
    let joined = || words.iter().find_map(|word| word.strip_prefix("--cd="));
    after("-C").or_else(|| after("--cd")).or_else(joined).map(|named| named.trim_end_matches('/'))
}

/// `codex resume … ID`
#[cfg(any(target_os = "linux", test))]
fn resumed_by(words: &[String]) -> Option<String> {
    let resume = words.iter().position(|word| word == "resume")?;
    words[resume + 1..].iter().find(|word| born(word).is_some()).cloned()
}

/// When a session was created: its id is a UUID of version 7, which begins with the time in milliseconds. A terminal makes
/// its session when it starts, or at `/clear`; the first event comes with the first prompt.
pub fn born(session_id: &str) -> Option<Stamp> {
    let digits: String = session_id.split('-').collect();
    let plain = session_id.len() == 36 && digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if !plain || digits.as_bytes()[12] != b'7' {
        return None;
    }
    let milliseconds = i64::from_str_radix(&digits[..12], 16).ok()?;
    milliseconds.checked_mul(1_000_000).map(Stamp)
}

/// What Codex calls an event in the keys of its consent: `PreToolUse` ▶ `pre_tool_use`.
fn trust_name(event: &str) -> String {
    headspace_core::model::event_names::slug_of(event).replace('-', "_")
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

/// A subagent is a session of its own, whose file is beside its parent's.
fn of_subagent(main: &Path, agent_id: &str) -> Option<PathBuf> {
    let end = format!("-{agent_id}.jsonl");
    let files = std::fs::read_dir(main.parent()?).ok()?.flatten().map(|entry| entry.path());
    files.into_iter().find(|path| is_named(path) && path.to_string_lossy().ends_with(&end))
}

/// Hooks report most of it; only this file has a failed API call and how full the context is.
fn read(line: &[u8]) -> Option<Entry> {
    // Most of a rollout is what was said; only the end of a call is looked for in it.
    let ends_call = memchr::memmem::find(line, b"\"function_call_output\"").is_some();
    let types: &[&str] =
        if ends_call { &["response_item"] } else { &["event_msg", "session_meta", "turn_context"] };
    let line = json_lines::parse(line, types)?;
    let payload = line.get("payload")?;
    let mut entry = json_lines::entry(&line, "ordinal");
    match text(&line, "type")? {
        "session_meta" => {
            entry.session_id = text(payload, "id").map(str::to_owned);
            entry.cwd = text(payload, "cwd").map(str::to_owned);
            entry.version = text(payload, "cli_version").map(str::to_owned);
        }
        "event_msg" => event(payload, &mut entry),
        "response_item" => {
            let id =
                text(payload, "call_id").filter(|_| text(payload, "type") == Some("function_call_output"))?;
            entry.uuid = format!("{id}-output");
            entry.seen.push(Seen::ToolResult { id: id.to_owned(), error: false, refused: false });
        }
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
                entry.seen.push(Seen::Failed { error: message.to_owned() });
                return;
            }
            if let Some(answer) = text(payload, "last_agent_message") {
                entry.seen.push(Seen::Text {
                    text: answer.to_owned(),
                    message_id: None,
                    stop_reason: Some("end_turn".to_owned()),
                });
            }
            entry.seen.push(Seen::TurnEnd);
        }
        Some("turn_aborted") => entry.seen.extend([Seen::Interrupted { tool: false }, Seen::TurnEnd]),
        Some("token_count") => {
            if let Some(used_tokens) = at(payload, "/info/last_token_usage/input_tokens").and_then(number) {
                let window = at(payload, "/info/model_context_window").and_then(number);
                entry.seen.push(Seen::Usage(Usage {
                    used_tokens,
                    model: None,
                    window,
                    compacted: false,
                    spent: None,
                }));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_rollout_that_does_not_answer_says_nothing() {
        let name = "rollout-2026-01-01T00-00-00-01234567-89ab-cdef-0123-456789abcdef.jsonl";
        let rollout = Path::new("/net/dead").join(name);
        let looks = FileLooks::distrustful();
        assert!(!says_planning(&rollout, &looks, |_| {
            std::thread::sleep(Duration::from_secs(3600));
            true
        }));
        let healthy = Path::new("/net/healthy").join(name);
        // A busy machine may be late for it once or twice.
        let started = Instant::now();
        while !says_planning(&healthy, &looks, |_| true) {
            assert!(started.elapsed() < Duration::from_secs(60), "another directory answers");
            std::thread::sleep(Duration::from_millis(1));
        }
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
    fn a_command_line_names_its_directory_and_its_session() {
        const ID: &str = "01a1ea6e-b82a-76e2-be7c-ea304be25182";
        for (line, directory, session) in [
            ("codex", None, None),
            ("codex -C /srv/app/", Some("/srv/app"), None),
            ("codex --cd app resume --last", Some("app"), None),
            (&format!("codex resume --cd=/srv {ID}"), Some("/srv"), Some(ID)),
            (&format!("codex {ID}"), None, None),
        ] {
            let words = words(line);
            assert_eq!((directory_of(&words), resumed_by(&words).as_deref()), (directory, session), "{line}");
        }
    }

    #[test]
    fn a_session_id_says_when_it_was_made() {
        let made = born("01a1ea6e-b82a-76e2-be7c-ea304be25182").unwrap();
        assert_eq!(made.to_string(), "2026-11-17T16:54:47.082000000Z");
        for other in ["", "cd090cee-e18a-4281-82a2-604e124cef3d", "01a1ea6eb82a76e2be7cea304be25182", "é"] {
            assert_eq!(born(other), None, "{other}");
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
