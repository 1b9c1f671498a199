//! The dashboard's files, built into the binary.

use crate::http::response::{ApiError, ApiResult};
use axum::body::Body;
use axum::extract::Path;
use axum::response::Response;
use headspace_core::fnv::{START, fnv1a};
use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, IF_NONE_MATCH};

struct Asset {
    path: &'static str,
    kind: &'static str,
    content: &'static str,
    tag: u64,
}

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

macro_rules! assets {
    ($($kind:ident $path:literal),* $(,)?) => {
        &[$(asset($path, $kind, include_str!(concat!("../../../../web/", $path)))),*]
    };
}

const fn asset(path: &'static str, kind: &'static str, content: &'static str) -> Asset {
    Asset { path, kind, content, tag: fnv1a(START, content.as_bytes()) }
}

/// Everything under `/assets/`; the first is also the page itself.
static ASSETS: &[Asset] = assets![
    HTML "index.html",
    STYLE "style.css",
    SCRIPT "lib/agents.js",
    SCRIPT "lib/api.js",
    SCRIPT "app.js",
    SCRIPT "lib/calls.js",
    SCRIPT "lib/clients.js",
    SCRIPT "views/detail.js",
    SCRIPT "lib/dom.js",
    SCRIPT "views/empty.js",
    SCRIPT "lib/events.js",
    SCRIPT "lib/format.js",
    SCRIPT "views/history.js",
    SCRIPT "views/list.js",
    SCRIPT "views/log.js",
    SCRIPT "lib/parts.js",
    SCRIPT "lib/signal.js",
    SCRIPT "lib/stream.js",
    SCRIPT "views/timeline.js",
];

pub async fn index(headers: HeaderMap) -> ApiResult {
    send(&ASSETS[0], &headers)
}

pub async fn file(Path(path): Path<String>, headers: HeaderMap) -> ApiResult {
    let found = ASSETS.iter().find(|asset| asset.path == path);
    send(found.ok_or_else(|| ApiError::not_found("there is no such file"))?, &headers)
}

/// Browsers always ask, and rarely get it again: a new build shows at once.
fn send(asset: &Asset, headers: &HeaderMap) -> ApiResult {
    let tag = format!("\"{:016x}\"", asset.tag);
    let response = Response::builder().header(ETAG, &tag).header(CACHE_CONTROL, "no-cache");
    let known = headers.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    let response = if known.is_some_and(|known| known.split(',').any(|known| known.trim() == tag)) {
        response.status(StatusCode::NOT_MODIFIED).body(Body::empty())
    } else {
        response.header(CONTENT_TYPE, asset.kind).body(Body::from(asset.content))
    };
    response.map_err(|error| anyhow::Error::from(error).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files_below(dir: &std::path::Path, prefix: &str) -> Vec<String> {
        let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
        let path = |entry: &std::fs::DirEntry| format!("{prefix}{}", entry.file_name().to_str().unwrap());
        entries
            .flat_map(|entry| match entry.path().is_dir() {
                true => files_below(&entry.path(), &format!("{}/", path(&entry))),
                false => vec![path(&entry)],
            })
            .collect()
    }

    #[test]
    fn every_file_of_the_dashboard_is_served() {
        let web = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../web"));
        let mut there = files_below(web, "");
        let mut served: Vec<String> = ASSETS.iter().map(|asset| asset.path.to_owned()).collect();
        there.sort();
        served.sort();
        assert_eq!(served, there);
        let page = ASSETS.iter().find(|asset| asset.path == "index.html").unwrap();
        for path in served.iter().filter(|path| *path != page.path) {
            // A module that the page does not name is loaded late: one round trip after another.
            assert!(page.content.contains(&format!("\"/assets/{path}\"")), "{path}");
        }
    }

    #[test]
    fn the_dashboard_is_small_and_self_contained() {
        let bytes: usize = ASSETS.iter().map(|asset| asset.content.len()).sum();
        assert!(bytes <= 150 << 10, "{bytes} bytes");
        for asset in ASSETS {
            let foreign = asset.content.replace("http://www.w3.org/2000/svg", "");
            assert!(!foreign.contains("http://") && !foreign.contains("https://"), "{}", asset.path);
            assert!(!asset.content.contains("innerHTML"), "{}", asset.path);
        }
    }
}
