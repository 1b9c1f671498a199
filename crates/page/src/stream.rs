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
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, Sleep, interval_at, sleep};

/// How often a stream sends something, so that neither the client nor a proxy in between gives it up.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// After news a stream rests this long, and then sends everything that came meanwhile together: with a hundred streams, a
/// write and a wake-up for every event take more of the machine than the events. News after a quiet time is sent at once.
const REST: Duration = Duration::from_millis(10);
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
    /// News was sent since the last rest.
    sent: bool,
    rest: Option<Pin<Box<Sleep>>>,
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
        .body(Body::new(StreamBody { missed: pieces, live, sent: false, rest: None, heartbeat }));
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
            if let Some(rest) = &mut this.rest {
                ready!(rest.as_mut().poll(cx));
                this.rest = None;
            }
            match live.news.poll_recv(cx) {
                Poll::Ready(Some(news)) => {
                    let bytes = (live.chosen)(news);
                    if !bytes.is_empty() {
                        this.sent = true;
                        return Poll::Ready(Some(Ok(Frame::data(bytes))));
                    }
                }
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending if std::mem::take(&mut this.sent) => this.rest = Some(Box::pin(sleep(REST))),
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;

    /// The time is the runtime's own: it advances when nothing else can happen.
    fn with_paused_time(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(test);
    }

    fn stream() -> (mpsc::Sender<&'static str>, StreamBody<&'static str>) {
        let (sender, news) = mpsc::channel(MAX_BEHIND);
        let chosen = Box::new(|text: &'static str| Bytes::from_static(text.as_bytes()));
        let heartbeat = interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
        let live = Some(Live { news, chosen });
        (sender, StreamBody { missed: VecDeque::new(), live, sent: false, rest: None, heartbeat })
    }

    async fn next(body: &mut StreamBody<&'static str>) -> Option<Bytes> {
        let frame = poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)).await;
        frame.map(|frame| frame.unwrap().into_data().unwrap())
    }

    #[test]
    fn news_after_a_quiet_time_is_sent_at_once_and_later_news_together() {
        with_paused_time(async {
            let (sender, mut body) = stream();
            let begun = Instant::now();
            sender.try_send("one").unwrap();
            assert_eq!(next(&mut body).await.unwrap(), "one");
            assert_eq!(begun.elapsed(), Duration::ZERO);
            let (second, rested) = tokio::join!(next(&mut body), async {
                tokio::time::sleep(REST / 2).await;
                for text in ["two", "", "three"] {
                    sender.try_send(text).unwrap();
                }
                Instant::now()
            });
            assert_eq!(second.unwrap(), "two");
            assert!(begun.elapsed() >= REST && rested < begun + REST);
            let together = Instant::now();
            assert_eq!(next(&mut body).await.unwrap(), "three");
            assert_eq!(together.elapsed(), Duration::ZERO);
            drop(sender);
            assert_eq!(next(&mut body).await, None);
        });
    }

    #[test]
    fn a_stream_without_news_shows_that_it_lives() {
        with_paused_time(async {
            let (_sender, mut body) = stream();
            let begun = Instant::now();
            assert_eq!(next(&mut body).await.unwrap(), ": still here\n\n");
            assert_eq!(begun.elapsed(), HEARTBEAT);
        });
    }
}
