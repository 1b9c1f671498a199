//! Stopping a turn: Esc in the agent's own pane if the interrupt is seen afterwards; else at its next tool call, where the
//! hook prints a refusal that ends the turn.

use crate::ledger::Ledger;
use crate::reply::{submit, typing};
use headspace_core::engine::Agent;
use headspace_core::model::{StopState, hints, observed};
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_platform::terminal::tmux::Refusal;
use serde_json::json;
use std::time::{Duration, Instant};

/// The transcript shows an interrupt within this time after Esc.
const INTERRUPT_SEEN_WITHIN: Duration = Duration::from_secs(4);
const LOOK_FOR_INTERRUPT_EVERY: Duration = Duration::from_millis(50);

/// The outcome of a requested stop.
#[derive(Debug)]
pub struct Stop {
    pub state: StopState,
    /// Why not at once.
    pub why: Option<String>,
}

/// Stops the turn that runs now. Blocks for some seconds.
pub fn stop(ledger: &Ledger, agent: &Agent, by: &str) -> Result<Stop, Refusal> {
    if agent.ended_at.is_some() {
        return Err("it has ended".into());
    }
    if agent.takes_prompt() {
        return Err("it is not working on anything".into());
    }
    let command = agent.command.as_ref().map(|command| command.id);
    let why = match typing::escape(&ledger.view(agent, Stamp::now())) {
        Ok(()) if is_over(ledger, agent.id, command) => {
            record(ledger, agent, by, StopState::Interrupted, None);
            return Ok(Stop { state: StopState::Interrupted, why: None });
        }
        Ok(()) => "Esc was pressed, but no interrupt was seen".to_owned(),
        Err(why) => why,
    };
    let client = agent.place.client_name.as_deref().unwrap_or(hints::DEFAULT_CLIENT);
    if client != hints::DEFAULT_CLIENT || !agent.hooked || agent.place.elsewhere {
        return Err(format!("{why}; and its hooks cannot stop it"));
    }
    record(ledger, agent, by, StopState::Requested, Some(&why));
    Ok(Stop { state: StopState::Requested, why: Some(why) })
}

/// Whether the turn of this command ends soon.
fn is_over(ledger: &Ledger, agent_id: i64, command: Option<i64>) -> bool {
    let until = Instant::now() + INTERRUPT_SEEN_WITHIN;
    loop {
        let agent = ledger.snapshot().agent(agent_id);
        let now = agent.and_then(|agent| agent.command.as_ref().map(|command| command.id));
        if now != command || command.is_none() {
            return command.is_some();
        }
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(LOOK_FOR_INTERRUPT_EVERY);
    }
}

fn record(ledger: &Ledger, agent: &Agent, by: &str, state: StopState, why: Option<&str>) {
    let body = json!({"session_id": agent.session_id, "state": state, "by": by, "why": why});
    submit(ledger, observed::STOP_REQUEST, &agent.session_id, body);
}
