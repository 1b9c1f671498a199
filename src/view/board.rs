//! The board: the rows that a surface shows, and how many there are of each group.

use headspace_core::model::{AgentView, Fold, Group, Row, hints};
use headspace_platform::usage::Usage;
use std::collections::HashSet;

/// The agents in the order of every surface: those that need you first, of those the one that has waited longest.
pub struct Board {
    pub rows: Vec<Row>,
    /// How many are left out: ended agents, and headless runs (`claude -p`) that do not need you.
    pub ended: usize,
    pub headless: usize,
}

/// What a board shows in addition to the agents that run in a terminal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Include {
    pub ended: bool,
    pub headless: bool,
}

/// Refuses a client that is neither known nor on the board. The board's own count, because `notify --client` takes any name.
pub fn check_client<'a>(
    name: Option<&str>,
    on_board: impl IntoIterator<Item = &'a str>,
) -> Result<(), Usage> {
    let mut known: Vec<&str> = headspace_clients::CLIENTS.iter().map(|row| row.name).collect();
    known.extend(on_board);
    let Some(name) = name.filter(|name| !known.contains(name)) else { return Ok(()) };
    let mut seen = HashSet::new();
    known.retain(|name| seen.insert(*name));
    Err(Usage(format!(
        "could not show the client {name:?}: there is no such client; known are {}",
        known.join(", ")
    )))
}

/// The client of a row.
pub fn client_of(row: &Row) -> &str {
    row.client.as_deref().unwrap_or(hints::DEFAULT_CLIENT)
}

/// Keeps only the agents of `client`, if one is named.
pub fn keep_client(rows: &mut Vec<Row>, client: Option<&str>) {
    let Some(name) = client else { return };
    rows.retain(|row| client_of(row) == name);
}

impl Board {
    /// From rows in their order ([`headspace_core::model::rows`]).
    pub fn new(mut rows: Vec<Row>, show: Include) -> Board {
        let folded = |fold: Fold| rows.iter().filter(|row| row.summary.fold == Some(fold)).count();
        let ended = if show.ended { 0 } else { folded(Fold::Ended) };
        let headless = if show.headless { 0 } else { folded(Fold::Headless) };
        rows.retain(|row| match row.summary.fold {
            Some(Fold::Ended) => show.ended,
            Some(Fold::Headless) => show.headless,
            None => true,
        });
        Board { rows, ended, headless }
    }

    pub fn count(&self, group: Group) -> usize {
        self.rows.iter().filter(|row| !row.ended && row.group == group).count()
    }

    /// `!2 *4 +1`: the groups that are not empty. The idle group is shown only if all others are empty.
    pub fn short(&self) -> String {
        let counts: Vec<String> = Group::ALL
            .iter()
            .filter(|group| **group != Group::Idle)
            .map(|group| (group, self.count(*group)))
            .filter(|(_, count)| *count > 0)
            .map(|(group, count)| format!("{}{count}", group.glyph()))
            .collect();
        if counts.is_empty() { format!("-{}", self.count(Group::Idle)) } else { counts.join(" ") }
    }

    /// The agents that wait for you, the longest wait first.
    pub fn waiting(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| row.group == Group::NeedsYou && !row.ended)
    }
}

/// "⬡ codex · api · fix-auth": the agent's title, with its client unless it is the usual one.
pub fn titled(row: &Row) -> String {
    prefixed(client_of(row), &row.summary.title)
}

/// The same of an agent that is not in a list.
pub fn with_client(agent: &AgentView) -> String {
    prefixed(&agent.client, &agent.title())
}

fn prefixed(client: &str, title: &str) -> String {
    if client == hints::DEFAULT_CLIENT {
        return title.to_owned();
    }
    let glyph = headspace_clients::named(client).map_or('?', |row| row.glyph);
    format!("{glyph} {client} · {title}")
}
