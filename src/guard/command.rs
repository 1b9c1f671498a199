//! `headspace guard`: check, explain, rules, and the hook itself.

use super::{Decision, Place, Verdict, hook_output, intime, judge_with_steps, rules};
use crate::config::{self, Config};
use crate::terminal;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Judge tool calls: check, explain, rules
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  headspace guard explain -- 'cd build && rm -rf *'")]
pub struct GuardArgs {
    #[command(subcommand)]
    command: GuardCommand,
}

#[derive(Debug, clap::Subcommand)]
enum GuardCommand {
    /// Judge a PreToolUse payload on standard input
    ///
    /// Prints {"verdict", "rule", "reason"} and exits 0, whatever comes in.
    #[command(
        after_help = "Example:\n  echo '{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"rm -rf /\"}}' | headspace guard check"
    )]
    Check,
    /// Show how a command is read, which rule speaks, and why
    #[command(after_help = "Example:\n  headspace guard explain -- 'git push --force'")]
    Explain(ExplainArgs),
    /// List the rules and what they say here
    #[command(after_help = "Example:\n  headspace guard rules --json")]
    Rules(RulesArgs),
    /// Judge a PreToolUse payload as a hook (what Claude Code calls)
    ///
    /// Prints a decision to ask or to deny; prints nothing otherwise. Always exits 0.
    #[command(after_help = "Example:\n  headspace guard hook < payload.json")]
    Hook,
}

#[derive(Debug, clap::Args)]
struct ExplainArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The command, as one text or as words
    #[arg(required = true, last = true)]
    command: Vec<String>,
}

#[derive(Debug, clap::Args)]
struct RulesArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &GuardArgs) -> Result<ExitCode> {
    match &args.command {
        GuardCommand::Check => Ok(check()),
        GuardCommand::Hook => Ok(hook()),
        GuardCommand::Explain(args) => explain(args),
        GuardCommand::Rules(args) => list(args),
    }
}

/// The way past the argument parser for the two commands that machines call; `None` for everything else.
pub fn direct(mut args: impl Iterator<Item = std::ffi::OsString>) -> Option<ExitCode> {
    match (args.next(), args.next()) {
        (Some(verb), None) if verb == "hook" => Some(hook()),
        (Some(verb), None) if verb == "check" => Some(check()),
        _ => None,
    }
}

/// People and tests may wait; the hook may not.
const CHECK_PATIENCE: Duration = Duration::from_secs(2);
/// A client that never closes the pipe must not hang the hook.
const STDIN_PATIENCE: Duration = Duration::from_millis(1500);

/// This process's place, and what is wrong with the configuration if it cannot be read. Rules stay on then: those
/// that the user chose as far as they can be found, the defaults otherwise.
fn place() -> (Place, Option<String>) {
    let (config, trouble) = Config::load_for_guard();
    (Place::here(&config), trouble)
}

fn hook() -> ExitCode {
    let (place, trouble) = place();
    let bytes = read_stdin(STDIN_PATIENCE).map(Arc::new);
    let verdict = verdict_of(bytes.as_ref(), place, |verdict| Some(format!("{}\n", hook_output(verdict)?)));
    let Some(mut output) = hook_output(&verdict) else { return ExitCode::SUCCESS };
    if let Some(trouble) = trouble {
        output["systemMessage"] = trouble.into();
    }
    print(&output);
    // The client has its answer; now the server may know.
    match bytes {
        Some(bytes) => crate::notify::verdict(&bytes, &verdict),
        None => ExitCode::SUCCESS,
    }
}

fn check() -> ExitCode {
    let (mut place, _) = place();
    place.patience = CHECK_PATIENCE;
    let bytes = read_stdin(STDIN_PATIENCE).map(Arc::new);
    let verdict = verdict_of(bytes.as_ref(), place, |verdict| Some(format!("{}\n", as_json(verdict))));
    print(&as_json(&verdict));
    ExitCode::SUCCESS
}

fn as_json(verdict: &Verdict) -> Value {
    json!({"verdict": verdict.decision.as_str(), "rule": verdict.rule, "reason": verdict.reason})
}

