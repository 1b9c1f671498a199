//! Connections of a hub: how many, for how long, with TLS or behind a proxy that has it.

use crate::hub::Hub;
use crate::hub::http::routes;
use anyhow::Result;
use headspace_page::connection::{Limits, Pipe, Signals, talk};
use headspace_platform::log;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

const MAX_CONNECTIONS: usize = 4096;
/// Idle connections are kept: a link sends something every 4 s.
const LIMITS: Limits = Limits { head: 64 << 10, head_within: Duration::from_secs(60) };
const HANDSHAKE_WITHIN: Duration = Duration::from_secs(10);
/// How long requests in flight may take when the hub stops.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(3);

/// Serves until a signal, then waits for requests in flight.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Arc<rustls::ServerConfig>>,
    hub: Arc<Hub>,
) -> Result<()> {
    let (stop, stopping) = watch::channel(false);
    let mut signals = Signals::new()?;
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let routes = routes::router(Arc::clone(&hub));
    let acceptor = tls.map(TlsAcceptor::from);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = signals.wait() => break,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                log::line(&format!("could not accept a connection: {error}"));
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let Ok(permit) = Arc::clone(&room).try_acquire_owned() else {
            log::line("too many connections: one refused");
            continue;
        };
        let _ = stream.set_nodelay(true);
        let (routes, acceptor, stopping) = (routes.clone(), acceptor.clone(), stopping.clone());
        tokio::spawn(async move {
            if let Some(pipe) = secured(stream, acceptor).await {
                talk(pipe, routes, Arc::new(()), LIMITS, stopping).await;
            }
            drop(permit);
        });
    }
    log::line("stopping");
    drop(listener);
    hub.streams.close(|_| true);
    let _ = stop.send(true);
    let _ = tokio::time::timeout(SHUTDOWN_GRACE, room.acquire_many(MAX_CONNECTIONS as u32)).await;
    Ok(())
}

/// The connection itself, or TLS on it; `None`: the handshake failed.
async fn secured(stream: TcpStream, acceptor: Option<TlsAcceptor>) -> Option<Box<dyn Pipe>> {
    let Some(acceptor) = acceptor else { return Some(Box::new(stream)) };
    let agreed = tokio::time::timeout(HANDSHAKE_WITHIN, acceptor.accept(stream)).await;
    Some(Box::new(agreed.ok()?.ok()?))
}
