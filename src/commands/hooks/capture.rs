//! `headspace hooks capture`: records what a real session sends, for later `hooks run --input`.

use anyhow::{Context, Result};
use headspace_core::mask;
use headspace_hooks::dialect::CLAUDE;
use headspace_hooks::matching;
use headspace_hooks::payload::HookJsonInput;
use headspace_platform::files;
use headspace_platform::usage::Usage;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Not recorded unless requested: a hook here changes what the client does, or runs for every piece of text.
const EVENTS_LEFT_OUT: &[&str] = &["WorktreeCreate", "FileChanged", "MessageDisplay"];

/// More than any payload seen; the rest is not read.
const MAX_PAYLOAD_BYTES: u64 = 64 << 20;

/// Record the payloads of a real session, for later --input
///
/// Writes a settings file with a recording hook for every event to DIR, and starts the command after -- with it
/// (--settings DIR/settings.json). Your own settings still apply and are not changed. Each payload becomes a file in DIR,
/// with secrets masked.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  headspace hooks capture payloads -- claude -p 'list the files'\n  \
                        headspace hooks run PreToolUse --input payloads/0003-PreToolUse.Bash.json")]
pub struct CaptureArgs {
    /// Directory for the payloads
    dir: PathBuf,
    /// Record only this event; may be repeated
    #[arg(long, value_name = "EVENT")]
    event: Vec<String>,
    /// What the recording hook calls: one payload on standard input
    #[arg(long, hide = true)]
    record: bool,
    /// The client and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub fn run(args: &CaptureArgs) -> Result<ExitCode> {
    if args.record {
        // This is a hook: whatever goes wrong here must not disturb the session.
        let _ = record(&args.dir, std::io::stdin().lock());
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(unknown) = args.event.iter().find(|name| CLAUDE.event(name).is_none()) {
        return Err(Usage(format!("could not record {unknown:?}: Claude Code has no such event")).into());
    }
    files::private_dir(&args.dir)?;
    let dir = std::fs::canonicalize(&args.dir).context("could not use the directory")?;
    let settings = dir.join("settings.json");
    let program = std::env::current_exe().context("could not find headspace itself")?;
    let text = serde_json::to_string_pretty(&recording_settings(&program, &dir, &args.event))?;
    files::replace(&settings, format!("{text}\n").as_bytes())?;
    let Some((client, rest)) = args.command.split_first() else {
        println!("Record a session with:\n  claude --settings {}", shell_word(&settings));
        return Ok(ExitCode::SUCCESS);
    };
    let before = payload_files(&dir);
    let status = Command::new(client)
        .args(rest)
        .arg("--settings")
        .arg(&settings)
        .status()
        .with_context(|| format!("could not start {}", client.display()))?;
    let recorded = payload_files(&dir).saturating_sub(before);
    eprintln!(
        "headspace: {recorded} payloads recorded in {}",
        headspace_core::text::strip_control(&dir.to_string_lossy())
    );
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

fn recording_settings(program: &Path, dir: &Path, only: &[String]) -> Value {
    let hook = json!({
        "type": "command",
        "command": program,
        "args": ["hooks", "capture", "--record", dir],
        "timeout": 5,
    });
    let wanted = |name: &str| {
        if only.is_empty() {
            !EVENTS_LEFT_OUT.contains(&name)
        } else {
            only.iter().any(|event| event == name)
        }
    };
    let hooks: serde_json::Map<String, Value> = CLAUDE
        .events
        .iter()
        .filter(|rule| wanted(rule.name))
        .map(|rule| (rule.name.to_owned(), json!([{ "hooks": [hook] }])))
        .collect();
    json!({ "hooks": hooks })
}

/// Writes one payload, masked, under the next free number.
fn record(dir: &Path, stdin: impl Read) -> Result<PathBuf> {
    let mut bytes = Vec::new();
    stdin.take(MAX_PAYLOAD_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let name = file_name(&text);
    let masked = match serde_json::from_str::<Value>(&text) {
        Ok(mut payload) => {
            mask::value(&mut payload);
            serde_json::to_string_pretty(&payload)?
        }
        Err(_) => mask::text(&text).into_owned(),
    };
    let mut number = payload_files(dir) + 1;
    loop {
        let path = dir.join(format!("{number:04}-{name}.json"));
        // Hooks of one session run in parallel: the second one takes the next number.
        match files::create_private(&path) {
            Ok(mut file) => {
                writeln!(file, "{masked}")?;
                return Ok(path);
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.into()),
        }
        number += 1;
    }
}

fn payload_files(dir: &Path) -> usize {
    names(dir)
        .filter(|name| name.as_bytes().first().is_some_and(u8::is_ascii_digit) && name.ends_with(".json"))
        .count()
}

fn names(dir: &Path) -> impl Iterator<Item = String> {
    let entries = std::fs::read_dir(dir).ok().into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok())
}

/// `PreToolUse.Bash`: the event and its match value, in characters that every file system accepts.
fn file_name(text: &str) -> String {
    let payload = HookJsonInput::parse(text).unwrap_or_default();
    let clean = |text: &str| -> String {
        text.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')).take(48).collect()
    };
    let event = clean(&payload.text("hook_event_name").unwrap_or_else(|| "unknown".into()));
    let value = CLAUDE
        .event(&event)
        .and_then(|rule| matching::match_value(rule, &payload))
        .map(|value| clean(&value));
    match value.filter(|value| !value.is_empty()) {
        Some(value) => format!("{event}.{value}"),
        None => event,
    }
}

fn shell_word(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+".contains(c));
    if plain { text.into_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_numbered_named_and_masked() {
        let dir = tempfile::tempdir().unwrap();
        let key = format!("sk-ant-api03-{}", "A1b2".repeat(12));
        let payload = json!({"hook_event_name": "PreToolUse", "tool_name": "Bash",
                             "tool_input": {"command": format!("export ANTHROPIC_API_KEY={key}")}});
        for _ in 0..2 {
            record(dir.path(), payload.to_string().as_bytes()).unwrap();
        }
        record(dir.path(), &b"not json"[..]).unwrap();
        let mut found: Vec<String> = names(dir.path()).collect();
        found.sort_unstable();
        assert_eq!(found, ["0001-PreToolUse.Bash.json", "0002-PreToolUse.Bash.json", "0003-unknown.json"]);
        let text = std::fs::read_to_string(dir.path().join(&found[0])).unwrap();
        assert!(text.contains("masked") && !text.contains(&key), "{text}");
    }

    #[test]
    fn the_recording_settings_are_settings_the_client_accepts() {
        let settings = recording_settings(Path::new("/opt/my tools/headspace"), Path::new("/tmp/x"), &[]);
        let reading = headspace_hooks::settings::check::read(&CLAUDE, &settings.to_string());
        assert!(reading.problems.is_empty(), "{:?}", reading.problems);
        assert_eq!(reading.configuration.groups.len(), 30);
        let only = recording_settings(Path::new("/h"), Path::new("/x"), &["Stop".to_owned()]);
        assert_eq!(only["hooks"].as_object().unwrap().len(), 1);
    }

    #[test]
    fn hostile_names_stay_inside_the_directory() {
        assert_eq!(file_name(r#"{"hook_event_name":"../../x"}"#), "x");
        assert_eq!(file_name(r#"{"hook_event_name":"PreToolUse","tool_name":"a/../b c"}"#), "PreToolUse.abc");
        assert_eq!(file_name("[]"), "unknown");
    }
}
