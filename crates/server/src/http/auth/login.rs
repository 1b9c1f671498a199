//! How a browser gets in where the connection's owner is not known: a code that works once, then a cookie.

use crate::app_state::SharedState;
use crate::http::auth::policy::{COOKIE_NAME, Connection};
use crate::http::response::{ApiError, ApiResult, ok};
use axum::Extension;
use axum::body::Body;
use axum::extract::{Query, State};
use axum::response::Response;
use headspace_core::wire::LoginCode;
use hyper::StatusCode;
use hyper::header::{LOCATION, SET_COOKIE};
use std::sync::Arc;

/// For `headspace open`, which has the token.
pub async fn code(State(app): State<SharedState>) -> ApiResult {
    Ok(ok(&LoginCode { code: app.keys.new_code()? }))
}

pub async fn login(
    State(app): State<SharedState>,
    Extension(connection): Extension<Arc<Connection>>,
    Query(given): Query<LoginCode>,
) -> ApiResult {
    // Whoever else got hold of the link is not let in, where the system says who is there.
    if connection.is_of_another_user() {
        return Err(ApiError(StatusCode::FORBIDDEN, "this link is for another user".into()));
    }
    let Some(cookie) = app.keys.redeem(&given.code)? else {
        return Err(ApiError(
            StatusCode::FORBIDDEN,
            "this link was used already or is too old: run `headspace open` again".into(),
        ));
    };
    let cookie = format!("{COOKIE_NAME}={cookie}; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000");
    let response = Response::builder()
        .status(StatusCode::SEE_OTHER)
        .header(LOCATION, "/")
        .header(SET_COOKIE, cookie)
        .body(Body::empty());
    response.map_err(|error| anyhow::Error::from(error).into())
}
