//! The table of routes: each with what it requires of the caller. A route that is not in it does not exist, and a route
//! cannot be written without its access.

use crate::hub::Hub;
use crate::hub::http::access::{self, Access, COOKIE_NAME, Kind, Reader, Refused};
use crate::hub::http::api;
use crate::hub::http::log_route;
use axum::Router;
use axum::extract::{MatchedPath, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use headspace_page::answer::{ApiError, ApiResult, protect};
use headspace_page::assets;
use headspace_page::connection::cookies;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, ORIGIN};
use hyper::{Method, StatusCode};
use std::sync::Arc;

pub type Shared = Arc<Hub>;

macro_rules! routes {
    ($($access:ident $method:ident $path:literal => $handler:expr),* $(,)?) => {
        /// Method, path, and who may call it. `docs/hub.md` lists them, and a test walks the table.
        pub const TABLE: &[(&str, &str, Access)] = &[$((stringify!($method), $path, Access::$access)),*];

        fn all() -> Router<Shared> {
            Router::new()$(.route($path, $method($handler)))*
        }
    };
}

routes![
    Open get "/health" => api::health,
    Open get "/" => assets::index,
    Open get "/assets/{*path}" => assets::file,
    Open get "/login/{code}" => api::login,
    Open post "/v1/join" => api::join,
    OwnLog post "/v1/edges/{edge}/log" => log_route::post,
    OwnEdge get "/v1/edges/{edge}/log" => log_route::state,
    OwnEdge post "/v1/edges/{edge}/leave" => api::leave,
    Machine post "/v1/login" => api::login_link,
    Reader get "/api/agents" => api::agents,
    Reader get "/api/board" => api::board,
    Reader get "/api/agents/{edge}/{id}" => api::agent,
    Reader get "/api/agents/{edge}/{id}/events" => api::agent_events,
    Reader get "/api/agents/{edge}/{id}/turns" => api::turns,
    Reader post "/api/agents/{edge}/{id}/seen" => api::seen,
    Reader get "/api/events" => api::events,
    Reader get "/api/events/names" => api::event_names,
    Reader get "/api/events/stream" => api::stream,
    Reader get "/hook/status" => api::status,
    Reader get "/service-worker.js" => assets::service_worker,
    Reader get "/metrics" => api::metrics,
];

pub fn router(hub: Shared) -> Router {
    all()
        .fallback(nowhere)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(Arc::clone(&hub), rules))
        .with_state(hub)
}

/// The checks for every request, and the headers of every answer.
async fn rules(State(hub): State<Shared>, mut request: Request, next: Next) -> Response {
    let admitted = match shown(&hub, &request) {
        Ok(shown) => admit(&hub, shown).await,
        Err(refusal) => Err(refusal),
    };
    let mut response = match admitted {
        Ok(reader) => {
            if let Some(reader) = reader {
                request.extensions_mut().insert(reader);
            }
            next.run(request).await
        }
        Err(refusal) => refusal.into_response(),
    };
    protect(response.headers_mut());
    response
}

/// The access of this request. A path that is not in the table is for readers, who then learn that it does not exist.
fn access_of(method: &Method, path: Option<&str>) -> Access {
    let found =
        TABLE.iter().find(|(of, route, _)| of.eq_ignore_ascii_case(method.as_str()) && Some(*route) == path);
    found.map_or(Access::Reader, |(_, _, access)| *access)
}

/// What matters in a request, taken out of it before the first await.
struct Shown {
    access: Access,
    token: Option<String>,
    /// The token came as a header, from a program; a browser sends the cookie.
    program: bool,
    /// The machine that the path names.
    edge: Option<i32>,
}

fn shown(hub: &Hub, request: &Request) -> Result<Shown, ApiError> {
    let path = request.extensions().get::<MatchedPath>().map(MatchedPath::as_str);
    check_origin(hub, request.method(), request.headers())?;
    Ok(Shown {
        access: access_of(request.method(), path),
        token: token(request.headers()).map(str::to_owned),
        program: request.headers().contains_key(AUTHORIZATION),
        edge: request.uri().path().split('/').nth(3).and_then(|edge| edge.parse().ok()),
    })
}

