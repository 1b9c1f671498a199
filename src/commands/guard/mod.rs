//! `headspace guard`: check, explain, rules, allow, and the hook itself.

pub mod allow;

use crate::commands::doctor::keys;
use crate::view::columns;
use anyhow::{Context, Result};
use headspace_clients::GuardForm;
use headspace_core::text;
use headspace_guard::{
    Decision, GuardEnvironment, Verdict, allow_once, deadline, judge_with_steps, payload, permission_output,
    rules,
};
use headspace_hooks::client_settings::entry::Role;
use headspace_hooks::client_settings::locate;
use headspace_hooks::dialect::CLAUDE;
use headspace_hooks::settings::sources::{FoundHook, Sources};
use headspace_notify::alarm;
use headspace_notify::guard_form::{Rendered, rendered};
use headspace_notify::stdin::{self, Input};
use headspace_platform::config;
use headspace_platform::config::Config;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Judge tool calls before they run: check, explain, allow, list the rules
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  headspace guard explain 'cd build && rm -rf *'")]
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
    /// Show how a command is read, which rule applies, and why
    #[command(
        after_help = "Examples:\n  headspace guard explain 'git push --force'\n  headspace guard explain --tool Write --input call.json"
    )]
    Explain(GuardExplainArgs),
    /// Allow a command that the guard refused: once, in this project, or everywhere
    ///
    /// Shows the change as a diff and asks before it writes it. For a person at a terminal only.
    #[command(after_help = "Example:\n  headspace guard allow 'pkill -f vite' --project")]
    Allow(allow::AllowArgs),
    /// List the rules and what each does in this directory
    #[command(after_help = "Example:\n  headspace guard rules --json")]
    Rules(RulesArgs),
    /// Judge a PreToolUse payload as a hook (what Claude Code calls)
    ///
    /// Prints a decision to ask or to deny; prints nothing otherwise. Always exits 0.
    #[command(after_help = "Example:\n  headspace guard hook < payload.json")]
    Hook {
        /// The coding agent that calls, if not Claude Code
        #[arg(long, value_name = "NAME")]
        client: Option<String>,
    },
}

#[derive(Debug, clap::Args)]
struct GuardExplainArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// A tool other than the shell
    #[arg(long, value_name = "NAME", requires = "input")]
    tool: Option<String>,
    /// A JSON file with the tool's input or a whole payload; - reads standard input
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// The command, quoted as one argument or as several words
    #[arg(required_unless_present = "input", conflicts_with = "input", trailing_var_arg = true)]
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
        GuardCommand::Hook { client } => Ok(hook(client.as_deref())),
        GuardCommand::Explain(args) => explain(args),
        GuardCommand::Rules(args) => list(args),
        GuardCommand::Allow(args) => allow::run(args),
    }
}

/// A shortcut past the argument parser for the two commands that programs call; `None` for everything else.
pub fn direct(mut args: impl Iterator<Item = std::ffi::OsString>) -> Option<ExitCode> {
    match (args.next(), args.next()) {
        (Some(verb), None) if verb == "hook" => Some(hook(None)),
        (Some(verb), None) if verb == "check" => Some(check()),
        _ => None,
    }
}

/// People and tests can wait; the hook cannot.
const CHECK_TIME_LIMIT: Duration = Duration::from_secs(2);
/// A client that never closes the pipe must not hang the hook.
const STDIN_READ_WITHIN: Duration = Duration::from_millis(1500);

/// The environment of this process, and what is wrong with the configuration if it cannot be read. Rules stay on in
/// that case: those that the user chose, as far as they can be found, otherwise the defaults.
fn environment() -> (GuardEnvironment, Option<String>) {
    let (config, trouble) = Config::load_for_guard();
    (GuardEnvironment::here(&config), trouble)
}

