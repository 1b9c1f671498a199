//! The path of a request: the access rules, then the route, then the headers that every answer has.

use crate::app_state::SharedState;
use crate::http::auth::login;
use crate::http::auth::policy::{self, Connection};
use crate::http::response::{ApiError, ApiResult, ok, protect};
use crate::http::{answer, api, assets, error_page, far_agents, guard_says, history, status, stream};
use crate::ingest::receive;
use crate::reply::routes as reply;
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use headspace_core::wire::Health;
use hyper::StatusCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;

pub fn routes(app: SharedState) -> Router {
    Router::new()
        .route("/hook/status", get(status::hook_status).post(receive::receive_status))
        .route("/hook/{slug}", post(receive::receive))
        .route("/api/agents", get(api::agents))
        .route("/api/board", get(api::board))
        .route("/api/agents/{id}", get(api::agent))
        .route("/api/agents/{id}/commands", get(api::commands))
        .route("/api/agents/{id}/turns", get(api::turns))
        .route("/api/agents/{id}/events", get(api::agent_events))
        .route("/api/agents/{id}/transitions", get(api::transitions))
        .route("/api/agents/{id}/changes", get(api::changes))
        .route("/api/agents/{id}/seen", post(api::seen))
        .route("/api/agents/{id}/name", post(api::name))
        .route("/api/agents/{id}/jump", post(api::jump))
        .route("/api/agents/{id}/reply", post(reply::reply))
        .route("/api/agents/{id}/reply/cancel", post(reply::cancel))
        .route("/api/agents/{id}/stop", post(reply::stop))
        .route("/api/answer", get(answer::status))
        .route("/api/answer/code", post(answer::code))
        .route("/api/answer/terminal", post(answer::terminal))
        .route("/api/answer/unlock", post(answer::unlock))
        .route("/api/answer/lock", post(answer::lock))
        .route("/api/answer/wait", post(answer::wait))
        .route("/api/answer/button", post(answer::button))
        .route("/api/interactions/{id}/answer", post(answer::answer))
        .route("/api/agents/{machine}/{id}", get(far_agents::agent))
        .route("/api/agents/{machine}/{id}/{about}", get(far_agents::history).post(far_agents::act))
        .route("/api/machines", get(far_agents::machines))
        .route("/api/events", get(api::events))
        .route("/api/events/names", get(api::event_names))
        .route("/api/events/stream", get(stream::stream))
        .route("/api/agents/{id}/export", get(history::export))
        .route("/api/interactions/{id}/guard", get(guard_says::verdict))
        .route("/api/conversations", get(history::conversations))
        .route("/api/stats", get(history::stats))
        .route("/api/prune", post(api::prune))
        .route("/api/login-code", post(login::code))
        .route("/login", get(login::login))
        .route("/health", get(health))
        .route("/metrics", get(status::metrics))
        .route("/", get(assets::index))
        .route("/service-worker.js", get(assets::service_worker))
        .route("/assets/{*path}", get(assets::file))
        .fallback(nowhere)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(Arc::clone(&app), rules))
        .with_state(app)
}

/// Checks access before the route, and adds headers to its answer.
async fn rules(State(app): State<SharedState>, request: Request, next: Next) -> Response {
    let person = error_page::is_for_a_person(request.method(), request.headers());
    let mut response = match admit(&app, &request) {
        Ok(()) => next.run(request).await,
        Err(refusal) => {
            discard_body(request.into_body());
            refusal.into_response()
        }
    };
    protect(response.headers_mut());
    if person { error_page::instead_of(response) } else { response }
}

fn admit(app: &SharedState, request: &Request) -> Result<(), ApiError> {
    if app.stopping.load(Ordering::Relaxed) {
        return Err(ApiError(StatusCode::SERVICE_UNAVAILABLE, "the server is shutting down".into()));
    }
    let refused = |(status, why)| ApiError(status, why);
    policy::check(&app.names, request.method(), request.uri(), request.headers()).map_err(refused)?;
    // The one-time code, or the button's secret, is the key there.
    if matches!(request.uri().path(), "/login" | "/api/answer/button") {
        return Ok(());
    }
    let connection = request.extensions().get::<Arc<Connection>>();
    let connection = connection.ok_or_else(|| ApiError::bad("the connection is not known"))?;
    policy::admit(&app.names, &app.keys, request.headers(), connection).map_err(refused)
}

/// Reads and discards what a refused client is still sending, for a moment: closing at once would destroy the answer
/// before the client has read it.
pub fn discard_body(mut body: Body) {
    use http_body_util::BodyExt;
    const DISCARD_BODY_FOR: std::time::Duration = std::time::Duration::from_secs(2);
    const DISCARD_AT_MOST: usize = 64 << 20;
    if hyper::body::Body::is_end_stream(&body) {
        return;
    }
    tokio::spawn(async move {
        let mut seen = 0;
        let _ = tokio::time::timeout(DISCARD_BODY_FOR, async {
            while let Some(Ok(frame)) = body.frame().await {
                seen += frame.data_ref().map_or(0, |data| data.len());
                if seen > DISCARD_AT_MOST {
                    break;
                }
            }
        })
        .await;
    });
}

async fn health(State(app): State<SharedState>) -> Response {
    ok(&Health {
        status: "ok".into(),
        name: "headspace".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        pid: std::process::id(),
        started_at: Some(app.started_at),
        url: Some(app.config.own_address()),
    })
}

async fn nowhere() -> ApiResult {
    Err(ApiError::not_found("there is nothing at this path"))
}

async fn wrong_method() -> ApiResult {
    Err(ApiError(StatusCode::METHOD_NOT_ALLOWED, "this path does not take that method".into()))
}
