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

const INDEX: Asset =
    Asset { path: "index.html", kind: HTML, content: include_str!("../../assets/index.html") };

/// Everything under `/assets/`.
const ASSETS: &[Asset] = &[];

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
