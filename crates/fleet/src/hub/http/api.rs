//! The API for readers. Only translates between HTTP and the board; the table of routes decides who may call what.

use crate::hub::board::{self, MAX_ENDED, Seat};
use crate::hub::fanout;
use crate::hub::http::access::{COOKIE_NAME, Reader};
use crate::hub::http::routes::{Shared, unavailable};
use crate::hub::http::streams::{Filter, message, since};
use crate::hub::people::{self, BROWSER_FOR, Joining, stamp};
use crate::level::Level;
use anyhow::Context;
use axum::Extension;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use headspace_core::model::hints;
use headspace_core::stamp::Stamp;
use headspace_core::text::numbers::counted;
use headspace_core::wire::{GroupWords, HookHealth, HookStatus};
use headspace_page::answer::{ApiError, ApiResult, Query, ok, with_status};
use headspace_page::stream::{self, Live, StreamQuery};
use headspace_platform::clock::WallClock;
use http_body_util::{BodyExt, Limited};
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderMap, LOCATION, SET_COOKIE};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tokio_postgres::Row;

const MAX_SMALL_BODY: usize = 64 << 10;
const EVENT_LIMITS: (i64, i64) = (100, 1000);
const TURN_LIMITS: (i64, i64) = (200, 1000);
/// The most documents replayed to a stream that reconnects.
const MAX_REPLAYED: i64 = 5_000;
/// How many agents' events are searched when no agent is named.
const RECENT_AGENTS: i64 = 20;

type Who = Extension<Arc<Reader>>;

/// Says that the hub is up, and nothing about people.
pub async fn health(State(hub): State<Shared>) -> ApiResult {
    let answers = tokio::time::timeout(Duration::from_millis(1500), hub.database.rows("SELECT 1", &[])).await;
    if hub.is_ready() && matches!(answers, Ok(Ok(_))) {
        return Ok(ok(&json!({"status": "ok", "name": "headspace hub"})));
    }
    Err(ApiError(StatusCode::SERVICE_UNAVAILABLE, "the hub waits for its database".into()))
}

async fn json_body(body: Body) -> Result<Value, ApiError> {
    let read =
        tokio::time::timeout(Duration::from_secs(10), Limited::new(body, MAX_SMALL_BODY).collect()).await;
    let bytes = read
        .ok()
        .and_then(Result::ok)
        .ok_or_else(|| ApiError::bad("the request's body is too large or too slow"))?;
    serde_json::from_slice(&bytes.to_bytes()).map_err(|_| ApiError::bad("the request's body is not JSON"))
}

pub async fn join(State(hub): State<Shared>, body: Body) -> ApiResult {
    let body = json_body(body).await?;
    let text = |field: &str| body[field].as_str().map(str::trim).filter(|text| !text.is_empty());
    let code = text("code").ok_or_else(|| ApiError::bad("`code` is missing"))?;
    let who = Joining {
        code,
        host: text("host").unwrap_or_default(),
        name: text("name"),
        version: text("version"),
    };
    let joined = people::join(&hub.database, &who).await.map_err(unavailable)?;
    let joined = joined.ok_or_else(|| {
        ApiError(
            StatusCode::FORBIDDEN,
            "this invitation was used already, is too old, or was never given: ask for another".into(),
        )
    })?;
    headspace_platform::log::line(&format!("machine {} joined", joined.edge));
    Ok(ok(&json!({
        "edge": joined.edge.to_string(), "token": joined.token, "user": joined.user, "team": joined.team,
        "share_max": joined.share_max.word(),
    })))
}

pub async fn leave(State(hub): State<Shared>, Extension(reader): Who) -> ApiResult {
    let edge = reader.edge.unwrap_or_default();
    people::revoke(&hub.database, edge).await.map_err(unavailable)?;
    hub.fanout.committed(edge);
    Ok(ok(&json!({"status": "ok"})))
}

/// A link that logs one browser in, once.
pub async fn login_link(State(hub): State<Shared>, Extension(reader): Who) -> ApiResult {
    let code = people::login_link(&hub.database, reader.usr, reader.edge).await.map_err(unavailable)?;
    Ok(ok(
        &json!({"path": format!("/login/{code}"), "url": format!("{}/login/{code}", hub.public_url.trim_end_matches('/'))}),
    ))
}

