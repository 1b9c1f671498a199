//! `headspace next` and `headspace jump`: focus the right terminal, or none.

use crate::view::board::{Board, Include};
use crate::view::client;
use anyhow::Result;
use headspace_core::model;
use headspace_core::model::AgentView;
use headspace_core::stamp::Stamp;
use headspace_core::text;
use headspace_platform::clock::WallClock;
use headspace_platform::config::Config;
use headspace_platform::terminal::multiplexer;
use std::process::ExitCode;

/// Jump to the agent that has waited longest for you
///
/// Never focuses a pane that cannot be shown to be the agent's own; then it says where the agent is, and exits 1.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example (tmux.conf: prefix + n):\n  bind n run-shell 'headspace next'")]
pub struct NextArgs {
    /// Only print which agent it is
    #[arg(long)]
    print: bool,
}

/// Jump to an agent's terminal pane
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  headspace jump api")]
pub struct JumpArgs {
    /// Id, or the beginning of a name, project or session id
    agent: String,
}

pub fn next(args: &NextArgs) -> Result<ExitCode> {
    let overview = client::overview(&Config::load()?, false)?;
    let board = Board::new(model::rows(&overview.agents, Stamp::now()), Include::default());
    match board.next().and_then(|row| overview.agents.iter().find(|agent| agent.id == row.id)) {
        None => {
            println!("nobody needs you");
            Ok(ExitCode::SUCCESS)
        }
        Some(agent) if args.print => {
            println!("{}", whereabouts(agent));
            Ok(ExitCode::SUCCESS)
        }
        Some(agent) => go(agent),
    }
}

pub fn jump(args: &JumpArgs) -> Result<ExitCode> {
    let overview = client::overview(&Config::load()?, false)?;
    go(client::find(&overview.agents, &args.agent)?)
}

fn go(agent: &AgentView) -> Result<ExitCode> {
    match multiplexer::jump(agent) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(why) => {
            println!("{}", whereabouts(agent));
            anyhow::bail!("could not jump to {}: {why}", text::one_line(&agent.name, 40))
        }
    }
}

/// What a person needs to find the agent by hand.
fn whereabouts(agent: &AgentView) -> String {
    let mut text =
        format!("{} {} ({})", agent.group.glyph(), text::one_line(&agent.name, 60), agent.group.label());
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
            text.push_str(&format!("\n  {label}{}", text::strip_control(&value)));
        }
    }
    text
}
