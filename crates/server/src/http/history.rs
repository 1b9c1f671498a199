//! Looking back: search in conversations, statistics, a session as a document.

use crate::app_state::SharedState;
use crate::http::api::{known_agent, moment, number};
use crate::http::response::{ApiError, ApiResult, Query, ok};
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use headspace_core::export;
use headspace_core::model::AgentView;
use headspace_core::stamp::Stamp;
use headspace_core::wire::{ConversationsPage, StoredEvent, StoredTurn};
use headspace_platform::clock::WallClock;
use headspace_store::read::conversations::{self, Conversations};
use headspace_store::read::queries::{self, EventQuery, Page};
use headspace_store::read::stats;
use hyper::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use rusqlite::Connection;
use serde::Deserialize;
use serde_json::json;

/// Hits in one answer: by default, and at most.
const HIT_LIMITS: (usize, usize) = (50, 200);
/// Turns and events of an exported session, the newest ones: some sessions last for weeks.
const MAX_EXPORTED_TURNS: usize = 5_000;
const MAX_EXPORTED_EVENTS: usize = 20_000;
/// Rows read at once.
const ROWS_PER_READ: usize = 1_000;

#[derive(Deserialize)]
pub struct ConversationQuery {
    q: Option<String>,
    project: Option<String>,
    agent: Option<String>,
    from: Option<String>,
    to: Option<String>,
    before: Option<String>,
    limit: Option<String>,
}

pub async fn conversations(
    State(app): State<SharedState>,
    Query(which): Query<ConversationQuery>,
) -> ApiResult {
    let text = which.q.filter(|text| !text.trim().is_empty());
    let text = text.ok_or_else(|| ApiError::bad("`q` is missing: the words to look for"))?;
    let project = which.project.filter(|name| !name.is_empty());
    let of_project = project.map(|name| {
        let snapshot = app.ledger.snapshot();
        let all = snapshot.agents(snapshot.len());
        all.iter()
            .filter(|agent| agent.place.project.as_deref() == Some(&name))
            .map(|agent| agent.id)
            .collect()
    });
    let query = EventQuery {
        text: Some(text),
        agents: of_project,
        agent: number("agent", which.agent)?,
        from: moment("from", which.from)?,
        to: moment("to", which.to)?,
        before: number("before", which.before)?,
        limit: number("limit", which.limit)?.unwrap_or(HIT_LIMITS.0).clamp(1, HIT_LIMITS.1),
        ..EventQuery::default()
    };
    let found = app.read_flushed(move |db| conversations::find(db, query)).await?;
    let Conversations { mut hits, next } = found;
    let (now, snapshot) = (Stamp::now(), app.ledger.snapshot());
    for hit in &mut hits {
        if let Some(agent) = snapshot.agent(hit.agent_id) {
            hit.title = app.ledger.view(&agent, now).summary.title;
            hit.project = agent.place.project.clone();
        }
    }
    Ok(ok(&ConversationsPage { hits, next }))
}

pub async fn stats(State(app): State<SharedState>) -> ApiResult {
    let now = Stamp::now();
    let mut stats = app.read_flushed(move |db| stats::all(db, now)).await?;
    let snapshot = app.ledger.snapshot();
    let title = |id: i64| snapshot.agent(id).map(|agent| app.ledger.view(&agent, now).summary.title);
    for wait in &mut stats.longest_waits {
        wait.title = title(wait.agent_id).unwrap_or_default();
    }
    for spent in &mut stats.agents {
        spent.title = spent.agent_id.and_then(title);
    }
    Ok(ok(&stats))
}

#[derive(Deserialize)]
pub struct ExportQuery {
    format: Option<String>,
    session: Option<String>,
}

/// The agent's session, or another one of its sessions, as a file.
pub async fn export(
    State(app): State<SharedState>,
    Path(id): Path<String>,
    Query(which): Query<ExportQuery>,
) -> ApiResult {
    let known = known_agent(&app, &id)?;
    let agent = app.ledger.view(&known, Stamp::now());
    let session =
        which.session.filter(|session| !session.is_empty()).unwrap_or_else(|| agent.session_id.clone());
    if !agent.sessions.contains(&session) && session != agent.session_id {
        return Err(ApiError::not_found("this agent has no such session"));
    }
    let markdown = match which.format.as_deref() {
        None | Some("" | "markdown" | "md") => true,
        Some("json") => false,
        Some(_) => return Err(ApiError::bad("`format` is markdown or json")),
    };
    let (id, wanted) = (known.id, session.clone());
    let names: &[&str] = if markdown { &export::CALL_EVENTS } else { &[] };
    let read = app.read_flushed(move |db| Session::read(db, id, &wanted, names)).await?;
    let (ending, kind, text) = if markdown {
        let text = export::markdown(&agent, &session, &read.turns, &read.events, read.cut);
        ("md", "text/markdown; charset=utf-8", text)
    } else {
        ("json", "application/json", read.json(&agent, &session))
    };
    let file = format!("attachment; filename=\"{}\"", export::file_name(&agent, &session, ending));
    let response = Response::builder()
        .header(CONTENT_TYPE, kind)
        .header(CONTENT_DISPOSITION, file)
        .body(Body::from(text));
    response.map_err(|error| anyhow::Error::from(error).into())
}

/// What is stored about one session, oldest first.
struct Session {
    turns: Vec<StoredTurn>,
    events: Vec<StoredEvent>,
    /// There was more.
    cut: bool,
}

impl Session {
    fn read(db: &Connection, agent: i64, session: &str, names: &[&str]) -> anyhow::Result<Session> {
        let (mut turns, mut before, mut cut) = (Vec::new(), None, false);
        loop {
            let page = Page { agent, before, through: None, after: None, limit: ROWS_PER_READ };
            let listed = queries::turns(db, page)?;
            // The rows are oldest first, and each page is older than the one before.
            turns.splice(0..0, listed.rows.into_iter().filter(|turn| turn.session_id == session));
            before = listed.next;
            if before.is_none() {
                break;
            }
            if turns.len() >= MAX_EXPORTED_TURNS {
                cut = true;
                break;
            }
        }
        let mut query = EventQuery {
            agent: Some(agent),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            limit: ROWS_PER_READ,
            ..EventQuery::default()
        };
        let mut events = Vec::new();
        loop {
            let found = queries::events(db, &query)?;
            events.splice(0..0, found.events.into_iter().filter(|event| event.session_id == session));
            query.before = found.next;
            if query.before.is_none() {
                break;
            }
            if events.len() >= MAX_EXPORTED_EVENTS {
                cut = true;
                break;
            }
        }
        Ok(Session { turns, events, cut })
    }

    fn json(&self, agent: &AgentView, session: &str) -> String {
        let value = json!({
            "session_id": session, "agent": agent, "turns": self.turns, "events": self.events, "complete": !self.cut,
        });
        format!("{value:#}\n")
    }
}
