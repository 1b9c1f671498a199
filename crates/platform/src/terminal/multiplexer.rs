//! Which terminal shows an agent, and how to bring it to the front: tmux, or a terminal with a command for it.

use crate::command::output_within;
use crate::terminal::tmux::{self, Refusal};
use headspace_core::model::{AgentView, Process};
use serde_json::Value;
use std::process::Command;
use std::time::Duration;

/// How long a terminal may take to bring a window to the front.
const TERMINAL_ANSWERS_WITHIN: Duration = Duration::from_secs(5);

/// A terminal that can be told to show one of its windows.
struct Terminal {
    name: &'static str,
    /// The field of the agent's `terminal` that identifies the window.
    field: &'static str,
    command: fn(id: &str, terminal: &Value) -> Vec<String>,
}

const TERMINALS: &[Terminal] = &[
    Terminal { name: "kitty", field: "kitty_window_id", command: kitty },
    Terminal { name: "WezTerm", field: "wezterm_pane", command: wezterm },
    Terminal { name: "iTerm2", field: "iterm_session_id", command: iterm },
];

fn kitty(id: &str, terminal: &Value) -> Vec<String> {
    let mut words = vec!["kitten".to_owned(), "@".into()];
    if let Some(socket) = terminal["kitty_listen_on"].as_str() {
        words.extend(["--to".into(), socket.into()]);
    }
    words.extend(["focus-window".into(), "--match".into(), format!("id:{id}")]);
    words
}

fn wezterm(id: &str, _: &Value) -> Vec<String> {
    ["wezterm", "cli", "activate-pane", "--pane-id", id].map(str::to_owned).to_vec()
}

fn iterm(id: &str, _: &Value) -> Vec<String> {
    // `w0t1p0:UUID`: the part after the colon identifies the session. It is passed as an argument, never as program text.
    let session = id.rsplit(':').next().unwrap_or(id);
    let script = "on run argv\ntell application \"iTerm2\"\nrepeat with w in windows\nrepeat with t in tabs of w\n\
        repeat with s in sessions of t\nif unique id of s is (item 1 of argv) then\nselect w\nselect t\nselect s\n\
        activate\nreturn \"ok\"\nend if\nend repeat\nend repeat\nend repeat\nend tell\nerror \"no such session\"\nend run";
    ["osascript", "-e", script, session].map(str::to_owned).to_vec()
}

/// Brings the agent's terminal to the front, or returns the reason why not.
pub fn jump(agent: &AgentView) -> Result<(), Refusal> {
    if agent.ended_at.is_some() {
        return Err("it has ended".into());
    }
    // Panes and windows on the other machine may have the same names as ours.
    if agent.elsewhere || agent.machine.is_some() {
        return Err("it runs on another machine".into());
    }
    if agent.tmux_pane.is_some() {
        return tmux::jump(agent);
    }
    let terminal = agent.terminal.as_ref().unwrap_or(&Value::Null);
    let Some((spec, id)) = TERMINALS.iter().find_map(|spec| Some((spec, terminal[spec.field].as_str()?)))
    else {
        return Err("its terminal has no command for that, or its hooks did not name it".into());
    };
    // An id that could be read as an option or as another selector is not a window.
    if id.is_empty()
        || !id.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b':'))
        || id.starts_with('-')
    {
        return Err(format!("{id:?} is not a window of {}", spec.name));
    }
    match (agent.claude_pid, agent.claude_pid_start) {
        (Some(pid), Some(start)) if crate::process::lives(Process { pid, start }) => {}
        _ => {
            return Err(format!("its process is gone, so the {} window may be another process's", spec.name));
        }
    }
    let words = (spec.command)(id, terminal);
    let mut command = Command::new(&words[0]);
    let out = output_within(command.args(&words[1..]), "", TERMINAL_ANSWERS_WITHIN)
        .map_err(|error| format!("could not run {}: {error}", words[0]))?;
    if out.status.success() {
        return Ok(());
    }
    Err(format!(
        "{} refused: {}",
        spec.name,
        headspace_core::text::one_line(&String::from_utf8_lossy(&out.stderr), 200)
    ))
}