fn hook(client: Option<&str>) -> ExitCode {
    let (environment, trouble) = environment();
    let row = client.map(headspace_clients::named);
    let form = row.map_or(GuardForm::Claude, |row| row.map_or(GuardForm::None, |row| row.guard));
    let bytes = read_stdin();
    let bytes = match client {
        None => bytes,
        Some(_) => bytes.map(|bytes| headspace_clients::guard::payload(&bytes)),
    };
    let (form, render): Rendered = match bytes.as_deref().and_then(payload::event).as_deref() {
        None | Some("PreToolUse") => rendered(form),
        Some("PermissionRequest") if client.is_none() => {
            (permission_output, |verdict| Some(format!("{}\n", permission_output(verdict)?)))
        }
        // There is nothing to judge, and nothing that the client would understand.
        Some(_) => return ExitCode::SUCCESS,
    };
    let verdict = verdict_of(bytes.as_deref(), environment, render);
    let Some(mut output) = form(&verdict) else { return ExitCode::SUCCESS };
    if bytes.as_deref().is_some_and(|bytes| allow_once::take(bytes, &config::state_dir())) {
        return ExitCode::SUCCESS;
    }
    if let Some(trouble) = trouble.filter(|_| client.is_none()) {
        output["systemMessage"] = trouble.into();
    }
    print(&output);
    // The client has its answer; now the server can be told.
    match bytes {
        Some(bytes) => headspace_notify::verdict(client, &bytes, &verdict),
        None => ExitCode::SUCCESS,
    }
}

fn check() -> ExitCode {
    let (mut environment, _) = environment();
    environment.time_limit = CHECK_TIME_LIMIT;
    let bytes = read_stdin();
    let verdict =
        verdict_of(bytes.as_deref(), environment, |verdict| Some(format!("{}\n", as_json(verdict))));
    print(&as_json(&verdict));
    ExitCode::SUCCESS
}

fn as_json(verdict: &Verdict) -> Value {
    json!({"verdict": verdict.decision.as_str(), "rule": verdict.rule, "reason": verdict.reason})
}

/// If this fails, there is nobody left to tell.
fn print(value: &Value) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{value}");
}

fn verdict_of(
    bytes: Option<&[u8]>,
    environment: GuardEnvironment,
    render: fn(&Verdict) -> Option<String>,
) -> Verdict {
    std::panic::set_hook(Box::new(|_| {}));
    match bytes {
        Some(bytes) => deadline::judge(bytes, environment, render),
        None => Verdict::unreadable(&environment, "input that did not end in time, or is too long"),
    }
}

/// The object as soon as it is complete, because standard input may stay open; what is not one, as a whole. `None`: it did not
/// end in time, or is too long.
fn read_stdin() -> Option<Vec<u8>> {
    alarm::arm(STDIN_READ_WITHIN, None);
    let bytes = match Input::read_after(&[]) {
        Input::Object(payload) => Some(payload.object().to_vec()),
        Input::Cut(bytes) => whole(bytes),
        Input::Garbage(bytes) => whole(stdin::read_rest(bytes)),
    };
    alarm::disarm();
    bytes
}

fn whole(bytes: Vec<u8>) -> Option<Vec<u8>> {
    (bytes.len() < stdin::MAX_PAYLOAD && !alarm::late()).then_some(bytes)
}

impl GuardExplainArgs {
    /// The command, and whether the answer is wanted as JSON. After a command that is one argument, `--json` is an option of
    /// ours; after several words it belongs to them.
    fn command(&self) -> (String, bool) {
        match self.command.as_slice() {
            [command, option] if option == "--json" => (command.clone(), true),
            words => (words.join(" "), self.json),
        }
    }
}

