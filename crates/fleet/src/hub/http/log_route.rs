//! `/v1/edges/ID/log`: where a machine's link posts, and asks which position the hub has reached.

use crate::hub::database::said;
use crate::hub::http::access::Reader;
use crate::hub::http::routes::{Shared, unavailable};
use crate::hub::ingest::{self, Poster, Taken};
use crate::protocol::{self, MAX_BODY};
use anyhow::anyhow;
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use headspace_core::stamp::Stamp;
use headspace_page::answer::{ApiError, ApiResult, ok, with_status};
use headspace_platform::clock::WallClock;
use http_body_util::{BodyExt, Limited};
use hyper::StatusCode;
use hyper::body::Body as _;
use hyper::header::{CONTENT_ENCODING, HeaderMap};
use serde_json::json;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

const BODY_WITHIN: Duration = Duration::from_secs(30);
/// A link sends about a megabyte at once; only a single large event makes a batch larger.
const LARGE: u64 = 2 << 20;
/// The most large batches that a hub handles at once: each takes several times its size.
pub const MAX_LARGE_AT_ONCE: usize = 2;
const LARGE_WAITS_FOR: Duration = Duration::from_secs(10);

/// How much one machine may post to one hub. A link sends a batch a second, or one per change; far more is a fault.
#[derive(Default)]
pub struct Floods(Mutex<HashMap<i32, Bucket>>);

struct Bucket {
    left: f64,
    at: Instant,
    in_flight: u32,
}

const BATCHES_PER_SECOND: f64 = 500.0;
const BATCHES_AT_ONCE: f64 = 1000.0;
const MAX_BATCHES_IN_FLIGHT: u32 = 4;

/// A batch being handled; counted until it is dropped.
struct InFlight {
    hub: Shared,
    edge: i32,
}

impl Floods {
    fn buckets(&self) -> std::sync::MutexGuard<'_, HashMap<i32, Bucket>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, edge: i32) -> bool {
        let now = Instant::now();
        let mut buckets = self.buckets();
        if buckets.len() > 10_000 {
            buckets.retain(|_, bucket| bucket.in_flight > 0 || now - bucket.at < Duration::from_secs(60));
        }
        let bucket = buckets.entry(edge).or_insert(Bucket { left: BATCHES_AT_ONCE, at: now, in_flight: 0 });
        let earned = (now - bucket.at).as_secs_f64() * BATCHES_PER_SECOND;
        bucket.left = (bucket.left + earned).min(BATCHES_AT_ONCE);
        bucket.at = now;
        if bucket.left < 1.0 || bucket.in_flight >= MAX_BATCHES_IN_FLIGHT {
            return false;
        }
        bucket.left -= 1.0;
        bucket.in_flight += 1;
        true
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        if let Some(bucket) = self.hub.floods.buckets().get_mut(&self.edge) {
            bucket.in_flight = bucket.in_flight.saturating_sub(1);
        }
    }
}

