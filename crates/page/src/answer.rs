//! Answers: JSON, errors with advice, and the headers of every answer.

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use headspace_core::json::serialize::to_text;
use hyper::StatusCode;
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Headers of every answer that keep a browser from being used against the user.
static PROTECTION: [(HeaderName, HeaderValue); 6] = [
    (CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY)),
    (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
    (X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
];

/// Room for those and the answer's own, from the start: growing would move all of them.
const HEADERS_CAPACITY: usize = 10;

pub fn protect(headers: &mut HeaderMap) {
    headers.reserve(HEADERS_CAPACITY.saturating_sub(headers.len()));
    for (name, value) in &PROTECTION {
        headers.insert(name.clone(), value.clone());
    }
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

/// An error as the client sees it: `{"status":"error","message":…}`.
#[derive(Clone, Debug)]
pub struct ApiError(pub StatusCode, pub String);

pub type ApiResult = Result<Response, ApiError>;

impl ApiError {
    pub fn bad(message: impl Into<String>) -> ApiError {
        ApiError(StatusCode::BAD_REQUEST, message.into())
    }

    pub fn not_found(message: impl Into<String>) -> ApiError {
        ApiError(StatusCode::NOT_FOUND, message.into())
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = with_status(self.0, &json!({"status": "error", "message": self.1}));
        // Whoever shows the answer to a person can make a page of it.
        response.extensions_mut().insert(self);
        response
    }
}

/// The query of an address, the part after `?`. If it cannot be read, the client gets an error like any other.
#[derive(Clone, Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Query<T>, ApiError> {
        match axum::extract::Query::try_from_uri(&parts.uri) {
            Ok(axum::extract::Query(query)) => Ok(Query(query)),
            Err(refused) => {
                let text = refused.body_text();
                let why = text.split_once(": ").map_or(text.as_str(), |(_, why)| why);
                Err(ApiError::bad(format!("could not read what the address asks for: {why}")))
            }
        }
    }
}

/// Internal errors go to the log; the client learns only that there was one.
impl From<anyhow::Error> for ApiError {
    fn from(error: anyhow::Error) -> ApiError {
        headspace_platform::log::line(&format!("could not answer: {error:#}"));
        ApiError(StatusCode::INTERNAL_SERVER_ERROR, "the server could not answer: see its log".into())
    }
}

pub fn ok(value: &impl Serialize) -> Response {
    with_status(StatusCode::OK, value)
}

pub fn with_status(status: StatusCode, value: &impl Serialize) -> Response {
    let json = to_text(value).unwrap_or_else(|_| "{}".into());
    let mut response = Response::new(Body::from(json));
    *response.status_mut() = status;
    *response.headers_mut() = HeaderMap::with_capacity(HEADERS_CAPACITY);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}
