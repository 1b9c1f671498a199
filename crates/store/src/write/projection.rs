//! Turns the engine's results into rows and into messages of the stream of changes. Writes nothing itself.

use crate::write::{ChangeRow, Rows, SessionRow};
use headspace_core::engine::{Agent, World};
use headspace_core::json::serialize::to_text;
use headspace_core::model::*;
use serde_json::json;

/// Adds an event's outcome to the rows of its batch. `seq` is the last number used in the stream.
pub fn collect(rows: &mut Rows, world: &World, seq: &mut i64, event: &Event, outcome: Outcome) {
    rows.touched.extend(outcome.touched.iter().map(|id| (*id, 0)));
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
            rows.changes.push(ChangeRow { seq: *seq, kind, agent_id, turn, data });
        };
        match change {
            Change::AgentCreated { agent_id } => {
                step("agent_created", agent_id, None, created(agent_id, event, world.agent(agent_id)));
            }
            Change::StateChanged(changed) => {
                let data = to_text(&changed).unwrap_or_default();
                step("state_changed", changed.agent_id, None, data);
            }
            Change::Turn(turn) => {
                let data = turn_created(&turn, project_of(world, turn.agent_id));
                step("turn_created", turn.agent_id, Some(turn.id), data);
                rows.turns.push(turn);
            }
            Change::SessionEnded { agent_id, session_id, reason, at } => {
                let data = json!({
                    "agent_id": agent_id, "session_id": session_id, "reason": reason, "timestamp": at,
                    "project": world.agent(agent_id).and_then(|agent| agent.place.project.as_ref()),
                });
                step("session_ended", agent_id, None, data.to_string());
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
            Change::Spent { agent_id, project, at, spent } => rows.spend(agent_id, project, at, &spent),
        }
    }
}

fn created(agent_id: i64, event: &Event, agent: Option<&Agent>) -> String {
    let place = agent.map(|agent| &agent.place);
    json!({
        "agent_id": agent_id,
        "session_id": event.session_id,
        "project": place.and_then(|place| place.project.as_ref()),
        "project_path": place.and_then(|place| place.root.as_ref()),
        "timestamp": event.at,
    })
    .to_string()
}

fn turn_created(turn: &Turn, project_id: &str) -> String {
    json!({
        "agent_id": turn.agent_id, "project_id": project_id, "text": turn.text, "actor": turn.actor,
        "intent": turn.intent, "command_id": turn.command_id, "turn_id": turn.id, "timestamp": turn.timestamp,
    })
    .to_string()
}

/// A project is identified by its directory; without one, by its name if it has one.
fn project_of(world: &World, agent_id: i64) -> &str {
    let place = world.agent(agent_id).map(|agent| &agent.place);
    place.and_then(|place| place.root.as_deref().or(place.project.as_deref())).unwrap_or_default()
}
