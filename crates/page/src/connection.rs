//! One connection of an HTTP server: how much it may send, how long it may take, and how it ends. Begin with [`talk`].

use anyhow::{Context, Result};
use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::header::{COOKIE, HeaderMap};
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

/// Header lines of a request.
const MAX_HEADERS: usize = 64;

/// What a connection may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a request's head.
    pub head: usize,
    /// From the first moment of waiting for a request to its last header; also how long an idle connection is kept.
    pub head_within: Duration,
}

/// Bytes to and from a client. Ports, sockets and TLS are all passed as a box, so that the protocol is in the binary once.
pub trait Pipe: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Pipe for T {}

/// What is to be done when a request begins and when it ends.
pub trait Visit: Send + Sync {
    fn begins(&self, request: &mut Request<Incoming>);
    fn ends(&self);
}

/// Does nothing.
impl Visit for () {
    fn begins(&self, _: &mut Request<Incoming>) {}

    fn ends(&self) {}
}

/// Answers requests until the client leaves or `stop` becomes true; the request in flight is still answered.
pub async fn talk(
    pipe: Box<dyn Pipe>,
    routes: Router,
    visit: Arc<dyn Visit>,
    limits: Limits,
    mut stop: watch::Receiver<bool>,
) {
    let routes = TowerToHyperService::new(routes);
    let service = service_fn(move |mut request: Request<Incoming>| {
        visit.begins(&mut request);
        let (visit, answer) = (Arc::clone(&visit), routes.call(request));
        async move {
            let answer = answer.await;
            visit.ends();
            answer
        }
    });
    // Not `pipeline_flush`: with it hyper's write buffer has no limit, and a client that does not read fills it.
    let mut connection = std::pin::pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(limits.head_within)
            .max_headers(MAX_HEADERS)
            .max_buf_size(limits.head)
            .half_close(true)
            .serve_connection(TokioIo::new(pipe), service)
    );
    tokio::select! {
        // An error here is the client's doing, and it has had its answer.
        _ = connection.as_mut() => {}
        () = stop_requested(&mut stop) => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}

/// Returns when `stop` becomes true.
pub async fn stop_requested(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await;
}

/// The signals by which the system asks this program to stop.
pub struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
}

impl Signals {
    pub fn new() -> Result<Signals> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            Ok(Signals {
                terminate: signal(SignalKind::terminate()).context("could not listen for signals")?,
                interrupt: signal(SignalKind::interrupt()).context("could not listen for signals")?,
            })
        }
        #[cfg(not(unix))]
        Ok(Signals {})
    }

    pub async fn wait(&mut self) {
        #[cfg(unix)]
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
        #[cfg(not(unix))]
        let _ = tokio::signal::ctrl_c().await;
    }
}

/// The values of the cookies of this name; there may be several.
pub fn cookies<'a>(headers: &'a HeaderMap, name: &'a str) -> impl Iterator<Item = &'a str> {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(move |(of, _)| *of == name)
        .map(|(_, value)| value)
}
