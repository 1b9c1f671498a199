//! How `headspace hooks` shows what it found: JSON for programs, lines for people.

use crate::commands::hooks::Report;
use crate::commands::install::short;
use crate::view::columns::width;
use headspace_core::text::numbers::counted;
use headspace_core::text::{one_line, strip_control};
use headspace_hooks::outcome::output::Permission;
use headspace_hooks::running::HookExecutionResult;
use headspace_hooks::settings::sources::{FoundHook, Sources};
use headspace_hooks::settings::{Problem, Severity};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// A problem and the file it is in.
pub type Located<'a> = (&'a Path, &'a Problem);

pub fn list_json(sources: &Sources) -> Value {
    let hooks: Vec<Value> = listed(sources)
        .iter()
        .map(|row| {
            let mut hook = identity(&row.found);
            hook["timeout"] = json!(row.timeout);
            hook["line"] = json!(row.found.entry.position.line);
            hook["column"] = json!(row.found.entry.position.column);
            hook["scope"] = json!(row.found.source.scope.to_string());
            hook["ours"] = json!(row.found.is_ours());
            hook["double_of"] = json!(row.double_of);
            hook["disabled"] = json!(row.disabled);
            hook
        })
        .collect();
    json!({ "hooks": hooks })
}

/// The fields that identify a hook in every output.
fn identity(found: &FoundHook<'_>) -> Value {
    json!({
        "file": found.source.path.to_string_lossy(),
        "event": found.group.event,
        "index": found.group.index,
        "matcher": found.group.matcher,
        "type": found.entry.kind(),
        "command": found.entry.what(),
    })
}

struct Listed<'s> {
    found: FoundHook<'s>,
    timeout: f64,
    double_of: Option<String>,
    disabled: Option<String>,
}

fn listed(sources: &Sources) -> Vec<Listed<'_>> {
    let all: Vec<FoundHook<'_>> = sources.hooks().collect();
    let dialect = sources.dialect;
    all.iter()
        .enumerate()
        .map(|(i, found)| {
            let double = all[..i].iter().find(|earlier| {
                earlier.group.event == found.group.event && earlier.entry.is_double_of(found.entry)
            });
            let default = dialect.event(found.group.event).and_then(|rule| rule.timeout);
            Listed {
                found: *found,
                timeout: found.entry.timeout.or(default).unwrap_or(dialect.default_timeout),
                double_of: double.filter(|_| dialect.doubles_run_once).map(|first| position(first)),
                disabled: sources.disabled(found.source),
            }
        })
        .collect()
}

fn position(found: &FoundHook<'_>) -> String {
    format!("{}:{}", found.source.path.display(), found.entry.position.line)
}

pub fn list(sources: &Sources) -> String {
    let mut out = String::new();
    let rows = listed(sources);
    let matcher_columns = rows.iter().map(|row| width(&matcher(row))).max().unwrap_or(0).min(MATCHER_AT_MOST);
    for source in &sources.files {
        let state = match (&source.same_as, source.found) {
            (_, false) => " (none)".to_owned(),
            (Some(other), _) => format!(" (the same file as {})", short(other)),
            (None, true) if source.reading.out_of_effect => " (ignored: see hooks validate)".to_owned(),
            (None, true) => String::new(),
        };
        let _ = writeln!(out, "{}  {}{state}", source.scope, short(&source.path));
        for row in rows.iter().filter(|row| std::ptr::eq(row.found.source, source)) {
            let _ = writeln!(out, "{}", list_line(row, matcher_columns));
        }
    }
    let running = rows.iter().filter(|row| row.disabled.is_none() && row.double_of.is_none()).count();
    let _ = writeln!(out, "\n{} of {} run", counted(running, "hook"), rows.len());
    out
}

/// Columns of the matchers; a longer one pushes its command to the right.
const MATCHER_AT_MOST: usize = 16;

fn matcher(row: &Listed<'_>) -> String {
    let matcher = row.found.group.matcher.as_deref().filter(|matcher| !matcher.is_empty());
    one_line(matcher.unwrap_or("*"), 32)
}

fn list_line(row: &Listed<'_>, matcher_columns: usize) -> String {
    let entry = row.found.entry;
    let mut line = format!(
        "  {:>5}  {:<20} {:<matcher_columns$} {}",
        format!(":{}", entry.position.line),
        row.found.group.event,
        matcher(row),
        described(&row.found, 60),
    );
    let mut notes = vec![format!("{} s", row.timeout)];
    if let Some(condition) = &entry.condition {
        notes.push(format!("if {}", one_line(condition, 40)));
    }
    if entry.detached {
        notes.push("async".into());
    }
    if row.found.is_ours() {
        notes.push("ours".into());
    }
    if let Some(first) = &row.double_of {
        notes.push(format!("runs once; same as {}", short(Path::new(first))));
    }
    if let Some(reason) = &row.disabled {
        notes.push(format!("off: {}", strip_control(reason)));
    }
    let _ = write!(line, "  [{}]", notes.join(", "));
    line
}

