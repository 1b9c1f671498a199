//! Coverage: Claude Code processes that live, against agents that report.

use super::{Finding, Patient, checks};
use std::collections::HashSet;

/// Five live, four reporting: which one does not, and why that may be.
pub fn coverage(patient: &Patient) -> Vec<Finding> {
    let live = clients();
    let Some(agents) = checks::agents(patient) else { return Vec::new() };
    let reporting: HashSet<u32> = agents.iter().filter_map(|agent| agent.claude_pid).collect();
    let silent: Vec<&Process> = live.iter().filter(|process| !reporting.contains(&process.pid)).collect();
    let counts = format!("{} live, {} reporting", live.len(), live.len() - silent.len());
    if silent.is_empty() {
        return vec![Finding::ok(counts)];
    }
    let list: Vec<String> =
        silent.iter().take(5).map(|process| format!("pid {} in {}", process.pid, process.cwd)).collect();
    vec![Finding::warn(
        format!("{counts}; silent: {}", list.join(", ")),
        "say something to it: it reports with its next event (not if it runs with --bare, or in a folder that is not trusted)",
    )]
}

struct Process {
    pid: u32,
    cwd: String,
}

/// Processes that are Claude Code: a native binary called `claude`, or node running its script.
#[cfg(target_os = "linux")]
fn clients() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let mut found: Vec<Process> = entries
        .flatten()
        .filter_map(|entry| {
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let line = std::fs::read(entry.path().join("cmdline")).ok()?;
            let words: Vec<String> =
                line.split(|b| *b == 0).map(|w| String::from_utf8_lossy(w).into_owned()).collect();
            is_client(&words).then(|| Process {
                pid,
                cwd: std::fs::read_link(entry.path().join("cwd"))
                    .map_or_else(|_| "?".into(), |dir| dir.display().to_string()),
            })
        })
        .collect();
    found.sort_by_key(|process| process.pid);
    found
}

#[cfg(not(target_os = "linux"))]
fn clients() -> Vec<Process> {
    let Ok(out) = std::process::Command::new("ps").args(["-axo", "pid=,args="]).output() else {
        return Vec::new();
    };
    String::from_utf8_lossy(&out.stdout)
        .lines()
        .filter_map(|line| {
            let (pid, args) = line.trim().split_once(' ')?;
            let words: Vec<String> = args.split_whitespace().map(str::to_owned).collect();
            is_client(&words).then(|| Process { pid: pid.parse().unwrap_or(0), cwd: "?".into() })
        })
        .collect()
}

fn is_client(words: &[String]) -> bool {
    let name = |word: &String| word.rsplit('/').next().unwrap_or(word).to_owned();
    let Some(program) = words.first().map(name) else { return false };
    let script = words.get(1).map(String::as_str).unwrap_or_default();
    program == "claude"
        || (program.starts_with("node")
            && (script.ends_with("/claude") || script.contains("claude-code/cli")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_is_told_from_what_only_mentions_it() {
        for (line, expected) in [
            ("/usr/local/bin/claude --resume", true),
            ("claude", true),
            ("node /usr/bin/claude -p hi", true),
            ("node /x/node_modules/@anthropic-ai/claude-code/cli.js", true),
            ("vim claude.md", false),
            ("node server.js claude", false),
            ("", false),
        ] {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            assert_eq!(is_client(&words), expected, "{line}");
        }
    }
}
