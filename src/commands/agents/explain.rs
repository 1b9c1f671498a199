//! `headspace explain`: why an agent is in its state, from the facts.

use crate::view::client;
use crate::view::client::Client;
use crate::view::style::Style;
use anyhow::{Context, Result};
use headspace_core::model::{Actor, AgentView, CommandStateOrIdle, Confidence, Intent, Source};
use headspace_core::stamp::Stamp;
use headspace_core::text;
use headspace_core::text::{one_line, strip_control};
use headspace_platform::clock::local_clock;
use headspace_platform::config::Config;
use serde::Deserialize;
use std::process::ExitCode;

/// Say why an agent is in its state
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  headspace explain api\n  attention since 10:02:11: PermissionRequest Bash 'npm test' (hook, high), not closed since"
)]
pub struct ExplainArgs {
    /// Id, or the beginning of a name, project or session id
    agent: String,
    /// How many steps back
    #[arg(long, default_value_t = 8)]
    steps: usize,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// A step as the server tells it.
#[derive(Deserialize)]
struct Step {
    from: CommandStateOrIdle,
    to: CommandStateOrIdle,
    actor: Actor,
    intent: Intent,
    valid: bool,
    confidence: Confidence,
    source: Source,
    at: Stamp,
    why: String,
}

pub fn run(args: &ExplainArgs) -> Result<ExitCode> {
    let client = Client::new(&Config::load()?);
    let agents = client.agents(true).context("could not reach the server: `headspace up` starts it")?;
    let agent = client::find(&agents, &args.agent)?;
    // Not only those that are shown: the last valid one may lie further back.
    let path = format!("/api/agents/{}/transitions?limit={}", agent.id, args.steps.max(200));
    let mut answer: serde_json::Value = client.get(&path)?;
    if args.json {
        let value = serde_json::json!({"agent": agent, "transitions": answer["transitions"].take()});
        println!("{}", text::json(&value, true));
        return Ok(ExitCode::SUCCESS);
    }
    let transitions: Vec<Step> = serde_json::from_value(answer["transitions"].take())?;
    print!("{}", story(agent, &transitions, args.steps));
    Ok(ExitCode::SUCCESS)
}

/// The headline says what is and since when; below it the last steps, newest first.
fn story(agent: &AgentView, transitions: &[Step], steps: usize) -> String {
    let style = Style::for_stdout();
    let mut text =
        format!("{}\n", style.bold(&format!("{} {}", agent.group.glyph(), one_line(&agent.name, 80))));
    let last = transitions.iter().rev().find(|step| step.valid);
    let because = match (agent.interactions.first(), last) {
        (Some(open), _) => {
            let asker = open
                .subagent
                .as_ref()
                .map_or(String::new(), |id| format!(" (subagent {})", one_line(id, 30)));
            format!(
                "since {}: {}{asker} ({}, {}), not closed since",
                local_clock(open.opened_at),
                one_line(&open.text, 200),
                agent.source,
                agent.confidence
            )
        }
        (None, Some(step)) => format!(
            "since {}: {} ({}, {})",
            local_clock(step.at),
            one_line(&step.why, 200),
            step.source,
            step.confidence
        ),
        (None, None) => format!(
            "since {}: its first sign ({}, {})",
            local_clock(agent.source_at),
            agent.source,
            agent.confidence
        ),
    };
    text.push_str(&format!("{} {because}\n", agent.status));
    if let Some(detail) = &agent.status_detail {
        text.push_str(&format!("  doing: {}\n", strip_control(detail)));
    }
    if let (Some(client), Some(pid)) = (agent.client_status, agent.claude_pid) {
        let since = local_clock(client.at);
        text.push_str(&format!(
            "  client: {} since {since}, by its own file sessions/{pid}.json\n",
            client.status
        ));
    }
    for step in transitions.iter().rev().take(steps) {
        let arrow = if step.valid {
            format!("{} ▶ {}", step.from, step.to)
        } else {
            format!("{} (refused: {}:{})", step.from, step.actor, step.intent)
        };
        let line = format!(
            "  {}  {arrow:<28} {} ({}, {})",
            local_clock(step.at),
            one_line(&step.why, 100),
            step.source,
            step.confidence
        );
        text.push_str(&style.dim(&line));
        text.push('\n');
    }
    text
}
