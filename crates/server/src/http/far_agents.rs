//! Agents of other machines in the API. Their rows are here; their history is requested over the line, and a request that
//! would act on one is refused with the machine on which to do it.

use crate::app_state::SharedState;
use crate::blocking_pool;
use crate::http::response::{ApiError, ApiResult, Query, ok};
use crate::other_machines::HistoryQuestion;
use axum::extract::{Path, State};
use headspace_core::model::{AgentId, AgentView};
use headspace_core::wire::MachinesPage;
use hyper::StatusCode;
use serde::Deserialize;
use std::sync::Arc;

/// How many rows one answer has at most, because it is sent as a single line.
const MOST_ROWS: usize = 300;

#[derive(Deserialize)]
pub struct HistoryQuery {
    before: Option<i64>,
    after: Option<i64>,
    limit: Option<usize>,
    r#type: Option<String>,
    q: Option<String>,
}

/// The lines to the other machines.
pub async fn machines(State(app): State<SharedState>) -> ApiResult {
    Ok(ok(&MachinesPage { machines: app.other_machines.statuses() }))
}

pub async fn agent(State(app): State<SharedState>, Path((machine, id)): Path<(String, String)>) -> ApiResult {
    Ok(ok(&*known(&app, &format!("{machine}/{id}"))?))
}

/// `events`, `turns`, `commands` or `transitions`, from the machine itself.
pub async fn history(
    State(app): State<SharedState>,
    Path((machine, id, about)): Path<(String, String, String)>,
    Query(which): Query<HistoryQuery>,
) -> ApiResult {
    let agent = known(&app, &format!("{machine}/{id}"))?;
    if !matches!(about.as_str(), "events" | "turns" | "commands" | "transitions") {
        return Err(there(agent.id, "this is known there only"));
    }
    if which.q.is_some_and(|text| !text.is_empty()) {
        return Err(there(agent.id, "texts are searched there only"));
    }
    let question = HistoryQuestion {
        about,
        before: which.before,
        after: which.after,
        limit: Some(which.limit.unwrap_or(100).clamp(1, MOST_ROWS)),
        names: which.r#type,
    };
    ask(app, agent.id, question).await
}

/// A person has looked at it; nothing else is done from here.
pub async fn act(
    State(app): State<SharedState>,
    Path((machine, id, verb)): Path<(String, String, String)>,
) -> ApiResult {
    let agent = known(&app, &format!("{machine}/{id}"))?;
    match verb.as_str() {
        "seen" => ask(app, agent.id, HistoryQuestion { about: verb, ..HistoryQuestion::default() }).await,
        "jump" => Err(there(agent.id, &format!("`headspace jump {}` in a terminal goes there", agent.id))),
        _ => Err(there(agent.id, "that is done there")),
    }
}

async fn ask(app: SharedState, id: AgentId, question: HistoryQuestion) -> ApiResult {
    let asked = blocking_pool::run(move || app.other_machines.ask(id, question)).await;
    let why = match asked {
        Ok(Ok(answer)) => return Ok(ok(&answer)),
        Ok(Err(why)) => why,
        Err(_) => "the server failed; see its log".into(),
    };
    Err(ApiError(StatusCode::BAD_GATEWAY, why))
}

fn known(app: &SharedState, id: &str) -> Result<Arc<AgentView>, ApiError> {
    let id: AgentId = id.parse().map_err(|()| ApiError::not_found("there is no such agent"))?;
    app.other_machines.agent(id).ok_or_else(|| ApiError::not_found("there is no such agent"))
}

/// The refusal that says on which machine to do it.
pub fn there(id: AgentId, what: &str) -> ApiError {
    let machine = id.machine.map_or("another machine".to_owned(), |machine| machine.to_string());
    ApiError(StatusCode::CONFLICT, format!("this agent runs on {machine}: {what}"))
}
