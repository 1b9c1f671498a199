//! Logs a browser in if the owner of its connection cannot be known: a code that works once, then a cookie.

use crate::app_state::SharedState;
use crate::http::auth::policy::{COOKIE_NAME, Connection};
use crate::http::response::{ApiError, ApiResult, Query, ok};
use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use headspace_core::model::AgentId;
use headspace_core::wire::LoginCode;
use hyper::StatusCode;
use hyper::header::{LOCATION, SET_COOKIE};
use serde::Deserialize;
use std::sync::Arc;

/// For `headspace open`, which has the token.
pub async fn code(State(app): State<SharedState>) -> ApiResult {
    Ok(ok(&LoginCode { code: app.keys.new_code()? }))
}

/// What a login link carries.
#[derive(Deserialize)]
pub struct Login {
    code: Option<String>,
    /// Whose card to open.
    agent: Option<String>,
}

pub async fn login(
    State(app): State<SharedState>,
    Extension(connection): Extension<Arc<Connection>>,
    Query(given): Query<Login>,
) -> ApiResult {
    let code = given.code.filter(|code| !code.is_empty());
    let code = code.ok_or_else(|| {
        ApiError::bad("this address needs a code: `headspace open` gives a link that has one")
    })?;
    // Another user who got hold of the link is refused, if the system says who is connected.
    if connection.is_of_another_user() {
        return Err(ApiError(StatusCode::FORBIDDEN, "this link is for another user".into()));
    }
    let Some(cookie) = app.keys.redeem(&code)? else {
        return Err(ApiError(
            StatusCode::FORBIDDEN,
            "this link was used already or is too old: run `headspace open` again".into(),
        ));
    };
    let agent = given.agent.and_then(|id| id.parse::<AgentId>().ok());
    let cookie = format!("{COOKIE_NAME}={cookie}; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000");
    let response = Response::builder()
        .status(StatusCode::SEE_OTHER)
        .header(LOCATION, agent.map_or("/".to_owned(), |id| format!("/#/agents/{id}")))
        .header(SET_COOKIE, cookie)
        .body(Body::empty());
    response.map_err(|error| anyhow::Error::from(error).into())
}
