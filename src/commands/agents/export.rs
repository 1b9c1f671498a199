//! `headspace export`: a session as a document, to keep or to pass on.

use crate::view::archive::Archive;
use crate::view::client;
use anyhow::{Context, Result};
use headspace_core::export::{self, CALL_EVENTS};
use headspace_core::model::AgentView;
use headspace_core::text;
use headspace_core::wire::{StoredEvent, StoredTurn};
use headspace_platform::config::Config;
use headspace_store::read::queries::EventQuery;
use serde_json::json;
use std::process::ExitCode;

/// Print a session as Markdown or JSON: the conversation and the tool calls in between
///
/// If the server is not running, the session is read from the store.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace export fix-auth > fix-auth.md\n  headspace export 0b9c1f52-7d1e-4a55-9d3e-1f4f0a3c2b11 --json"
)]
pub struct ExportArgs {
    /// Id, name as `status` shows it, or the beginning of a name, project or session id; a past session by its whole id
    agent: String,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

/// A document has the newest turns and events, at most this many: some sessions last for weeks.
const MAX_TURNS: usize = 1_000;
const MAX_EVENTS: usize = 20_000;

pub fn run(args: &ExportArgs) -> Result<ExitCode> {
    let archive = Archive::open(&Config::load()?)?;
    let agents = archive.agents().context("could not read the agents")?;
    let (agent, session) = session_of(&agents, &args.agent)?;
    let mut turns: Vec<StoredTurn> = archive.turns(agent.id, MAX_TURNS)?;
    let names = if args.json { Vec::new() } else { CALL_EVENTS.map(str::to_owned).to_vec() };
    let query = EventQuery { names, ..EventQuery::default() };
    let mut events: Vec<StoredEvent> = archive.newest_events(Some(agent.id), &query, MAX_EVENTS)?.events;
    let cut = turns.len() >= MAX_TURNS || events.len() >= MAX_EVENTS;
    turns.retain(|turn| turn.session_id == session);
    events.retain(|event| event.session_id == session);
    archive.note_if_stored();
    if args.json {
        let value = json!({
            "version": 1, "agent": agent, "session_id": session, "turns": turns, "events": events, "complete": !cut,
        });
        println!("{}", text::json(&value, true));
    } else {
        print!("{}", text::plain_lines(&export::markdown(agent, &session, &turns, &events, cut)));
    }
    Ok(ExitCode::SUCCESS)
}

/// The agent and the session that `word` names.
fn session_of<'a>(agents: &'a [AgentView], word: &str) -> Result<(&'a AgentView, String)> {
    let had = |agent: &&AgentView| agent.session_id == word || agent.sessions.iter().any(|id| id == word);
    if let Some(agent) = agents.iter().find(had) {
        return Ok((agent, word.to_owned()));
    }
    let agent = client::find(agents, word)?;
    Ok((agent, agent.session_id.clone()))
}
