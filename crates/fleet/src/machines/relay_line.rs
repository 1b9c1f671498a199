//! What a relay sends: JSON lines, written by `headspace relay` on one machine and read by the server of another.
//!
//! A relay introduces itself (`relay`), sends every agent it has (`agent`), then that these were all (`board`), and
//! from then on what changes (`agent`, `gone`). A sign of life (`beat`) comes at least every [`BEAT_EVERY`]. On its
//! standard input it accepts questions about the history of its own agents, and answers them (`answer`). A relay that
//! is restarted sends its whole board again, so neither side has to remember what was missed.

use headspace_core::json::serialize::to_text;
use headspace_core::model::AgentView;
use headspace_core::stamp::Stamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::time::Duration;

/// Changes when an older reader would misunderstand a line.
pub const PROTOCOL: u32 = 1;

/// How often a relay sends something, whether anything changed or not.
pub const BEAT_EVERY: Duration = Duration::from_secs(4);

/// Longer lines are skipped: an agent with its longest question and its plan is a fifth of this.
pub const LONGEST_LINE: usize = 1 << 20;

/// Longer questions are not asked.
pub const LONGEST_QUESTION: usize = 512;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RelayLine {
    Relay(Introduction),
    Agent(Box<AgentView>),
    Board(WholeBoard),
    /// That machine has deleted the agent.
    Gone(i64),
    Beat(Beat),
    Answer(RelayAnswer),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Introduction {
    pub protocol: u32,
    #[serde(default)]
    pub version: String,
    #[serde(default)]
    pub host: Option<String>,
    /// That machine's clock.
    pub at: Stamp,
}

/// All agents have been sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WholeBoard {
    pub agents: usize,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Beat {
    pub at: Stamp,
}

/// A question about one of the relay's own agents. Only these fields are sent, so it cannot be asked anything else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub ask: u64,
    pub agent: i64,
    pub about: About,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<i64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
    /// Names of events, separated by commas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum About {
    Events,
    Turns,
    Commands,
    Transitions,
    /// Not a question: a person has looked at it.
    Seen,
}

impl About {
    pub const fn word(self) -> &'static str {
        match self {
            About::Events => "events",
            About::Turns => "turns",
            About::Commands => "commands",
            About::Transitions => "transitions",
            About::Seen => "seen",
        }
    }
}

impl Question {
    /// The path and query of this question on the relay's own server; `None` if a part of it is invalid.
    pub fn path(&self) -> Option<String> {
        let mut path = format!("/api/agents/{}/{}", self.agent, self.about.word());
        if self.about == About::Seen {
            return Some(path);
        }
        let names = self.names.as_deref().unwrap_or_default();
        if !names.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b',' | b'-' | b'_')) {
            return None;
        }
        path += &format!("?limit={}", self.limit.unwrap_or(100).clamp(1, 1000));
        for (name, number) in [("before", self.before), ("after", self.after)] {
            path += &number.map_or(String::new(), |number| format!("&{name}={number}"));
        }
        if self.about == About::Events && !names.is_empty() {
            path += &format!("&type={names}");
        }
        Some(path)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RelayAnswer {
    pub ask: u64,
    /// Why there is no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(default)]
    pub body: Value,
}

impl RelayLine {
    /// A line as it is written, with its line break.
    pub fn written(&self) -> String {
        to_text(self).unwrap_or_else(|_| "{}".into()) + "\n"
    }

    /// `None` if it is not a relay's line: a greeting of the login shell, garbage, or a line of a newer relay.
    pub fn read(line: &[u8]) -> Option<RelayLine> {
        let line = line.trim_ascii();
        (line.first() == Some(&b'{') && line.len() <= LONGEST_LINE)
            .then(|| serde_json::from_slice(line).ok())
            .flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lines_are_read_as_they_were_written_and_rubbish_is_none() {
        let line = RelayLine::Beat(Beat { at: Stamp(7) });
        let written = line.written();
        assert!(written.ends_with('\n') && written.matches('\n').count() == 1);
        assert!(matches!(RelayLine::read(written.as_bytes()), Some(RelayLine::Beat(Beat { at: Stamp(7) }))));
        for rubbish in
            ["", "Welcome to devbox", "{}", "{\"agent\": 5}", "[1]", "{\"relay\":{}}", "{\"x\":1}", "null"]
        {
            assert!(RelayLine::read(rubbish.as_bytes()).is_none(), "{rubbish}");
        }
        let long = format!("{{\"gone\": 1{}}}", " ".repeat(LONGEST_LINE));
        assert!(RelayLine::read(long.as_bytes()).is_none());
    }

    #[test]
    fn a_question_becomes_a_path_and_nothing_else() {
        let ask = |about: &str, names: &str| -> Question {
            serde_json::from_value(
                json!({"ask": 1, "agent": 3, "about": about, "names": names, "limit": 5, "before": 9}),
            )
            .unwrap()
        };
        assert_eq!(ask("turns", "").path().unwrap(), "/api/agents/3/turns?limit=5&before=9");
        assert_eq!(ask("events", "Stop").path().unwrap(), "/api/agents/3/events?limit=5&before=9&type=Stop");
        assert_eq!(ask("seen", "").path().unwrap(), "/api/agents/3/seen");
        assert_eq!(ask("events", "Stop&limit=9").path(), None);
        assert!(
            serde_json::from_value::<Question>(json!({"ask": 1, "agent": "../x", "about": "turns"})).is_err()
        );
        assert!(
            serde_json::from_value::<Question>(json!({"ask": 1, "agent": 1, "about": "answer"})).is_err()
        );
    }
}