pub async fn login(State(hub): State<Shared>, Path(code): Path<String>) -> ApiResult {
    let token = people::redeem(&hub.database, &code).await.map_err(unavailable)?;
    let token = token.ok_or_else(|| {
        ApiError(
            StatusCode::FORBIDDEN,
            "this link was used already or is too old: run `headspace hub login` again".into(),
        )
    })?;
    let secure = if hub.public_url.starts_with("https://") { "; Secure" } else { "" };
    let age = BROWSER_FOR.as_secs();
    let cookie = format!("{COOKIE_NAME}={token}; HttpOnly; SameSite=Strict; Path=/; Max-Age={age}{secure}");
    let response =
        Response::builder().status(StatusCode::SEE_OTHER).header(LOCATION, "/").header(SET_COOKIE, cookie);
    response.body(Body::empty()).map_err(|error| anyhow::Error::from(error).into())
}

#[derive(Deserialize)]
pub struct AgentQuery {
    all: Option<String>,
}

/// The agents a reader may see, with their documents, in the order that every surface uses.
async fn listed(hub: &Shared, reader: &Reader, which: &AgentQuery) -> Result<Vec<(Seat, Value)>, ApiError> {
    let teams = reader.team_ids();
    let looked = board::looked(&hub.database, reader.usr).await.map_err(unavailable)?;
    let mut seats = board::present(&hub.database, &teams).await.map_err(unavailable)?;
    if which.all.as_deref().is_some_and(|all| !matches!(all, "" | "0" | "false")) {
        seats.extend(board::folded(&hub.database, &teams, MAX_ENDED).await.map_err(unavailable)?);
    }
    let mut shown: Vec<(Seat, Value)> =
        seats.into_iter().filter_map(|seat| Some((seat.clone(), seat.shown(reader, &looked)?))).collect();
    shown.sort_by_cached_key(|(_, document)| board::order(document));
    Ok(shown)
}

pub async fn agents(
    State(hub): State<Shared>,
    Extension(reader): Who,
    Query(which): Query<AgentQuery>,
) -> ApiResult {
    let shown = listed(&hub, &reader, &which).await?;
    let agents: Vec<Value> = shown.into_iter().map(|(_, document)| document).collect();
    Ok(ok(&json!({"groups": GroupWords::all(), "agents": agents})))
}

pub async fn board(
    State(hub): State<Shared>,
    Extension(reader): Who,
    Query(which): Query<AgentQuery>,
) -> ApiResult {
    let (shown, now) = (listed(&hub, &reader, &which).await?, Stamp::now());
    let rows: Vec<Value> = shown.iter().map(|(seat, document)| seat.row(document, now)).collect();
    Ok(ok(&json!({"receiver": receiver(&hub, &reader).await?, "rows": rows})))
}

/// The hub's health, in the field where a machine reports its hooks.
async fn receiver(hub: &Shared, reader: &Reader) -> Result<HookStatus, ApiError> {
    let rows = hub
        .database
        .rows(
            "SELECT count(*), count(*) FILTER (WHERE seen_at < clock_timestamp() - interval '12 seconds'), max(seen_at)
             FROM edges WHERE team = ANY($1) AND left_at IS NULL AND seen_at > now() - interval '1 day'",
            &[&reader.team_ids()],
        )
        .await
        .map_err(unavailable)?;
    let row = rows.first().context("no answer").map_err(unavailable)?;
    let (machines, silent): (i64, i64) = (row.get(0), row.get(1));
    let mut text = format!("hub with {}", counted(machines.unsigned_abs(), "machine"));
    if silent > 0 {
        text += &format!(", {silent} not heard");
    }
    Ok(HookStatus {
        enabled: true,
        mode: "hooks_active".into(),
        last_event_at: row.get::<_, Option<SystemTime>>(2).map(stamp),
        health: HookHealth { kind: "active".into(), text, since: None },
        hub: true,
        ..HookStatus::default()
    })
}

pub async fn status(State(hub): State<Shared>, Extension(reader): Who) -> ApiResult {
    Ok(ok(&receiver(&hub, &reader).await?))
}

