//! The dashboard's files, built into the binary. Each is stored once, compressed if that makes it smaller: clients that do
//! not accept gzip are rare, and for them the file is unpacked.

use crate::answer::{ApiError, ApiResult};
use axum::body::Body;
use axum::extract::Path;
use axum::response::Response;
use flate2::read::GzDecoder;
use headspace_core::fnv::{START, fnv1a};
use hyper::StatusCode;
use hyper::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderMap, IF_NONE_MATCH, VARY,
};
use std::borrow::Cow;
use std::io::{self, Read as _};

struct Asset {
    path: &'static str,
    kept: &'static [u8],
    /// Whether the build compressed it: then `kept` is gzip, otherwise it is the file itself.
    is_packed: bool,
    tag: u64,
}

const fn asset(path: &'static str, kept: &'static [u8], is_packed: bool) -> Asset {
    Asset { path, kept, is_packed, tag: fnv1a(START, kept) }
}

/// Everything under `/assets/`: the files of `web/`.
static ASSETS: &[Asset] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// The content type of each file, by the end of its name.
const KINDS: &[(&str, &str)] = &[
    (".html", "text/html; charset=utf-8"),
    (".js", "text/javascript; charset=utf-8"),
    (".css", "text/css; charset=utf-8"),
    (".svg", "image/svg+xml"),
    (".png", "image/png"),
    (".webmanifest", "application/manifest+json"),
];

impl Asset {
    fn kind(&self) -> &'static str {
        let known = KINDS.iter().find(|(ending, _)| self.path.ends_with(ending));
        known.map_or("application/octet-stream", |(_, kind)| kind)
    }

    /// The file itself.
    fn content(&self) -> io::Result<Cow<'static, [u8]>> {
        if !self.is_packed {
            return Ok(Cow::Borrowed(self.kept));
        }
        let mut content = Vec::new();
        GzDecoder::new(self.kept).read_to_end(&mut content)?;
        Ok(Cow::Owned(content))
    }
}

fn named(path: &str) -> Result<&'static Asset, ApiError> {
    let found = ASSETS.iter().find(|asset| asset.path == path);
    found.ok_or_else(|| ApiError::not_found("there is no such file"))
}

pub async fn index(headers: HeaderMap) -> ApiResult {
    send(named("index.html")?, &headers)
}

/// The part of the page that answers when the server does not. It is served at the top, because it may answer only for paths
/// below its own.
pub async fn service_worker(headers: HeaderMap) -> ApiResult {
    send(named("service-worker.js")?, &headers)
}

pub async fn file(Path(path): Path<String>, headers: HeaderMap) -> ApiResult {
    send(named(&path)?, &headers)
}

/// Whether the client accepts gzip, by name or as any coding, with a weight above zero.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut codings = accepted.flat_map(|value| value.split(',')).map(|coding| {
        let mut parts = coding.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let weight = parts.find_map(|part| part.strip_prefix("q=")?.trim().parse::<f32>().ok());
        (name.to_ascii_lowercase(), weight.unwrap_or(1.0) > 0.0)
    });
    let mut any = false;
    let gzip = codings.find_map(|(name, wanted)| {
        any |= name == "*" && wanted;
        (name == "gzip" || name == "x-gzip").then_some(wanted)
    });
    gzip.unwrap_or(any)
}

/// Browsers ask every time and rarely get the file again, so a new build shows at once.
fn send(asset: &Asset, headers: &HeaderMap) -> ApiResult {
    let packed = asset.is_packed && takes_gzip(headers);
    let tag = format!("\"{:016x}{}\"", asset.tag, if packed { "z" } else { "" });
    let mut response = Response::builder()
        .header(ETAG, &tag)
        .header(CACHE_CONTROL, "no-cache")
        .header(VARY, "accept-encoding");
    let known = headers.get(IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    if known.is_some_and(|known| known.split(',').any(|known| known.trim() == tag)) {
        let response = response.status(StatusCode::NOT_MODIFIED).body(Body::empty());
        return response.map_err(|error| anyhow::Error::from(error).into());
    }
    let body = if packed {
        response = response.header(CONTENT_ENCODING, "gzip");
        Body::from(asset.kept)
    } else {
        Body::from(asset.content().map_err(anyhow::Error::from)?.into_owned())
    };
    let response = response.header(CONTENT_TYPE, asset.kind()).body(body);
    response.map_err(|error| anyhow::Error::from(error).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(asset: &Asset) -> Option<String> {
        String::from_utf8(asset.content().unwrap().into_owned()).ok()
    }

    #[test]
    fn every_script_and_style_is_named_by_the_page() {
        let page = ["index.html", "offline.html"].map(|page| text(named(page).unwrap()).unwrap()).concat();
        for asset in ASSETS.iter().filter(|asset| asset.path.ends_with(".js") || asset.path.ends_with(".css"))
        {
            // A module that the page does not name is loaded late: one round trip after another.
            let at_top = asset.path == "service-worker.js";
            assert!(at_top || page.contains(&format!("\"/assets/{}\"", asset.path)), "{}", asset.path);
        }
        for asset in ASSETS {
            assert_ne!(asset.kind(), "application/octet-stream", "{}", asset.path);
        }
    }

    #[test]
    fn the_dashboard_is_small_and_self_contained() {
        let bytes: usize = ASSETS.iter().map(|asset| asset.content().unwrap().len()).sum();
        let sent: usize = ASSETS.iter().map(|asset| asset.kept.len()).sum();
        assert!(sent <= MOST_BYTES_SENT && bytes <= MOST_BYTES, "{sent} bytes compressed, {bytes} plain");
        for asset in ASSETS {
            let Some(content) = text(asset) else { continue };
            let foreign = content.replace("http://www.w3.org/2000/svg", "");
            assert!(!foreign.contains("http://") && !foreign.contains("https://"), "{}", asset.path);
            assert!(!content.contains("innerHTML"), "{}", asset.path);
        }
    }

    #[test]
    fn compressed_files_go_only_to_clients_that_accept_them() {
        for (accepted, wanted) in [
            ("gzip, deflate, br", true),
            ("br;q=1.0, gzip;q=0.8", true),
            ("*", true),
            ("gzip;q=0", false),
            ("identity", false),
            ("*, gzip;q=0", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, accepted.parse().unwrap());
            assert_eq!(takes_gzip(&headers), wanted, "{accepted}");
        }
        assert!(!takes_gzip(&HeaderMap::new()));
    }

    /// All files together, icons included: as a browser gets them, and as they are.
    const MOST_BYTES_SENT: usize = 80_000;
    const MOST_BYTES: usize = 200_000;
}
