//! The API for user interfaces: agents, what they did and said, events, statistics; and the little that can be changed.
//! Only translates between HTTP and the ledger or the store.

use crate::app_state::SharedState;
use crate::http::response::{ApiError, ApiResult, Query, ok};
use crate::http::time_updates;
use crate::ingest::receive::read_bytes;
use crate::ledger::snapshot::Chosen;
use crate::ledger::{Ledger, NewEvent};
use axum::body::Body;
use axum::extract::{Path, State};
use headspace_core::engine::Agent;
use headspace_core::model;
use headspace_core::model::{AgentId, AgentView, Source, observed};
use headspace_core::stamp::Stamp;
use headspace_core::wire::{
    AgentChanged, AgentsPage, BoardPage, CommandsPage, EventNames, EventsPage, GroupWords, PruneAnswer,
    TransitionsPage, TurnsPage,
};
use headspace_platform::clock::WallClock;
use headspace_store::read::file_changes;
use headspace_store::read::queries;
use headspace_store::read::queries::{EventQuery, FoundEvents, Listed, Page};
use headspace_store::read::stats;
use headspace_store::retention::prune::Deleted;
use hyper::StatusCode;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Rows in one answer: by default, and at most.
const ROW_LIMITS: (usize, usize) = (200, 1000);
/// The same for events, which are bigger.
const EVENT_LIMITS: (usize, usize) = (100, 1000);
/// Ended agents in one answer, by default and at most: those that ended last.
const MAX_ENDED_AGENTS: usize = 1000;
/// Names of events in one request.
const MAX_EVENT_NAMES: usize = 100;
const MAX_SMALL_BODY: usize = 64 << 10;
/// A client that asks to prune is answered after this time, and may ask again.
const PRUNE_ANSWERED_WITHIN: Duration = Duration::from_secs(5);

/// All agents that have not ended, and with `all` or `ended` also those that have, as many as `limit` or `ended` says; or
/// only those that ended `before` a given one.
#[derive(Deserialize)]
pub struct AgentQuery {
    all: Option<String>,
    ended: Option<String>,
    limit: Option<String>,
    before: Option<String>,
}

impl AgentQuery {
    /// The agents of other machines are on the first page only.
    fn far_agents(&self, app: &SharedState) -> Vec<Arc<AgentView>> {
        match self.before.as_deref().unwrap_or_default() {
            "" => app.other_machines.agents(is_on(&self.all) || is_on(&self.ended)),
            _ => Vec::new(),
        }
    }

    fn agents(self, ledger: &Ledger) -> Result<Chosen, ApiError> {
        let all = is_on(&self.all);
        let (ended, limit) = (number("ended", self.ended)?, number("limit", self.limit)?);
        let before = number("before", self.before)?;
        let snapshot = ledger.snapshot();
        let Some(id) = before else {
            let ended = ended.unwrap_or(if all { limit.unwrap_or(MAX_ENDED_AGENTS) } else { 0 });
            return Ok(snapshot.choose(ended.min(MAX_ENDED_AGENTS)));
        };
        let last = snapshot.agent(id).and_then(|agent| Some((agent.ended_at?, id)));
        let last = last.ok_or_else(|| ApiError::bad("`before` is not an agent that has ended"))?;
        Ok(snapshot.ended(Some(last), ended.or(limit).unwrap_or(MAX_ENDED_AGENTS).clamp(1, MAX_ENDED_AGENTS)))
    }
}

/// Whether a flag in the query is switched on.
fn is_on(flag: &Option<String>) -> bool {
    flag.as_deref().is_some_and(|flag| !matches!(flag, "" | "0" | "false"))
}

/// A number in the query, if it has one.
pub(super) fn number<T: std::str::FromStr>(name: &str, text: Option<String>) -> Result<Option<T>, ApiError> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    text.parse().map(Some).map_err(|_| ApiError::bad(format!("`{name}` is not a number")))
}

/// A time in the query, if it has one.
pub(super) fn moment(name: &str, text: Option<String>) -> Result<Option<Stamp>, ApiError> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let wrong = || ApiError::bad(format!("`{name}` is not a time: write it as 2026-03-01T00:00:00Z"));
    Stamp::parse(&text).map(Some).ok_or_else(wrong)
}

pub async fn agents(State(app): State<SharedState>, Query(which): Query<AgentQuery>) -> ApiResult {
    app.reconciler.viewed();
    let (ledger, now) = (&app.ledger, Stamp::now());
    let far = which.far_agents(&app);
    let Chosen { agents, next } = which.agents(ledger)?;
    let mut agents: Vec<AgentView> = agents.iter().map(|agent| ledger.view(agent, now)).collect();
    agents.extend(far.iter().map(|agent| AgentView::clone(agent)));
    agents.sort_by(|a, b| a.summary.order.cmp(&b.summary.order));
    Ok(ok(&AgentsPage { groups: GroupWords::all(), agents, next }))
}

#[derive(Deserialize)]
pub struct BoardQuery {
    spent: Option<String>,
}

