//! `GET /api/events/stream`: first what was missed, then what happens.

use crate::app_state::{AppState, SharedState};
use crate::http::accept::Activity;
use crate::http::response::{ApiError, ApiResult};
use crate::http::sse::{Filter, Stream};
use anyhow::Result;
use axum::body::Body;
use axum::extract::{Extension, Query, State};
use axum::response::Response;
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_store::queries;
use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap};
use rusqlite::Connection;
use serde::Deserialize;
use std::sync::Arc;

/// Messages replayed in one answer. A client that missed more reconnects for the rest.
const MAX_REPLAYED: usize = 10_000;

/// Streams at a time; half of all connections.
const MAX_STREAMS: usize = 512;

#[derive(Deserialize)]
pub struct StreamQuery {
    types: Option<String>,
    agent_id: Option<String>,
    last_event_id: Option<String>,
}

pub async fn stream(
    State(app): State<SharedState>,
    Extension(activity): Extension<Arc<Activity>>,
    Query(wanted): Query<StreamQuery>,
    headers: HeaderMap,
) -> ApiResult {
    if app.ledger.hub().len() >= MAX_STREAMS {
        return Err(ApiError(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many clients are connected to the stream: try later".into(),
        ));
    }
    let agent_id = match wanted.agent_id.filter(|id| !id.is_empty()) {
        Some(id) => Some(id.parse().map_err(|_| ApiError::bad("`agent_id` is not a number"))?),
        None => None,
    };
    let kinds = wanted.types.unwrap_or_default();
    let kinds = kinds.split(',').map(str::trim).filter(|kind| !kind.is_empty()).map(str::to_owned).collect();
    let header = headers.get("last-event-id").and_then(|value| value.to_str().ok()).map(str::to_owned);
    let last: Option<i64> = header.or(wanted.last_event_id).and_then(|id| id.trim().parse().ok());

    activity.streams();
    // Subscribes before the store is read, so that nothing is lost in between.
    let live = app.ledger.hub().subscribe();
    let (missed, after, complete) = match last {
        Some(last) => {
            let known = app.ledger.marks().seq;
            // A number from before the database was recreated: everything is new.
            let last = if last > known { 0 } else { last };
            let asked = app.clone();
            app.read_flushed(move |db| missed(&asked, db, last)).await?
        }
        None => (Vec::new(), 0, true),
    };
    let live = complete.then_some(live);
    let stream = Stream::new(Filter { kinds, agent_id }, missed, after, live);
    let response = Response::builder()
        .header(CONTENT_TYPE, "text/event-stream")
        .header(CACHE_CONTROL, "no-store")
        .header("x-accel-buffering", "no")
        .body(Body::new(stream));
    response.map_err(|error| anyhow::Error::from(error).into())
}

type Missed = Vec<(i64, String, i64, String)>;

/// The messages after `last`, the number of the last of them, and whether these are all.
fn missed(app: &AppState, db: &Connection, last: i64) -> Result<(Missed, i64, bool)> {
    let now = Stamp::now();
    let changes = queries::changes(db, last, MAX_REPLAYED)?;
    let complete = changes.len() < MAX_REPLAYED;
    let end = changes.last().map_or(last, |change| change.seq);
    let mut missed = Vec::with_capacity(changes.len());
    for change in changes {
        let json = match (change.kind.as_str(), &change.data) {
            ("agent_updated", _) => match app.ledger.snapshot().agent(change.agent_id) {
                Some(agent) => serde_json::to_string(&app.ledger.view(&agent, now))?,
                None => continue,
            },
            (_, Some(data)) => data.to_string(),
            // A turn that retention has deleted since.
            (_, None) => continue,
        };
        missed.push((change.seq, change.kind, change.agent_id, json));
    }
    Ok((missed, end, complete))
}
