//! What install and uninstall print about what they did.

use crate::commands::install::apply::{AppliedEdit, PendingEdit};
use crate::commands::install::client_version::Version;
use crate::commands::install::script::ScriptState;
use crate::commands::install::{PlaceArgs, client_version, diff};
use crate::view::columns::{hanging, terminal_columns};
use anyhow::Result;
use headspace_clients::Row;
use headspace_core::text;
use headspace_core::text::numbers::counted;
use headspace_core::text::strip_control;
use headspace_core::wire::Health;
use headspace_hooks::client_settings::document::Diagnostic;
use headspace_hooks::client_settings::entry::Call;
use headspace_hooks::client_settings::locate;
use headspace_hooks::client_settings::locate::{Client, Scope};
use headspace_hooks::client_settings::merge::Merged;
use headspace_platform::config;
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

/// Everything to report about a finished install.
pub struct InstallReport<'a> {
    pub program: &'a str,
    pub done: &'a [AppliedEdit],
    pub version: Option<Version>,
    pub call: &'a Call,
    pub place: &'a PlaceArgs,
    /// The edits for clients other than Claude.
    pub others: &'a [(&'static Row, AppliedEdit)],
    /// How long the test event took, or why it did not arrive.
    pub test: Result<Duration>,
    pub url: String,
    /// The server at `url`, if one answers.
    pub server: Option<Health>,
}

impl InstallReport<'_> {
    pub fn print(&self, json: bool) {
        if json {
            return self.print_json();
        }
        self.done.iter().for_each(print_installed);
        row("command", &self.call.to_string());
        if self.is_claude() {
            row("client", &self.client());
        }
        row("test event", &self.test_result());
        row("server", &self.server());
        println!();
        self.print_when_it_takes_effect();
        println!("To undo: {}", self.undo());
        self.done.iter().for_each(warn);
        self.advise();
    }

    fn print_json(&self) {
        let test = match &self.test {
            Ok(took) => json!({"delivered": true, "ms": milliseconds(*took)}),
            Err(error) => json!({"delivered": false, "error": format!("{error:#}")}),
        };
        let files = self.done.iter().chain(self.others.iter().map(|(_, done)| done));
        print_json(&json!({
            "version": env!("CARGO_PKG_VERSION"),
            "command": self.call.to_string(),
            "client_version": self.version.map(|version| version.to_string()),
            "files": files.map(file_json).collect::<Vec<_>>(),
            "test": test,
            "server": {"url": self.shown_url(), "running": self.server.is_some()},
        }));
    }

    fn is_claude(&self) -> bool {
        self.place.client() == Client::Claude
    }

    fn test_result(&self) -> String {
        match &self.test {
            Ok(took) => format!("delivered in {} ms", milliseconds(*took)),
            Err(error) => format!("NOT delivered: {error:#}"),
        }
    }

    fn shown_url(&self) -> String {
        let said = self.server.as_ref().and_then(|server| server.url.as_deref());
        config::shown_url(&self.url, said)
    }

    fn server(&self) -> String {
        let url = self.shown_url();
        match &self.server {
            Some(server) => format!("running at {url} (version {}, pid {})", server.version, server.pid),
            None => format!("not running at {url}; events are spooled until you start it: headspace up"),
        }
    }

    /// Whether running sessions use the hooks at once, or why they do not.
    fn print_when_it_takes_effect(&self) {
        if !self.is_claude() {
            return;
        }
        let ignored = self.done.iter().find_map(|done| done.merged.leniency.as_ref());
        if let Some(Diagnostic { line, column, .. }) = ignored {
            println!(
                "NO HOOK RUNS YET: Claude Code ignores the whole file because of line {line}, column {column}. \
                 Remove its comments and trailing commas."
            );
        } else if self.done.iter().any(|done| done.changed) {
            println!("Sessions that are running pick this up within seconds; no restart needed.");
        }
    }

    fn client(&self) -> String {
        match self.version {
            Some(version)
                if client_version::events(Some(version)).len() < client_version::events(None).len() =>
            {
                format!(
                    "Claude Code {version}: only the events that this version knows; run install again after an update"
                )
            }
            Some(version) => format!("Claude Code {version}"),
            None => "`claude` is not on PATH; installed for a current version".to_owned(),
        }
    }

    fn undo(&self) -> String {
        let mut line = "headspace uninstall".to_owned();
        if self.place.client() == Client::Wave {
            line += " --client wave";
        }
        match self.place.scope() {
            Scope::User => {}
            Scope::Project => line += " --scope project",
            Scope::Local => line += " --scope local",
        }
        for dir in &self.place.config_dir {
            line += &format!(
                " --config-dir {}",
                headspace_hooks::client_settings::entry::quote(&dir.to_string_lossy())
            );
        }
        strip_control(&line)
    }

    fn advise(&self) {
        if self.place.client() == Client::Claude {
            let project = std::env::current_dir().unwrap_or_default();
            let sources = headspace_hooks::settings::sources::Sources::load(
                &headspace_hooks::dialect::CLAUDE,
                &project,
            );
            let only_managed = sources.read_once().find(|source| {
                source.scope == headspace_hooks::settings::sources::SourceScope::Managed
                    && source.reading.configuration.managed_only
            });
            if let Some(source) = only_managed {
                note(&format!(
                    "allowManagedHooksOnly in {} silences these hooks; ask the administrator of this machine to add them there",
                    short(&source.path)
                ));
            }
        }
        if locate::in_build_dir(Path::new(self.program)) {
            note(&format!(
                "{} is in a build directory; `headspace up` or `cargo install --path .` gives it a lasting place",
                short(Path::new(self.program))
            ));
        }
        if self.place.scope() == Scope::Project {
            note(
                "this file is shared with the project; others need headspace at the same path, or use --scope local",
            );
        }
    }
}

