//! Connections of a hub: how many, for how long, with TLS or behind a proxy that has it.

use crate::hub::Hub;
use crate::hub::http::routes;
use anyhow::Result;
use headspace_page::connection::{Limits, Pipe, Signals, talk};
use headspace_platform::log;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio_rustls::TlsAcceptor;

const MAX_CONNECTIONS: usize = 4096;
/// The most connections from one address, so that nobody takes the room of all others. A proxy needs many, too.
const MAX_FROM_ONE_ADDRESS: usize = MAX_CONNECTIONS / 2;
/// Idle connections are kept for a while: a link sends something every 4 s. Those that never say what they want are not.
const LIMITS: Limits = Limits { head: 64 << 10, head_within: Duration::from_secs(20) };
/// How often refused connections are logged.
const REFUSED_LOGGED_EVERY: Duration = Duration::from_secs(10);
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
    let addresses = Addresses::default();
    let mut logged: Option<Instant> = None;
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = signals.wait() => break,
        };
        let (stream, address) = match accepted {
            Ok((stream, address)) => (stream, address.ip()),
            Err(error) => {
                log::line(&format!("could not accept a connection: {error}"));
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let permit = Arc::clone(&room).try_acquire_owned().ok();
        let Some(permit) = permit.and_then(|permit| Some((permit, addresses.enter(address)?))) else {
            if logged.is_none_or(|at| at.elapsed() >= REFUSED_LOGGED_EVERY) {
                log::line(&format!("too many connections, the last one refused is from {address}"));
                logged = Some(Instant::now());
            }
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

/// How many connections each address has.
#[derive(Clone, Default)]
struct Addresses(Arc<Mutex<HashMap<IpAddr, usize>>>);

/// One of them; counted until it is dropped.
struct Entered(Addresses, IpAddr);

impl Addresses {
    fn counts(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, address: IpAddr) -> Option<Entered> {
        let mut counts = self.counts();
        let count = counts.entry(address).or_default();
        (*count < MAX_FROM_ONE_ADDRESS).then(|| {
            *count += 1;
            Entered(self.clone(), address)
        })
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut counts = self.0.counts();
        if let Some(count) = counts.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.1);
            }
        }
    }
}

/// The connection itself, or TLS on it; `None`: the handshake failed.
async fn secured(stream: TcpStream, acceptor: Option<TlsAcceptor>) -> Option<Box<dyn Pipe>> {
    let Some(acceptor) = acceptor else { return Some(Box::new(stream)) };
    let agreed = tokio::time::timeout(HANDSHAKE_WITHIN, acceptor.accept(stream)).await;
    Some(Box::new(agreed.ok()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_address_does_not_take_the_room_of_the_others() {
        let addresses = Addresses::default();
        let [one, other] = [[192, 0, 2, 1], [192, 0, 2, 2]].map(IpAddr::from);
        let mut open: Vec<Entered> = std::iter::from_fn(|| addresses.enter(one)).collect();
        assert_eq!(open.len(), MAX_FROM_ONE_ADDRESS);
        assert!(addresses.enter(other).is_some());
        open.pop();
        assert!(addresses.enter(one).is_some(), "one of them has ended");
        drop(open);
        assert!(addresses.counts().is_empty());
    }
}
