//! The routes of answering: who may, the one-time code, the answer itself, and `headspace wait`, which holds its request.
//!
//! Refusals come in this order: 404 (answering is off), 403 (origin, process, key), 409 (the ask no longer waits for an
//! answer), 422 (the answer does not fit). A refused request changes nothing.

use crate::answers::hook;
use crate::answers::keys::{self, Given, Key};
use crate::answers::peer::{self, Person, Terminal};
use crate::answers::waiters::{self, Hello, MAX_WAITERS};
use crate::app_state::SharedState;
use crate::blocking_pool;
use crate::http::accept::Activity;
use crate::http::auth::policy::Connection;
use crate::http::response::{ApiError, ApiResult, ok, with_status};
use crate::ingest::receive::read_bytes;

use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::response::Response;
use headspace_core::answering::{self, Decided};
use headspace_core::model::{AnswerState, Interaction, Surface};
use headspace_core::stamp::Stamp;
use headspace_core::wire::{TerminalKey, UnlockCode};
use http_body_util::BodyExt;
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, COOKIE, HOST, HeaderMap, ORIGIN, SET_COOKIE};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

pub const COOKIE_NAME: &str = "headspace_answer";
/// The body of an answer.
const MAX_ANSWER: usize = 256 << 10;
/// The first line of `headspace wait`: the tool's input is in it.
const MAX_HELLO: usize = 16 << 20;
/// A line of it after that says one word.
const MAX_REPORT: usize = 4096;
/// From the request to its first line.
const HELLO_WITHIN: Duration = Duration::from_secs(5);

/// `GET /api/answer`: always there.
pub async fn status(State(app): State<SharedState>, headers: HeaderMap) -> ApiResult {
    app.refresh_readiness();
    let own = key_of(&app, &headers);
    Ok(ok(&app.answers.status(own.as_ref())))
}

/// `POST /api/answer/code`: for `headspace answer unlock` on a terminal, not for pages.
pub async fn code(
    State(app): State<SharedState>,
    Extension(connection): Extension<Arc<Connection>>,
    headers: HeaderMap,
) -> ApiResult {
    let terminal = at_terminal(&app, &connection, &headers).await?;
    let (code, lasts) = app.answers.with_keys(|keys, now| keys.new_code(&terminal.name, now))?;
    Ok(ok(&UnlockCode { code, seconds: lasts.as_secs() }))
}