fn explain(args: &GuardExplainArgs) -> Result<ExitCode> {
    let (command, wants_json) = args.command();
    let config = Config::load()?;
    let mut environment = GuardEnvironment::here(&config);
    environment.time_limit = CHECK_TIME_LIMIT;
    let payload = match &args.input {
        Some(file) => call_in(file, args.tool.as_deref())?,
        None => json!({"tool_name": "Bash", "tool_input": {"command": command}}),
    };
    let (verdict, steps) = judge_with_steps(&payload, &environment, true);
    let rule = verdict.rule.as_deref().and_then(rules::by_id);
    let source = rule.map(|rule| format!("rules/{}.toml:{}", rule.pack, rule.line));
    if wants_json {
        let steps: Vec<Value> = steps
            .iter()
            .map(|step| json!({"command": step.command, "cwd": step.cwd, "depth": step.depth}))
            .collect();
        let mut report = as_json(&verdict);
        report["commands"] = Value::Array(steps);
        report["source"] = json!(source);
        report["pattern"] = json!(verdict.pattern);
        report["words"] = json!(verdict.subject);
        println!("{report:#}");
        return Ok(ExitCode::SUCCESS);
    }
    match payload["tool_name"].as_str() {
        Some(tool) if steps.is_empty() => print_row("tool:", tool),
        _ => println!("commands:"),
    }
    for step in &steps {
        println!("  {}   (in {})", text::one_line(&step.command, 160), text::one_line(&step.cwd, 80));
    }
    if verdict.decision == Decision::Allow {
        print_row("verdict:", "allow (the guard has no opinion: Claude Code decides as it would without it)");
    } else {
        print_row("verdict:", verdict.decision.as_str());
    }
    if let (Some(rule), Some(reason)) = (&verdict.rule, &verdict.reason) {
        print_row("rule:", &format!("{rule}   ({})", source.unwrap_or_default()));
        if let Some(pattern) = &verdict.pattern {
            print_row("pattern:", pattern);
        }
        if let Some(words) = verdict.subject.as_deref().filter(|words| !words.is_empty()) {
            print_row("words:", words);
        }
        print_row("reason:", reason);
        if let Some(command) = payload["tool_input"]["command"].as_str() {
            let quoted = command.replace('\'', r"'\''");
            let shown = text::one_line(&quoted, 300);
            // Half a command, or one on other lines, would allow something else.
            let shown = if shown == quoted { shown } else { "the whole command".to_owned() };
            println!("\nTo allow it:  headspace guard allow '{shown}'");
            println!("              --once (the default), --project or --user");
        }
    }
    say_if_off(&config);
    Ok(ExitCode::SUCCESS)
}

/// What the guard would do is shown whether it is on or not: nobody may take the one for the other.
fn say_if_off(config: &Config) {
    let program = locate::program().ok();
    let dir = std::env::current_dir().unwrap_or_default();
    let asks = |hook: FoundHook<'_>| hook.entry.role(program.as_deref()) == Some(Role::Guard);
    if !config.guard.enabled && !Sources::load(&CLAUDE, &dir).hooks().any(asks) {
        println!(
            "\nThe guard is off: Claude Code does not ask it here. `headspace install --guard` turns it on."
        );
    }
}

/// A label and its text; on a terminal the text continues below itself.
fn print_row(label: &str, text: &str) {
    const LABEL: usize = 10;
    print_beside(&format!("{label:<LABEL$}"), text);
}

/// `text` behind `start`; on a terminal it is broken at blanks and continues in the same column.
fn print_beside(start: &str, text: &str) {
    let text = text::strip_control(text);
    let room = columns::terminal_columns().map(|all| all.saturating_sub(start.len() + 1));
    // A column of single words is harder to read than lines that the terminal breaks.
    let lines = match room.filter(|room| *room >= 20) {
        Some(room) => columns::wrap(&text, room),
        None => vec![text.to_string()],
    };
    let indent = start.len();
    for (at, line) in lines.iter().enumerate() {
        println!("{:<indent$}{line}", if at == 0 { start } else { "" });
    }
}

/// The tool call in a file: a whole payload, or the input of `tool`.
fn call_in(file: &Path, tool: Option<&str>) -> Result<Value> {
    let text = if file == Path::new("-") {
        std::io::read_to_string(std::io::stdin().lock()).context("could not read the input")?
    } else {
        std::fs::read_to_string(file).with_context(|| format!("could not read {}", file.display()))?
    };
    let value: Value =
        serde_json::from_str(&text).with_context(|| format!("could not read {} as JSON", file.display()))?;
    Ok(match (tool, value.get("tool_input")) {
        (Some(tool), Some(input)) => json!({"tool_name": tool, "tool_input": input, "cwd": value.get("cwd")}),
        (Some(tool), None) => json!({"tool_name": tool, "tool_input": value}),
        (None, _) => value,
    })
}