/// Nobody is left to tell if this fails.
fn print(value: &Value) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{value}");
}

fn verdict_of(bytes: Option<&Arc<Vec<u8>>>, place: Place, render: fn(&Verdict) -> Option<String>) -> Verdict {
    std::panic::set_hook(Box::new(|_| {}));
    match bytes {
        Some(bytes) => intime::judge(bytes, place, render),
        None => Verdict::unreadable(&place, "input that did not end in time"),
    }
}

#[cfg(unix)]
fn read_stdin(patience: Duration) -> Option<Vec<u8>> {
    use std::time::Instant;
    let end = Instant::now() + patience;
    let mut bytes = Vec::new();
    let mut chunk = vec![0u8; 64 << 10];
    let mut stdin = std::io::stdin().lock();
    loop {
        let left = end.saturating_duration_since(Instant::now()).as_millis();
        let mut poll = libc::pollfd { fd: 0, events: libc::POLLIN, revents: 0 };
        // SAFETY: `poll` points at one valid pollfd for the length of the call.
        let ready = unsafe { libc::poll(&mut poll, 1, i32::try_from(left).unwrap_or(i32::MAX)) };
        if ready == 0 {
            return None;
        }
        match stdin.read(&mut chunk) {
            Ok(0) => return Some(bytes),
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return Some(bytes),
        }
    }
}

#[cfg(not(unix))]
fn read_stdin(_: Duration) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn explain(args: &ExplainArgs) -> Result<ExitCode> {
    let mut place = Place::here(&Config::load()?);
    place.patience = CHECK_PATIENCE;
    let command = args.command.join(" ");
    let payload = json!({"tool_name": "Bash", "tool_input": {"command": command}});
    let (verdict, steps) = judge_with_steps(&payload, &place, true);
    if args.json {
        let steps: Vec<Value> = steps
            .iter()
            .map(|step| json!({"command": step.command, "cwd": step.cwd, "depth": step.depth}))
            .collect();
        let mut report = as_json(&verdict);
        report["commands"] = Value::Array(steps);
        println!("{report:#}");
        return Ok(ExitCode::SUCCESS);
    }
    println!("commands:");
    for step in &steps {
        println!("  {}   (in {})", terminal::gist(&step.command, 160), terminal::gist(&step.cwd, 80));
    }
    if steps.is_empty() {
        println!("  none");
    }
    println!("verdict:  {}", verdict.decision.as_str());
    if let (Some(rule), Some(reason)) = (&verdict.rule, &verdict.reason) {
        println!("rule:     {}", terminal::plain(rule));
        println!("reason:   {}", terminal::plain(reason));
    }
    Ok(ExitCode::SUCCESS)
}

fn list(args: &RulesArgs) -> Result<ExitCode> {
    let config = Config::load().context("could not list the rules")?;
    let cwd = std::env::current_dir().map(|dir| dir.to_string_lossy().into_owned()).unwrap_or_default();
    let home = config::home().to_string_lossy().into_owned();
    let choices = rules::Choices::of(&config.guard, &[cwd], &home);
    if args.json {
        let rows: Vec<Value> = rules::RULES
            .iter()
            .map(|rule| {
                json!({
                    "id": rule.id,
                    "default": rule.decision.as_str(),
                    "here": shown(choices.decision(rule)),
                    "what": rule.what,
                    "instead": rule.instead,
                })
            })
            .collect();
        println!("{:#}", json!({"rules": rows}));
        return Ok(ExitCode::SUCCESS);
    }
    for rule in rules::RULES {
        println!("{:<24} {:<5} {}", rule.id, shown(choices.decision(rule)), rule.what);
    }
    println!("\nChange one in {}:", config::config_file().display());
    println!(
        "  \"guard\": {{ \"rules\": {{ \"git.discard\": \"ask\" }} }}    (\"on\", \"off\", \"ask\", \"deny\")"
    );
    Ok(ExitCode::SUCCESS)
}

fn shown(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "off",
        other => other.as_str(),
    }
}
