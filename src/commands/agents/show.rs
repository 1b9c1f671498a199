//! `headspace show`: everything about one agent, the decision first.

use crate::view::archive;
use crate::view::board;
use crate::view::card::{self, Card};
use crate::view::columns::{fit, terminal_columns, width};
use crate::view::guard_word;
use crate::view::style::Style;
use anyhow::{Context, Result};
use headspace_core::model::Row;
use headspace_core::stamp::Stamp;
use headspace_core::text;
use headspace_platform::clock::WallClock;
use headspace_platform::config::Config;
use headspace_store::read::queries::EventQuery;
use serde_json::json;
use std::process::ExitCode;

/// Show an agent in full: what it asks, its last output, its changes, and everything known about it
///
/// If the server is not running, the agent is shown as it was stored last.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace show fix-auth\n  headspace show 3 --diff | less -R\n  headspace show 3 --turns 50"
)]
pub struct ShowArgs {
    /// Id, name as `status` shows it, or the beginning of a name, project or session id
    agent: String,
    /// Show all lines of its diffs
    #[arg(long)]
    diff: bool,
    /// Show this many turns of the conversation, not only the last prompt and answer
    #[arg(long, value_name = "N")]
    turns: Option<usize>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// How many of the latest turns are searched for the last prompt and the last answer.
const LATEST_TURNS: usize = 40;
/// How many of the latest events are searched for the call that is running.
const LATEST_EVENTS: usize = 300;
/// Lines of diffs without `--diff`: about two screens.
const DIFF_LINES: usize = 60;
/// Columns of a line that is not on a terminal.
const WITHOUT_TERMINAL: usize = 100;

pub fn run(args: &ShowArgs) -> Result<ExitCode> {
    let config = Config::load()?;
    let (archive, agent) = archive::find_agent(&config, &args.agent)?;
    let turns = archive.turns(agent.id, args.turns.unwrap_or(LATEST_TURNS).clamp(1, 1000))?;
    let changes = archive.changes(&agent).context("could not read its changes")?;
    let events = match card::is_work_cut(&agent) {
        true => archive.newest_events(Some(agent.id), &EventQuery::default(), LATEST_EVENTS)?.events,
        false => Vec::new(),
    };
    let guard = guard_word::words(&config, &agent);
    if args.json {
        let guard: Vec<_> =
            guard.iter().map(|(id, words)| json!({"interaction_id": id, "words": words})).collect();
        let value = json!({"version": 1, "agent": agent, "turns": turns, "changes": changes, "guard": guard});
        println!("{}", text::json(&value, true));
        return Ok(ExitCode::SUCCESS);
    }
    archive.note_if_stored();
    let (style, now) = (Style::for_stdout(), Stamp::now());
    let columns = terminal_columns().unwrap_or(WITHOUT_TERMINAL);
    let row = agent.row(now);
    println!("{}", style.group(row.group, &headline(&row, columns)));
    let mut page = Card::new(columns);
    page.asks(&agent, &guard);
    match args.turns {
        Some(_) => page.conversation(&turns),
        None => page.outcome(&turns),
    }
    page.blank();
    page.doing(&agent, &events);
    page.blank();
    page.changed_files(&changes);
    let left_out = page.diffs(&changes, if args.diff { usize::MAX } else { DIFF_LINES });
    if left_out > 0 {
        page.prose(
            &format!("… {left_out} more lines: headspace show {} --diff", agent.id),
            card::Tone::Faint,
            2,
        );
    }
    page.blank();
    page.facts(&agent, now);
    for line in &page.lines {
        println!("{}", style.card_line(line));
    }
    Ok(ExitCode::SUCCESS)
}

/// The name and the state. A long name gives way, because the state is what a person came for.
fn headline(row: &Row, columns: usize) -> String {
    let state = format!("  {} · {}", row.summary.label, row.age_phrase());
    let glyph = row.group.glyph();
    let room = columns.saturating_sub(2 + width(&state));
    let name = fit(&board::titled(row), room.max(NAME_AT_LEAST));
    let line = format!("{glyph} {name}{state}");
    if width(&line) <= columns { line } else { fit(&line, columns) }
}

/// In fewer columns a name says nothing.
const NAME_AT_LEAST: usize = 8;