async fn admit(hub: &Hub, shown: Shown) -> Result<Option<Arc<Reader>>, ApiError> {
    if shown.access == Access::Open {
        return Ok(None);
    }
    let token = shown.token.ok_or_else(unknown)?;
    if let Some(why) = hub.trouble() {
        return Err(ApiError(
            StatusCode::SERVICE_UNAVAILABLE,
            format!("the hub waits for its database: {why}"),
        ));
    }
    let found = match shown.access {
        Access::OwnLog => hub.posters.reader(&hub.database, &token).await,
        _ => access::reader(&hub.database, &token).await.map(|found| found.map(Arc::new)),
    };
    let found = found.map_err(unavailable)?;
    let reader = found.map_err(|refused| match refused {
        Refused::Unknown => unknown(),
        Refused::Revoked if shown.program => {
            ApiError(StatusCode::FORBIDDEN, "this token was revoked: ask for another invitation".into())
        }
        Refused::Revoked => ApiError(
            StatusCode::FORBIDDEN,
            "this login has ended, as has the access of the machine that it came from: run `headspace hub login` on \
             another one that has joined, and open the link here"
                .into(),
        ),
    })?;
    let machine = reader.kind == Kind::Machine;
    let allowed = match shown.access {
        Access::Open | Access::Reader => true,
        Access::Machine => machine,
        Access::OwnEdge | Access::OwnLog => machine && reader.edge.is_some() && reader.edge == shown.edge,
    };
    if !allowed {
        return Err(ApiError(StatusCode::FORBIDDEN, "this token is not for that".into()));
    }
    Ok(Some(reader))
}

fn unknown() -> ApiError {
    ApiError(
        StatusCode::UNAUTHORIZED,
        "who is there? Run `headspace hub login` on a machine that has joined, and open the link here; a program sends \
         the machine's token"
            .into(),
    )
}

/// The database did not answer: logged, and worth another try.
pub fn unavailable(error: anyhow::Error) -> ApiError {
    headspace_platform::log::line(&format!("could not answer: {error:#}"));
    ApiError(StatusCode::SERVICE_UNAVAILABLE, "the database does not answer: try again".into())
}

fn token(headers: &HeaderMap) -> Option<&str> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    if let Some(bearer) = bearer {
        return bearer.strip_prefix("Bearer ").map(str::trim).filter(|token| !token.is_empty());
    }
    cookies(headers, COOKIE_NAME).find(|value| !value.is_empty())
}

/// A page of another origin must not use a hub through a user's browser.
fn check_origin(hub: &Hub, method: &Method, headers: &HeaderMap) -> Result<(), ApiError> {
    let foreign = || ApiError(StatusCode::FORBIDDEN, "a page of another origin may not use this hub".into());
    let text =
        |name| headers.get(name).map(|value: &hyper::header::HeaderValue| value.to_str().unwrap_or("?"));
    if let Some(origin) = text(ORIGIN) {
        let authority = |url: &str| {
            url.split_once("://").map(|(_, rest)| rest.split('/').next().unwrap_or("").to_ascii_lowercase())
        };
        let origin = authority(origin).ok_or_else(foreign)?;
        let host = text(HOST).map(str::to_ascii_lowercase);
        if Some(&origin) != host.as_ref() && Some(&origin) != authority(&hub.public_url).as_ref() {
            return Err(foreign());
        }
    }
    let site = headers.get("sec-fetch-site").map(|value| value.as_bytes());
    let navigation =
        method == Method::GET && headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate");
    if matches!(site, Some(b"cross-site" | b"same-site")) && !navigation {
        return Err(foreign());
    }
    let kind = text(CONTENT_TYPE).unwrap_or_default().split(';').next().unwrap_or_default();
    if method == Method::POST && !kind.trim().eq_ignore_ascii_case("application/json") {
        return Err(ApiError::bad("the content type is not JSON: send `Content-Type: application/json`"));
    }
    Ok(())
}

async fn nowhere() -> ApiResult {
    Err(ApiError::not_found("there is nothing at this path"))
}

async fn wrong_method() -> ApiResult {
    Err(ApiError(StatusCode::METHOD_NOT_ALLOWED, "this path does not take that method".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_these_routes_are_open_and_only_machines_write() {
        let of = |access: Access| -> Vec<String> {
            let chosen = TABLE.iter().filter(|(.., needs)| *needs == access);
            chosen.map(|(method, path, _)| format!("{method} {path}")).collect()
        };
        assert_eq!(
            of(Access::Open),
            ["get /health", "get /", "get /assets/{*path}", "get /login/{code}", "post /v1/join"]
        );
        assert_eq!(of(Access::OwnLog), ["post /v1/edges/{edge}/log"]);
        assert_eq!(of(Access::OwnEdge), ["get /v1/edges/{edge}/log", "post /v1/edges/{edge}/leave"]);
        assert_eq!(access_of(&Method::POST, Some("/api/agents")), Access::Reader);
        assert_eq!(access_of(&Method::GET, None), Access::Reader);
        assert_eq!(access_of(&Method::HEAD, Some("/health")), Access::Reader);
    }

    #[test]
    fn a_token_comes_in_a_header_or_the_cookie_and_never_empty() {
        let with = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            token(&headers).map(str::to_owned)
        };
        assert_eq!(with("authorization", "Bearer abc"), Some("abc".into()));
        assert_eq!(with("authorization", "Bearer  "), None);
        assert_eq!(with("authorization", "Basic abc"), None);
        assert_eq!(with("cookie", "a=b; headspace_hub=xyz"), Some("xyz".into()));
        assert_eq!(with("cookie", "headspace_hub="), None);
    }
}
