//! `headspace next` and `headspace jump`: focus the right terminal, or none.

use crate::view::board::{Board, Include};
use crate::view::client;
use crate::view::columns::{error_columns, hanging, terminal_columns};
use crate::view::far_agent;
use anyhow::Result;
use headspace_core::model;
use headspace_core::model::{AgentView, Row};
use headspace_core::stamp::Stamp;
use headspace_core::text;
use headspace_platform::clock::WallClock;
use headspace_platform::config::Config;
use headspace_platform::terminal::tmux;
use std::process::ExitCode;

/// Jump to the agent that has waited longest for you
///
/// An agent whose pane cannot be proven to be its own is skipped and named. If no agent can be reached, prints where the
/// first one is and exits 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example (tmux.conf: prefix + N):\n  bind N run-shell 'headspace next'")]
pub struct NextArgs {
    /// Only print which agent that is
    #[arg(long)]
    print: bool,
}

/// Jump to an agent's terminal pane
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  headspace jump api")]
pub struct JumpArgs {
    /// Id, name as `status` shows it, or the beginning of a name, project or session id
    agent: String,
    /// Show it in this terminal: attach to its tmux session (what a jump to another machine runs there)
    #[arg(long)]
    attach: bool,
}

pub fn next(args: &NextArgs) -> Result<ExitCode> {
    let overview = client::overview(&Config::load()?, false)?;
    let board = Board::new(model::rows(&overview.agents, Stamp::now()), Include::default());
    let agent_of = |row: &Row| overview.agents.iter().find(|agent| agent.id == row.id);
    let waiting: Vec<&AgentView> = board.waiting().filter_map(agent_of).collect();
    let Some(first) = waiting.first() else {
        println!("no agent needs you");
        return Ok(ExitCode::SUCCESS);
    };
    if args.print {
        println!("{}", whereabouts(first));
        return Ok(ExitCode::SUCCESS);
    }
    let mut passed_over: Vec<(&AgentView, String)> = Vec::new();
    for agent in &waiting {
        match far_agent::jump(agent) {
            Ok(()) => {
                name_passed_over(&passed_over);
                return Ok(ExitCode::SUCCESS);
            }
            // Its pane is selected, but no terminal shows it. It would be the same with another agent.
            Err(why) if tmux::locate(agent).is_ok() => {
                name_passed_over(&passed_over);
                return refuse(agent, &why);
            }
            Err(why) => passed_over.push((agent, why)),
        }
    }
    println!("{}", whereabouts(first));
    for (at, (agent, why)) in passed_over.iter().enumerate() {
        let either = if at > 0 { " either" } else { "" };
        let message = format!("headspace: could not jump to {}{either}: {why}", title(agent));
        eprintln!("{}", hanging(&message, 0, 2, error_columns()));
    }
    Ok(ExitCode::FAILURE)
}

pub fn jump(args: &JumpArgs) -> Result<ExitCode> {
    let overview = client::overview(&Config::load()?, true)?;
    let agent = client::find_live(&overview.agents, &args.agent, "jump to")?;
    if args.attach && agent.machine.is_none() {
        return tmux::attach(agent).map_or_else(|why| refuse(agent, &why), |()| Ok(ExitCode::SUCCESS));
    }
    go(agent)
}

fn name_passed_over(agents: &[(&AgentView, String)]) {
    for (agent, why) in agents {
        eprintln!("headspace: passed over {}: {}", title(agent), text::strip_control(why));
    }
}

fn go(agent: &AgentView) -> Result<ExitCode> {
    far_agent::jump(agent).map_or_else(|why| refuse(agent, &why), |()| Ok(ExitCode::SUCCESS))
}

/// Fails with the reason, after printing where the agent is.
fn refuse(agent: &AgentView, why: &str) -> Result<ExitCode> {
    println!("{}", whereabouts(agent));
    anyhow::bail!("could not jump to {}: {why}", title(agent))
}

fn title(agent: &AgentView) -> String {
    text::one_line(&agent.title(), 60)
}

/// What a person needs to find the agent by hand.
fn whereabouts(agent: &AgentView) -> String {
    let mut text = format!("{} {} ({})", agent.group.glyph(), title(agent), agent.group.label());
    let about = text::one_line(&agent.about(), 120);
    for (label, value) in [
        ("", Some(about)),
        ("in ", agent.cwd.clone()),
        ("tmux session ", agent.tmux_session.clone()),
        ("tmux pane ", agent.tmux_pane.clone()),
        ("process ", agent.claude_pid.map(|pid| pid.to_string())),
        ("on ", agent.host.clone()),
    ] {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            let line = hanging(&format!("  {label}{value}"), 0, 4, terminal_columns());
            text.push_str(&format!("\n{line}"));
        }
    }
    text
}
