//! `headspace statusline`: records what only the status line gets (context window, cost, rate limits) and prints what the
//! user's own command prints. Claude Code has one slot for a command, so headspace wraps it and never replaces it.

use anyhow::Result;
use headspace_core::text;
use headspace_notify::alarm;
use headspace_notify::stdin;
use headspace_notify::stdin::{Input, Payload};
use headspace_platform::git;
use headspace_platform::spool::delivery::Delivery;
use serde_json::Value;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::Duration;

/// Record context and cost from the status line, then run your own command
///
/// Reads the status line's JSON from standard input, reports model, context, cost and rate limits to the server, and runs
/// your own command with the same input: its output and exit code are the result. Without a command, headspace prints a
/// line of its own. If the server is not running, the status line works as before.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  headspace statusline -- ~/.claude/statusline.sh\n\nIn settings.json:\n  \"statusLine\": {\"type\": \"command\", \"command\": \"headspace statusline -- 'my-line | head -1'\"}"
)]
pub struct StatuslineArgs {
    /// Your own command: one word is run by the shell, several are a program and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// How long the input may take; Claude Code writes it at once.
const INPUT_DEADLINE: Duration = Duration::from_millis(1500);

/// How long the server may take: the line is redrawn several times a second, and only the newest input matters.
const REPORT_DEADLINE: Duration = Duration::from_millis(300);

/// Bytes that an empty pipe takes on every system without waiting for its reader.
const PIPE_TAKES: usize = 16 * 1024;

pub fn run(args: &StatuslineArgs) -> Result<ExitCode> {
    let delivery = Delivery::now();
    // Started first, so that it runs while the input is read and reported.
    let own = start(&args.command);
    // Not before: the user's command would inherit it.
    alarm::outlive_file_size_limit();
    alarm::arm(INPUT_DEADLINE, None);
    let (bytes, payload) = read(!args.command.is_empty());
    let report = |payload: &Option<Payload>| {
        alarm::arm(REPORT_DEADLINE, None);
        if let Some(payload) = payload {
            headspace_notify::report("status-line", payload, &delivery);
        }
        alarm::disarm();
    };
    let Some(own) = own else {
        if let Some(line) = payload.as_ref().and_then(default_line) {
            let _ = writeln!(std::io::stdout().lock(), "{line}");
        }
        report(&payload);
        return Ok(ExitCode::SUCCESS);
    };
    match own {
        Ok(mut child) => {
            hand_over(&mut child, bytes);
            report(&payload);
            Ok(ExitCode::from(code_of(child.wait()?)))
        }
        Err(error) => {
            report(&payload);
            let _ =
                writeln!(std::io::stderr(), "headspace: could not run the status line's command: {error}");
            // The exit codes of a shell.
            Ok(ExitCode::from(if error.kind() == std::io::ErrorKind::NotFound { 127 } else { 126 }))
        }
    }
}

/// Starts the user's command; it writes to our output. One word is run as Claude Code would run it.
fn start(words: &[OsString]) -> Option<std::io::Result<Child>> {
    let mut command = match words {
        [] => return None,
        [line] if cfg!(unix) => {
            let mut shell = Command::new("/bin/sh");
            shell.arg("-c").arg(line);
            shell
        }
        [program, arguments @ ..] => {
            let mut command = Command::new(program);
            command.args(arguments);
            command
        }
    };
    Some(command.stdin(Stdio::piped()).spawn())
}

/// The input: the object in it, and all bytes if the user's command needs them.
fn read(all: bool) -> (Vec<u8>, Option<Payload>) {
    match Input::read_after(&[]) {
        Input::Object(payload) => (payload.bytes().to_vec(), Some(payload)),
        Input::Cut(bytes) | Input::Garbage(bytes) => {
            (if all { stdin::read_rest(bytes) } else { bytes }, None)
        }
    }
}

/// Writes the child's input and closes it. A child that reads nothing must not delay the report.
fn hand_over(child: &mut Child, bytes: Vec<u8>) {
    let Some(mut input) = child.stdin.take() else { return };
    if bytes.len() <= PIPE_TAKES {
        let _ = input.write_all(&bytes);
    } else {
        std::thread::spawn(move || input.write_all(&bytes));
    }
}

fn code_of(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(u8::MAX);
    }
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// `Opus 5.5 · ▰▰▱▱▱▱▱▱▱▱ 22% · $1.25 · main`, without the parts that are not known.
fn default_line(payload: &Payload) -> Option<String> {
    let status: Value = serde_json::from_slice(payload.object()).ok()?;
    let text =
        |pointer: &str| status.pointer(pointer).and_then(Value::as_str).map(|text| text::one_line(text, 40));
    let branch = text("/worktree/branch").or_else(|| {
        let dir = status.pointer("/workspace/current_dir").or(status.get("cwd"))?.as_str()?;
        Some(text::one_line(&git::place_of(Path::new(dir)).branch?, 40))
    });
    let parts = [
        text("/model/display_name").or_else(|| text("/model/id")),
        context_percent(&status).map(|percent| format!("{} {percent}%", bar(percent))),
        status.pointer("/cost/total_cost_usd").and_then(Value::as_f64).map(|cost| format!("${cost:.2}")),
        branch,
    ];
    let line: Vec<String> = parts.into_iter().flatten().filter(|part| !part.is_empty()).collect();
    (!line.is_empty()).then(|| line.join(" · "))
}

/// The client's own formula: the input of the last answer, divided by the window.
fn context_percent(status: &Value) -> Option<u64> {
    let context = status.get("context_window")?;
    let window = context["context_window_size"].as_f64().filter(|&window| window > 0.0);
    let usage = context["current_usage"].as_object();
    let percent = match (usage, window) {
        (Some(usage), Some(window)) => {
            let tokens: f64 = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"]
                .iter()
                .filter_map(|name| usage.get(*name).and_then(Value::as_f64))
                .sum();
            tokens * 100.0 / window
        }
        _ => context["used_percentage"].as_f64()?,
    };
    Some(percent.round().clamp(0.0, 100.0) as u64)
}

fn bar(percent: u64) -> String {
    let full = usize::try_from(percent.div_ceil(10)).unwrap_or(0).min(10);
    "▰".repeat(full) + &"▱".repeat(10 - full)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn line(status: &Value) -> Option<String> {
        match Payload::parse(status.to_string().into_bytes()) {
            Input::Object(payload) => default_line(&payload),
            _ => None,
        }
    }

    #[test]
    fn the_default_line_shows_what_is_known() {
        let home = tempfile::tempdir().unwrap();
        let repo = home.path().join("repo");
        std::fs::create_dir_all(repo.join(".git")).unwrap();
        std::fs::write(repo.join(".git/HEAD"), "ref: refs/heads/feature/x\n").unwrap();
        std::fs::create_dir_all(repo.join("src")).unwrap();
        let status = json!({
            "model": {"id": "m", "display_name": "Opus 5.5"},
            "workspace": {"current_dir": repo.join("src")},
            "cost": {"total_cost_usd": 1.254},
            "context_window": {"context_window_size": 200_000, "current_usage":
                {"input_tokens": 1000, "output_tokens": 9999, "cache_creation_input_tokens": 2000, "cache_read_input_tokens": 40_000}}
        });
        assert_eq!(line(&status).unwrap(), "Opus 5.5 · ▰▰▰▱▱▱▱▱▱▱ 22% · $1.25 · feature/x");
        for (status, expected) in [
            (json!({"model": {"id": "claude-x"}}), Some("claude-x")),
            (
                json!({"context_window": {"used_percentage": 37, "current_usage": null}}),
                Some("▰▰▰▰▱▱▱▱▱▱ 37%"),
            ),
            (
                json!({"context_window": {"used_percentage": null}, "model": {"display_name": "a\u{1b}[31m\nb"}}),
                Some("a[31m b"),
            ),
            (json!({"model": 7, "cost": [], "context_window": "x"}), None),
            (json!({}), None),
        ] {
            assert_eq!(line(&status).as_deref(), expected, "{status}");
        }
    }

    #[test]
    fn a_full_window_fills_the_bar_and_no_more() {
        let of = |tokens: u64| {
            context_percent(&json!({"context_window": {"context_window_size": 200_000,
                "current_usage": {"cache_read_input_tokens": tokens}}}))
        };
        assert_eq!((of(0), of(1_000), of(260_000)), (Some(0), Some(1), Some(100)));
        assert_eq!((bar(0).chars().filter(|&c| c == '▰').count(), bar(100)), (0, "▰".repeat(10)));
        assert_eq!(bar(1).chars().filter(|&c| c == '▰').count(), 1);
    }
}
