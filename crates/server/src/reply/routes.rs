//! The routes for replies and stops. Only for people: see [`person`].

use crate::app_state::SharedState;
use crate::blocking_pool;
use crate::http::answer;
use crate::http::api::known_agent;
use crate::http::auth::policy::Connection;
use crate::http::response::{ApiError, ApiResult, ok};
use crate::ingest::receive::read_bytes;
use crate::reply::stop;
use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use headspace_core::model::Surface;
use hyper::StatusCode;
use hyper::header::{HeaderMap, ORIGIN};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The longest prompt that is typed. A client shows a stand-in for far shorter ones.
const MAX_PROMPT: usize = 64 << 10;
const MAX_BODY: usize = 128 << 10;

/// What the client takes for something else than a prompt: shell, command, memory, file.
const SPECIAL: [char; 4] = ['!', '/', '#', '@'];

type Who = Extension<Arc<Connection>>;

/// Sends the next prompt, or queues it while the agent is busy.
pub async fn reply(
    State(app): State<SharedState>,
    Extension(connection): Who,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult {
    let by = person(&app, &connection, &headers, "reply").await?;
    let agent = known_agent(&app, &id)?;
    let body = fields(body, &["text", "confirm", "by"]).await?;
    let text = body.get("text").and_then(Value::as_str).map(crate::reply::typing::pasteable);
    let text =
        text.filter(|text| !text.trim().is_empty()).ok_or_else(|| unfit("`text` is missing or empty"))?;
    if text.len() > MAX_PROMPT {
        return Err(unfit(format!("`text` is over {} KiB", MAX_PROMPT >> 10)));
    }
    let special = text.trim_start().chars().next().filter(|first| SPECIAL.contains(first));
    if let Some(first) = special.filter(|_| body.get("confirm") != Some(&Value::Bool(true))) {
        return Err(unfit(format!(
            "a text that begins with {first} is more than a prompt to the client: ask, and send `confirm`: true"
        )));
    }
    let by = surface(&body, by);
    let sent = blocking_pool::run(move || app.replies.send(&app.ledger, &agent, &text, by)).await;
    let reply = settled(sent, "reply")?;
    Ok(ok(&json!({"status": "ok", "reply_id": reply.id, "state": reply.state, "why": reply.why})))
}

/// Cancels a waiting prompt.
pub async fn cancel(
    State(app): State<SharedState>,
    Extension(connection): Who,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult {
    person(&app, &connection, &headers, "cancel").await?;
    let agent = known_agent(&app, &id)?;
    let body = fields(body, &["reply_id"]).await?;
    let reply = body.get("reply_id").and_then(Value::as_str).ok_or_else(|| unfit("`reply_id` is missing"))?;
    let reply = reply.to_owned();
    let canceled = blocking_pool::run(move || app.replies.cancel(&app.ledger, &agent, &reply)).await;
    match canceled {
        Ok(true) => Ok(ok(&json!({"status": "ok", "state": "canceled"}))),
        _ => Err(ApiError(
            StatusCode::CONFLICT,
            "no such prompt waits: it was typed, dropped or canceled".into(),
        )),
    }
}

/// Stops the turn that runs.
pub async fn stop(
    State(app): State<SharedState>,
    Extension(connection): Who,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult {
    let by = person(&app, &connection, &headers, "stop").await?;
    let agent = known_agent(&app, &id)?;
    let body = fields(body, &["by"]).await?;
    let by = surface(&body, by);
    let stopped = blocking_pool::run(move || stop::stop(&app.ledger, &agent, by)).await;
    let stop = settled(stopped, "stop")?;
    Ok(ok(&json!({"status": "ok", "state": stop.state, "why": stop.why})))
}

/// Which surface a person asks from: a page or `top` that a person unlocked for answering, or a command on a terminal of
/// this machine. An agent, or a process that one started, is refused whatever token or key it has.
async fn person(
    app: &SharedState,
    connection: &Arc<Connection>,
    headers: &HeaderMap,
    doing: &str,
) -> Result<Surface, ApiError> {
    let refuse = |why: &str| ApiError(StatusCode::FORBIDDEN, format!("could not {doing}: {why}"));
    let person = answer::judge(app, connection).await?;
    if let Some(key) = answer::key_of(app, headers) {
        answer::own_origin(app, headers)?;
        return Ok(key.surface);
    }
    if headers.contains_key(ORIGIN) || headers.contains_key("sec-fetch-site") {
        return Err(refuse("this page is not unlocked: `headspace answer unlock` shows a code"));
    }
    // Where the system does not say whose terminal it is, the command itself has looked.
    if person.terminal.is_some() || (person.is_here && cfg!(not(target_os = "linux"))) {
        return Ok(Surface::Cli);
    }
    Err(refuse("only a person at a terminal of this machine, or on an unlocked page, may"))
}

/// `top` is a command on a terminal too.
fn surface(body: &Map<String, Value>, by: Surface) -> &'static str {
    match body.get("by").and_then(Value::as_str) {
        Some("top") if by == Surface::Cli => Surface::Top.word(),
        _ => by.word(),
    }
}

/// The body's members, of which none may be unknown.
async fn fields(body: Body, known: &[&str]) -> Result<Map<String, Value>, ApiError> {
    let read = read_bytes(body, MAX_BODY).await?;
    let fields = match read.bytes.is_empty() {
        true => Map::new(),
        false => crate::ingest::body::decode(&read.bytes).map_err(ApiError::bad)?,
    };
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        Some(_) => Err(unfit(format!("the body may have only: {}", known.join(", ")))),
        None => Ok(fields),
    }
}

fn unfit(why: impl Into<String>) -> ApiError {
    ApiError(StatusCode::UNPROCESSABLE_ENTITY, why.into())
}

fn settled<T>(done: Result<Result<T, String>, blocking_pool::WorkLost>, doing: &str) -> Result<T, ApiError> {
    let done = done.unwrap_or_else(|_| Err("the server failed; see its log".into()));
    done.map_err(|why| ApiError(StatusCode::CONFLICT, format!("could not {doing}: {why}")))
}
