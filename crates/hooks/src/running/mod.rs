//! Runs the hooks of an event as the client would.

pub mod http;
mod process;

use crate::dialect::{Dialect, EventRule};
use crate::payload::HookJsonInput;
use crate::running::process::StartCommand;
use crate::settings::sources::FoundHook;
use crate::settings::{Action, HookCommand};
use headspace_platform::clock::WallClock;
use headspace_platform::config;
use std::ffi::OsString;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

/// The client gives all SessionEnd hooks together at most this long, whatever their `timeout` says.
const MAX_SESSION_END_SECONDS: f64 = 60.0;

/// Ten years are as good as forever, and no clock overflows.
const MAX_TIMEOUT_SECONDS: f64 = 10.0 * 365.0 * 86_400.0;

/// Everything a hook is run with.
#[derive(Debug)]
pub struct HookExecutionContext {
    pub dialect: &'static Dialect,
    pub rule: &'static EventRule,
    pub project: PathBuf,
    /// The session's working directory, which exists.
    pub cwd: PathBuf,
    pub payload: HookJsonInput,
    /// What the settings files set for the client's environment.
    pub env: Vec<(String, String)>,
    /// `CLAUDE_ENV_FILE`, for the events that get it.
    pub env_file: Option<PathBuf>,
}

/// The result of one hook.
#[derive(Clone, Debug, Default)]
pub struct HookExecutionResult {
    /// Exited by itself with 0; http: 2xx with an empty or JSON body.
    pub success: bool,
    pub exit_code: Option<i32>,
    pub signal: Option<i32>,
    /// The status of an http hook's answer.
    pub status: Option<u16>,
    pub stdout: String,
    pub stderr: String,
    pub duration: Duration,
    pub timed_out: bool,
    /// It printed more than is kept.
    pub truncated: bool,
    /// What went wrong apart from the exit code.
    pub error: Option<String>,
}

/// Runs the hooks, together or one after another as the dialect says. Results are in the order of `hooks`; `None` for a
/// hook that is not waited for.
pub fn run_all(context: &HookExecutionContext, hooks: &[FoundHook<'_>]) -> Vec<Option<HookExecutionResult>> {
    let payload = context.payload.to_json();
    let run = |hook: &FoundHook<'_>| run_one(context, hook, &payload, timeout(context, hook, hooks));
    if !context.dialect.together {
        return hooks.iter().map(run).collect();
    }
    thread::scope(|scope| {
        let threads: Vec<_> = hooks.iter().map(|hook| scope.spawn(|| run(hook))).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|_| Some(failed("headspace itself failed".into()))))
            .collect()
    })
}

fn run_one(
    context: &HookExecutionContext,
    hook: &FoundHook<'_>,
    payload: &str,
    timeout: Duration,
) -> Option<HookExecutionResult> {
    match &hook.entry.action {
        Action::Command(command) => {
            let start = start(context, hook, command);
            let stdin = format!("{payload}\n").into_bytes();
            if hook.entry.detached {
                let error = process::start_detached(&start, &stdin).err()?;
                return Some(failed(format!("could not start {}: {error}", start.program.display())));
            }
            Some(process::run(&start, stdin, timeout))
        }
        Action::Http(request) => Some(http::run(request, payload, timeout)),
        Action::ClientOnly { kind, .. } => {
            Some(failed(format!("hooks of type {kind} cannot be run here, only by the client itself")))
        }
    }
}

fn failed(error: String) -> HookExecutionResult {
    HookExecutionResult { error: Some(error), ..HookExecutionResult::default() }
}