/// The agent that a path names, if the reader may see it, and how much of it.
async fn known(hub: &Shared, reader: &Reader, edge: &str, id: &str) -> Result<(Seat, Level), ApiError> {
    let none = || ApiError::not_found("there is no such agent");
    let (edge, id) = (edge.parse().map_err(|_| none())?, id.parse().map_err(|_| none())?);
    let seat = board::one(&hub.database, &reader.team_ids(), edge, id)
        .await
        .map_err(unavailable)?
        .ok_or_else(none)?;
    let level = reader.level(seat.team, seat.usr).min(seat.share);
    if level == Level::None { Err(none()) } else { Ok((seat, level)) }
}

pub async fn agent(
    State(hub): State<Shared>,
    Extension(reader): Who,
    Path((edge, id)): Path<(String, String)>,
) -> ApiResult {
    let (seat, _) = known(&hub, &reader, &edge, &id).await?;
    let looked = board::looked(&hub.database, reader.usr).await.map_err(unavailable)?;
    let document =
        seat.shown(&reader, &looked).ok_or_else(|| ApiError::not_found("there is no such agent"))?;
    Ok(ok(&document))
}

#[derive(Deserialize)]
pub struct RowQuery {
    before: Option<String>,
    after: Option<String>,
    limit: Option<String>,
    agent: Option<String>,
    r#type: Option<String>,
    q: Option<String>,
}

impl RowQuery {
    fn number(text: &Option<String>, name: &str) -> Result<Option<i64>, ApiError> {
        let text = text.as_deref().filter(|text| !text.is_empty());
        text.map(|text| text.parse().map_err(|_| ApiError::bad(format!("`{name}` is not a number"))))
            .transpose()
    }

    fn limit(&self, (usual, most): (i64, i64)) -> Result<i64, ApiError> {
        Ok(RowQuery::number(&self.limit, "limit")?.unwrap_or(usual).clamp(1, most))
    }

    fn names(&self) -> Vec<String> {
        let names = self.r#type.as_deref().unwrap_or_default().split(',').map(str::trim);
        names.filter(|name| !name.is_empty() && !name.contains('\0')).take(100).map(str::to_owned).collect()
    }
}

/// The rows of one answer, given one row more than `limit`, and where the next answer continues.
fn paged<'a>(rows: &'a [Row], limit: i64, key: &str) -> (&'a [Row], Option<i64>) {
    let kept = &rows[..rows.len().min(limit as usize)];
    let next = kept.last().filter(|_| rows.len() > kept.len()).map(|row| row.get(key));
    (kept, next)
}

/// Turns leave their machine only at level full.
pub async fn turns(
    State(hub): State<Shared>,
    Extension(reader): Who,
    Path((edge, id)): Path<(String, String)>,
    Query(which): Query<RowQuery>,
) -> ApiResult {
    let (seat, level) = known(&hub, &reader, &edge, &id).await?;
    if level < Level::Full {
        return Ok(ok(&json!({"turns": []})));
    }
    let limit = which.limit(TURN_LIMITS)?;
    let before = RowQuery::number(&which.before, "before")?;
    let rows = hub
        .database
        .rows(
            "SELECT t.doc, t.id FROM turns t JOIN edges e ON e.id = t.edge AND e.epoch_no = t.epoch_no
             WHERE t.edge = $1 AND t.agent_id = $2
               AND ($3::bigint IS NULL OR (t.at, t.id) < (SELECT b.at, b.id FROM turns b WHERE b.edge = $1 AND b.epoch_no = t.epoch_no AND b.id = $3))
             ORDER BY t.at DESC, t.id DESC LIMIT $4",
            &[&seat.edge, &seat.id, &before, &(limit + 1)],
        )
        .await
        .map_err(unavailable)?;
    let (kept, next) = paged(&rows, limit, "id");
    let turns: Vec<Value> = kept
        .iter()
        .rev()
        .filter_map(|row| serde_json::from_slice(row.get::<_, &str>(0).as_bytes()).ok())
        .collect();
    Ok(ok(&json!({"turns": turns, "next": next})))
}

const EVENT_COLUMNS: &str = "ev.pos, ev.name, ev.session_id, ev.agent_id, ev.at, ev.source, ev.flags, ev.received_at, ev.body, ev.edge";

