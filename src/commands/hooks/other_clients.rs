//! `hooks list` and `hooks validate` for the files of other coding agents.

use anyhow::{Context, Result};
use headspace_clients::{Registration, Row, hook_file};
use headspace_core::text;
use headspace_core::text::strip_control;
use headspace_platform::config;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A file of a client's, read.
struct ReadFile {
    path: PathBuf,
    found: bool,
    hooks: Vec<hook_file::Hook>,
    /// With the line and column where each is.
    faults: Vec<(usize, usize, hook_file::Fault)>,
}

pub(super) fn list(row: &'static Row, as_json: bool) -> Result<ExitCode> {
    let files = read(row)?;
    if as_json {
        let hooks: Vec<Value> = files
            .iter()
            .flat_map(|file| file.hooks.iter().map(move |hook| (file, hook)))
            .map(|(file, hook)| {
                json!({"file": file.path.to_string_lossy(), "event": hook.event, "matcher": hook.matcher, "command": hook.command})
            })
            .collect();
        println!("{}", text::json(&json!({"client": row.name, "hooks": hooks}), false));
        return Ok(ExitCode::SUCCESS);
    }
    for file in files.iter().filter(|file| file.found) {
        println!("{}", file.path.display());
        for hook in &file.hooks {
            let matcher = hook.matcher.as_deref().unwrap_or("*");
            println!(
                "  {:<20} {:<10} {}",
                strip_control(&hook.event),
                strip_control(matcher),
                strip_control(&hook.command)
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(super) fn validate(row: &'static Row, as_json: bool) -> Result<ExitCode> {
    let files = read(row)?;
    let failed = |file: &ReadFile| file.faults.iter().any(|(_, _, fault)| fault.is_error);
    if as_json {
        let problems: Vec<Value> = files
            .iter()
            .flat_map(|file| file.faults.iter().map(move |fault| (file, fault)))
            .map(|(file, (line, column, fault))| {
                json!({
                    "file": file.path.to_string_lossy(), "line": line, "column": column, "path": fault.path,
                    "level": if fault.is_error { "error" } else { "warning" }, "message": fault.message,
                })
            })
            .collect();
        let hooks: usize = files.iter().map(|file| file.hooks.len()).sum();
        let listed: Vec<Value> = files
            .iter()
            .map(|file| json!({"path": file.path.to_string_lossy(), "found": file.found, "valid": file.found && !failed(file)}))
            .collect();
        let value = json!({"files": listed, "problems": problems, "hooks": hooks});
        println!("{}", text::json(&value, false));
    } else {
        for file in files.iter().filter(|file| file.found) {
            for (line, column, fault) in &file.faults {
                let level = if fault.is_error { "error" } else { "warning" };
                println!(
                    "{}:{line}:{column}: {level}: {}",
                    file.path.display(),
                    strip_control(&fault.message)
                );
            }
            if file.faults.is_empty() {
                println!("{}: {} hooks, nothing wrong", file.path.display(), file.hooks.len());
            }
        }
    }
    Ok(if files.iter().any(failed) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// The client's hook files: one, or every file of the directory that holds ours.
fn read(row: &'static Row) -> Result<Vec<ReadFile>> {
    let file = row.file().with_context(|| format!("could not look: {} has no hook file", row.title))?;
    let mut paths = vec![file.clone()];
    if let (Registration::DropIn { .. }, Some(directory)) = (row.registration, file.parent()) {
        let beside = std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
        paths
            .extend(beside.filter(|path| path.extension().is_some_and(|end| end == "json") && *path != file));
        paths.sort_unstable();
    }
    Ok(paths.into_iter().map(|path| read_file(row, path)).collect())
}

fn read_file(row: &Row, path: PathBuf) -> ReadFile {
    let nothing = |path: PathBuf, found| ReadFile { path, found, hooks: Vec::new(), faults: Vec::new() };
    let Ok(text) = headspace_platform::files::read_text(&path) else {
        let found = Path::new(&path).exists();
        return nothing(path, found);
    };
    if let Registration::Plugin { source, .. } = row.registration {
        let (hooks, faults) = hook_file::read_plugin(row, source, &text);
        let faults = faults.into_iter().map(|fault| (1, 1, fault)).collect();
        return ReadFile { path, found: true, hooks, faults };
    }
    match serde_json::from_str::<Value>(&config::strict_json(&text)) {
        Ok(value) => {
            let (hooks, faults) = hook_file::read(row, &value);
            let faults = faults.into_iter().map(|fault| {
                let (line, column) = place(&text, &fault.path);
                (line, column, fault)
            });
            ReadFile { path, found: true, hooks, faults: faults.collect() }
        }
        Err(error) => {
            let fault = hook_file::Fault {
                path: String::new(),
                is_error: true,
                message: format!("not JSON: {error}"),
            };
            let faults = vec![(error.line(), error.column(), fault)];
            ReadFile { faults, ..nothing(path, true) }
        }
    }
}

/// Where the last named key of a path first stands in the text.
fn place(text: &str, path: &str) -> (usize, usize) {
    let keys = path.split(['.', '[']).filter(|part| !part.is_empty() && !part.ends_with(']'));
    let mut at = 0;
    for key in keys {
        if let Some(found) = text[at..].find(&format!("\"{key}\"")) {
            at += found;
        }
    }
    let before = &text[..at];
    (before.matches('\n').count() + 1, before.rsplit('\n').next().unwrap_or_default().chars().count() + 1)
}