fn described(found: &FoundHook<'_>, width: usize) -> String {
    let what = one_line(&found.entry.started(), width);
    match found.entry.kind() {
        "command" => what,
        kind => format!("{kind}: {what}"),
    }
}

pub fn validate_json(
    sources: &Sources,
    beside: &[(std::path::PathBuf, Problem)],
    hints: &[(std::path::PathBuf, Problem)],
) -> Value {
    let files: Vec<Value> = sources
        .files
        .iter()
        .map(|source| {
            json!({"path": source.path.to_string_lossy(), "found": source.found, "valid": source.reading.is_valid(),
                   "scope": source.scope.to_string()})
        })
        .collect();
    let problem = |(file, problem): Located<'_>| {
        json!({
            "file": file.to_string_lossy(),
            "line": problem.position.line,
            "column": problem.position.column,
            "path": problem.path,
            "level": problem.severity.to_string(),
            "message": problem.message,
            "fix": problem.fix,
        })
    };
    let hints: Vec<Value> = hints.iter().map(|(file, hint)| problem((file.as_path(), hint))).collect();
    json!({
        "files": files,
        "problems": problems(sources, beside).into_iter().map(problem).collect::<Vec<_>>(),
        "hints": hints,
        "hooks": sources.hooks().count(),
    })
}

fn problems<'p>(sources: &'p Sources, beside: &'p [(std::path::PathBuf, Problem)]) -> Vec<Located<'p>> {
    sources
        .read_once()
        .flat_map(|source| source.reading.problems.iter().map(|problem| (source.path.as_path(), problem)))
        .chain(beside.iter().map(|(file, problem)| (file.as_path(), problem)))
        .collect()
}

pub fn validate(
    sources: &Sources,
    beside: &[(std::path::PathBuf, Problem)],
    hints: &[(std::path::PathBuf, Problem)],
) -> String {
    let mut out = String::new();
    let mut all = problems(sources, beside);
    all.extend(hints.iter().map(|(file, hint)| (file.as_path(), hint)));
    for (file, problem) in &all {
        let at = format!("{}:{}:{}", short(file), problem.position.line, problem.position.column);
        let path = if problem.path.is_empty() {
            String::new()
        } else {
            format!(" {}:", strip_control(&problem.path))
        };
        let _ = writeln!(out, "{at}: {}:{path} {}", problem.severity, strip_control(&problem.message));
        if let Some(fix) = &problem.fix {
            let _ = writeln!(out, "    write: {}", one_line(fix, 100));
        }
    }
    let count = |severity: Severity| all.iter().filter(|(_, problem)| problem.severity == severity).count();
    let found = sources.read_once().filter(|source| source.found).count();
    if found == 0 {
        let looked: Vec<String> = sources.read_once().map(|source| short(&source.path)).collect();
        let _ = writeln!(out, "There is no settings file: looked for {}", looked.join(", "));
    }
    let _ = writeln!(
        out,
        "{}, {}: {}, {}, {}",
        counted(found, "file"),
        counted(sources.hooks().count(), "usable hook"),
        counted(count(Severity::Error), "error"),
        counted(count(Severity::Warning), "warning"),
        counted(count(Severity::Hint), "hint"),
    );
    out
}

pub fn run_json(report: &Report<'_>) -> Value {
    let results: Vec<Value> = report
        .selection
        .matched
        .iter()
        .zip(&report.results)
        .filter_map(|(found, result)| Some(result_json(found, result.as_ref()?)))
        .collect();
    let skipped: Vec<Value> = report
        .selection
        .skipped
        .iter()
        .map(|(found, why)| {
            let mut hook = identity(found);
            hook["why"] = json!(why);
            hook
        })
        .collect();
    let mut answer = json!({
        "event": report.rule.name,
        "matched": report.selection.matched.iter().map(identity).collect::<Vec<_>>(),
        "results": results,
        "blocked": report.verdict.blocked,
        "reason": report.verdict.reason,
        "context": report.verdict.context,
        "permission": report.verdict.permission.map(word),
        "skipped": skipped,
    });
    if !report.times.is_empty() {
        let timing = report.selection.matched.iter().zip(&report.times).map(|(found, times)| {
            json!({"command": found.entry.what(), "runs": times.len(),
                   "p50_ms": percentile(times, 0.5).map(milliseconds),
                   "p95_ms": percentile(times, 0.95).map(milliseconds)})
        });
        answer["timing"] = timing.collect();
    }
    answer
}

