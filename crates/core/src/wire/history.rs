//! What is stored about agents: events, turns, commands, transitions, and what a search finds in them.

use crate::model::{Actor, CommandState, CommandStateOrIdle, Confidence, Intent, Source, TimestampSource};
use crate::stamp::Stamp;
use crate::text::excerpt::Piece;
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    /// The client that sent it. An event that headspace saw by itself names none: then it is the agent's client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    pub body: Value,
}

/// `GET /api/events`, `GET /api/agents/ID/events`: oldest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EventsPage {
    pub events: Vec<StoredEvent>,
    /// The server did not search beyond this id: there may be more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked_to: Option<i64>,
    /// There may be more: before this id, or after it if that was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<i64>,
}

/// `GET /api/events/names`: the names of all stored events, in alphabetical order.
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
    /// The agent's title, as in every list; empty if the agent no longer exists.
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
