//! From what the engine answered to rows and to steps of the stream.

use crate::engine::World;
use crate::model::*;
use crate::store::write::{ChangeRow, Rows, SessionRow};
use serde_json::{Value, json};

/// Adds an event's outcome to the rows of its batch. `seq` is the last number given in the stream.
pub fn collect(
    rows: &mut Rows,
    world: &World,
    seq: &mut i64,
    event: &Event,
    agent: Option<&AgentView>,
    outcome: Outcome,
) {
    rows.touched.extend(&outcome.touched);
    if let Some(agent_id) = outcome.agent_id
        && event.facts.first_since_start
    {
        rows.sessions.entry(event.session_id.clone()).or_insert(SessionRow {
            agent_id,
            started_at: event.at,
            ended: None,
        });
    }
    for change in outcome.changes {
        let mut step = |kind, agent_id, turn, data| {
            *seq += 1;
            rows.changes.push(ChangeRow { seq: *seq, kind, agent_id, turn, data: Some(data) });
        };
        match change {
            Change::AgentCreated { agent_id } => {
                step("agent_created", agent_id, None, created(agent_id, event, agent));
            }
            Change::StateChanged(changed) => {
                step("state_changed", changed.agent_id, None, json!(changed));
            }
            Change::Turn(turn) => {
                let data = turn_created(&turn, &project_of(world, event, agent, turn.agent_id));
                step("turn_created", turn.agent_id, Some(turn.id), data);
                rows.turns.push(turn);
            }
            Change::SessionEnded { agent_id, session_id, reason, at } => {
                let data = json!({
                    "agent_id": agent_id, "session_id": session_id, "reason": reason, "timestamp": at,
                    "project": agent.and_then(|agent| agent.project.clone()),
                });
                step("session_ended", agent_id, None, data);
                rows.sessions
                    .entry(session_id)
                    .or_insert(SessionRow { agent_id, started_at: event.at, ended: None })
                    .ended = Some((at, reason));
            }
            Change::Command(command) => {
                rows.commands.insert(command.id, command);
            }
            Change::Interaction { agent_id, interaction } => {
                rows.interactions.insert(interaction.id, (agent_id, interaction));
            }
            Change::Subagent { agent_id, subagent } => {
                let key = (agent_id, subagent.session_id.clone(), subagent.agent_id.clone());
                rows.subagents.insert(key, subagent);
            }
            Change::Transition(transition) => rows.transitions.push(transition),
        }
    }
}

fn created(agent_id: i64, event: &Event, agent: Option<&AgentView>) -> Value {
    json!({
        "agent_id": agent_id,
        "session_id": event.session_id,
        "name": agent.map(|agent| &agent.name),
        "project": agent.and_then(|agent| agent.project.as_ref()),
        "project_path": agent.and_then(|agent| agent.project_path.as_ref()),
        "timestamp": event.at,
    })
}

fn turn_created(turn: &Turn, project_id: &str) -> Value {
    json!({
        "agent_id": turn.agent_id, "project_id": project_id, "text": turn.text, "actor": turn.actor,
        "intent": turn.intent, "command_id": turn.command_id, "turn_id": turn.id, "timestamp": turn.timestamp,
    })
}

/// A project is known by its directory; without one, by whatever name there is.
fn project_of(world: &World, event: &Event, agent: Option<&AgentView>, agent_id: i64) -> String {
    let id = |view: &AgentView| view.project_path.clone().or(view.project.clone()).unwrap_or_default();
    match agent.filter(|view| view.id == agent_id) {
        Some(view) => id(view),
        None => world.agent(agent_id).map(|agent| id(&agent.view(event.received_at))).unwrap_or_default(),
    }
}
