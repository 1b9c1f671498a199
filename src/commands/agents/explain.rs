//! `headspace explain`: why an agent is in its state, by its stored steps.

use crate::view::archive;
use crate::view::columns::{fit, hanging, terminal_columns, width};
use crate::view::style::Style;
use anyhow::Result;
use headspace_core::model::AgentView;
use headspace_core::text;
use headspace_core::text::one_line;
use headspace_core::wire::StoredTransition;
use headspace_platform::clock::local_clock;
use headspace_platform::config::Config;
use std::process::ExitCode;

/// Explain why an agent is in its state
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  headspace explain api\n  ! api · fix-cart\n  needs you since 10:02:11: Allow Bash: npm test (hook, high), not closed since\n    10:02:11  processing ▶ awaiting_input  PermissionRequest Bash 'npm test' (hook, high)\n\nBelow are the last steps of its state machine, the newest first."
)]
pub struct ExplainArgs {
    /// Id, name as `status` shows it, or the beginning of a name, project or session id
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
    let (style, columns) = (Style::for_stdout(), terminal_columns());
    let title = format!("{} {}", agent.group.glyph(), one_line(&agent.title(), 80));
    let mut text = format!("{}\n", style.bold(&hanging(&title, 0, 2, columns)));
    // The words of the board; the steps below have those of the state machine.
    let why = format!("{} {}", agent.summarize().label, reason(agent, transitions));
    text.push_str(&format!("{}\n", hanging(&why, 0, 2, columns)));
    // What an agent asks is in the line above.
    if let Some(detail) = agent.status_detail.as_ref().filter(|_| agent.interactions.is_empty()) {
        text.push_str(&format!("{}\n", hanging(&format!("  doing: {detail}"), 0, 4, columns)));
    }
    if let Some(pending) = agent.pending() {
        text.push_str(&format!("{}\n", hanging(&format!("  {pending}"), 0, 4, columns)));
    }
    if let (Some(client), Some(pid)) = (agent.client_status, agent.claude_pid) {
        let since = local_clock(client.at);
        let said = format!("  client: {} since {since}, by its own file sessions/{pid}.json", client.status);
        text.push_str(&format!("{}\n", hanging(&said, 0, 4, columns)));
    }
    for step in transitions.iter().rev().take(steps) {
        text.push_str(&style.dim(&step_line(step, columns)));
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

/// Columns that a reason needs beside its step; if there are fewer, it goes to the next line.
const REASON_AT_LEAST: usize = 24;

fn step_line(step: &StoredTransition, columns: Option<usize>) -> String {
    let arrow = if step.valid {
        format!("{} ▶ {}", step.from, step.to)
    } else {
        format!("{} (refused: {}:{})", step.from, step.actor, step.intent)
    };
    let head = format!("  {}  {arrow:<28} ", local_clock(step.at));
    let tail = format!(" ({}, {})", step.source, step.confidence);
    let why = one_line(&step.why, 100);
    let Some(columns) = columns else { return head + &why + &tail };
    let beside = columns.saturating_sub(width(&head) + width(&tail));
    if beside >= REASON_AT_LEAST.min(width(&why)) {
        return head + &fit(&why, beside) + &tail;
    }
    let below = columns.saturating_sub(4 + width(&tail));
    format!("{}\n    {}{tail}", head.trim_end(), fit(&why, below))
}