fn list(args: &RulesArgs) -> Result<ExitCode> {
    let config = Config::load().context("could not list the rules")?;
    let cwd = std::env::current_dir().map(|dir| dir.to_string_lossy().into_owned()).unwrap_or_default();
    let home = config::home().to_string_lossy().into_owned();
    let mut policy = rules::Policy::of(&config.guard, std::slice::from_ref(&cwd), &home);
    let mut problems = rules::problems(&config.guard);
    let text = headspace_platform::files::read_text(&config::config_file()).unwrap_or_default();
    let unknown = keys::unknown(&text).into_iter().filter(|key| key.name.starts_with("guard."));
    problems.extend(unknown.map(|key| key.to_string()));
    let project = project_settings(Path::new(&cwd));
    if let Some((path, own)) = &project {
        policy.tighten(own);
        problems.extend(rules::problems(own).into_iter().map(|why| format!("{}: {why}", path.display())));
    }
    let unknown = unknown_project_settings(Path::new(&cwd)).into_iter();
    problems.extend(unknown.map(|(path, line, why)| format!("{}:{line}: {why}", path.display())));
    let failure = config.guard.on_failure.as_deref().unwrap_or("continue");
    if args.json {
        let rows: Vec<Value> = rules::RULES
            .iter()
            .map(|rule| {
                json!({
                    "id": rule.id,
                    "default": rule.decision.as_str(),
                    "here": shown(policy.decision(rule)),
                    "pack": rule.pack,
                    "what": rule.what,
                    "instead": rule.instead,
                })
            })
            .collect();
        println!(
            "{:#}",
            json!({
                "profile": policy.profile.name(), "on_failure": failure, "rules": rows,
                "ask": policy.ask, "deny": policy.deny, "allow": policy.allow,
                "protected_paths": policy.protected_paths, "problems": problems,
            })
        );
    } else {
        for rule in rules::RULES {
            print_beside(&format!("{:<24} {:<5} ", rule.id, shown(policy.decision(rule))), rule.what);
        }
        for (word, patterns) in [("ask", &policy.ask), ("deny", &policy.deny), ("allow", &policy.allow)] {
            for pattern in patterns {
                print_beside(&format!("{:<24} {word:<5} ", "(your own)"), pattern);
            }
        }
        for path in &policy.protected_paths {
            print_beside(&format!("{:<24} {:<5} ", "(protected path)", "deny"), path);
        }
        println!("\nprofile:    {} (strict, balanced or quiet)", policy.profile.name());
        println!("on_failure: {failure} (what Claude Code does if the guard fails: continue or block)");
        println!("Change one in {}:", config::config_file().display());
        println!(
            "  \"guard\": {{ \"rules\": {{ \"git.discard\": \"ask\" }} }}    (\"on\", \"off\", \"ask\", \"deny\")"
        );
        say_if_off(&config);
    }
    for problem in &problems {
        eprintln!("headspace: could not use a setting: {}", text::strip_control(problem));
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The settings that the project around `dir` carries.
pub fn project_settings(dir: &Path) -> Option<(PathBuf, config::Guard)> {
    let root = headspace_platform::git::root_of(dir).unwrap_or(dir);
    let path = root.join(headspace_guard::PROJECT_FILE);
    let text = headspace_platform::files::read_text(&path).ok()?;
    Some((path, config::guard_of(&text)))
}

/// What is wrong with the guard's settings, of the user and of the project around `dir`: file, line, message.
pub fn setting_problems(dir: &Path) -> Vec<(PathBuf, usize, String)> {
    let root = headspace_platform::git::root_of(dir).unwrap_or(dir);
    let mut found = Vec::new();
    for path in [config::config_file(), root.join(headspace_guard::PROJECT_FILE)] {
        let Ok(text) = headspace_platform::files::read_text(&path) else { continue };
        for problem in rules::problems(&config::guard_of(&text)) {
            // The quoted word is the one to look for.
            let word = problem.split('"').nth(1).unwrap_or("\u{0}");
            let line = text.lines().position(|line| line.contains(word)).map_or(1, |at| at + 1);
            found.push((path.clone(), line, problem));
        }
    }
    found
}

/// Unknown settings in the file of the project around `dir`: file, line, message. What is known there stays in force.
pub fn unknown_project_settings(dir: &Path) -> Vec<(PathBuf, usize, String)> {
    let root = headspace_platform::git::root_of(dir).unwrap_or(dir);
    let path = root.join(headspace_guard::PROJECT_FILE);
    let text = headspace_platform::files::read_text(&path).unwrap_or_default();
    let found = keys::unknown_in_project(&text).into_iter();
    found.map(|(line, message)| (path.clone(), line, message)).collect()
}

fn shown(decision: Decision) -> &'static str {
    match decision {
        Decision::Allow => "off",
        other => other.as_str(),
    }
}
