//! The view model: the agents in the order every surface shows them, counted by group, with their words and ages.

use crate::clock::Stamp;
use crate::model::{AgentView, Group};
use std::time::Duration;

/// The agents as a person wants to see them: who needs me first, then who waited longest.
pub struct Board {
    pub agents: Vec<AgentView>,
    /// Left out of `agents`: ended ones, and runs without a person (`claude -p`) that need nobody.
    pub ended: usize,
    pub headless: usize,
}

/// What a board leaves out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Show {
    pub ended: bool,
    pub headless: bool,
}

impl Board {
    pub fn new(mut agents: Vec<AgentView>, show: Show) -> Board {
        let before = agents.len();
        agents.retain(|agent| show.ended || agent.ended_at.is_none());
        let ended = before - agents.len();
        let before = agents.len();
        agents.retain(|agent| show.headless || !agent.headless || agent.group <= Group::Error);
        let headless = before - agents.len();
        agents.sort_by_cached_key(AgentView::rank);
        Board { agents, ended, headless }
    }

    pub fn count(&self, group: Group) -> usize {
        self.agents.iter().filter(|agent| agent.ended_at.is_none() && agent.group == group).count()
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
    pub fn next(&self) -> Option<&AgentView> {
        self.agents.iter().find(|agent| agent.group == Group::NeedsYou && agent.ended_at.is_none())
    }
}

/// The time that matters in this group: how long it waits, works, or has been quiet.
pub fn age(agent: &AgentView, now: Stamp) -> Duration {
    let since = match agent.group {
        Group::NeedsYou => agent.waiting_since.unwrap_or(agent.last_active_at),
        Group::Working => agent.current_command.as_ref().map_or(agent.last_active_at, |c| c.started_at),
        _ => agent.last_active_at,
    };
    now.since(since)
}

/// "waiting 3 m", "for 12 s", "2 h ago".
pub fn age_words(agent: &AgentView, now: Stamp) -> String {
    let age = duration(age(agent, now));
    match agent.group {
        Group::NeedsYou => format!("waiting {age}"),
        Group::Working => format!("for {age}"),
        _ => format!("{age} ago"),
    }
}

/// What it is about, in one line: the ask, the error, what it does, what it was told.
pub fn about(agent: &AgentView) -> String {
    let instruction = || agent.current_command.as_ref().and_then(|c| c.instruction.clone());
    match agent.group {
        Group::Error => agent.error.clone().or_else(|| agent.status_detail.clone()),
        Group::NeedsYou | Group::Working | Group::Background => {
            agent.status_detail.clone().or_else(instruction)
        }
        Group::Done | Group::Idle => agent.status_detail.clone().or_else(|| agent.last_said.clone()),
    }
    .unwrap_or_default()
}

/// One unit, the coarsest that says something: `8 s`, `3 m`, `2 h`, `5 d`.
pub fn duration(duration: Duration) -> String {
    match duration.as_secs() {
        s @ 0..60 => format!("{s} s"),
        s @ 60..3600 => format!("{} m", s / 60),
        s @ 3600..86_400 => format!("{} h", s / 3600),
        s => format!("{} d", s / 86_400),
    }
}

/// 12345 ▶ `12,345`
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_numbers_are_short() {
        for (seconds, words) in
            [(0, "0 s"), (59, "59 s"), (60, "1 m"), (3599, "59 m"), (7200, "2 h"), (90_000, "1 d")]
        {
            assert_eq!(duration(Duration::from_secs(seconds)), words);
        }
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(1_234_567), "1,234,567");
    }
}
