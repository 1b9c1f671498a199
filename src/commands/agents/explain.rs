//! `headspace explain`: why an agent is in its state, by its stored steps.

use crate::view::archive;
use crate::view::style::Style;
use anyhow::Result;
use headspace_core::model::AgentView;
use headspace_core::text;
use headspace_core::text::{one_line, strip_control};
use headspace_core::wire::StoredTransition;
use headspace_platform::clock::local_clock;
use headspace_platform::config::Config;
use std::process::ExitCode;

/// Explain why an agent is in its state
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  headspace explain api\n  attention since 10:02:11: PermissionRequest Bash 'npm test' (hook, high), not closed since"
)]
pub struct ExplainArgs {
    /// Id, or the beginning of a name, project or session id
    agent: String,
    /// Show at most this many steps
    #[arg(long, default_value_t = 8)]
    steps: usize,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &ExplainArgs) -> Result<ExitCode> {
    let (archive, agent) = archive::find_agent(&Config::load()?, &args.agent)?;
    // More than are shown, because the last valid step may be further back.
    let transitions = archive.transitions(agent.id, args.steps.max(200))?;
    if args.json {
        let value = serde_json::json!({"agent": agent, "transitions": transitions});
        println!("{}", text::json(&value, true));
        return Ok(ExitCode::SUCCESS);
    }
    archive.note_if_stored();
    print!("{}", explanation(&agent, &transitions, args.steps));
    Ok(ExitCode::SUCCESS)
}

/// A headline with the state and its reason, then the last steps, newest first.
fn explanation(agent: &AgentView, transitions: &[StoredTransition], steps: usize) -> String {
    let style = Style::for_stdout();
    let mut text =
        format!("{}\n", style.bold(&format!("{} {}", agent.group.glyph(), one_line(&agent.name, 80))));
    text.push_str(&format!("{} {}\n", agent.status, reason(agent, transitions)));
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
        text.push_str(&style.dim(&step_line(step)));
        text.push('\n');
    }
    text
}

/// Since when the agent has its status, which event gave it, and how certain that is.
fn reason(agent: &AgentView, transitions: &[StoredTransition]) -> String {
    let last = transitions.iter().rev().find(|step| step.valid);
    match (agent.interactions.first(), last) {
        (Some(open), _) => {
            let subagent = open.subagent.as_ref();
            let asker = subagent.map_or(String::new(), |id| format!(" (subagent {})", one_line(id, 30)));
            format!(
                "since {}: {}{asker} ({}, {}), not closed since",
                local_clock(open.opened_at),
                one_line(&open.ask, 200),
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
            "since {}: its first event ({}, {})",
            local_clock(agent.source_at),
            agent.source,
            agent.confidence
        ),
    }
}

fn step_line(step: &StoredTransition) -> String {
    let arrow = if step.valid {
        format!("{} ▶ {}", step.from, step.to)
    } else {
        format!("{} (refused: {}:{})", step.from, step.actor, step.intent)
    };
    format!(
        "  {}  {arrow:<28} {} ({}, {})",
        local_clock(step.at),
        one_line(&step.why, 100),
        step.source,
        step.confidence
    )
}
