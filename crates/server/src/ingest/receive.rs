//! `POST /hook/<slug>`: receives events, from the socket to the ledger. Begin with [`receive`].

use crate::answers::ask;
use crate::app_state::{AppState, SharedState};
use crate::blocking_pool;
use crate::http::response::{ApiError, ApiResult, ok};
use crate::http::routes::discard_body;
use crate::ingest::body;
use crate::ingest::hook_reply::HookRequest;
use crate::ledger::{Answer, AnswerPath, NewEvent, PendingAnswer, Receipt};
use crate::reconcile::watcher::{HookSignal, Report};
use axum::body::Body;
use axum::extract::{Path, State};
use headspace_clients::{Incoming, Surroundings, translate};
use headspace_core::json::serialize::to_text;
use headspace_core::model::event_names;
use headspace_core::model::{AgentState, AskFacts, Method, Status, observed};
use headspace_core::stamp::Stamp;
use headspace_platform::config;
use headspace_store::write::batch::EventRecord;
use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::body::{Body as _, Bytes};
use serde::Serialize;
use serde_json::{Map, Value};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

/// The largest body that is read.
pub const MAX_BODY: usize = 16 << 20;
/// From the head of a request to the last byte of its body.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// A transcript may be long and its disk busy. A hook waits for its answer only two seconds, and the threads that wait for
/// a file are few and shared with all queries.
const TRANSCRIPT_WITHIN: Duration = Duration::from_millis(500);
/// Bigger bodies are decoded on another thread: all requests share this one.
const DECODE_INLINE_BELOW: usize = 128 << 10;

pub async fn receive(State(app): State<SharedState>, Path(slug): Path<String>, body: Body) -> ApiResult {
    if !event_names::fits(&slug) {
        return Err(ApiError::not_found("no event has such a name"));
    }
    let (session_id, body, ask) = read(&slug, app.config.paranoid, body).await?;
    let mut event = event_of(&slug, session_id, body);
    event.ask = ask;
    record(&app, event).await
}

/// An event named "Status", whose path is also a query.
pub async fn receive_status(app: State<SharedState>, body: Body) -> ApiResult {
    receive(app, Path("status".into()), body).await
}

/// The event a slug names, under headspace's own name for it, whichever client sent it. The status line's input is data
/// about a session, not a hook: it never proves that hooks work.
pub fn event_of(slug: &str, session_id: String, body: Map<String, Value>) -> NewEvent {
    let name = event_names::posted_as(slug);
    let status_line = name == observed::STATUS_LINE;
    let mut incoming = Incoming { name, session_id, body };
    translate(&mut incoming, &Surroundings { home: &config::home() });
    let Incoming { name, session_id, body } = incoming;
    let mut event = NewEvent::hook(name, session_id, Value::Object(body));
    event.from_hook = !status_line;
    event
}

/// A posted body as it would be recorded, or the reason why not: everything between the socket and the ledger.
pub fn recorded(slug: &str, bytes: &[u8], paranoid: bool) -> Result<EventRecord, String> {
    let body = body::decode(bytes)?;
    let session_id = body::session_id(&body)?;
    Ok(event_of(slug, session_id, body).recorded(paranoid))
}

/// An event that only needs to be stored, and what must be known once it is.
#[cfg(unix)]
pub struct Plain {
    pub event: NewEvent,
    pub signal: HookSignal,
    pub begun: Option<Stamp>,
}

/// The event in a posted body, if it only needs to be stored: no error to explain, no transcript to read first, no text
/// to reply.
#[cfg(unix)]
pub fn plain(app: &SharedState, slug: &str, bytes: &[u8]) -> Option<Plain> {
    if !event_names::fits(slug) || app.stopping.load(Ordering::Relaxed) {
        return None;
    }
    let fields = body::decode(bytes).ok()?;
    let session_id = body::session_id(&fields).ok()?;
    let event = event_of(slug, session_id, fields);
    let (signal, request) = (HookSignal::of(&event), HookRequest::by(&event));
    // A caller that sent this prompt may wait for it to arrive.
    let is_prompt = event.name == "UserPromptSubmit";
    let more = app.hook_replies.may_reply(&app.ledger, &request, &event.session_id)
        || app.reconciler.is_needed_before(&event.name, &signal);
    if is_prompt || more || !event.from_hook {
        return None;
    }
    let begun = app.hook_latency.begun(&event);
    Some(Plain { event, signal, begun })
}