/// `POST /api/answer/terminal {"surface": "top" | "cli"}`: a key for a terminal with a person at it.
pub async fn terminal(
    State(app): State<SharedState>,
    Extension(connection): Extension<Arc<Connection>>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult {
    let terminal = at_terminal(&app, &connection, &headers).await?;
    let body = read_json(body).await?;
    let surface = body.get("surface").and_then(Value::as_str).and_then(Surface::from_word);
    let given = app.answers.with_keys(|keys, now| match surface {
        Some(Surface::Top) => keys.for_top(&terminal, now).map_err(ApiError::from),
        Some(Surface::Cli) => keys.for_command(&terminal, now).map_err(ApiError::from),
        _ => Err(unfit("`surface` is `top` or `cli`")),
    })?;
    let key = match given {
        Given::Again(key) => key,
        Given::New(key) => {
            announce_unlocked(&app, &key);
            key
        }
        Given::Withdrawn => {
            return Err(forbidden("answering from this terminal was taken back: use another terminal"));
        }
    };
    Ok(ok(&TerminalKey { key: key.secret().to_owned(), seconds: key.lasts().as_secs() }))
}

/// `POST /api/answer/unlock {"code"}`: the page gets its key, as a cookie that no script can read.
pub async fn unlock(
    State(app): State<SharedState>,
    Extension(connection): Extension<Arc<Connection>>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult {
    admit_person(&app, &connection, &headers).await?;
    let body = read_json(body).await?;
    let given = body.get("code").and_then(Value::as_str).filter(|code| keys::is_code(code));
    let given = given.ok_or_else(|| unfit("send the code that `headspace answer unlock` shows"))?;
    let key = app.answers.with_keys(|keys, now| keys.redeem(given, now))?;
    let key = key.ok_or_else(|| {
        forbidden("this code is wrong, used or too old: `headspace answer unlock` shows a new one")
    })?;
    announce_unlocked(&app, &key);
    let age = key.lasts().as_secs();
    let cookie = format!("{COOKIE_NAME}={}; HttpOnly; SameSite=Strict; Path=/; Max-Age={age}", key.secret());
    let response = Response::builder().status(StatusCode::NO_CONTENT).header(SET_COOKIE, cookie);
    response.body(Body::empty()).map_err(|error| anyhow::Error::from(error).into())
}

/// `POST /api/answer/lock`: `{}` withdraws the key that was sent, `{"id"}` another one, `{"all": true}` all of them. No key
/// is needed to withdraw one.
pub async fn lock(State(app): State<SharedState>, headers: HeaderMap, body: Body) -> ApiResult {
    switched_on(&app)?;
    own_origin(&app, &headers)?;
    let body = read_json(body).await?;
    let own = key_of(&app, &headers);
    let all = body.get("all") == Some(&Value::Bool(true));
    let id = body.get("id").and_then(Value::as_u64).or(own.as_ref().map(|own| own.id));
    match (all, id) {
        (true, _) => app.answers.end_all_keys(),
        (false, Some(id)) => app.answers.with_keys(|keys, _| keys.end(id)),
        (false, None) => return Err(forbidden("no key was sent that could be ended")),
    }
    app.refresh_readiness();
    app.publish_answering();
    let mut response = Response::builder().status(StatusCode::NO_CONTENT);
    // A page that withdraws another key keeps its own.
    if all || own.as_ref().is_none_or(|own| Some(own.id) == id) {
        let gone = format!("{COOKIE_NAME}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0");
        response = response.header(SET_COOKIE, gone);
    }
    response.body(Body::empty()).map_err(|error| anyhow::Error::from(error).into())
}

/// `POST /api/interactions/ID/answer`
pub async fn answer(
    State(app): State<SharedState>,
    Extension(connection): Extension<Arc<Connection>>,
    Path(id): Path<String>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult {
    admit_person(&app, &connection, &headers).await?;
    let key = key_of(&app, &headers)
        .ok_or_else(|| forbidden("this surface is not unlocked: `headspace answer unlock` shows a code"))?;
    let body = read_bytes(body, MAX_ANSWER).await?;
    let id: i64 = id.parse().map_err(|_| ApiError::not_found("no question has such an id"))?;
    let Some((agent_id, asked)) = held(&app, id) else { return conflict(&app, id).await };
    let body = serde_json::from_slice(&body.bytes).map_err(|_| unfit("the body is not JSON"))?;
    let decided = answering::read_answer(&asked, &body).map_err(unfit)?;
    let by = Answerer { surface: key.surface, key: Some(key.id), from: key.from };
    claim(&app, agent_id, &asked, decided, by).await
}

/// `POST /api/answer/button {"press"}`: a button of a notification. The phone has nothing but the button's secret, and that
/// is enough: it gives one answer to one ask, once.
pub async fn button(
    State(app): State<SharedState>,
    Extension(connection): Extension<Arc<Connection>>,
    headers: HeaderMap,
    body: Body,
) -> ApiResult {
    switched_on(&app)?;
    if headers.contains_key(ORIGIN) {
        return Err(forbidden("a page may not press the button of a notification"));
    }
    if connection.is_of_another_user() {
        return Err(forbidden("this button is for another user"));
    }
    judge(&app, &connection).await?;
    if !app.answers.is_unlocked() {
        return Err(forbidden("answering is locked: `headspace answer unlock` shows a code"));
    }
    let body = read_json(body).await?;
    let secret = body.get("press").and_then(Value::as_str).unwrap_or_default();
    let pressed = app.answers.with_buttons(|buttons, now| buttons.press(secret, now));
    let pressed =
        pressed.ok_or_else(|| forbidden("this button was used already or is too old: open the card"))?;
    let Some((agent_id, asked)) = held(&app, pressed.ask) else { return conflict(&app, pressed.ask).await };
    let said = json!({"digest": pressed.digest, "choice": pressed.choice});
    let decided = answering::read_answer(&asked, &said).map_err(unfit)?;
    claim(&app, agent_id, &asked, decided, Answerer { surface: Surface::Ntfy, key: None, from: pressed.to })
        .await
}

/// Where an answer comes from, for the record.
struct Answerer {
    surface: Surface,
    key: Option<u64>,
    from: String,
}

/// Claims an ask, which can be claimed once: the answer is recorded, then passed to the waiter.
async fn claim(
    app: &SharedState,
    agent_id: i64,
    asked: &Interaction,
    decided: Decided,
    by: Answerer,
) -> ApiResult {
    let id = asked.id;
    if !app.answers.with_waiters(|waiters| waiters.claim(id, waiters::claim(decided.clone(), by.surface))) {
        return conflict(app, id).await;
    }
    let recorded = match app.ledger.agent(agent_id) {
        Some(agent) => app.record_step(&agent, asked, AnswerState::Claimed, claimed(&decided, &by)).await,
        None => Err(crate::ledger::Unavailable("the agent is gone".into())),
    };
    if let Err(error) = recorded {
        app.answers.with_waiters(|waiters| waiters.unclaim(id));
        return Err(error.into());
    }
    app.answers.with_waiters(|waiters| waiters.deliver(id));
    Ok(ok(&json!({"state": AnswerState::Claimed})))
}

fn claimed(decided: &Decided, by: &Answerer) -> Value {
    let answers = Some(decided.said()).filter(|said| !said.is_empty());
    json!({
        "choice": decided.choice, "by": by.surface, "message": decided.message, "answers": answers,
        "key": by.key, "from": by.from,
    })
}

/// The open question that a waiter holds, and its agent.
fn held(app: &SharedState, id: i64) -> Option<(i64, Interaction)> {
    let agent_id = app.answers.with_waiters(|waiters| {
        let (_, waiter) = waiters.of(id).filter(|(_, waiter)| waiter.claim.is_none())?;
        waiter.bound.map(|(agent, _)| agent)
    })?;
    let agent = app.ledger.agent(agent_id)?;
    let open = agent.interactions.iter().find(|open| open.id == id)?;
    let waits = open.answer.as_ref().is_some_and(|step| step.state == AnswerState::Open);
    waits.then(|| (agent_id, open.clone()))
}

/// The refusal of an answer that comes too late: who was first, and when.
async fn conflict(app: &SharedState, id: i64) -> ApiResult {
    let claim = app.answers.with_waiters(|waiters| {
        waiters.of(id).and_then(|(_, waiter)| waiter.claim.as_ref().map(|claim| (Some(claim.by), claim.at)))
    });
    let known = claim.or_else(|| {
        app.ledger.agents(usize::MAX).iter().find_map(|agent| {
            let open =
                agent.interactions.iter().find(|open| open.id == id).and_then(|open| open.answer.as_ref());
            let past = agent.past_asks.iter().find(|past| past.id == id).map(|past| &past.step);
            open.or(past).map(|step| (step.by, step.at))
        })
    });
    let (by, at) = match known {
        Some((by, at)) => (by, Some(at)),
        // It was never held: if it is closed, the terminal answered it.
        None => {
            let closed = app
                .read_flushed(move |db| headspace_store::read::queries::closed_interaction(db, id))
                .await?;
            (closed.map(|_| Surface::Terminal), closed.map(Stamp))
        }
    };
    let who = by
        .map_or("this ask no longer waits for an answer".to_owned(), |by| format!("answered already ({by})"));
    Ok(with_status(StatusCode::CONFLICT, &json!({"status": "error", "message": who, "by": by, "at": at})))
}

/// `POST /api/answer/wait`: `headspace wait` says what it read, and is held. It needs no key, because an answer it gets
/// concerns only its own dialog. Other programs are refused: an ask that people see must come from a client.
pub async fn wait(
    State(app): State<SharedState>,
    Extension(connection): Extension<Arc<Connection>>,
    Extension(activity): Extension<Arc<Activity>>,
    body: Body,
) -> ApiResult {
    switched_on(&app)?;
    if !app.answers.status(None).unlocked {
        return Err(forbidden("no page or terminal is unlocked to answer"));
    }
    let judged = blocking_pool::run(move || hook::judge(&connection)).await.map_err(anyhow::Error::from)?;
    let lineage = judged.map_err(forbidden)?;
    let mut lines = BodyLines { body, rest: Vec::new() };
    let first = tokio::time::timeout(HELLO_WITHIN, lines.next(MAX_HELLO)).await;
    let first = first.ok().flatten();
    let first =
        first.ok_or_else(|| ApiError::bad("no line came: send the ask as the first line of the body"))?;
    let paranoid = app.config.paranoid;
    let hello = blocking_pool::run(move || Hello::read(&first, lineage, paranoid))
        .await
        .map_err(anyhow::Error::from)?;
    let hello = hello.ok_or_else(|| ApiError::bad("this is not what `headspace wait` says"))?;
    let session_id = hello.session_id.clone();
    let greeting = json!({"id": hello.id, "digest": hello.digest, "held": true}).to_string() + "\n";
    let Some((number, held)) =
        app.answers.with_waiters(|waiters| (waiters.len() < MAX_WAITERS).then(|| waiters.add(hello)))
    else {
        return Err(ApiError(StatusCode::SERVICE_UNAVAILABLE, "too many dialogs wait already".into()));
    };
    activity.streams();
    tokio::spawn(attend(app.clone(), number, session_id, lines));
    let body = Body::new(held.greeting(greeting));
    let response = Response::builder().header(CONTENT_TYPE, "application/jsonl").body(body);
    response.map_err(|error| anyhow::Error::from(error).into())
}

/// Listens to a waiter until it goes.
async fn attend(app: SharedState, number: u64, session_id: String, mut lines: BodyLines) {
    app.publish_answering();
    let agents: Vec<i64> = {
        let agents = app.ledger.agents(0);
        agents.iter().filter(|agent| agent.session_id == session_id).map(|agent| agent.id).collect()
    };
    for agent in agents {
        app.update_asks(agent).await;
    }
    if let Some(line) = lines.next(MAX_REPORT).await {
        let state = serde_json::from_slice::<Value>(&line).ok();
        let state =
            state.as_ref().and_then(|line| line.get("state")?.as_str()).and_then(AnswerState::from_word);
        if let Some(state) = state {
            app.waiter_reports(number, state).await;
        }
    }
    app.waiter_left(number).await;
}

/// A request's body, line by line.
struct BodyLines {
    body: Body,
    rest: Vec<u8>,
}

impl BodyLines {
    /// `None`: it ended, or the line is too long.
    async fn next(&mut self, limit: usize) -> Option<Vec<u8>> {
        // A long line comes in many pieces, and what has been searched for its end is not searched again.
        let mut searched = 0;
        loop {
            let end = self.rest[searched..].iter().position(|byte| *byte == b'\n');
            if let Some(end) = end.map(|end| searched + end) {
                let mut line: Vec<u8> = self.rest.drain(..=end).collect();
                self.rest.shrink_to_fit();
                line.pop();
                return Some(line);
            }
            if self.rest.len() > limit {
                return None;
            }
            searched = self.rest.len();
            let data = self.body.frame().await?.ok()?.into_data().ok()?;
            self.rest.extend_from_slice(&data);
        }
    }
}

fn switched_on(app: &SharedState) -> Result<(), ApiError> {
    match app.answers.is_on() {
        true => Ok(()),
        false => Err(ApiError::not_found("answering is off: `headspace answer on` switches it on")),
    }
}

/// Requires a page of ours: a browser always says where a POST comes from.
pub(crate) fn own_origin(app: &SharedState, headers: &HeaderMap) -> Result<(), ApiError> {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(HOST).unwrap_or_default();
    // A tunnel to other machines may speak https on its far side.
    let plain = |origin: &str| match origin.split_once("://")? {
        ("http", rest) => Some(rest.to_owned()),
        ("https", rest) if app.names.is_public(host) => Some(rest.to_owned()),
        _ => None,
    };
    let same = text(ORIGIN)
        .and_then(plain)
        .is_some_and(|origin| !host.is_empty() && origin.eq_ignore_ascii_case(host));
    let site = headers.get("sec-fetch-site").is_none_or(|site| site == "same-origin");
    if same && site {
        Ok(())
    } else {
        Err(forbidden("only the dashboard itself may do this: its `Origin` is missing or another"))
    }
}

pub(crate) async fn judge(app: &SharedState, connection: &Arc<Connection>) -> Result<Person, ApiError> {
    let (agents, connection) = (app.agent_processes(), Arc::clone(connection));
    let judged = blocking_pool::run(move || peer::judge(&connection, &agents)).await;
    judged.map_err(anyhow::Error::from)?.map_err(forbidden)
}

async fn admit_person(
    app: &SharedState,
    connection: &Arc<Connection>,
    headers: &HeaderMap,
) -> Result<(), ApiError> {
    switched_on(app)?;
    own_origin(app, headers)?;
    judge(app, connection).await.map(drop)
}

/// Requires a command of ours that a person runs on a terminal of this machine; returns the terminal.
async fn at_terminal(
    app: &SharedState,
    connection: &Arc<Connection>,
    headers: &HeaderMap,
) -> Result<Terminal, ApiError> {
    switched_on(app)?;
    if headers.contains_key(ORIGIN) || headers.contains_key("sec-fetch-site") {
        return Err(forbidden("a page may not do this"));
    }
    let person = judge(app, connection).await?;
    match person.terminal {
        Some(terminal) => Ok(terminal),
        // Where the system does not say whose terminal it is, the command itself has looked.
        None if person.is_here && cfg!(not(target_os = "linux")) => {
            Ok(Terminal { name: "a terminal".into(), session: None })
        }
        None => Err(forbidden("only a person at a terminal of this machine may do this")),
    }
}

pub(crate) fn key_of(app: &SharedState, headers: &HeaderMap) -> Option<Key> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs = cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.filter(|(name, _)| *name == COOKIE_NAME).find_map(|(_, secret)| app.answers.key(secret))
}

/// Alerts every surface about an unlock, so that the user notices one they did not make.
fn announce_unlocked(app: &SharedState, key: &Key) {
    app.refresh_readiness();
    app.publish_answering();
    let Key { surface, from, .. } = key;
    app.ledger.alert_unlocked(&match surface {
        Surface::Cli => format!(
            "`headspace answer` is used on {from}; `headspace events --type Answer` says for what, and the dashboard takes it back"
        ),
        Surface::Top => format!("a terminal was unlocked from {from}; `headspace answer lock` takes it back"),
        _ => format!("a page was unlocked from {from}; `headspace answer lock` takes it back"),
    });
}

async fn read_json(body: Body) -> Result<Value, ApiError> {
    let read = read_bytes(body, MAX_ANSWER).await?;
    serde_json::from_slice(&read.bytes).map_err(|_| unfit("the body is not JSON"))
}

fn unfit(why: impl Into<String>) -> ApiError {
    ApiError(StatusCode::UNPROCESSABLE_ENTITY, why.into())
}

fn forbidden(why: impl Into<String>) -> ApiError {
    ApiError(StatusCode::FORBIDDEN, why.into())
}
