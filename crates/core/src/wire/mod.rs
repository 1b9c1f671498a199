//! What the server answers, as types: the server writes them, the command line and the tests read them. A field that an
//! older server does not send has a default.

mod machines;

use crate::excerpt::Piece;
use crate::model::limits::LimitGauge;
use crate::model::{
    Actor, AgentView, CommandState, CommandStateOrIdle, Confidence, Group, Intent, Row, Source,
    TimestampSource,
};
use crate::numbers::duration;
use crate::stamp::Stamp;
use crate::text::one_line;
pub use crate::wire::machines::{LineState, MachineStatus, MachinesPage};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;

/// `GET /health`: who is there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Health {
    pub status: String,
    pub name: String,
    pub version: String,
    pub pid: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Stamp>,
}

/// `GET /hook/status`: how the receiver of hook events is.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HookStatus {
    pub enabled: bool,
    /// `hooks_active` or `polling_fallback`.
    pub mode: String,
    pub last_event_at: Option<Stamp>,
    /// Seconds.
    #[serde(serialize_with = "whole_if_whole_opt")]
    pub last_event_ago: Option<f64>,
    pub last_event_type: Option<String>,
    pub events_received: u64,
    /// Seconds between two looks at what the client writes.
    #[serde(serialize_with = "whole_if_whole")]
    pub polling_interval: f64,
    pub config: PollingPace,
    /// Whether our hooks are in the settings; `None` until the server has looked.
    pub hooks: Option<String>,
    /// They are not, and none come from anywhere else.
    pub hooks_missing: bool,
    /// Why events cannot be stored now; hooks keep them until they can.
    pub store_trouble: Option<String>,
    pub spool_pending: u64,
    pub dropped: u64,
    /// What a hook costs Claude Code; `None` before the first call.
    pub notify_ms: Option<NotifyLatency>,
    /// How much of the account's rate limits is used, as far as a client said so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitGauge>,
    /// All of that in a few words.
    pub health: HookHealth,
    /// A team's hub says this: it has no hooks of its own, takes no answers, judges nothing and searches nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hub: bool,
}

/// How the hooks are, in the words of every surface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookHealth {
    /// `active`, `quiet`, `silent`, `none_yet`, `missing`, `trouble` or `disabled`.
    pub kind: String,
    /// "hooks active", "quiet for".
    pub text: String,
    /// With this, the text ends in the time since then: "quiet for 7 m".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Stamp>,
}

impl HookHealth {
    /// `busy`: an agent works. Hooks that are silent while nobody works are no fault.
    pub fn of(status: &HookStatus, busy: bool) -> HookHealth {
        if let Some(why) = &status.store_trouble {
            let text = format!("events cannot be stored ({}): hooks keep them", one_line(why, 100));
            return HookHealth { kind: "trouble".to_owned(), text, since: None };
        }
        let last = status.last_event_at;
        let (kind, text, since) = match (status.hooks_missing, status.hooks.as_deref(), last) {
            _ if !status.enabled => ("disabled", "receiver disabled", None),
            (true, Some("switched_off"), _) => {
                ("missing", "hooks missing: settings.json switches all hooks off", None)
            }
            (true, Some("unreadable"), _) => {
                ("missing", "hooks missing: settings.json is not valid, see `headspace doctor`", None)
            }
            (true, ..) => ("missing", "hooks missing: `headspace install` adds them", None),
            _ if status.mode == "hooks_active" => ("active", "hooks active", None),
            (.., None) => ("none_yet", "no event yet", None),
            _ if busy => ("silent", "transcripts are read, hooks silent for", last),
            _ => ("quiet", "quiet for", last),
        };
        HookHealth { kind: kind.to_owned(), text: text.to_owned(), since }
    }

    pub fn phrase(&self, now: Stamp) -> String {
        let since = self.since.map(|since| format!(" {}", duration(now.since(since))));
        format!("{}{}", self.text, since.unwrap_or_default())
    }
}

/// How often the server looks at what the client writes, in seconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PollingPace {
    #[serde(serialize_with = "whole_if_whole")]
    pub polling_interval_with_hooks: f64,
    #[serde(serialize_with = "whole_if_whole")]
    pub polling_interval_fallback: f64,
    /// Hooks that are silent for this long are not relied on.
    #[serde(serialize_with = "whole_if_whole")]
    pub fallback_timeout: f64,
}