/// The hook's own `timeout`, the event's, or the dialect's. At SessionEnd all hooks share a budget that the largest
/// `timeout` among them raises.
pub fn timeout(context: &HookExecutionContext, hook: &FoundHook<'_>, all: &[FoundHook<'_>]) -> Duration {
    let own = hook.entry.timeout;
    let event = context.rule.timeout.unwrap_or(context.dialect.default_timeout);
    let seconds = if context.rule.name == "SessionEnd" {
        let raised = all.iter().filter_map(|hook| hook.entry.timeout).fold(event, f64::max);
        let budget = config::env("CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS")
            .and_then(|ms| ms.parse::<f64>().ok())
            .map_or(raised.min(MAX_SESSION_END_SECONDS), |ms| ms / 1000.0);
        own.unwrap_or(budget).min(budget)
    } else {
        own.unwrap_or(event)
    };
    Duration::from_secs_f64(seconds.clamp(0.0, MAX_TIMEOUT_SECONDS))
}

fn start(context: &HookExecutionContext, hook: &FoundHook<'_>, command: &HookCommand) -> StartCommand {
    let (program, args) = match &command.args {
        Some(args) => {
            let filled = |text: &String| OsString::from(with_placeholders(context, hook, text));
            (filled(&command.command), args.iter().map(filled).collect())
        }
        None => shell(command),
    };
    let directory = if context.dialect.follows_cwd { &context.cwd } else { &context.project };
    StartCommand { program, args, directory: directory.clone(), env: environment(context, hook) }
}

fn shell(command: &HookCommand) -> (OsString, Vec<OsString>) {
    if command.shell() == "powershell" {
        return ("pwsh".into(), vec!["-NoProfile".into(), "-Command".into(), command.command.clone().into()]);
    }
    let shell = if cfg!(windows) { "bash" } else { "/bin/sh" };
    (shell.into(), vec!["-c".into(), command.command.clone().into()])
}

/// The exec form replaces these names and no other variables.
fn with_placeholders(context: &HookExecutionContext, hook: &FoundHook<'_>, text: &str) -> String {
    let project = context.project.to_string_lossy();
    let text = text.replace("${CLAUDE_PROJECT_DIR}", &project);
    match &hook.source.plugin_root {
        Some(root) => text.replace("${CLAUDE_PLUGIN_ROOT}", &root.to_string_lossy()),
        None => text,
    }
}

fn environment(context: &HookExecutionContext, hook: &FoundHook<'_>) -> Vec<(String, OsString)> {
    let mut env: Vec<(String, OsString)> = Vec::new();
    let mut set = |name: &str, value: OsString| env.push((name.to_owned(), value));
    if context.dialect.has_policies {
        for (name, value) in &context.env {
            set(name, value.into());
        }
        set("CLAUDECODE", "1".into());
        set("CLAUDE_CODE_SESSION_ID", context.payload.text("session_id").unwrap_or_default().into());
        if let Some(root) = &hook.source.plugin_root {
            set("CLAUDE_PLUGIN_ROOT", root.into());
        }
        if let Some(file) = &context.env_file {
            set("CLAUDE_ENV_FILE", file.into());
        }
    } else {
        for (name, value) in &hook.source.reading.configuration.env {
            set(name, value.into());
        }
        set("HOOK_EVENT", context.rule.name.into());
        let tool = context.payload.text("tool_name").filter(|_| context.rule.is_tool_event());
        set("HOOK_TOOL_NAME", tool.unwrap_or_default().into());
    }
    set(config::var::REHEARSAL, "1".into());
    set(context.dialect.project_variable, context.project.clone().into());
    env.retain(|(name, value)| is_settable(name, value));
    env
}

/// A variable that the system rejects would make the whole start fail.
fn is_settable(name: &str, value: &OsString) -> bool {
    let value = value.as_encoded_bytes();
    !name.is_empty() && !name.contains(['=', '\0']) && !value.contains(&0)
}

/// A path in the temporary directory that no other run of headspace uses.
pub fn temporary_path(what: &str) -> PathBuf {
    use std::sync::atomic::{AtomicU64, Ordering};
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let now = headspace_core::stamp::Stamp::now().0;
    std::env::temp_dir().join(format!("headspace-{what}-{}-{number}-{now}", std::process::id()))
}
