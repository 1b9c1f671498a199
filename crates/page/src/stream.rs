//! The answer to `GET /api/events/stream`: first what a client missed, then what happens, and a sign of life in between.
//! Knows nothing about what it sends. Begin with [`answer`].

use crate::answer::ApiResult;
use axum::body::Body;
use axum::response::Response;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderMap};
use serde::Deserialize;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::Write;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, interval_at};

/// How often a stream sends something, so that neither the client nor a proxy in between gives it up.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Pieces a client may lag behind before it is dropped. It reconnects with its `Last-Event-ID`.
pub const MAX_BEHIND: usize = 256;

/// What a client asks for.
#[derive(Deserialize)]
pub struct StreamQuery {
    types: Option<String>,
    agent_id: Option<String>,
    last_event_id: Option<String>,
}

impl StreamQuery {
    /// Empty: all.
    pub fn kinds(&self) -> Vec<String> {
        let kinds = self.types.as_deref().unwrap_or_default().split(',').map(str::trim);
        kinds.filter(|kind| !kind.is_empty()).map(str::to_owned).collect()
    }

    pub fn agent(&self) -> Option<&str> {
        self.agent_id.as_deref().filter(|id| !id.is_empty())
    }

    /// The number of the last message it saw. A browser that reconnects sends it in a header.
    pub fn last<'a>(&'a self, headers: &'a HeaderMap) -> Option<&'a str> {
        let header = headers.get("last-event-id").and_then(|value| value.to_str().ok());
        header.or(self.last_event_id.as_deref()).map(str::trim)
    }
}

/// One message, ready to send. JSON is always one line, so it cannot break out of its `data:`.
pub fn event_text(seq: Option<i64>, kind: &str, json: &str) -> String {
    let mut text = String::with_capacity(json.len() + 64);
    if let Some(seq) = seq {
        let _ = writeln!(text, "id: {seq}");
    }
    let _ = write!(text, "event: {kind}\ndata: {json}\n\n");
    text
}

/// What happens, as one client receives it.
pub struct Live<T> {
    pub news: mpsc::Receiver<T>,
    /// The part of a piece of news that this client wants; empty if there is none.
    pub chosen: Box<dyn Fn(T) -> Bytes + Send>,
}

struct StreamBody<T> {
    missed: VecDeque<Bytes>,
    live: Option<Live<T>>,
    heartbeat: Interval,
}

/// The stream's answer. If `live` is `None`, there was more to replay than fits, and the client reconnects for the rest.
pub fn answer<T: Send + 'static>(
    missed: impl IntoIterator<Item = Bytes>,
    live: Option<Live<T>>,
) -> ApiResult {
    // The first bytes show a client that it is connected; `retry` says how soon to reconnect.
    let mut pieces = VecDeque::from([Bytes::from_static(b": connected\nretry: 1000\n\n")]);
    pieces.extend(missed);
    let heartbeat = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
    let response = Response::builder()
        .header(CONTENT_TYPE, "text/event-stream")
        .header(CACHE_CONTROL, "no-store")
        .header("x-accel-buffering", "no")
        .body(Body::new(StreamBody { missed: pieces, live, heartbeat }));
    response.map_err(|error| anyhow::Error::from(error).into())
}

impl<T> HttpBody for StreamBody<T> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        if let Some(piece) = this.missed.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        let Some(live) = &mut this.live else { return Poll::Ready(None) };
        loop {
            match live.news.poll_recv(cx) {
                Poll::Ready(Some(news)) => {
                    let bytes = (live.chosen)(news);
                    if !bytes.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(bytes))));
                    }
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => break,
            }
        }
        match this.heartbeat.poll_tick(cx) {
            Poll::Ready(_) => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b": still here\n\n"))))),
            Poll::Pending => Poll::Pending,
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