/// Milliseconds from the start of the hook to its answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NotifyLatency {
    pub p50: f64,
    pub p99: f64,
}

/// `GET /api/agents`
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AgentsPage {
    /// The display groups in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<GroupWords>,
    pub agents: Vec<AgentView>,
    /// More have ended: before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

/// A display group in words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupWords {
    pub id: Group,
    pub glyph: char,
    pub label: String,
    pub meaning: String,
}

impl GroupWords {
    /// All six, in the order of every surface.
    pub fn all() -> Vec<GroupWords> {
        let words = |group: &Group| GroupWords {
            id: *group,
            glyph: group.glyph(),
            label: group.label().to_owned(),
            meaning: group.meaning().to_owned(),
        };
        Group::ALL.iter().map(words).collect()
    }
}

/// `GET /api/board`: the agents as a list, and how the receiver is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BoardPage {
    pub receiver: HookStatus,
    pub rows: Vec<Row>,
    /// Since midnight of the server's calendar; only if it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent_today: Option<SpentStats>,
    /// More have ended: before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

/// An event as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredEvent {
    pub id: i64,
    pub name: String,
    pub session_id: String,
    pub agent_id: Option<i64>,
    pub at: Stamp,
    pub received_at: Stamp,
    pub source: String,
    pub duplicate: bool,
    /// The client that sent it. What headspace saw by itself names none: there it is the agent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    pub body: Value,
}

/// `GET /api/events`, `GET /api/agents/ID/events`: oldest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EventsPage {
    pub events: Vec<StoredEvent>,
    /// The server did not look further than this id: there may be more beyond it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked_to: Option<i64>,
    /// There may be more: before this id, or after it if that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

/// `GET /api/events/names`: the names of all stored events, in the order of the alphabet.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EventNames {
    pub names: Vec<String>,
}

/// Something said, as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredTurn {
    pub id: i64,
    pub command_id: Option<i64>,
    pub session_id: String,
    pub actor: Actor,
    pub intent: Intent,
    pub text: String,
    pub timestamp: Stamp,
    pub timestamp_source: TimestampSource,
    pub confidence: Confidence,
    pub event_id: i64,
}

/// Something said that has the words of a search.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hit {
    pub agent_id: i64,
    /// The agent's title, as in every list; empty if it is not known any more.
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub project: Option<String>,
    pub session_id: String,
    pub turn_id: i64,
    pub event_id: i64,
    pub actor: Actor,
    pub intent: Intent,
    pub at: Stamp,
    pub excerpt: Vec<Piece>,
}

impl Hit {
    pub fn new(agent_id: i64, turn: &StoredTurn, excerpt: Vec<Piece>) -> Hit {
        Hit {
            agent_id,
            title: String::new(),
            project: None,
            session_id: turn.session_id.clone(),
            turn_id: turn.id,
            event_id: turn.event_id,
            actor: turn.actor,
            intent: turn.intent,
            at: turn.timestamp,
            excerpt,
        }
    }
}

/// `GET /api/conversations`: the newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ConversationsPage {
    pub hits: Vec<Hit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

/// `GET /api/agents/ID/turns`: oldest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TurnsPage {
    pub turns: Vec<StoredTurn>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

/// A unit of work, as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredCommand {
    pub id: i64,
    pub session_id: String,
    pub state: CommandState,
    pub instruction: Option<String>,
    pub started_at: Stamp,
    pub completed_at: Option<Stamp>,
    pub confidence: Confidence,
}

/// `GET /api/agents/ID/commands`: oldest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CommandsPage {
    pub commands: Vec<StoredCommand>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

/// A step of the state machine, as it is stored.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StoredTransition {
    pub id: i64,
    pub command_id: Option<i64>,
    pub from: CommandStateOrIdle,
    pub to: CommandStateOrIdle,
    pub actor: Actor,
    pub intent: Intent,
    pub valid: bool,
    pub confidence: Confidence,
    pub source: Source,
    pub event_id: i64,
    pub at: Stamp,
    pub why: String,
}