pub async fn post(
    State(hub): State<Shared>,
    Extension(reader): Extension<Arc<Reader>>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult {
    let edge = reader.edge.ok_or_else(|| ApiError::bad("this token belongs to no machine"))?;
    if headers.contains_key(CONTENT_ENCODING) {
        return Err(ApiError(StatusCode::UNSUPPORTED_MEDIA_TYPE, "send the batch as plain JSON".into()));
    }
    if !hub.floods.enter(edge) {
        return Err(ApiError(StatusCode::TOO_MANY_REQUESTS, "too many batches at once: slow down".into()));
    }
    let in_flight = InFlight { hub: Arc::clone(&hub), edge };
    let is_large = body.size_hint().upper().is_none_or(|bytes| bytes > LARGE);
    let turn = match is_large {
        true => Some(
            tokio::time::timeout(LARGE_WAITS_FOR, Arc::clone(&hub.large_batches).acquire_owned())
                .await
                .ok()
                .and_then(Result::ok)
                .ok_or_else(|| {
                    ApiError(StatusCode::TOO_MANY_REQUESTS, "too many large batches: slow down".into())
                })?,
        ),
        false => None,
    };
    let read = tokio::time::timeout(BODY_WITHIN, Limited::new(body, MAX_BODY).collect()).await;
    let read =
        read.map_err(|_| ApiError(StatusCode::REQUEST_TIMEOUT, "the batch did not arrive in time".into()))?;
    let bytes = read
        .map_err(|_| ApiError(StatusCode::PAYLOAD_TOO_LARGE, "the batch is too large".into()))?
        .to_bytes();
    let batch = protocol::parse(&bytes, reader.share_max).map_err(ApiError::bad)?;
    drop(bytes);
    let changes = !batch.agents.is_empty() || !batch.gone.is_empty();
    // Runs in its own task: a caller that hangs up must not leave a transaction half done.
    let own = Arc::clone(&hub);
    let taken = tokio::spawn(async move {
        let (_in_flight, _turn) = (in_flight, turn);
        let mut lease = own.database.lease().await?;
        let poster = Poster { edge, token: &reader.hash, share_max: reader.share_max };
        let taken =
            ingest::take(&mut lease, &poster, &batch).await.map_err(|error| anyhow!("{}", said(&error)))?;
        if matches!(taken, Taken::Gone | Taken::OtherLevel) {
            own.posters.forget(&reader.hash);
        }
        lease.give_back();
        anyhow::Ok(taken)
    });
    let taken = taken
        .await
        .map_err(|_| anyhow!("a batch ended early"))
        .and_then(|taken| taken)
        .map_err(unavailable)?;
    match taken {
        Taken::UpTo { pos } => {
            if changes {
                hub.fanout.committed(edge);
            }
            Ok(ok(&json!({"pos": pos, "now": Stamp::now()})))
        }
        Taken::OtherHistory => Err(ApiError(StatusCode::CONFLICT, "the hub knows another history of this machine".into())),
        Taken::Hole { pos } => Ok(with_status(
            StatusCode::RANGE_NOT_SATISFIABLE,
            &json!({"status": "error", "message": "something before this batch is missing", "pos": pos}),
        )),
        Taken::Copied => Err(ApiError(
            StatusCode::LOCKED,
            "another machine posts as this one (a copied home?): run `headspace hub join` again on one of them".into(),
        )),
        Taken::OtherLevel => {
            Err(ApiError(StatusCode::SERVICE_UNAVAILABLE, "the team takes another level now: send it again".into()))
        }
        Taken::Gone => Err(ApiError(StatusCode::FORBIDDEN, "this machine was revoked: ask for another invitation".into())),
    }
}

/// Which position of this machine the hub has reached, and which agents it believes to be present.
pub async fn state(State(hub): State<Shared>, Extension(reader): Extension<Arc<Reader>>) -> ApiResult {
    let edge = reader.edge.ok_or_else(|| ApiError::bad("this token belongs to no machine"))?;
    let rows = hub
        .database
        .rows("SELECT epoch::text, pos, last_hash FROM edges WHERE id = $1", &[&edge])
        .await
        .map_err(unavailable)?;
    let row = rows.first().ok_or_else(|| ApiError::not_found("there is no such machine"))?;
    let (epoch, pos, hash): (Option<String>, i64, Option<Vec<u8>>) = (row.get(0), row.get(1), row.get(2));
    let agents = hub
        .database
        .rows(
            "SELECT a.id, a.share, a.ended_at IS NULL FROM agents a JOIN edges e ON e.id = a.edge AND e.epoch_no = a.epoch_no
             WHERE a.edge = $1 AND (a.ended_at IS NULL OR a.share > 1) ORDER BY a.id LIMIT 50000",
            &[&edge],
        )
        .await
        .map_err(unavailable)?;
    let (mut living, mut shared) = (Vec::new(), Vec::new());
    for agent in &agents {
        let (id, share, alive): (i64, i16, bool) = (agent.get(0), agent.get(1), agent.get(2));
        if alive {
            living.push(id);
        }
        shared.push((id, share));
    }
    let hash = hash.map(|hash| String::from_utf8_lossy(&hash).into_owned());
    Ok(ok(&json!({
        "epoch": epoch, "pos": pos, "hash": hash, "living": living, "shared": shared, "now": Stamp::now(),
        "share_max": reader.share_max.word(),
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_machine_cannot_take_every_connection() {
        let floods = Floods::default();
        let entered = (0..10).filter(|_| floods.enter(1)).count();
        assert_eq!(entered, MAX_BATCHES_IN_FLIGHT as usize);
        assert!(floods.enter(2), "another machine is not to blame");
    }
}