fn event(row: &Row) -> Value {
    let (edge, agent): (i32, Option<i64>) = (row.get(9), row.get(3));
    let body: Value = serde_json::from_slice(row.get::<_, Option<&str>>(8).unwrap_or("null").as_bytes())
        .unwrap_or(Value::Null);
    let client = body.get(hints::CLIENT).cloned().unwrap_or_else(|| json!(hints::DEFAULT_CLIENT));
    json!({
        "id": row.get::<_, i64>(0), "name": row.get::<_, &str>(1), "session_id": row.get::<_, &str>(2),
        "agent_id": agent.map(|agent| format!("{edge}/{agent}")), "edge": edge.to_string(), "at": Stamp(row.get(4)),
        "received_at": stamp(row.get(7)), "source": row.get::<_, &str>(5), "duplicate": row.get::<_, i32>(6) & 1 != 0,
        "client": client, "body": body,
    })
}

pub async fn agent_events(
    State(hub): State<Shared>,
    Extension(reader): Who,
    Path((edge, id)): Path<(String, String)>,
    Query(which): Query<RowQuery>,
) -> ApiResult {
    let (seat, level) = known(&hub, &reader, &edge, &id).await?;
    if level < Level::Full {
        return Ok(ok(&json!({"events": []})));
    }
    Ok(ok(&events_of(&hub, &seat, &which).await?))
}

async fn events_of(hub: &Shared, seat: &Seat, which: &RowQuery) -> Result<Value, ApiError> {
    let limit = which.limit(EVENT_LIMITS)?;
    let (before, after) =
        (RowQuery::number(&which.before, "before")?, RowQuery::number(&which.after, "after")?);
    // PostgreSQL takes no NUL in a text.
    let text = which.q.as_deref().map(|text| text.replace('\0', ""));
    let (names, text) = (which.names(), text.as_deref().map(str::trim).filter(|text| !text.is_empty()));
    let direction = if after.is_some() { "ASC" } else { "DESC" };
    let sql = format!(
        "SELECT {EVENT_COLUMNS} FROM events ev JOIN edges e ON e.id = ev.edge AND e.epoch_no = ev.epoch_no
         WHERE ev.edge = $1 AND ev.agent_id = $2 AND ($3::bigint IS NULL OR ev.pos < $3) AND ($4::bigint IS NULL OR ev.pos > $4)
           AND (cardinality($5::text[]) = 0 OR ev.name = ANY($5)) AND ($6::text IS NULL OR position(lower($6) IN lower(ev.body)) > 0)
         ORDER BY ev.pos {direction} LIMIT $7"
    );
    let lease = hub.database.lease().await.map_err(unavailable)?;
    let rows = lease
        .client
        .query(&sql, &[&seat.edge, &seat.id, &before, &after, &names, &text, &(limit + 1)])
        .await
        .map_err(|error| unavailable(anyhow::anyhow!("{}", crate::hub::database::said(&error))))?;
    lease.give_back();
    let (kept, next) = paged(&rows, limit, "pos");
    let mut events: Vec<Value> = kept.iter().map(event).collect();
    if after.is_none() {
        events.reverse();
    }
    Ok(json!({"events": events, "next": next}))
}

/// Events of the agents that were active last, or of the one that is named. Searching everyone's events is not
/// possible: that would amount to a register of people.
pub async fn events(
    State(hub): State<Shared>,
    Extension(reader): Who,
    Query(which): Query<RowQuery>,
) -> ApiResult {
    if let Some(agent) = which.agent.as_deref().filter(|agent| !agent.is_empty()) {
        let (edge, id) = agent.split_once('/').ok_or_else(|| ApiError::bad("`agent` is not like 7/3"))?;
        let (seat, level) = known(&hub, &reader, edge, id).await?;
        let none = json!({"events": []});
        return Ok(ok(&if level < Level::Full { none } else { events_of(&hub, &seat, &which).await? }));
    }
    let limit = which.limit(EVENT_LIMITS)?;
    let seats = board::present(&hub.database, &reader.team_ids()).await.map_err(unavailable)?;
    let mut seats: Vec<&Seat> = seats
        .iter()
        .filter(|seat| reader.level(seat.team, seat.usr).min(seat.share) == Level::Full)
        .collect();
    seats.sort_unstable_by_key(|seat| std::cmp::Reverse(seat.changed_at));
    let mut events = Vec::new();
    for seat in seats.into_iter().take(RECENT_AGENTS as usize) {
        let found = events_of(&hub, seat, &which).await?;
        events.extend(found["events"].as_array().cloned().unwrap_or_default());
    }
    events.sort_by_cached_key(|event| event["at"].as_str().unwrap_or_default().to_owned());
    let excess = events.len().saturating_sub(limit as usize);
    Ok(ok(&json!({"events": events.split_off(excess)})))
}

