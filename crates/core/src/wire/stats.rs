//! Statistics: what happened, how long agents waited for their user, and what was spent.

use crate::stamp::Stamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `GET /api/stats`
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Stats {
    /// Oldest first.
    pub days: Vec<DayStats>,
    pub hours: Vec<HourStats>,
    /// Of the last seven days.
    pub longest_waits: Vec<LongWait>,
    /// Who spent most in the days above.
    pub projects: Vec<SpentStats>,
    pub agents: Vec<SpentStats>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DayStats {
    /// `2026-11-16`, of the server's calendar.
    pub day: String,
    pub events: u64,
    pub commands: u64,
    pub waited_minutes: f64,
    pub waited_by_kind: BTreeMap<String, f64>,
    pub longest_wait_minutes: f64,
    #[serde(flatten)]
    pub spent: SpentStats,
}

impl DayStats {
    /// With minutes rounded to two decimals.
    pub fn rounded(mut self) -> DayStats {
        let round = |minutes: &mut f64| *minutes = (*minutes * 100.0).round() / 100.0;
        self.waited_by_kind.values_mut().for_each(round);
        round(&mut self.waited_minutes);
        round(&mut self.longest_wait_minutes);
        self
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HourStats {
    pub at: Stamp,
    pub events: u64,
}

/// What was spent: dollars as the client counts them (its status line), tokens as its transcripts do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SpentStats {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<i64>,
    /// The agent's title, as in every list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub cost_usd: f64,
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_write_tokens: u64,
    pub cache_read_tokens: u64,
}

impl SpentStats {
    pub fn tokens(&self) -> u64 {
        [self.input_tokens, self.output_tokens, self.cache_write_tokens, self.cache_read_tokens].iter().sum()
    }
}

/// A question that waited long for its answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LongWait {
    pub interaction_id: i64,
    pub agent_id: i64,
    /// The agent's title, as in every list; empty if the agent no longer exists.
    #[serde(default)]
    pub title: String,
    pub kind: String,
    pub text: String,
    pub opened_at: Stamp,
    pub closed_at: Option<Stamp>,
    pub waited_minutes: f64,
}
