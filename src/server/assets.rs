//! The dashboard's files, built into the binary.

use super::answer::{Answered, Failed};
use axum::body::Body;
use axum::extract::Path;
use axum::response::Response;
use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, IF_NONE_MATCH};

struct Asset {
    path: &'static str,
    kind: &'static str,
    content: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! asset {
    ($kind:ident, $path:literal) => {
        Asset { path: $path, kind: $kind, content: include_str!(concat!("../../assets/", $path)) }
    };
}

const INDEX: Asset = asset!(HTML, "index.html");

/// Everything under `/assets/`.
const ASSETS: &[Asset] = &[
    asset!(CSS, "style.css"),
    asset!(SCRIPT, "agents.js"),
    asset!(SCRIPT, "api.js"),
    asset!(SCRIPT, "app.js"),
    asset!(SCRIPT, "calls.js"),
    asset!(SCRIPT, "detail.js"),
    asset!(SCRIPT, "dom.js"),
    asset!(SCRIPT, "empty.js"),
    asset!(SCRIPT, "events.js"),
    asset!(SCRIPT, "format.js"),
    asset!(SCRIPT, "history.js"),
    asset!(SCRIPT, "list.js"),
    asset!(SCRIPT, "log.js"),
    asset!(SCRIPT, "parts.js"),
    asset!(SCRIPT, "signal.js"),
    asset!(SCRIPT, "stream.js"),
    asset!(SCRIPT, "timeline.js"),
];

pub async fn index(headers: HeaderMap) -> Answered {
    send(&INDEX, &headers)
}

pub async fn asset(Path(path): Path<String>, headers: HeaderMap) -> Answered {
    let found = ASSETS.iter().find(|asset| asset.path == path);
    send(found.ok_or_else(|| Failed::not_found("there is no such file"))?, &headers)
}

/// Always asked about, rarely sent again: a new build shows at once.
fn send(asset: &Asset, headers: &HeaderMap) -> Answered {
    let tag = format!("\"{:016x}\"", fingerprint(asset.content.as_bytes()));
    let response = Response::builder().header(ETAG, &tag).header(CACHE_CONTROL, "no-cache");
    let known = headers.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let response = if known.is_some_and(|known| known.split(',').any(|known| known.trim() == tag)) {
        response.status(StatusCode::NOT_MODIFIED).body(Body::empty())
    } else {
        response.header(CONTENT_TYPE, asset.kind).body(Body::from(asset.content))
    };
    response.map_err(|error| anyhow::Error::from(error).into())
}

/// FNV-1a: only has to differ between builds.
const fn fingerprint(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0100_0000_01b3);
        i += 1;
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the whole dashboard may weigh.
    const BUDGET: usize = 100_000;

    #[test]
    fn the_table_holds_every_file_and_the_page_names_them_all() {
        let dir = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
        let mut found: Vec<String> = std::fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != INDEX.path)
            .collect();
        found.sort();
        let mut known: Vec<&str> = ASSETS.iter().map(|asset| asset.path).collect();
        known.sort_unstable();
        assert_eq!(known, found);
        for path in known {
            // A module the page does not name is found late: one round trip after another.
            assert!(INDEX.content.contains(&format!("\"/assets/{path}\"")), "{path}");
        }
    }

    #[test]
    fn the_dashboard_is_small_and_needs_nobody_else() {
        let all = || ASSETS.iter().chain([&INDEX]);
        let bytes: usize = all().map(|asset| asset.content.len()).sum();
        assert!(bytes <= BUDGET, "{bytes} bytes");
        for asset in all() {
            let foreign = asset.content.replace("http://www.w3.org/2000/svg", "");
            assert!(!foreign.contains("http://") && !foreign.contains("https://"), "{}", asset.path);
            assert!(!asset.content.contains("innerHTML"), "{}", asset.path);
        }
    }
}