/// The agents as a list, and the receiver's status: one small answer for what is requested every few seconds.
pub async fn board(
    State(app): State<SharedState>,
    Query(which): Query<AgentQuery>,
    Query(BoardQuery { spent }): Query<BoardQuery>,
) -> ApiResult {
    app.reconciler.viewed();
    // Read only if the caller shows it.
    let spent_today = match spent.is_some_and(|word| word != "0") {
        true => Some(app.read_flushed(|db| stats::today(db, Stamp::now())).await?),
        false => None,
    };
    let receiver = app.hook_status(time_updates::spool().await);
    let far = which.far_agents(&app);
    let Chosen { agents, next } = which.agents(&app.ledger)?;
    let now = Stamp::now();
    let own: Vec<AgentView> = agents.iter().map(|agent| app.ledger.view(agent, now)).collect();
    let rows = model::rows(own.iter().chain(far.iter().map(|agent| &**agent)), now);
    Ok(ok(&BoardPage { receiver, rows, spent_today, next }))
}

pub async fn agent(State(app): State<SharedState>, Path(id): Path<String>) -> ApiResult {
    Ok(ok(&app.ledger.view(&*known_agent(&app, &id)?, Stamp::now())))
}

pub fn known_agent(app: &SharedState, id: &str) -> Result<Arc<Agent>, ApiError> {
    let id: AgentId = id.parse().map_err(|()| ApiError::not_found("an agent's id is a number"))?;
    let own = id.own().ok_or_else(|| crate::http::far_agents::there(id, "ask there"))?;
    app.ledger.snapshot().agent(own).ok_or_else(|| ApiError::not_found("there is no such agent"))
}

/// The newest rows, the newest before the one with this id (or up to it), or the first after it.
#[derive(Deserialize)]
pub struct RowQuery {
    before: Option<String>,
    through: Option<String>,
    after: Option<String>,
    limit: Option<String>,
}

/// A page of an agent's rows, and where to continue: `next` is the next request's `before`, or its `after` if this one had
/// an `after`.
async fn rows<T: Send + 'static, P: Serialize>(
    app: SharedState,
    id: String,
    which: RowQuery,
    query: fn(&Connection, Page) -> anyhow::Result<Listed<T>>,
    page: fn(Vec<T>, Option<i64>) -> P,
) -> ApiResult {
    let agent = known_agent(&app, &id)?.id;
    let limit = number("limit", which.limit)?.unwrap_or(ROW_LIMITS.0).clamp(1, ROW_LIMITS.1);
    let (before, after) = (number("before", which.before)?, number("after", which.after)?);
    let asked = Page { agent, before, through: number("through", which.through)?, after, limit };
    let Listed { rows, next } = app.read_flushed(move |db| query(db, asked)).await?;
    Ok(ok(&page(rows, next)))
}

pub async fn commands(
    State(app): State<SharedState>,
    Path(id): Path<String>,
    Query(which): Query<RowQuery>,
) -> ApiResult {
    rows(app, id, which, queries::commands, |commands, next| CommandsPage { commands, next }).await
}

pub async fn turns(
    State(app): State<SharedState>,
    Path(id): Path<String>,
    Query(which): Query<RowQuery>,
) -> ApiResult {
    rows(app, id, which, queries::turns, |turns, next| TurnsPage { turns, next }).await
}

pub async fn transitions(
    State(app): State<SharedState>,
    Path(id): Path<String>,
    Query(which): Query<RowQuery>,
) -> ApiResult {
    rows(app, id, which, queries::transitions, |transitions, next| TransitionsPage { transitions, next })
        .await
}

/// The files the agent edited.
pub async fn changes(State(app): State<SharedState>, Path(id): Path<String>) -> ApiResult {
    let agent = known_agent(&app, &id)?;
    let (id, root) = (agent.id, agent.place.root.clone());
    Ok(ok(&app.read_flushed(move |db| file_changes::of_agent(db, id, root.as_deref())).await?))
}

#[derive(Deserialize)]
pub struct EventsQuery {
    after: Option<String>,
    before: Option<String>,
    limit: Option<String>,
    agent: Option<String>,
    r#type: Option<String>,
    q: Option<String>,
    client: Option<String>,
    from: Option<String>,
    to: Option<String>,
}

impl EventsQuery {
    fn query(self) -> Result<EventQuery, ApiError> {
        let types = self.r#type.unwrap_or_default();
        let names: BTreeSet<String> =
            types.split(',').filter(|name| !name.is_empty()).map(event_name).collect();
        if names.len() > MAX_EVENT_NAMES {
            return Err(ApiError::bad(format!(
                "`type` names over {MAX_EVENT_NAMES} events: leave it out to get all"
            )));
        }
        Ok(EventQuery {
            after: number("after", self.after)?,
            before: number("before", self.before)?,
            agent: number("agent", self.agent)?,
            limit: number("limit", self.limit)?.unwrap_or(EVENT_LIMITS.0).clamp(1, EVENT_LIMITS.1),
            names: names.into_iter().collect(),
            text: self.q.filter(|text| !text.trim().is_empty()),
            client: self.client.filter(|name| !name.is_empty()),
            from: moment("from", self.from)?,
            to: moment("to", self.to)?,
            ..EventQuery::default()
        })
    }
}

