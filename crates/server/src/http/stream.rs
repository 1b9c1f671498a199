//! `GET /api/events/stream`: first what was missed, then what happens.

use crate::app_state::{AppState, SharedState};
use crate::http::accept::Activity;
use crate::http::response::{ApiError, ApiResult, Query};
use crate::http::sse::{self, Filter, Message};
use anyhow::Result;
use axum::extract::{Extension, State};
use headspace_core::json::serialize::to_text;
use headspace_core::model::AgentView;
use headspace_core::stamp::Stamp;
use headspace_page::stream::{self, StreamQuery};
use headspace_platform::clock::WallClock;
use headspace_store::read::queries;
use hyper::StatusCode;
use hyper::header::HeaderMap;
use rusqlite::Connection;
use std::sync::Arc;

/// Messages replayed in one answer. A client that missed more reconnects for the rest.
const MAX_REPLAYED: usize = 10_000;

/// Streams at a time; half of all connections.
const MAX_STREAMS: usize = 512;

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
    let agent_id = match wanted.agent() {
        Some(id) => Some(id.parse().map_err(|_| ApiError::bad("`agent_id` is not an agent's id"))?),
        None => None,
    };
    let filter = Filter { kinds: wanted.kinds(), agent_id };
    let last: Option<i64> = wanted.last(&headers).and_then(|id| id.parse().ok());

    activity.streams();
    // What is stored before a client connects is not news to it, even if it is published a moment later.
    let known = app.ledger.marks().seq;
    // Subscribes before the store is read, so that nothing is lost in between.
    let news = app.ledger.hub().subscribe();
    let (missed, after, complete) = match last {
        Some(last) => {
            // A number from before the database was recreated: everything is new.
            let last = if last > known { 0 } else { last };
            let asked = app.clone();
            app.read_flushed(move |db| missed(&asked, db, last)).await?
        }
        None => (Vec::new(), known, true),
    };
    let mut pieces = sse::replayed(&filter, &missed);
    if last.is_some() {
        // What changed on other machines meanwhile is not in the store: they are sent as they are now.
        let others = app.other_machines.agents(true);
        let message = |view: &AgentView| Message::new(None, "agent_updated", Some(view.id), view);
        pieces.extend(others.iter().filter_map(|view| sse::wanted(&filter, message(view))));
    }
    stream::answer(pieces, complete.then(|| sse::live(filter, after, news)))
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
                Some(agent) => to_text(&app.ledger.view(&agent, now))?,
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
