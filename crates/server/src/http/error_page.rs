//! The page that a person sees in a browser where a program gets a JSON error: what is wrong, and what to do about it.

use crate::http::response::ApiError;
use axum::body::Body;
use axum::response::Response;
use hyper::header::{ACCEPT, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, StatusCode};

/// The page has no script and loads no file, because a browser without access would not get them.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const STYLE: &str = ":root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif;background:light-dark(#f5f5f3,#0e1014);\
color:light-dark(#191c21,#e8eaef)}main{max-width:36rem;margin:12vh auto;padding:0 1.2rem}h1{font-size:1.4rem}\
p{color:light-dark(#505866,#a9b2c0)}code{font:.95em ui-monospace,monospace;background:light-dark(#e7e7e3,#1f232b);padding:.15em .4em;\
border-radius:.3em;color:light-dark(#191c21,#e8eaef)}a{color:light-dark(#0a60b6,#6fb4ff);display:inline-block;padding:.7rem 0}";

/// Whether a person opened a page, as opposed to a request of a program or a script.
pub fn is_for_a_person(method: &Method, headers: &HeaderMap) -> bool {
    let accepts = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let first = accepts.split([',', ';']).next().unwrap_or_default().trim();
    method == Method::GET && first.eq_ignore_ascii_case("text/html")
}

/// The same answer, as a page, if it is an error of ours.
pub fn instead_of(mut response: Response) -> Response {
    let Some(ApiError(status, message)) = response.extensions_mut().remove::<ApiError>() else {
        return response;
    };
    *response.body_mut() = Body::from(page(status, &message));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response
}

/// What happened in a few words, and the next step. Text between backquotes is a command.
fn advice(status: StatusCode, message: &str) -> (&'static str, &'static str) {
    match status {
        StatusCode::FORBIDDEN | StatusCode::UNAUTHORIZED if message.contains("another user") => (
            "This board belongs to another user",
            "If it is yours, run `headspace open` on the machine it runs on: it opens a link that logs this browser in, once. \
             For a phone, `headspace open --phone` shows the link as a QR code.",
        ),
        StatusCode::FORBIDDEN if message.contains("link") => (
            "This link does not work any more",
            "Each link logs one browser in, once. Run `headspace open` for a new one, or `headspace open --phone` for a phone.",
        ),
        StatusCode::FORBIDDEN if message.contains("name") => (
            "This address is not allowed",
            "The server answers only to names it knows. Add this one to `names` in the configuration; `headspace doctor` says where that is.",
        ),
        StatusCode::FORBIDDEN => ("Not allowed", "Open the board by itself: `headspace open`."),
        StatusCode::BAD_REQUEST if message.contains("code") => (
            "This page needs a link",
            "Run `headspace open` on the machine it runs on, or `headspace open --phone` and point the phone at the QR code.",
        ),
        StatusCode::NOT_FOUND => ("There is nothing here", "The board is at the start page."),
        StatusCode::SERVICE_UNAVAILABLE => {
            ("The server cannot answer now", "Try again in a moment. `headspace doctor` says what is wrong.")
        }
        _ => ("That did not work", "`headspace doctor` says whether something is wrong."),
    }
}

fn page(status: StatusCode, message: &str) -> String {
    let (title, next) = advice(status, message);
    let home = if status == StatusCode::NOT_FOUND { "<a href=\"/\">Open the board</a>" } else { "" };
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\
         <title>{title} · headspace</title><style>{STYLE}</style><main><h1>{title}</h1><p>{}</p><p>{}</p>{home}</main></html>",
        with_commands(next),
        with_commands(message),
    )
}

/// As HTML, with commands between backquotes as code.
fn with_commands(text: &str) -> String {
    let parts =
        text.split('`').map(|part| part.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"));
    let marked =
        parts.enumerate().map(|(at, part)| if at % 2 == 1 { format!("<code>{part}</code>") } else { part });
    marked.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn browsers_get_a_page_and_programs_get_json() {
        let person = |method, accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, accept.parse().unwrap());
            is_for_a_person(&method, &headers)
        };
        assert!(person(Method::GET, "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"));
        assert!(!person(Method::GET, "application/json") && !person(Method::GET, "*/*"));
        assert!(!person(Method::POST, "text/html"));
        assert!(!is_for_a_person(&Method::GET, &HeaderMap::new()));
    }

    #[test]
    fn a_message_cannot_become_markup() {
        let page = page(StatusCode::BAD_REQUEST, "<img src=x onerror=alert(1)> & `<b>`");
        assert!(!page.contains("<img") && !page.contains("<b>"), "{page}");
        assert!(page.contains("<code>&lt;b&gt;</code>"), "{page}");
    }
}