/// A line about an install, for `up`.
pub fn summary(done: &AppliedEdit) -> String {
    let merged = &done.merged;
    let count = |names: &[String], what: &str| {
        (!names.is_empty()).then(|| format!("{} {what}", counted(names.len(), "event")))
    };
    let changes = [("added", &merged.added), ("updated", &merged.updated), ("removed", &merged.removed)];
    let events: Vec<String> = changes.iter().filter_map(|(what, names)| count(names, what)).collect();
    let events = if events.is_empty() { "entries reordered".to_owned() } else { events.join(", ") };
    let backup =
        done.backup.as_ref().map_or_else(|| "new file".to_owned(), |path| format!("backup {}", short(path)));
    format!("{} ({events}; {backup})", short(&done.target.path))
}

/// Warnings about a file, one per line, to standard error.
pub fn warn(done: &AppliedEdit) {
    for Diagnostic { line, column, message } in &done.merged.warnings {
        note(&format!("{}:{line}:{column}: {message}", done.target.path.display()));
    }
    if done.changed && done.hard_linked {
        note(&format!("{} had a second hard link, which still is the old file", done.target.file.display()));
    }
    if let Some((path, ScriptState::Foreign)) = &done.script {
        note(&format!("{} is not ours and was left as it is", path.display()));
    }
}

