//! Whether a process is a coding agent, or was started by one: only people may answer, reply and lift refusals, and an
//! agent runs as the same user with the same files. This is the one place that decides it, for the command line and for
//! the server.
//!
//! It stops an agent that takes the short way, not code that wants to hide: such code can do whatever its user can.

use crate::table::CLIENTS;
use headspace_platform::config::var;
use headspace_platform::process;

/// Coding agents without a row in the table.
const OTHERS: [&str; 3] = ["cursor-agent", "aider", "goose"];

/// How many ancestors of a process are checked.
const MAX_GENERATIONS: usize = 64;

/// Why `pid` counts as a coding agent, or as started by one; `None` if nothing says so. `is_known` tells which processes
/// are known to be agents, whatever they are called.
pub fn agent_behind(pid: u32, is_known: impl Fn(u32) -> bool) -> Option<String> {
    if process::has_variable(pid, var::CLAUDECODE) {
        return Some(format!("{} is set", var::CLAUDECODE));
    }
    let mut next = Some(pid);
    for _ in 0..MAX_GENERATIONS {
        let one = next?;
        if is_known(one) {
            return Some(format!("process {one} is an agent"));
        }
        if let Some(name) = named_agent(one) {
            return Some(format!("{name} is among the processes that started this"));
        }
        next = process::parent_of(one);
    }
    None
}

/// The coding agent that process `pid` is, by its name and its command line.
pub fn named_agent(pid: u32) -> Option<&'static str> {
    agent_named(process::name(pid).as_deref(), &process::command_line(pid))
}

/// The coding agent that a process of this name and command line is. An interpreter is what it runs.
fn agent_named(name: Option<&str>, words: &[String]) -> Option<&'static str> {
    let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    let program = words.first().map(|word| base(word));
    let interpreter = program.as_deref().is_some_and(|program| {
        ["node", "bun", "deno", "python"].iter().any(|interpreter| program.starts_with(interpreter))
    });
    let script = words.get(1).filter(|_| interpreter);
    let names = CLIENTS.iter().map(|row| row.program).chain(OTHERS);
    let is = |agent: &&str| {
        name == Some(*agent)
            || program.as_deref() == Some(*agent)
            || script.is_some_and(|script| base(script) == **agent || script.contains(&format!("/{agent}-c")))
    };
    names.into_iter().find(is)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_known_by_what_runs() {
        for (name, words, expected) in [
            ("claude", "claude --resume x", Some("claude")),
            ("2.1.325", "/opt/claude/bin/claude", Some("claude")),
            ("node", "node /usr/lib/node_modules/@anthropic-ai/claude-code/cli.js", Some("claude")),
            ("MainThread", "/usr/bin/node /usr/local/bin/gemini -p x", Some("gemini")),
            ("codex", "codex", Some("codex")),
            ("bash", "bash /home/user/claude", None),
            ("vim", "vim claude", None),
            ("node", "node server.js claude", None),
            ("tmux: server", "tmux new -s claude", None),
            ("zsh", "-zsh", None),
            ("", "", None),
        ] {
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            assert_eq!(agent_named(Some(name), &words), expected, "{name} {words:?}");
        }
    }

    #[test]
    fn a_known_agent_is_found_at_every_distance() {
        let own = std::process::id();
        assert!(agent_behind(own, |pid| pid == own).is_some());
        if let Some(parent) = process::parent_of(own) {
            assert!(agent_behind(own, |pid| pid == parent).is_some());
        }
    }
}