pub async fn event_names() -> ApiResult {
    Ok(ok(
        &json!({"names": headspace_core::model::event_names::EVENTS.iter().map(|spec| spec.name).collect::<Vec<_>>()}),
    ))
}

/// Records that this person looked at the agent. On a shared board that says nothing about the others.
pub async fn seen(
    State(hub): State<Shared>,
    Extension(reader): Who,
    Path((edge, id)): Path<(String, String)>,
) -> ApiResult {
    let (seat, _) = known(&hub, &reader, &edge, &id).await?;
    let now = SystemTime::now();
    hub.database
        .run(
            "INSERT INTO seen VALUES ($1, $2, $3, $4) ON CONFLICT (edge, agent, usr) DO UPDATE SET at = excluded.at",
            &[&seat.edge, &seat.id, &reader.usr, &now],
        )
        .await
        .map_err(unavailable)?;
    hub.streams.looked(reader.usr, (seat.edge, seat.id), now);
    hub.streams.publish(std::slice::from_ref(&seat));
    let looked = board::looked(&hub.database, reader.usr).await.map_err(unavailable)?;
    Ok(ok(&json!({"status": "ok", "event_id": 0, "agent": seat.shown(&reader, &looked)})))
}

pub async fn stream(
    State(hub): State<Shared>,
    Extension(reader): Who,
    Query(wanted): Query<StreamQuery>,
    headers: HeaderMap,
) -> ApiResult {
    if hub.streams.is_full() {
        return Err(ApiError(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many clients are connected to the stream: try later".into(),
        ));
    }
    let filter = Filter { kinds: wanted.kinds(), agent: wanted.agent().map(str::to_owned) };
    let last = wanted.last(&headers).and_then(since);
    let teams = reader.team_ids();
    let looked = board::looked(&hub.database, reader.usr).await.map_err(unavailable)?;
    // Subscribes before it reads, so that nothing is lost in between.
    fanout::begin(&hub, &teams).await.map_err(unavailable)?;
    let live = hub.streams.subscribe(Arc::clone(&reader), filter, looked.clone());
    let missed = match last {
        Some(last) => {
            board::changed_since(&hub.database, &teams, last, MAX_REPLAYED).await.map_err(unavailable)?
        }
        None => Vec::new(),
    };
    let missed = missed.iter().filter_map(|seat| Some(message(seat, &seat.shown(&reader, &looked)?)));
    stream::answer(missed, Some(Live { news: live, chosen: Box::new(|piece| piece) }))
}

/// Figures about the hub, none about people.
pub async fn metrics(State(hub): State<Shared>) -> ApiResult {
    let rows = hub
        .database
        .rows(
            "SELECT count(*) FROM edges WHERE left_at IS NULL AND seen_at > now() - interval '12 seconds'",
            &[],
        )
        .await
        .map_err(unavailable)?;
    let machines: i64 = rows.first().map_or(0, |row| row.get(0));
    let text = format!(
        "# TYPE headspace_hub_machines_heard gauge\nheadspace_hub_machines_heard {machines}\n\
         # TYPE headspace_hub_streams gauge\nheadspace_hub_streams {}\n",
        hub.streams.len()
    );
    let mut response = with_status(StatusCode::OK, &json!(null));
    *response.body_mut() = Body::from(text);
    response
        .headers_mut()
        .insert(CONTENT_TYPE, hyper::header::HeaderValue::from_static("text/plain; version=0.0.4"));
    Ok(response)
}
