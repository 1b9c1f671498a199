//! Jumping to an agent, also to one on another machine: in a new tmux window if tmux runs, else in this terminal.

use headspace_core::model::AgentView;
use headspace_fleet::machines::machine::{self, Machine};
use headspace_platform::config::{self, Config, var};
use headspace_platform::terminal::multiplexer;
use std::io::IsTerminal;
use std::process::{Command, Stdio};

/// Jumps to an agent, wherever it runs, or says why not.
pub fn jump(agent: &AgentView) -> Result<(), String> {
    match (agent.machine, agent.ended_at) {
        (Some(_), None) => go(agent, true),
        _ => multiplexer::jump(agent),
    }
}

/// The same for a terminal that is in use: only a new window will do.
pub fn jump_beside(agent: &AgentView) -> Result<(), String> {
    match (agent.machine, agent.ended_at) {
        (Some(_), None) => go(agent, false),
        _ => multiplexer::jump(agent),
    }
}

fn machine_of(agent: &AgentView) -> Option<Machine> {
    let machines = machine::all(&Config::load().ok()?.machines).0;
    machines.into_iter().find(|machine| Some(machine.name) == agent.machine)
}

fn go(agent: &AgentView, in_this_terminal: bool) -> Result<(), String> {
    let machine = machine_of(agent).ok_or("its machine is not in the configuration any more")?;
    let words = machine.attach(agent.id.number)?;
    if config::is_set(var::TMUX) {
        return open_window(&agent.id.to_string(), &words);
    }
    if !in_this_terminal || !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        return Err(format!(
            "it runs on {}: `headspace jump {}` in a terminal goes there",
            machine.name, agent.id
        ));
    }
    let status = Command::new(&words[0])
        .args(&words[1..])
        .status()
        .map_err(|error| format!("could not run {}: {error}", words[0]))?;
    if status.success() { Ok(()) } else { Err(format!("{} ended without showing it", words[..4].join(" "))) }
}

/// Opens a tmux window named after the agent, or selects the existing one if this tmux can.
fn open_window(name: &str, words: &[String]) -> Result<(), String> {
    let mut why = String::new();
    // tmux before 3.2 has no -S and opens a second window.
    for options in [&["-S"][..], &[]] {
        let out = Command::new("tmux")
            .arg("new-window")
            .args(options)
            .args(["-n", name])
            .args(words)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("could not run tmux: {error}"))?;
        if out.status.success() {
            return Ok(());
        }
        why = headspace_core::text::one_line(&String::from_utf8_lossy(&out.stderr), 200);
    }
    Err(format!("tmux opened no window: {why}"))
}
