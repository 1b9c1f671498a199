//! `headspace hooks`: list, validate, run and capture.

pub mod capture;
pub mod lint;
mod other_clients;
pub mod output;

use anyhow::{Context, Result};
use headspace_core::text;
use headspace_hooks::dialect::{CLAUDE, Dialect, EventRule, WAVE};
use headspace_hooks::json_spans::Position;
use headspace_hooks::matching;
use headspace_hooks::matching::Selection;
use headspace_hooks::outcome;
use headspace_hooks::outcome::Verdict;
use headspace_hooks::payload::HookJsonInput;
use headspace_hooks::payload::sample;
use headspace_hooks::running;
use headspace_hooks::running::{HookExecutionContext, HookExecutionResult};
use headspace_hooks::settings::sources::{SourceScope, Sources};
use headspace_hooks::settings::{Problem, Severity};
use headspace_platform::config;
use headspace_platform::usage::Usage;
use serde_json::json;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// List, check, run and record hooks
///
/// Reads hook configurations as the client does, shows what is wrong with them, and runs the hooks without the client.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  headspace hooks validate && headspace hooks run PreToolUse --tool Bash")]
pub struct HooksArgs {
    #[command(subcommand)]
    command: HooksCommand,
}

#[derive(Debug, clap::Subcommand)]
enum HooksCommand {
    /// List every hook that applies to a project
    ///
    /// Reads all settings files in the order of precedence: managed, user, project, local, plugins. Marks duplicates,
    /// which the client runs only once, and hooks that are turned off.
    #[command(after_help = "Example:\n  headspace hooks list --project ~/src/app")]
    List(FilesArgs),
    /// Check the settings files for what the client ignores, drops or never runs
    ///
    /// Exits 1 if there is an error. A hint is about an entry that the client accepts but that may not do what you want.
    #[command(after_help = "Example:\n  headspace hooks validate --json | jq '.problems[]'")]
    Validate(FilesArgs),
    /// Run the hooks of an event as the client would, and show what it would do next
    ///
    /// The hooks get a sample payload; --input and --set replace parts of it. An --input with the event's own
    /// hook_event_name is used unchanged.
    #[command(
        after_help = "Example:\n  headspace hooks run PreToolUse --tool Bash --set tool_input.command='git push --force'"
    )]
    Run(RunArgs),
    Capture(capture::CaptureArgs),
}

#[derive(Debug, clap::Args)]
struct Where {
    /// The project's directory
    #[arg(long, value_name = "DIR", default_value = ".")]
    project: PathBuf,
    /// The client whose settings files and rules apply
    #[arg(long, default_value = "claude", value_parser = ["claude", "wave"])]
    dialect: String,
}

// Which settings files are read, for `list` and `validate`. (What clap sees as a description is the command's.)
#[derive(Debug, clap::Args)]
struct FilesArgs {
    #[command(flatten)]
    place: Where,
    #[command(flatten)]
    client: ClientFile,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct RunArgs {
    /// The event, such as PreToolUse
    event: String,
    /// The tool, for tool events
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// A file with the payload; - reads standard input
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Replace a field of the payload (tool_input.command=ls); may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Run the hooks this many times, and show how long each takes (p50, p95)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    time: Option<u32>,
    #[command(flatten)]
    place: Where,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &HooksArgs) -> Result<ExitCode> {
    match &args.command {
        HooksCommand::List(args) => list(args),
        HooksCommand::Validate(args) => validate(args),
        HooksCommand::Run(args) => run_event(args),
        HooksCommand::Capture(args) => capture::run(args),
    }
}

/// Another coding agent's hook file.
#[derive(Debug, clap::Args)]
struct ClientFile {
    /// The hook file of another coding agent (codex, copilot, qwen, gemini, opencode)
    #[arg(long, value_name = "NAME", conflicts_with_all = ["project", "dialect"])]
    client: Option<String>,
}

impl ClientFile {
    fn row(&self) -> Result<Option<&'static headspace_clients::Row>> {
        let Some(name) = &self.client else { return Ok(None) };
        let mut rows = crate::commands::install::clients::rows();
        let row = rows.find(|row| row.name == name).ok_or_else(|| {
            Usage(format!(
                "no client {name:?} has a hook file here: `headspace install --list` names those it finds"
            ))
        })?;
        Ok(Some(row))
    }
}

