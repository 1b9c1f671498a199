//! What the guard says about a tool call that waits for a person. Judged on request, for the person who decides; the hook
//! has judged the call itself if the guard is on.

use crate::app_state::SharedState;
use crate::blocking_pool;
use crate::http::response::{ApiError, ApiResult, ok};
use axum::extract::{Path, State};
use headspace_core::engine::Agent;
use headspace_core::model::Interaction;
use headspace_guard::{GuardEnvironment, Verdict, judge};
use serde_json::{Value, json};

/// Judges as the hook would, in the call's directory, whether or not the guard is on.
pub async fn verdict(State(app): State<SharedState>, Path(id): Path<String>) -> ApiResult {
    let id: i64 = id.parse().map_err(|_| ApiError::not_found("an interaction's id is a number"))?;
    let payload = {
        let agents = app.ledger.snapshot().agents(0);
        let open = |agent: &Agent| agent.interactions.iter().find(|one| one.id == id).cloned();
        let found = agents.iter().find_map(|agent| Some((open(agent)?, agent.place.cwd.clone())));
        found.map(|(interaction, cwd)| call_of(&interaction, cwd.as_deref()))
    };
    let payload = payload.ok_or_else(|| ApiError::not_found("no such question is open"))?;
    let payload = payload
        .ok_or_else(|| ApiError::not_found("this question is not about a tool call that is known whole"))?;
    let judged = blocking_pool::run(move || judge(&payload, &GuardEnvironment::here(&app.config))).await;
    let judged = judged.map_err(|_| anyhow::anyhow!("the guard failed on a call"))?;
    let Verdict { decision, rule, finding, subject, .. } = judged;
    Ok(ok(&json!({"verdict": decision.as_str(), "rule": rule, "reason": finding, "subject": subject})))
}

/// The call as a PreToolUse payload; `None` if only a line of it is known.
fn call_of(interaction: &Interaction, cwd: Option<&str>) -> Option<Value> {
    let input = interaction.asked.as_ref().map(|asked| &asked.input).filter(|input| input.is_object())?;
    let tool = interaction.tool_name.as_deref()?;
    Some(json!({"hook_event_name": "PreToolUse", "tool_name": tool, "tool_input": input, "cwd": cwd}))
}