/// Both spellings are understood: `PreToolUse` and `pre-tool-use`.
fn event_name(name: &str) -> String {
    if name.starts_with(|c: char| c.is_ascii_uppercase()) {
        name.to_owned()
    } else {
        headspace_core::model::event_names::name_of(name)
    }
}

pub async fn events(State(app): State<SharedState>, Query(which): Query<EventsQuery>) -> ApiResult {
    find(app, which.query()?).await
}

pub async fn event_names(State(app): State<SharedState>) -> ApiResult {
    Ok(ok(&EventNames { names: app.read_flushed(queries::event_names).await? }))
}

pub async fn agent_events(
    State(app): State<SharedState>,
    Path(id): Path<String>,
    Query(which): Query<EventsQuery>,
) -> ApiResult {
    let mut query = which.query()?;
    query.agent = Some(known_agent(&app, &id)?.id);
    find(app, query).await
}

async fn find(app: SharedState, mut query: EventQuery) -> ApiResult {
    if query.client.is_some() {
        let snapshot = app.ledger.snapshot();
        let all = snapshot.agents(snapshot.len());
        query = query.of_client(all.iter().map(|agent| (agent.id, agent.place.client_name.as_deref())));
    }
    let by_lists = query.text.is_none() && (query.agent.is_some() || !query.names.is_empty());
    let question = move |db: &Connection| queries::events(db, &query);
    let mut found = if by_lists { app.read_flushed(question).await? } else { app.ask(question).await? };
    let snapshot = app.ledger.snapshot();
    found.name_clients(|id| snapshot.agent(id)?.place.client_name.clone());
    let FoundEvents { events, looked_to, next } = found;
    Ok(ok(&EventsPage { events, looked_to, next }))
}

/// A person looked at the agent.
pub async fn seen(State(app): State<SharedState>, Path(id): Path<String>) -> ApiResult {
    let agent = known_agent(&app, &id)?;
    record(&app, &agent, observed::SEEN, json!({})).await
}

/// An empty name restores the automatic one.
pub async fn name(State(app): State<SharedState>, Path(id): Path<String>, body: Body) -> ApiResult {
    let agent = known_agent(&app, &id)?;
    let read = read_bytes(body, MAX_SMALL_BODY).await?;
    let fields = crate::ingest::body::decode(&read.bytes).map_err(ApiError::bad)?;
    let name = fields.get("name").and_then(Value::as_str);
    let name = name.ok_or_else(|| {
        ApiError::bad("`name` is missing: send it as a string, empty for the automatic one")
    })?;
    let name = headspace_core::text::one_line(name, 100);
    record(&app, &agent, observed::RENAMED, json!({ "name": name })).await
}

/// Records what a person did to an agent, and answers with the agent.
async fn record(app: &SharedState, agent: &Agent, name: &str, mut body: Value) -> ApiResult {
    body["session_id"] = json!(agent.session_id);
    let event = NewEvent::observed(name, &agent.session_id, Stamp::now(), Source::Hook, body);
    let receipt = app.ledger.submit_one(event).answer().await?;
    let agent = app.ledger.snapshot().agent(agent.id).map(|agent| app.ledger.view(&agent, Stamp::now()));
    Ok(ok(&AgentChanged { status: "ok".into(), event_id: receipt.event_id, agent }))
}

/// Brings the agent's terminal to the front.
pub async fn jump(State(app): State<SharedState>, Path(id): Path<String>) -> ApiResult {
    let view = app.ledger.view(&*known_agent(&app, &id)?, Stamp::now());
    let jumped =
        crate::blocking_pool::run(move || headspace_platform::terminal::multiplexer::jump(&view)).await;
    let refused = |why: String| ApiError(StatusCode::CONFLICT, format!("could not jump: {why}"));
    jumped.unwrap_or_else(|_| Err("the server failed; see its log".into())).map_err(refused)?;
    Ok(ok(&json!({"status": "ok"})))
}

/// Deletes what retention no longer keeps, or everything older than `days`.
pub async fn prune(State(app): State<SharedState>, body: Body) -> ApiResult {
    let read = read_bytes(body, MAX_SMALL_BODY).await?;
    let days = match read.bytes.is_empty() {
        true => None,
        false => crate::ingest::body::decode(&read.bytes)
            .map_err(ApiError::bad)?
            .get("days")
            .and_then(Value::as_u64),
    };
    let days = days.map(|days| u32::try_from(days).unwrap_or(u32::MAX));
    let Ok(deleted) = tokio::time::timeout(PRUNE_ANSWERED_WITHIN, app.ledger.prune(days)).await else {
        return Ok(ok(&PruneAnswer::default()));
    };
    let Deleted { events, agents } = deleted?;
    Ok(ok(&PruneAnswer { done: true, events, agents, ..PruneAnswer::default() }))
}
