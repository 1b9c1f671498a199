//! The HTTP client for everything that is not in a hurry, and the request that asks a server who it is.
//!
//! Two parts do without it: the hook posts by hand, because ureq alone would use up its budget; and webhooks leave the
//! machine, so they go through the user's proxy.

use crate::config;
use crate::net::local;
use headspace_core::wire::Health;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, DefaultConnector, LazyBuffers, NextTimeout, Transport,
};

/// Without proxy, redirects, or errors for what is only a status.
pub fn agent(connect: Duration, timeout: Duration) -> ureq::Agent {
    ureq::Agent::with_parts(settings(connect, timeout), DefaultConnector::default(), Literally::default())
}

/// The same for the user's own server: through its socket, unless the user named an address; and never to a stranger.
pub fn server_agent(url: &str, connect: Duration, timeout: Duration) -> ureq::Agent {
    let server =
        OwnServer { through_socket: config::is_own_server(url), named: config::token_for(url).is_some() };
    ureq::Agent::with_parts(settings(connect, timeout), server, Literally::default())
}

fn settings(connect: Duration, timeout: Duration) -> ureq::config::Config {
    ureq::Agent::config_builder()
        .proxy(None)
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_connect(Some(connect))
        .timeout_global(Some(timeout))
        .build()
}

/// Connects to the server's socket or to a port, and asks who is there before a byte is sent.
#[derive(Debug)]
struct OwnServer {
    through_socket: bool,
    /// The configuration has a token for this address, so it may be on another machine.
    named: bool,
}

impl Connector<()> for OwnServer {
    type Out = Box<dyn Transport>;

    fn connect(
        &self,
        details: &ConnectionDetails,
        _: Option<()>,
    ) -> Result<Option<Box<dyn Transport>>, ureq::Error> {
        let settings = details.config;
        let buffers = LazyBuffers::new(settings.input_buffer_size(), settings.output_buffer_size());
        #[cfg(unix)]
        if self.through_socket
            && let Ok(stream) = local::connect()
        {
            return Ok(Some(Box::new(StreamTransport { stream, buffers })));
        }
        let mut failed = std::io::Error::from(std::io::ErrorKind::NotFound);
        for address in details.addrs.iter() {
            let connected = match details.timeout.not_zero() {
                Some(limit) => TcpStream::connect_timeout(address, *limit),
                None => TcpStream::connect(address),
            };
            match connected {
                Ok(stream) => {
                    self.check(&stream, details.uri.host().unwrap_or_default())?;
                    let _ = stream.set_nodelay(true);
                    return Ok(Some(Box::new(StreamTransport { stream, buffers })));
                }
                Err(error) => failed = error,
            }
        }
        Err(failed.into())
    }
}

impl OwnServer {
    fn check(&self, stream: &TcpStream, host: &str) -> std::io::Result<()> {
        if !local::is_here(stream)? {
            return if self.named { Ok(()) } else { Err(local::not_named(host)) };
        }
        local::check_owner(stream)?
            .map_err(|stranger| std::io::Error::new(std::io::ErrorKind::PermissionDenied, stranger))
    }
}

/// What both kinds of stream can do.
trait Stream: Read + Write + std::fmt::Debug + Send + Sync + 'static {
    fn set_timeouts(&self, read: Option<Duration>, write: Option<Duration>) -> std::io::Result<()>;
}

impl Stream for TcpStream {
    fn set_timeouts(&self, read: Option<Duration>, write: Option<Duration>) -> std::io::Result<()> {
        self.set_read_timeout(read)?;
        self.set_write_timeout(write)
    }
}

#[cfg(unix)]
impl Stream for std::os::unix::net::UnixStream {
    fn set_timeouts(&self, read: Option<Duration>, write: Option<Duration>) -> std::io::Result<()> {
        self.set_read_timeout(read)?;
        self.set_write_timeout(write)
    }
}

#[derive(Debug)]
struct StreamTransport<S> {
    stream: S,
    buffers: LazyBuffers,
}

impl<S: Stream> StreamTransport<S> {
    fn limit(&self, timeout: NextTimeout) -> Result<(), ureq::Error> {
        let limit = timeout.not_zero().map(|limit| *limit);
        Ok(self.stream.set_timeouts(limit, limit)?)
    }
}

/// A read or write that took too long ends with one of two errors, depending on the system.
fn late(error: std::io::Error, timeout: NextTimeout) -> ureq::Error {
    match error.kind() {
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => ureq::Error::Timeout(timeout.reason),
        _ => error.into(),
    }
}

impl<S: Stream> Transport for StreamTransport<S> {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.limit(timeout)?;
        let output = &self.buffers.output()[..amount];
        match self.stream.write_all(output) {
            // A server that refuses early answers and hangs up: its answer can still be read.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
            written => written.map_err(|error| late(error, timeout)),
        }
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        self.limit(timeout)?;
        let input = self.buffers.input_append_buf();
        let amount = loop {
            match self.stream.read(input) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                read => break read.map_err(|error| late(error, timeout))?,
            }
        };
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    /// Nothing is kept for a second request: commands send one or two.
    fn is_open(&mut self) -> bool {
        false
    }
}

/// A literal address needs no lookup; the default resolver starts a thread even for `127.0.0.1`.
#[derive(Debug, Default)]
struct Literally(DefaultResolver);

impl Resolver for Literally {
    fn resolve(
        &self,
        uri: &Uri,
        config: &ureq::config::Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let address = uri.authority().and_then(|authority| authority.as_str().parse().ok());
        let Some(address) = address else { return self.0.resolve(uri, config, timeout) };
        let mut addresses = self.empty();
        addresses.push(address);
        Ok(addresses)
    }
}

/// Asks the server who it is; `None` if there is none, or if it is not headspace.
pub fn health(url: &str, timeout: Duration) -> Option<Health> {
    ask_health(url, timeout).ok()?
}

/// The same, with the reason if no server could be asked, for example another user's program. `None`: a program that is not
/// headspace answered.
pub fn ask_health(url: &str, timeout: Duration) -> Result<Option<Health>, ureq::Error> {
    let mut request = server_agent(url, timeout, timeout).get(format!("{url}/health"));
    if let Some(token) = config::token_for(url).or_else(config::token) {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let text = request.call()?.body_mut().with_config().limit(64 * 1024).read_to_string();
    let health = text.ok().and_then(|text| serde_json::from_slice::<Health>(text.as_bytes()).ok());
    Ok(health.filter(|health| health.name == "headspace"))
}
