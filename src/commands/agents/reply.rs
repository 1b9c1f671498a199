//! `headspace reply` and `headspace stop`: send a prompt or a stop into an agent's terminal without going there. The server
//! does the typing; this command asks first if a text is more than a prompt.

use crate::view::client::{self, Client};
use crate::view::person;
use anyhow::{Context, Result, bail};
use headspace_core::json::serialize::to_text;
use headspace_core::model::{AgentView, ReplyState, StopState};
use headspace_core::text;
use headspace_platform::config::Config;
use headspace_platform::usage::Usage;
use serde::Deserialize;
use serde_json::json;
use std::io::{Read, Write};
use std::process::ExitCode;

/// Send the next prompt to an agent in tmux
///
/// Types the prompt into the agent's own pane, but only into an empty input box and never into a dialog, and reports
/// whether the client accepted it. While the agent is busy, the prompt waits in the server and is typed when the agent is
/// idle; a restart of the server drops it. A text that begins with ! / # or @ is more than a prompt to the client, so you
/// are asked first.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace reply api 'Now write the tests.'\n  headspace reply api --list\n  headspace reply api --cancel 1f0c22ab"
)]
pub struct ReplyArgs {
    /// Id, name as `status` shows it, or the beginning of a name, project or session id
    agent: String,
    /// The prompt; - reads it from standard input
    #[arg(required_unless_present_any = ["list", "cancel"])]
    text: Option<String>,
    /// List the prompts that are waiting for the agent
    #[arg(long, conflicts_with_all = ["text", "cancel"])]
    list: bool,
    /// Cancel a waiting prompt
    #[arg(long, value_name = "ID", conflicts_with = "text")]
    cancel: Option<String>,
    /// Send a text that begins with ! / # or @ without asking
    #[arg(long)]
    yes: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Stop what an agent is doing
///
/// Presses Esc in the agent's own pane and waits until the interrupt shows. Where that is not possible, its next tool
/// call is denied and the turn ends there; until then the agent is shown as "stop requested".
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  headspace stop api")]
pub struct StopArgs {
    /// Id, name as `status` shows it, or the beginning of a name, project or session id
    agent: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Deserialize, serde::Serialize)]
struct Replied {
    reply_id: String,
    state: ReplyState,
    why: Option<String>,
}

#[derive(Debug, Deserialize, serde::Serialize)]
struct Stopped {
    state: StopState,
    why: Option<String>,
}

pub fn reply(args: &ReplyArgs) -> Result<ExitCode> {
    let client = Client::new(&Config::load()?)?;
    if args.list {
        return list(&target(&client, &args.agent, "list the prompts of")?, args.json);
    }
    person::require("reply")?;
    let agent = target(&client, &args.agent, "reply to")?;
    if let Some(id) = &args.cancel {
        client.post::<serde_json::Value>(
            &format!("/api/agents/{}/reply/cancel", agent.id),
            &json!({"reply_id": id}),
        )?;
        println!("canceled");
        return Ok(ExitCode::SUCCESS);
    }
    let text = match args.text.as_deref() {
        Some("-") => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("could not read the prompt")?;
            text
        }
        text => text.unwrap_or_default().to_owned(),
    };
    if text.trim().is_empty() {
        return Err(Usage("could not reply: the prompt is empty".into()).into());
    }
    let special = is_special(&text);
    if special && !args.yes && !confirmed(&text)? {
        println!("Nothing was sent.");
        return Ok(ExitCode::FAILURE);
    }
    let replied = send(&client, &agent, &text, special)?;
    if args.json {
        println!("{}", to_text(&replied)?);
    }
    report(&agent, &replied, args.json)
}

pub fn stop(args: &StopArgs) -> Result<ExitCode> {
    person::require("stop")?;
    let client = Client::new(&Config::load()?)?;
    let agent = target(&client, &args.agent, "stop")?;
    let stopped: Stopped = client.post(&format!("/api/agents/{}/stop", agent.id), &json!({}))?;
    if args.json {
        println!("{}", to_text(&stopped)?);
        return Ok(ExitCode::SUCCESS);
    }
    let name = text::one_line(&agent.name, 60);
    match stopped.state {
        StopState::Interrupted => println!("stopped {name}"),
        _ => println!(
            "stop requested: the next tool call of {name} is denied ({})",
            text::strip_control(stopped.why.as_deref().unwrap_or("Esc could not be pressed"))
        ),
    }
    Ok(ExitCode::SUCCESS)
}

/// Sends a text to an agent as its next prompt.
pub(super) fn wake(client: &Client, agent: &AgentView, text: &str) -> Result<ExitCode> {
    if is_special(text) {
        bail!("could not wake {}: the text begins with ! / # or @; use `headspace reply`", agent.name);
    }
    report(agent, &send(client, agent, text, false)?, false)
}

pub(super) fn target(client: &Client, word: &str, doing: &str) -> Result<AgentView> {
    Ok(client::find_live(&client.agents(true)?, word, doing)?.clone())
}

fn send(client: &Client, agent: &AgentView, text: &str, confirm: bool) -> Result<Replied> {
    client.post(&format!("/api/agents/{}/reply", agent.id), &json!({"text": text, "confirm": confirm}))
}

fn is_special(text: &str) -> bool {
    text.trim_start().starts_with(['!', '/', '#', '@'])
}

fn confirmed(prompt: &str) -> Result<bool> {
    let what = match prompt.trim_start().chars().next() {
        Some('!') => "runs as a shell command there, and no permission is asked",
        Some('/') => "is a command of the client",
        Some('#') => "may be stored in the client's memory",
        _ => "names a file for the client to read",
    };
    print!("{}\nThis {what}. Send it? [y/N] ", text::one_line(prompt, 200));
    std::io::stdout().flush().context("could not print")?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).context("could not read the answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

fn report(agent: &AgentView, replied: &Replied, quiet: bool) -> Result<ExitCode> {
    let name = text::one_line(&agent.name, 60);
    let why = text::strip_control(replied.why.as_deref().unwrap_or_default());
    let said = match replied.state {
        ReplyState::Sent => format!("sent to {name}"),
        ReplyState::Queued => format!(
            "queued for {name}, which is busy; `headspace reply {} --cancel {}` takes it back",
            agent.id, replied.reply_id
        ),
        ReplyState::Entered => format!("entered at {name}, but not confirmed: {why}"),
        ReplyState::InBox => bail!("could not send it: it is in {name}'s box, not sent: {why}"),
        ReplyState::Canceled | ReplyState::Dropped => bail!("could not send it to {name}: {why}"),
    };
    if !quiet {
        println!("{said}");
    }
    Ok(ExitCode::SUCCESS)
}

fn list(agent: &AgentView, json: bool) -> Result<ExitCode> {
    if json {
        println!("{}", to_text(&agent.replies)?);
        return Ok(ExitCode::SUCCESS);
    }
    if agent.replies.is_empty() {
        println!("nothing waits for {}", text::one_line(&agent.name, 60));
    }
    for reply in &agent.replies {
        let why = reply.why.as_deref().map(|why| format!("  ({why})")).unwrap_or_default();
        println!(
            "{}  {}{}",
            text::one_line(&reply.id, 20),
            text::one_line(&reply.text, 100),
            text::one_line(&why, 100)
        );
    }
    Ok(ExitCode::SUCCESS)
}