/// `GET /api/agents/ID/transitions`: oldest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TransitionsPage {
    pub transitions: Vec<StoredTransition>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

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
    /// With minutes of two digits behind the point.
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
    /// The agent's title, as in every list; empty if it is not known any more.
    #[serde(default)]
    pub title: String,
    pub kind: String,
    pub text: String,
    pub opened_at: Stamp,
    pub closed_at: Option<Stamp>,
    pub waited_minutes: f64,
}

/// The answer to `POST /api/agents/ID/seen` and `…/name`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AgentChanged {
    pub status: String,
    pub event_id: i64,
    pub agent: Option<AgentView>,
}

/// `POST /api/login-code`: a code that logs one browser in, once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoginCode {
    pub code: String,
}

/// `POST /api/prune`. A server that needs longer says so, and is asked again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PruneAnswer {
    pub status: String,
    pub done: bool,
    pub events: u64,
    pub agents: u64,
}

impl Default for PruneAnswer {
    fn default() -> PruneAnswer {
        PruneAnswer { status: "ok".into(), done: false, events: 0, agents: 0 }
    }
}

/// `60`, not `60.0`: whole seconds are whole numbers.
fn whole_if_whole<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        serializer.serialize_i64(*value as i64)
    } else {
        serializer.serialize_f64(*value)
    }
}

fn whole_if_whole_opt<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => whole_if_whole(value, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_of_an_older_server_is_understood() {
        let old =
            json!({"enabled": true, "mode": "hooks_active", "events_received": 3, "polling_interval": 60});
        let status: HookStatus = serde_json::from_value(old).unwrap();
        assert_eq!((status.events_received, status.spool_pending, status.hooks), (3, 0, None));
        assert_eq!(serde_json::from_str::<AgentsPage>(r#"{"agents": []}"#).unwrap().next, None);
    }

    #[test]
    fn silence_is_a_fault_only_while_somebody_works() {
        let status = |mode: &str, last: Option<i64>| HookStatus {
            enabled: true,
            mode: mode.into(),
            last_event_at: last.map(Stamp),
            ..HookStatus::default()
        };
        let minutes = |minutes: i64| Stamp(minutes * 60_000_000_000);
        let phrase = |status: &HookStatus, busy| HookHealth::of(status, busy).phrase(minutes(7));
        let silent = status("polling_fallback", Some(0));
        assert_eq!(phrase(&silent, false), "quiet for 7 m");
        assert_eq!(phrase(&silent, true), "transcripts are read, hooks silent for 7 m");
        assert_eq!(phrase(&status("hooks_active", Some(0)), true), "hooks active");
        assert_eq!(phrase(&status("polling_fallback", None), false), "no event yet");
        let missing = HookStatus { hooks_missing: true, hooks: Some("missing".into()), ..silent };
        assert_eq!(phrase(&missing, false), "hooks missing: `headspace install` adds them");
    }

    #[test]
    fn whole_seconds_are_whole_numbers() {
        let status =
            HookStatus { polling_interval: 60.0, last_event_ago: Some(0.25), ..HookStatus::default() };
        assert_eq!(json!(status)["polling_interval"].to_string(), "60");
        assert_eq!(json!(status)["last_event_ago"].to_string(), "0.25");
    }
}

/// `GET /api/answer`: whether asks can be answered from here, and by whom. Also a message of the stream, `answer`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnswerStatus {
    pub on: bool,
    /// Some key counts.
    pub unlocked: bool,
    /// The key sent with the request does.
    pub mine: bool,
    /// Dialogs whose hooks wait for an answer.
    pub waiting: usize,
    /// Who may answer now.
    pub keys: Vec<AnswerKey>,
}

/// Somebody who may answer: a page that was unlocked, or `top` on a terminal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerKey {
    /// Ends it: `POST /api/answer/lock {"id": …}`.
    pub id: u64,
    pub surface: crate::model::Surface,
    /// The terminal it was unlocked from.
    pub from: String,
    pub at: Stamp,
    pub expires_at: Stamp,
    #[serde(default)]
    pub mine: bool,
}

/// `POST /api/answer/code`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UnlockCode {
    pub code: String,
    pub seconds: u64,
}

/// `POST /api/answer/terminal`
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TerminalKey {
    pub key: String,
    pub seconds: u64,
}
