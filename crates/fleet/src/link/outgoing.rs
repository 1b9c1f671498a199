//! What leaves the machine: documents and events as they are posted. `hub preview` prints the same.

use crate::level::{Level, Sharing, cut};
use headspace_core::mask;
use headspace_core::model::{AgentView, Turn};
use headspace_store::read::log::LoggedEvent;
use serde_json::{Value, json};

/// An agent's document at its level; `None`: nothing of it leaves.
pub fn document(view: &AgentView, sharing: &Sharing) -> Option<Value> {
    let level = sharing.of_agent(view.project_path.as_deref(), view.cwd.as_deref());
    let mut document = cut(&json!(view), level)?;
    if level > Level::States {
        // It was masked before it was stored, but the masking rules may be newer than the row.
        mask::value(&mut document);
    }
    Some(document)
}

pub fn level_of(document: &Value) -> Level {
    document["share"].as_str().and_then(Level::from_word).unwrap_or(Level::None)
}

/// What an event's agent shares: its level and its project's directory.
#[derive(Clone, Debug)]
pub struct AgentShare {
    pub level: Level,
    pub project: Option<String>,
}

impl AgentShare {
    pub fn of(view: &AgentView, sharing: &Sharing) -> AgentShare {
        let project = view.project_path.clone().or_else(|| view.cwd.clone());
        AgentShare { level: sharing.of_agent(view.project_path.as_deref(), view.cwd.as_deref()), project }
    }
}

/// An event, if its agent and the directory it names both share everything.
pub fn event(event: &LoggedEvent, agent: Option<&AgentShare>, sharing: &Sharing) -> Option<Value> {
    let mut body: Value = serde_json::from_slice(event.body.as_bytes()).unwrap_or(Value::Null);
    let directory = ["cwd", "working_directory"].iter().find_map(|field| body[field].as_str());
    let level = match agent {
        Some(agent) => agent.level.min(match directory {
            Some(directory) => sharing.of_agent(agent.project.as_deref(), Some(directory)),
            None => agent.level,
        }),
        None => sharing.of_directory(directory),
    };
    if level < Level::Full {
        return None;
    }
    mask::value(&mut body);
    Some(json!({
        "pos": event.pos, "agent_id": event.agent_id, "session_id": event.session_id, "name": event.name, "at": event.at,
        "source": event.source, "flags": event.flags, "body": body,
    }))
}

pub fn turn(turn: &Turn) -> Value {
    let text = mask::text(&turn.text);
    json!({
        "id": turn.id, "command_id": turn.command_id, "session_id": turn.session_id, "actor": turn.actor, "intent": turn.intent,
        "text": text, "timestamp": turn.timestamp, "timestamp_source": turn.timestamp_source, "confidence": turn.confidence,
        "event_id": turn.event_id,
    })
}