fn result_json(found: &FoundHook<'_>, result: &HookExecutionResult) -> Value {
    json!({
        "command": found.entry.what(),
        "success": result.success,
        "exit_code": result.exit_code,
        "signal": result.signal,
        "status": result.status,
        "stdout": result.stdout,
        "stderr": result.stderr,
        "duration_ms": milliseconds(result.duration),
        "timed_out": result.timed_out,
        "truncated": result.truncated,
        "error": result.error,
    })
}

fn word(permission: Permission) -> &'static str {
    match permission {
        Permission::Allow => "allow",
        Permission::Ask => "ask",
        Permission::Defer => "defer",
        Permission::Deny => "deny",
    }
}

/// Never 0: something was done.
fn milliseconds(duration: Duration) -> f64 {
    ((duration.as_secs_f64() * 1e6).round() / 1e3).max(0.001)
}

fn percentile(times: &[Duration], share: f64) -> Option<Duration> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

pub fn run(report: &Report<'_>) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}  {}", report.rule.name, one_line(&report.payload, 120));
    let mut effects = report.verdict.effects.iter();
    for (i, (found, result)) in report.selection.matched.iter().zip(&report.results).enumerate() {
        let _ =
            writeln!(out, "\n{}. {}  ({})", i + 1, described(found, 100), short(Path::new(&position(found))));
        let Some(result) = result else {
            let _ = writeln!(out, "   started and not waited for (async)");
            continue;
        };
        let _ = writeln!(out, "   {}", outcome(result));
        for (name, text) in [("stdout", &result.stdout), ("stderr", &result.stderr)] {
            for line in text.trim_end().lines().take(20) {
                let _ = writeln!(out, "   {name}: {}", one_line(line, 160));
            }
        }
        if result.truncated {
            let _ = writeln!(out, "   (it printed more than the 1 MiB that is kept)");
        }
        for note in effects.next().into_iter().flat_map(|effect| &effect.notes) {
            let _ = writeln!(out, "   {}", one_line(note, 200));
        }
        if let Some(times) = report.times.get(i).filter(|times| !times.is_empty()) {
            let shown = |share| percentile(times, share).map_or(0.0, milliseconds);
            let _ =
                writeln!(out, "   {} runs: p50 {:.1} ms, p95 {:.1} ms", times.len(), shown(0.5), shown(0.95));
        }
    }
    for (found, why) in &report.selection.skipped {
        let at = short(Path::new(&position(found)));
        let _ = writeln!(out, "\n-  {}  ({at})\n   not run: {}", described(found, 100), strip_control(why));
    }
    let _ = write!(out, "\n{}", conclusion(report));
    out
}

fn outcome(result: &HookExecutionResult) -> String {
    let took = format!("{:.1} ms", milliseconds(result.duration));
    let end = match (&result.error, result.status, result.exit_code) {
        (Some(error), _, None) => strip_control(error),
        (_, Some(status), _) => format!("HTTP {status}"),
        (_, _, Some(code)) => format!("exit code {code}"),
        _ => "no exit code".into(),
    };
    format!("{end}, {took}")
}

/// What the client would do now.
fn conclusion(report: &Report<'_>) -> String {
    let verdict = &report.verdict;
    let mut out = String::new();
    if report.selection.matched.is_empty() {
        return "no hook runs: the client continues as if there were none\n".into();
    }
    let by: Vec<String> = waited_for(report)
        .zip(&verdict.effects)
        .filter(|(_, effect)| effect.block.is_some())
        .map(|(number, _)| number.to_string())
        .collect();
    if verdict.blocked {
        let reason = one_line(verdict.reason.as_deref().unwrap_or_default(), 300);
        let _ = writeln!(out, "=> blocked by hook {}: {reason}", by.join(" and "));
    } else {
        let _ = writeln!(
            out,
            "=> {}",
            match verdict.permission {
                Some(Permission::Allow) => "allowed without asking the user",
                Some(Permission::Ask) => "the user is asked",
                Some(Permission::Defer) => "deferred",
                _ => "not blocked: the client continues",
            }
        );
    }
    for (number, effect) in waited_for(report).zip(&verdict.effects) {
        if let Some(context) = &effect.context {
            let _ = writeln!(out, "   context for the model from hook {number}: {}", one_line(context, 300));
        }
    }
    out
}

/// The numbers, as shown, of the hooks that have a result.
fn waited_for<'r>(report: &'r Report<'_>) -> impl Iterator<Item = usize> + 'r {
    report.results.iter().enumerate().filter(|(_, result)| result.is_some()).map(|(i, _)| i + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_measured_times() {
        let times: Vec<Duration> = (1..=20).map(Duration::from_millis).collect();
        assert_eq!(percentile(&times, 0.5), Some(Duration::from_millis(10)));
        assert_eq!(percentile(&times, 0.95), Some(Duration::from_millis(19)));
        assert_eq!(percentile(&times[..1], 0.95), Some(Duration::from_millis(1)));
        assert_eq!(percentile(&[], 0.5), None);
    }
}