/// The diff of everything that would change.
pub fn dry_run(edits: &[PendingEdit], as_json: bool) -> Result<ExitCode> {
    if as_json {
        let files = edits.iter().map(|edit| {
            json!({
                "path": edit.target.path.to_string_lossy(),
                "changes": edit.changes(),
                "diff": diff_of(edit),
                "warnings": remarks(&edit.merged.warnings),
            })
        });
        print_json(&json!({"dry_run": true, "files": files.collect::<Vec<_>>()}));
        return Ok(ExitCode::SUCCESS);
    }
    for edit in edits {
        let diff = diff_of(edit);
        if diff.is_empty() {
            println!("{}: nothing to change", short(&edit.target.path));
        } else if std::io::stdout().is_terminal() {
            diff.split_inclusive('\n').for_each(|line| print!("{}", colored(line)));
        } else {
            print!("{diff}");
        }
        for Diagnostic { line, column, message } in &edit.merged.warnings {
            note(&format!("{}:{line}:{column}: {message}", edit.target.path.display()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub fn uninstalled(done: &[AppliedEdit], as_json: bool) -> Result<ExitCode> {
    if as_json {
        print_json(&json!({"files": done.iter().map(file_json).collect::<Vec<_>>()}));
        return Ok(ExitCode::SUCCESS);
    }
    for done in done {
        if !done.changed && done.script.is_none() {
            println!("{}: headspace is not installed there, nothing changed", short(&done.target.path));
            continue;
        }
        row("settings", &settings_line(done));
        row(
            "",
            match (done.changed, done.deleted, done.restored) {
                (false, ..) => "no entry of headspace in it, left as it is",
                (_, true, _) => "removed, because install had created it",
                (_, _, true) => "restored to what it was before install, to the byte",
                _ => "headspace's entries removed, everything else left as it is",
            },
        );
        if let Some(backup) = &done.backup {
            row("backup", &short(backup));
        }
        if let Some((path, _)) = &done.script {
            row("script", &format!("{} removed", short(path)));
        }
        warn(done);
    }
    if done.iter().any(|done| done.changed) {
        let history = format!(
            "Your history stays in {}; `headspace down` stops the server.",
            short(&config::state_dir())
        );
        println!("\n{}", hanging(&history, 0, 0, terminal_columns()));
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn print_installed(done: &AppliedEdit) {
    let merged = &done.merged;
    row("settings", &settings_line(done));
    if !done.changed {
        row("", "already installed, nothing changed");
    }
    if let Some(backup) = &done.backup {
        row("backup", &short(backup));
    }
    let events = event_changes(merged);
    // A file that is ours as a whole has no single entries; the row of its client says what is in it.
    if !events.is_empty() {
        row("events", &events);
    }
    if merged.guard_changed {
        row("guard", "checks tool calls before they run (PreToolUse)");
    }
    if merged.wait_changed {
        row("answering", "a permission waits for an answer from anywhere (PermissionRequest)");
    }
    if merged.status_line_changed {
        let whose = if merged.status_line_new { "headspace's own" } else { "yours is shown as before" };
        row("status line", &format!("{whose}; context and cost are recorded"));
    }
    row(
        "others",
        &match merged.foreign {
            0 => "no hooks of other tools".to_owned(),
            1 => "1 hook of another tool, untouched".to_owned(),
            count => format!("{count} hooks of other tools, untouched"),
        },
    );
    if let Some((path, state)) = &done.script {
        let state = match state {
            ScriptState::Missing => " written",
            ScriptState::Outdated => " updated",
            ScriptState::Current => "",
            ScriptState::Foreign => " was not written by headspace, left as it is",
        };
        row("script", &format!("{}{state}", short(path)));
    }
}

/// "12 added; updated: Stop; 3 as before"
fn event_changes(merged: &Merged) -> String {
    let named = [("added", &merged.added), ("updated", &merged.updated), ("removed", &merged.removed)];
    let mut changes: Vec<String> = named
        .iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| match names.len() {
            count if count > 6 => format!("{count} {what}"),
            _ => format!("{what}: {}", names.join(", ")),
        })
        .collect();
    if merged.kept > 0 {
        changes.push(format!("{} as before", merged.kept));
    }
    changes.join("; ")
}

fn settings_line(done: &AppliedEdit) -> String {
    let path = short(&done.target.path);
    if done.target.is_symlink() {
        format!("{path} -> {} (link kept)", short(&done.target.file))
    } else {
        path
    }
}

pub(super) fn file_json(done: &AppliedEdit) -> Value {
    let merged = &done.merged;
    json!({
        "path": done.target.path.to_string_lossy(),
        "file": done.target.file.to_string_lossy(),
        "changed": done.changed,
        "restored": done.changed && done.restored,
        "deleted": done.deleted,
        "backup": done.backup.as_ref().map(|path| path.to_string_lossy()),
        "added": merged.added,
        "updated": merged.updated,
        "removed": merged.removed,
        "kept": merged.kept,
        "foreign": merged.foreign,
        "guard_changed": merged.guard_changed,
        "status_line_changed": merged.status_line_changed,
        "script": done.script.as_ref().map(|(path, _)| path.to_string_lossy()),
        "warnings": remarks(&merged.warnings),
    })
}

fn remarks(remarks: &[Diagnostic]) -> Vec<Value> {
    let one = |r: &Diagnostic| json!({"line": r.line, "column": r.column, "message": r.message});
    remarks.iter().map(one).collect()
}

fn diff_of(edit: &PendingEdit) -> String {
    let name = edit.target.path.display().to_string();
    let side = |text: &Option<String>| match text {
        Some(text) => (name.clone(), text.clone()),
        None => ("/dev/null".to_owned(), String::new()),
    };
    let (old, new) = (side(&edit.before), side(&edit.after));
    diff::unified((&old.0, &old.1), (&new.0, &new.1)) + &script_diff(edit)
}

fn script_diff(edit: &PendingEdit) -> String {
    let Some((path, state)) = &edit.script else { return String::new() };
    let old = headspace_platform::files::read_text(path).unwrap_or_default();
    let name = path.display().to_string();
    match (edit.script_text(), state) {
        (Some(new), ScriptState::Missing) => diff::unified(("/dev/null", ""), (&name, &new)),
        (Some(new), ScriptState::Outdated) => diff::unified((&name, &old), (&name, &new)),
        (None, _) => diff::unified((&name, &old), ("/dev/null", "")),
        _ => String::new(),
    }
}

/// A line of a diff, safe for the terminal, colored unless NO_COLOR is set.
fn colored(line: &str) -> String {
    let text: Vec<String> = line.trim_end_matches(['\n', '\r']).split('\t').map(strip_control).collect();
    let text = text.join("\t");
    let color = match line.as_bytes().first() {
        _ if config::env("NO_COLOR").is_some() => "",
        Some(b'+') => "32",
        Some(b'-') => "31",
        Some(b'@') => "36",
        _ => "",
    };
    if color.is_empty() { format!("{text}\n") } else { format!("\x1b[{color}m{text}\x1b[0m\n") }
}

/// Columns of a label and the blank after it.
const LABEL: usize = 13;

pub(super) fn row(label: &str, text: &str) {
    println!("{label:<12} {}", hanging(text, LABEL, LABEL, terminal_columns()));
}

pub(super) fn note(text: &str) {
    eprintln!("headspace: note: {}", strip_control(text));
}

/// A path with `~` for the home directory.
pub fn short(path: &Path) -> String {
    let home = config::home();
    let text = match path.strip_prefix(&home) {
        Ok(rest) if home != Path::new("/") => Path::new("~").join(rest).display().to_string(),
        _ => path.display().to_string(),
    };
    strip_control(&text)
}

fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 10_000.0).round() / 10.0
}

pub(super) fn print_json(value: &Value) {
    println!("{}", text::json(value, true));
}
