//! The view model: the agents in the order every surface shows them, counted by group, with their words and ages.

use headspace_core::model::{Group, Row, hints};
use headspace_core::numbers::duration;
use std::time::Duration;

/// The agents as a person wants to see them: who needs me first, then who waited longest.
pub struct Board {
    pub rows: Vec<Row>,
    /// Left out: ended ones, and runs without a person (`claude -p`) that need nobody.
    pub ended: usize,
    pub headless: usize,
}

/// What a board leaves out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Include {
    pub ended: bool,
    pub headless: bool,
}

/// Leaves the agents of one client, if one is named.
pub fn keep_client(rows: &mut Vec<Row>, client: Option<&str>) {
    let Some(name) = client else { return };
    rows.retain(|row| row.client.as_deref().unwrap_or(hints::DEFAULT_CLIENT) == name);
}

impl Board {
    /// Of rows in their order ([`crate::model::rows`]).
    pub fn new(mut rows: Vec<Row>, show: Include) -> Board {
        let before = rows.len();
        rows.retain(|row| show.ended || !row.ended);
        let ended = before - rows.len();
        let before = rows.len();
        rows.retain(|row| show.headless || !row.headless || row.group <= Group::Error);
        let headless = before - rows.len();
        Board { rows, ended, headless }
    }

    pub fn count(&self, group: Group) -> usize {
        self.rows.iter().filter(|row| !row.ended && row.group == group).count()
    }

    /// `!2 *4 +1`: the groups that are not empty; idle ones only if there is nothing else to say.
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

    /// The agent that has waited longest for its human.
    pub fn next(&self) -> Option<&Row> {
        self.rows.iter().find(|row| row.group == Group::NeedsYou && !row.ended)
    }
}

/// "⬡ codex · api · fix-auth": what the agent is called, with its client where that is not the usual one.
pub fn titled(row: &Row) -> String {
    let Some(client) = &row.client else { return row.title() };
    let glyph = headspace_clients::named(client).map_or('?', |row| row.glyph);
    format!("{glyph} {client} · {}", row.title())
}

/// "waiting 3 m", "for 12 s", "2 h ago".
pub fn age_words(row: &Row) -> String {
    let age = duration(Duration::from_secs(row.age));
    match row.group {
        _ if row.ended => "ended".to_owned(),
        Group::NeedsYou => format!("waiting {age}"),
        Group::Working => format!("for {age}"),
        _ => format!("{age} ago"),
    }
}