impl Where {
    fn dialect(&self) -> &'static Dialect {
        if self.dialect == WAVE.name { &WAVE } else { &CLAUDE }
    }

    /// Absolute and without links, as the client sees its working directory.
    fn project(&self) -> Result<PathBuf> {
        let path = std::fs::canonicalize(&self.project).map_err(|error| {
            Usage(format!("could not use the project {}: {error}", self.project.display()))
        })?;
        if !path.is_dir() {
            return Err(Usage(format!(
                "could not use the project {}: it is not a directory",
                path.display()
            ))
            .into());
        }
        Ok(path)
    }

    fn sources(&self) -> Result<Sources> {
        Ok(Sources::load(self.dialect(), &self.project()?))
    }
}

/// A reader that has seen enough (`| head`) is not a failure.
fn print(text: &str) -> Result<()> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error).context("could not print"),
        _ => Ok(()),
    }
}

fn list(args: &FilesArgs) -> Result<ExitCode> {
    if let Some(row) = args.client.row()? {
        return other_clients::list(row, args.json);
    }
    let sources = args.place.sources()?;
    if args.json {
        print(&format!("{}\n", text::json(&output::list_json(&sources), false)))?;
    } else {
        print(&output::list(&sources))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn validate(args: &FilesArgs) -> Result<ExitCode> {
    if let Some(row) = args.client.row()? {
        return other_clients::validate(row, args.json);
    }
    let sources = args.place.sources()?;
    let hints = crate::commands::hooks::lint::hints(&sources);
    let beside = beside(&sources);
    if args.json {
        print(&format!("{}\n", text::json(&output::validate_json(&sources, &beside, &hints), false)))?;
    } else {
        print(&output::validate(&sources, &beside, &hints))?;
    }
    let in_files = sources.read_once().flat_map(|source| &source.reading.problems);
    let has_errors =
        in_files.chain(beside.iter().map(|(_, problem)| problem)).any(|p| p.severity == Severity::Error);
    Ok(if has_errors { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Problems that no single settings file shows: hooks that a policy turns off, and the guard's own settings.
fn beside(sources: &Sources) -> Vec<(PathBuf, Problem)> {
    let mut found = Vec::new();
    if !sources.dialect.has_policies {
        return found;
    }
    let start = Position { line: 1, column: 1 };
    let problem =
        |position, severity, message| Problem { position, path: String::new(), severity, message, fix: None };
    for source in sources.read_once().filter(|source| source.found) {
        let dead = sources.disabled(source).filter(|why| why.starts_with("allowManagedHooksOnly"));
        if let (Some(why), false) = (dead, source.reading.configuration.groups.is_empty()) {
            let message = format!("none of these hooks will run: {why}");
            found.push((source.path.clone(), problem(start, Severity::Warning, message)));
        }
        if source.reading.configuration.managed_only && source.scope != SourceScope::Managed {
            let message = "allowManagedHooksOnly has no effect here: it works only in managed settings";
            found.push((source.path.clone(), problem(start, Severity::Warning, message.to_owned())));
        }
    }
    for (path, line, message) in crate::commands::guard::setting_problems(&sources.project) {
        found.push((path, problem(Position { line, column: 1 }, Severity::Error, message)));
    }
    for (path, line, message) in crate::commands::guard::unknown_project_settings(&sources.project) {
        found.push((path, problem(Position { line, column: 1 }, Severity::Warning, message)));
    }
    found
}

/// What `hooks run` reports.
pub struct Report<'s> {
    pub rule: &'static EventRule,
    pub payload: String,
    pub selection: Selection<'s>,
    /// One per matched hook; `None` for those that are not waited for.
    pub results: Vec<Option<HookExecutionResult>>,
    pub verdict: Verdict,
    /// One per matched hook, if they were run for timing.
    pub times: Vec<Vec<Duration>>,
}

fn run_event(args: &RunArgs) -> Result<ExitCode> {
    let dialect = args.place.dialect();
    let rule = dialect.event(&args.event).ok_or_else(|| unknown_event(dialect, &args.event))?;
    let project = args.place.project()?;
    let payload = payload(args, dialect, rule, &project)?;
    let sources = Sources::load(dialect, &project);
    let cwd =
        payload.text("cwd").map(PathBuf::from).filter(|cwd| cwd.is_dir()).unwrap_or_else(|| project.clone());
    let selection = matching::select(&sources, rule, &payload, &cwd);
    let env_file = EnvFile::new(rule)?;
    let context = HookExecutionContext {
        dialect,
        rule,
        project,
        cwd,
        payload,
        env: sources.env(),
        env_file: env_file.as_ref().map(|file| file.0.clone()),
    };
    let mut results = running::run_all(&context, &selection.matched);
    let mut times: Vec<Vec<Duration>> = Vec::new();
    if let Some(rounds) = args.time {
        times = results.iter().map(|result| result.iter().map(|r| r.duration).collect()).collect();
        for _ in 1..rounds {
            for (times, result) in times.iter_mut().zip(running::run_all(&context, &selection.matched)) {
                times.extend(result.map(|result| result.duration));
            }
        }
    }
    let verdict = conclude(dialect, rule, &selection, &mut results);
    let report = Report { rule, payload: context.payload.to_json(), selection, results, verdict, times };
    if args.json {
        print(&format!("{}\n", text::json(&output::run_json(&report), false)))?;
    } else {
        print(&output::run(&report))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn conclude(
    dialect: &Dialect,
    rule: &EventRule,
    selection: &Selection<'_>,
    results: &mut [Option<HookExecutionResult>],
) -> Verdict {
    let mut ran: Vec<_> = selection
        .matched
        .iter()
        .zip(results.iter_mut())
        .filter_map(|(found, result)| Some((found.entry, result.as_mut()?)))
        .collect();
    outcome::conclude(dialect, rule, &mut ran)
}

fn unknown_event(dialect: &Dialect, name: &str) -> Usage {
    let known = dialect.events.iter().map(|rule| rule.name);
    let nearest = headspace_hooks::settings::check::nearest(name, known.clone());
    let hint =
        nearest.map_or_else(|| known.collect::<Vec<_>>().join(", "), |name| format!("did you mean {name}?"));
    Usage(format!("could not run {name:?}: it is not an event of {} ({hint})", dialect.client))
}

/// Defaults, then the event's sample, then the input, then what was set by hand.
fn payload(args: &RunArgs, dialect: &Dialect, rule: &EventRule, project: &Path) -> Result<HookJsonInput> {
    let given = args.input.as_deref().map(read_input).transpose()?;
    let tool = match &args.tool {
        Some(tool) => Some(tool.clone()),
        None => given.as_ref().and_then(|input| input.text("tool_name")),
    };
    let tool = tool.filter(|tool| !tool.is_empty());
    let set = args.set.iter().any(|assignment| assignment.starts_with("tool_name="));
    if rule.is_tool_event() && tool.is_none() && !set {
        return Err(Usage(format!("could not run {}: it needs a tool (--tool NAME)", rule.name)).into());
    }
    let config =
        if dialect.has_policies { config::claude_dir() } else { config::home().join(dialect.directory) };
    let mut payload = sample::defaults(dialect, project, &config);
    let recorded =
        given.as_ref().is_some_and(|input| input.text("hook_event_name").as_deref() == Some(rule.name));
    if !recorded {
        payload.lay_over(sample::event(dialect, rule, tool.as_deref(), project, &config));
    }
    payload.lay_over(given.unwrap_or_default());
    payload.set("hook_event_name", &json!(rule.name));
    if let Some(tool) = tool.filter(|_| rule.is_tool_event()) {
        payload.set("tool_name", &json!(tool));
    }
    for assignment in &args.set {
        payload
            .assign(assignment)
            .map_err(|error| Usage(format!("could not use --set {assignment:?}: {error}")))?;
    }
    for key in ["cwd", "transcript_path"] {
        if let Some(path) = payload.text(key).filter(|path| !path.is_empty() && Path::new(path).is_relative())
        {
            payload.set(key, &json!(project.join(path).to_string_lossy()));
        }
    }
    Ok(payload)
}

fn read_input(path: &Path) -> Result<HookJsonInput> {
    let mut bytes = Vec::new();
    if path == Path::new("-") {
        std::io::stdin().lock().read_to_end(&mut bytes).context("could not read the input")?;
    } else {
        bytes =
            std::fs::read(path).with_context(|| format!("could not read the input {}", path.display()))?;
    }
    HookJsonInput::parse(&String::from_utf8_lossy(&bytes)).context("could not use the input")
}

/// `CLAUDE_ENV_FILE`: deleted when the run is over.
struct EnvFile(PathBuf);

impl EnvFile {
    fn new(rule: &EventRule) -> Result<Option<EnvFile>> {
        if !rule.env_file {
            return Ok(None);
        }
        let path = running::temporary_path("env");
        headspace_platform::files::create_private(&path)
            .context("could not create the file for CLAUDE_ENV_FILE")?;
        Ok(Some(EnvFile(path)))
    }
}

impl Drop for EnvFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}
