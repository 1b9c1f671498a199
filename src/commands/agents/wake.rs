//! `headspace wake` and `headspace notify-when`: prompt an agent, at once or when another agent is done.

use crate::commands::agents::reply;
use crate::view::client::{self, Client};
use crate::view::person;
use anyhow::{Result, bail};
use headspace_core::model::{AgentView, Status};
use headspace_core::text;
use headspace_platform::config::Config;
use std::io::{BufRead, BufReader};
use std::process::ExitCode;

/// Wake an agent with a message, the way `reply` sends a prompt
///
/// Types the text into the agent's own tmux pane, but only into an empty input box and never into a dialog. While the agent
/// is busy, the text waits in the server.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  headspace wake conductor 'The tests are green, go on.'")]
pub struct WakeArgs {
    /// Id, name as `status` shows it, or the beginning of a name, project or session id
    agent: String,
    /// The text to type
    text: String,
}

/// Wait until an agent is done or needs you, then wake another one
///
/// Runs until the condition holds; add `&` to keep using your shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  headspace notify-when worker done --wake conductor &")]
pub struct NotifyWhenArgs {
    /// The agent to watch
    agent: String,
    /// What to wait for
    #[arg(value_enum)]
    condition: Condition,
    /// The agent to wake
    #[arg(long, value_name = "AGENT")]
    wake: String,
    /// The text to type there (default: which agent is done)
    #[arg(long)]
    text: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Condition {
    /// Its turn and its background work have ended
    Done,
    /// It asks something
    Attention,
    /// Its session has ended
    Ended,
}

impl Condition {
    fn holds(self, agent: &AgentView) -> bool {
        match self {
            Condition::Done => agent.ended_at.is_some() || agent.status == Status::Idle,
            Condition::Attention => agent.status == Status::Attention,
            Condition::Ended => agent.ended_at.is_some(),
        }
    }
}

pub fn wake(args: &WakeArgs) -> Result<ExitCode> {
    person::require("wake")?;
    let client = Client::new(&Config::load()?)?;
    let agent = reply::target(&client, &args.agent, "wake")?;
    reply::wake(&client, &agent, &args.text)
}

pub fn notify_when(args: &NotifyWhenArgs) -> Result<ExitCode> {
    person::require("wake")?;
    let client = Client::new(&Config::load()?)?;
    let agents = client.agents(true)?;
    let watched = client::find_live(&agents, &args.agent, "wait for")?;
    // The agent to wake must exist now, not only in an hour.
    let target = client::find_live(&agents, &args.wake, "wake")?.id;
    wait_until(&client, watched, args.condition)?;
    let now = client.agents(false)?;
    let Some(target) = now.iter().find(|agent| agent.id == target) else {
        bail!("could not wake {}: it has ended", args.wake)
    };
    let text = args.text.clone().unwrap_or_else(|| {
        format!("[headspace] {} is {}.", text::one_line(&watched.name, 60), done_word(args.condition))
    });
    reply::wake(&client, target, &text)
}

fn done_word(condition: Condition) -> &'static str {
    match condition {
        Condition::Done => "done",
        Condition::Attention => "waiting for an answer",
        Condition::Ended => "gone",
    }
}

/// Follows the changes of one agent. The stream is opened before the state is read, so that no change is missed in
/// between.
fn wait_until(client: &Client, agent: &AgentView, condition: Condition) -> Result<()> {
    loop {
        let stream = client
            .stream(&format!("/api/events/stream?types=agent_updated,session_ended&agent_id={}", agent.id));
        let now = client.agents(true).ok().and_then(|agents| agents.into_iter().find(|a| a.id == agent.id));
        if now.is_some_and(|now| condition.holds(&now)) {
            return Ok(());
        }
        let Ok(stream) = stream else {
            std::thread::sleep(std::time::Duration::from_secs(1));
            continue;
        };
        for line in BufReader::new(stream).lines() {
            let Ok(line) = line else { break };
            let Some(data) = line.strip_prefix("data:") else { continue };
            if serde_json::from_slice::<AgentView>(data.trim().as_bytes())
                .is_ok_and(|agent| condition.holds(&agent))
            {
                return Ok(());
            }
        }
    }
}
