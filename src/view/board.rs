//! The view model: the agents in the order every surface shows them, counted by group, with their words and ages.

use headspace_core::model::{Fold, Group, Row};

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

impl Board {
    /// Of rows in their order ([`crate::model::rows`]).
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