/// The answer to a plain event: status and body.
#[cfg(unix)]
pub fn answered(answer: &Answer) -> (u16, String) {
    let (status, body) = match answer {
        Ok(receipt) => (StatusCode::OK, to_text(&hook_answer(receipt, None))),
        Err(error) => {
            let ApiError(status, message) = error.clone().into();
            (status, to_text(&serde_json::json!({"status": "error", "message": message})))
        }
    };
    (status.as_u16(), body.unwrap_or_default())
}

/// Stores the event, after what the transcript says before it, and answers when it is on disk.
async fn record(app: &SharedState, event: NewEvent) -> ApiResult {
    let signal = HookSignal::of(&event);
    let request = HookRequest::by(&event);
    let from_hook = event.from_hook;
    if event.name == "UserPromptSubmit"
        && let Some(prompt) = event.body.get("prompt").and_then(Value::as_str)
    {
        app.replies.prompted(&event.session_id, prompt);
    }
    let begun = app.hook_latency.begun(&event);
    let pending = if app.reconciler.is_needed_before(&event.name, &signal)
        || app.hook_replies.wants_transcript(&request)
    {
        // Read and submitted by a task that continues if the client leaves: what was read is not read again.
        let app = app.clone();
        blocking_pool::run(move || {
            let transcript = app.read_before(&signal);
            submit(&app, event, signal, transcript)
        })
        .await
        .map_err(anyhow::Error::from)?
    } else {
        submit(app, event, signal, Vec::new())
    };
    let receipt = pending.answer().await?;
    if let Some(begun) = begun.filter(|_| !receipt.duplicate) {
        app.hook_latency.answered(begun);
    }
    let output =
        if from_hook { app.hook_replies.output(&app.ledger, &request, &receipt).await } else { None };
    Ok(ok(&hook_answer(&receipt, output)))
}

/// Submits the event to the ledger, after what the transcript says before it.
fn submit(
    app: &SharedState,
    event: NewEvent,
    signal: HookSignal,
    transcript: Vec<NewEvent>,
) -> PendingAnswer {
    // Until this event is stored, there is no agent for what the transcript of an unknown session says.
    let known = app.ledger.snapshot().agent_of_session(&event.session_id).is_some();
    let from_hook = event.from_hook;
    let (before, after) = if known { (transcript, Vec::new()) } else { (Vec::new(), transcript) };
    let place = before.len();
    let events = before.into_iter().chain([event]).chain(after).collect();
    let pending = app.ledger.submit(events, AnswerPath::ThroughServer).swap_remove(place);
    if from_hook {
        app.reconciler.heard(signal);
    }
    pending
}

impl AppState {
    /// What the transcript says before this event is recorded, if that may change what the event means. Reads a file:
    /// do not call this on the server's runtime.
    pub fn read_before(self: &Arc<AppState>, signal: &HookSignal) -> Vec<NewEvent> {
        self.read_transcript(signal, None)
    }

    /// The same for an event that waited in the spool: lines that are newer than it come after it.
    pub fn read_before_spooled(self: &Arc<AppState>, signal: &HookSignal) -> Vec<NewEvent> {
        self.read_transcript(signal, Some(signal.at))
    }

    /// A transcript that does not answer in time is recorded when it does: after the event, but not never.
    fn read_transcript(self: &Arc<AppState>, signal: &HookSignal, limit: Option<Stamp>) -> Vec<NewEvent> {
        let events = |reports: Vec<Report>| reports.into_iter().map(NewEvent::from).collect::<Vec<_>>();
        // An event that names no file may still have a watched one, so the session stands for it.
        let key = signal.transcript_path.clone().unwrap_or_else(|| signal.session_id.clone().into());
        let (app, read, signal) = (Arc::clone(self), Arc::clone(self), signal.clone());
        let look = move || read.reconciler.read_now(&signal, limit);
        let late = move |reports| drop(app.ledger.submit(events(reports), AnswerPath::Direct));
        self.transcript_looks
            .within_or_late(&key, TRANSCRIPT_WITHIN, look, late)
            .map(events)
            .unwrap_or_default()
    }
}

/// The answer to a hook.
#[derive(Serialize)]
struct HookAnswer {
    status: &'static str,
    event_id: i64,
    agent_id: Option<i64>,
    is_new_agent: bool,
    correlation_method: Method,
    state: Option<AgentState>,
    status_now: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hook_output: Option<Value>,
}

fn hook_answer(receipt: &Receipt, hook_output: Option<Value>) -> HookAnswer {
    HookAnswer {
        status: "ok",
        event_id: receipt.event_id,
        agent_id: receipt.agent_id,
        is_new_agent: receipt.is_new_agent,
        correlation_method: receipt.method,
        state: receipt.state,
        status_now: receipt.status,
        hook_output,
    }
}

/// The body as an object with its session, and what it asked before it was masked and cut, if that happened here.
async fn read(
    slug: &str,
    paranoid: bool,
    body: Body,
) -> Result<(String, Map<String, Value>, Option<AskFacts>), ApiError> {
    let read = read_bytes(body, MAX_BODY).await?;
    let decode = |bytes: &Bytes| {
        let fields = body::decode(bytes)?;
        body::session_id(&fields).map(|session_id| (session_id, fields))
    };
    if read.bytes.len() <= DECODE_INLINE_BELOW {
        let (session_id, fields) = decode(&read.bytes).map_err(ApiError::bad)?;
        return Ok((session_id, fields, None));
    }
    let name = event_names::by_slug(slug).map_or("", |spec| spec.name);
    let decoded = blocking_pool::run(move || {
        let (session_id, fields) = decode(&read.bytes)?;
        // Everything is masked and cut when it is submitted; big bodies take long, so it is done here.
        let mut body = Value::Object(fields);
        let ask = ask::store_form(name, &mut body, paranoid, None);
        let Value::Object(fields) = body else { return Err(String::from("the body is not an object")) };
        Ok((session_id, fields, ask))
    });
    decoded
        .await
        .unwrap_or_else(|_| Err(String::from("could not read the body: see the server's log")))
        .map_err(ApiError::bad)
}

/// Memory for big bodies, in KiB: a thousand connections may not take a thousand times the limit.
static ROOM: Semaphore = Semaphore::const_new(64 << 10);

/// A complete body, and the memory it reserves while it exists.
pub struct ReadBody {
    pub bytes: Bytes,
    _room: Option<SemaphorePermit<'static>>,
}

/// Reads the complete body, if it is not too big and does not take too long.
pub async fn read_bytes(mut body: Body, limit: usize) -> Result<ReadBody, ApiError> {
    let too_big = || {
        let limit = limit >> 10;
        ApiError(StatusCode::PAYLOAD_TOO_LARGE, format!("the body is over {limit} KiB: send less"))
    };
    if body.size_hint().lower() > limit as u64 {
        discard_body(body);
        return Err(too_big());
    }
    match tokio::time::timeout(BODY_TIMEOUT, collect(&mut body, limit)).await {
        Ok(Ok(Some(read))) => Ok(read),
        Ok(Ok(None)) => {
            discard_body(body);
            Err(too_big())
        }
        Ok(Err(_)) => Err(ApiError::bad("the body ended too early: send it whole")),
        Err(_) => {
            Err(ApiError(StatusCode::REQUEST_TIMEOUT, "the body took too long: send it at once".into()))
        }
    }
}

/// `None`: it is over the limit.
async fn collect(body: &mut Body, limit: usize) -> Result<Option<ReadBody>, axum::Error> {
    let announced = body.size_hint().exact().unwrap_or(limit as u64).min(limit as u64) as usize;
    let (mut whole, mut room) = (Vec::new(), None);
    while let Some(frame) = body.frame().await {
        let Ok(piece) = frame?.into_data() else { continue };
        if whole.is_empty() && body.is_end_stream() && piece.len() <= DECODE_INLINE_BELOW {
            return Ok(Some(ReadBody { bytes: piece, _room: None }));
        }
        let length = whole.len() + piece.len();
        if length > limit {
            return Ok(None);
        }
        if length > DECODE_INLINE_BELOW && room.is_none() {
            // Acquired all at once: two requests that each wait for the other's half would wait forever.
            room = ROOM.acquire_many(u32::try_from(announced >> 10).unwrap_or(u32::MAX)).await.ok();
        }
        whole.extend_from_slice(&piece);
    }
    Ok(Some(ReadBody { bytes: whole.into(), _room: room }))
}
