//! PostgreSQL: how to reach it, and the few connections a hub holds.

pub mod schema;
pub(super) mod upkeep;

use crate::tls;
use anyhow::{Context, Result, anyhow, bail, ensure};
use headspace_platform::log;
use rustls::pki_types::ServerName;
use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskContext, Poll};
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Config, Connection, Statement};

/// The oldest PostgreSQL that has what the schema uses.
const OLDEST: i32 = 140_000;
const CONNECT_WITHIN: Duration = Duration::from_secs(3);
/// Connections for batches and queries; one more listens, and one more sends notices.
const MAX_WORKING_CONNECTIONS: usize = 6;
/// A connection that rests this long is pinged once. PostgreSQL counts what a connection did only when it does something a
/// second later, or has been idle for ten: without the ping, autovacuum and whoever reads the statistics learn of a burst
/// of batches ten seconds late. And a connection that a proxy cut is found before a batch needs it.
const PING_AFTER_REST: Duration = Duration::from_millis(1_000);

/// Where the database is, and how to reach it.
#[derive(Clone)]
pub struct Settings {
    config: Config,
    encryption: Encryption,
}

#[derive(Clone)]
enum Encryption {
    /// A socket on this machine, its loopback, or by the user's choice.
    None,
    Verified(Arc<rustls::ClientConfig>),
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown())
    }
}

impl Settings {
    /// `postgres://user@host/name`, with libpq's `sslmode` and `sslrootcert`. `password_file` holds only the password.
    pub fn new(url: &str, password_file: Option<&std::path::Path>) -> Result<Settings> {
        let (url, parameters) = without_tls_parameters(url);
        // The error could quote the address, with the password in it.
        let mut config: Config = url.parse().map_err(|_| {
            anyhow!("could not read the database's address: it is like postgres://user@host/name")
        })?;
        if let Some(path) = password_file {
            let text = headspace_platform::files::read_text(path)
                .with_context(|| format!("could not read {}", path.display()))?;
            config.password(text.trim_end_matches(['\r', '\n']));
        }
        config.application_name("headspace hub");
        config.connect_timeout(CONNECT_WITHIN);
        config.keepalives_idle(Duration::from_secs(30));
        let local = config.get_hosts().iter().all(is_local);
        let mode = parameters.get("sslmode").map(String::as_str);
        let encryption = match mode {
            None | Some("prefer" | "allow") if local => Encryption::None,
            Some("disable") => Encryption::None,
            None | Some("prefer" | "allow" | "require" | "verify-ca" | "verify-full") => {
                let roots = parameters.get("sslrootcert").map(PathBuf::from);
                Encryption::Verified(tls::client(roots.as_deref())?)
            }
            Some(other) => bail!("could not understand sslmode={other}: it is verify-full or disable"),
        };
        config.ssl_mode(match encryption {
            Encryption::None => SslMode::Disable,
            Encryption::Verified(_) => SslMode::Require,
        });
        if mode == Some("disable") && !local {
            log::line("the connection to PostgreSQL is not encrypted (sslmode=disable)");
        }
        Ok(Settings { config, encryption })
    }

    /// For messages: never includes the password.
    pub fn shown(&self) -> String {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(host)) => host.clone(),
            #[cfg(unix)]
            Some(Host::Unix(path)) => path.display().to_string(),
            None => "this machine".into(),
        };
        let name = self.config.get_dbname().or(self.config.get_user()).unwrap_or("postgres");
        format!("database {name} on {host}")
    }

    /// One checked connection: old or read-only databases are refused with the reason.
    pub async fn connect(&self) -> Result<Client> {
        let (client, mut connection) = self.raw().await?;
        tokio::spawn(async move {
            let _ = std::future::poll_fn(|cx| connection.poll(cx)).await;
        });
        check(&client).await?;
        Ok(client)
    }

    /// The connection and its driver, which also receives notices from other hubs.
    pub async fn raw(&self) -> Result<(Client, Driver)> {
        let tls = Tls(match &self.encryption {
            Encryption::None => None,
            Encryption::Verified(config) => Some(Arc::clone(config)),
        });
        let connected = tokio::time::timeout(CONNECT_WITHIN, self.config.connect(tls)).await;
        let connected =
            connected.map_err(|_| anyhow!("it did not answer within {} s", CONNECT_WITHIN.as_secs()));
        let (client, connection) = connected
            .and_then(|connected| connected.map_err(|error| anyhow!("{}", said(&error))))
            .with_context(|| format!("could not reach the {}", self.shown()))?;
        Ok((client, Driver(connection)))
    }
}

/// The text of a database error, without values.
pub fn said(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(database) => format!("PostgreSQL: {}", database.message()),
        None => {
            let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
            if cause == "password missing" {
                return "it asks for a password: write it to a file and give --database-password-file FILE"
                    .into();
            }
            format!("{error}{}{cause}", if cause.is_empty() { "" } else { ": " })
        }
    }
}

/// A standby, or a server whose disk is full, accepts no writes.
pub fn refuse_read_only(read_only: bool) -> Result<()> {
    ensure!(!read_only, "the database is read-only: is it a standby? The hub needs the primary");
    Ok(())
}

async fn check(client: &Client) -> Result<()> {
    let row = client
        .query_one(
            "SELECT current_setting('server_version_num')::int, current_setting('transaction_read_only') = 'on'",
            &[],
        )
        .await?;
    let (version, read_only): (i32, bool) = (row.get(0), row.get(1));
    ensure!(
        version >= OLDEST,
        "PostgreSQL {} is too old: the hub needs {} or newer",
        version / 10_000,
        OLDEST / 10_000
    );
    refuse_read_only(read_only)?;
    client
        .batch_execute(
            "SET statement_timeout = '15s'; SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '20s';
             SET TIME ZONE 'UTC'",
        )
        .await?;
    Ok(())
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name.eq_ignore_ascii_case("localhost")
                || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// `sslmode` and `sslrootcert` are handled here; the driver knows only some of their values.
fn without_tls_parameters(url: &str) -> (String, HashMap<String, String>) {
    let mut found = HashMap::new();
    let Some((base, query)) = url.split_once('?') else { return (url.to_owned(), found) };
    let mut kept = Vec::new();
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some((name @ ("sslmode" | "sslrootcert"), value)) => {
                found.insert(name.to_owned(), value.replace("%2F", "/").replace("%2f", "/"));
            }
            _ => kept.push(pair),
        }
    }
    let url = if kept.is_empty() { base.to_owned() } else { format!("{base}?{}", kept.join("&")) };
    (url, found)
}

/// Moves a connection's bytes.
pub struct Driver(Connection<tokio_postgres::Socket, Protected<tokio_postgres::Socket>>);

impl Driver {
    /// Ends when the connection does.
    fn poll(&mut self, cx: &mut TaskContext<'_>) -> Poll<()> {
        loop {
            match self.0.poll_message(cx) {
                Poll::Ready(Some(Ok(_))) => {}
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// The next notice from another hub; `None` when the connection has ended.
    pub async fn notice(&mut self) -> Option<String> {
        loop {
            match std::future::poll_fn(|cx| self.0.poll_message(cx)).await {
                Some(Ok(tokio_postgres::AsyncMessage::Notification(notice))) => {
                    return Some(notice.payload().to_owned());
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return None,
            }
        }
    }
}

#[derive(Clone)]
struct Tls(Option<Arc<rustls::ClientConfig>>);

impl MakeTlsConnect<tokio_postgres::Socket> for Tls {
    type Stream = Protected<tokio_postgres::Socket>;
    type TlsConnect = TlsTo;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<TlsTo> {
        // A Unix socket has no name, and does not use TLS.
        let name = self.0.as_ref().map(|_| ServerName::try_from(domain.to_owned()));
        let name = name.transpose().map_err(io::Error::other)?;
        Ok(TlsTo { config: self.0.clone(), name })
    }
}

struct TlsTo {
    config: Option<Arc<rustls::ClientConfig>>,
    name: Option<ServerName<'static>>,
}

impl TlsConnect<tokio_postgres::Socket> for TlsTo {
    type Stream = Protected<tokio_postgres::Socket>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Self::Stream>> + Send>>;

    fn connect(self, stream: tokio_postgres::Socket) -> Self::Future {
        Box::pin(async move {
            let (Some(config), Some(name)) = (self.config, self.name) else {
                return Err(io::Error::other("TLS was not asked for"));
            };
            let stream = tokio_rustls::TlsConnector::from(config).connect(name, stream).await?;
            Ok(Protected(Box::new(stream)))
        })
    }
}

/// A connection protected by TLS.
pub struct Protected<S>(Box<tokio_rustls::client::TlsStream<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Protected<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(cx, buffer)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Protected<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut TaskContext<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(cx)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Protected<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

/// The connections of a hub.
#[derive(Clone)]
pub struct Database {
    pub settings: Settings,
    idle: Arc<Mutex<Vec<Session>>>,
    permits: Arc<Semaphore>,
}

/// A connection, and the statements it has prepared.
pub struct Session {
    pub client: Client,
    prepared: HashMap<&'static str, Statement>,
    /// When it was last given back, unless it was pinged since.
    resting_since: Option<Instant>,
}

impl Session {
    pub fn new(client: Client) -> Session {
        Session { client, prepared: HashMap::new(), resting_since: None }
    }

    pub async fn prepared(&mut self, sql: &'static str) -> Result<Statement, tokio_postgres::Error> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql).await?;
        self.prepared.insert(sql, statement.clone());
        Ok(statement)
    }

    pub async fn query(
        &mut self,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<tokio_postgres::Row>, tokio_postgres::Error> {
        let statement = self.prepared(sql).await?;
        self.client.query(&statement, values).await
    }

    pub async fn execute(
        &mut self,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, tokio_postgres::Error> {
        let statement = self.prepared(sql).await?;
        self.client.execute(&statement, values).await
    }
}

/// The values of a statement.
pub type Values<'a> = Vec<&'a (dyn ToSql + Sync)>;
/// A statement that returns nothing, with its values.
pub type Step<'a> = (&'static str, Values<'a>);

impl Session {
    /// Runs all steps in this order, and then `last`, in one round trip to the database.
    pub async fn together(
        &mut self,
        steps: Vec<Step<'_>>,
        last: Option<&str>,
    ) -> Result<(), tokio_postgres::Error> {
        let mut prepared = Vec::with_capacity(steps.len());
        for (sql, values) in steps {
            prepared.push((self.prepared(sql).await?, values));
        }
        let client = &self.client;
        let mut running: Vec<Running> = Vec::with_capacity(prepared.len() + 1);
        for (statement, values) in &prepared {
            running.push(Box::pin(async move { client.execute(statement, values).await.map(|_| ()) }));
        }
        if let Some(last) = last {
            running.push(Box::pin(client.batch_execute(last)));
        }
        // Each is sent when it is first polled: all of them before the first answer arrives.
        std::future::poll_fn(|cx| {
            let mut failed = None;
            running.retain_mut(|step| match step.as_mut().poll(cx) {
                Poll::Pending => true,
                Poll::Ready(Ok(())) => false,
                Poll::Ready(Err(error)) => {
                    failed.get_or_insert(error);
                    false
                }
            });
            match failed {
                Some(error) => Poll::Ready(Err(error)),
                None if running.is_empty() => Poll::Ready(Ok(())),
                None => Poll::Pending,
            }
        })
        .await
    }
}

type Running<'a> = Pin<Box<dyn Future<Output = Result<(), tokio_postgres::Error>> + Send + 'a>>;

/// A connection on loan. If it is not given back (an error, a dropped request), it is closed, and its open transaction
/// with it.
pub struct Lease {
    session: Option<Session>,
    idle: Arc<Mutex<Vec<Session>>>,
    _permit: OwnedSemaphorePermit,
}

impl Lease {
    /// The connection may be reused.
    pub fn give_back(mut self) {
        self.resting_since = Some(Instant::now());
        self.give_back_pinged();
    }

    /// As [`Lease::give_back`], but a ping is not a use: the connection goes on resting.
    pub fn give_back_pinged(mut self) {
        if let Some(session) = self.session.take().filter(|session| !session.client.is_closed()) {
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(session);
        }
    }
}

impl Deref for Lease {
    type Target = Session;

    fn deref(&self) -> &Session {
        self.session.as_ref().expect("a lease has its session until it is given back")
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Session {
        self.session.as_mut().expect("a lease has its session until it is given back")
    }
}

impl Database {
    pub fn new(settings: Settings) -> Database {
        Database {
            settings,
            idle: Arc::default(),
            permits: Arc::new(Semaphore::new(MAX_WORKING_CONNECTIONS)),
        }
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Session>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub async fn lease(&self) -> Result<Lease> {
        let permit = tokio::time::timeout(Duration::from_secs(10), Arc::clone(&self.permits).acquire_owned());
        let permit = permit.await.context("every connection to the database is busy")??;
        let kept = std::iter::from_fn(|| self.idle().pop()).find(|session| !session.client.is_closed());
        let session = match kept {
            Some(session) => session,
            None => Session::new(self.settings.connect().await?),
        };
        Ok(Lease { session: Some(session), idle: Arc::clone(&self.idle), _permit: permit })
    }

    /// A connection that has rested long enough for a ping; `None`: there is none, or all are busy.
    pub fn rested(&self) -> Option<Lease> {
        let permit = Arc::clone(&self.permits).try_acquire_owned().ok()?;
        let mut idle = self.idle();
        let due = |since: Instant| since.elapsed() >= PING_AFTER_REST;
        let at = idle.iter().position(|session| session.resting_since.is_some_and(due))?;
        let session = Session { resting_since: None, ..idle.remove(at) };
        Some(Lease { session: Some(session), idle: Arc::clone(&self.idle), _permit: permit })
    }

    /// How long until the next connection has rested.
    pub fn until_rested(&self) -> Option<Duration> {
        let since = self.idle().iter().filter_map(|session| session.resting_since).min()?;
        Some(PING_AFTER_REST.saturating_sub(since.elapsed()))
    }

    /// Runs a query on a connection that is given back if the query succeeds.
    pub async fn rows(
        &self,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<tokio_postgres::Row>> {
        let mut lease = self.lease().await?;
        let rows = lease.query(sql, values).await.map_err(|error| anyhow!("{}", said(&error)))?;
        lease.give_back();
        Ok(rows)
    }

    pub async fn run(&self, sql: &'static str, values: &[&(dyn ToSql + Sync)]) -> Result<u64> {
        let mut lease = self.lease().await?;
        let rows = lease.execute(sql, values).await.map_err(|error| anyhow!("{}", said(&error)))?;
        lease.give_back();
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_that_wants_a_password_says_how_to_give_it() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("postgres://hub@{}/hub", listener.local_addr().unwrap());
        let database = std::thread::spawn(move || {
            use std::io::{Read, Write};
            let (mut stream, _) = listener.accept().unwrap();
            let mut start = [0; 4096];
            assert!(stream.read(&mut start).unwrap() > 0);
            // PostgreSQL's request for a cleartext password.
            stream.write_all(&[b'R', 0, 0, 0, 8, 0, 0, 0, 3]).unwrap();
            let _ = stream.read(&mut start);
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let settings = Settings::new(&url, None).unwrap();
        let why = runtime.block_on(settings.connect()).map(|_| ()).unwrap_err();
        database.join().unwrap();
        assert!(format!("{why:#}").contains("give --database-password-file FILE"), "{why:#}");
    }

    #[test]
    fn the_password_is_never_shown_and_tls_is_decided_by_where_the_database_is() {
        let shown = Settings::new("postgres://me:hunter2@127.0.0.1:5432/hub", None).unwrap();
        assert_eq!(format!("{shown:?}"), "database hub on 127.0.0.1");
        assert!(matches!(shown.encryption, Encryption::None));
        let plain = Settings::new("postgres://me@db.example/hub?sslmode=disable", None).unwrap();
        assert!(matches!(plain.encryption, Encryption::None));
        let why = format!("{:#}", Settings::new("postgres://me:hunter2@[x/hub", None).unwrap_err());
        assert!(!why.contains("hunter2"), "{why}");
        assert!(Settings::new("postgres://me@db.example/hub?sslmode=perhaps", None).is_err());
        let (url, found) =
            without_tls_parameters("postgres://h/d?a=1&sslmode=verify-full&sslrootcert=%2Fca.pem&b=2");
        assert_eq!((url.as_str(), found.len()), ("postgres://h/d?a=1&b=2", 2));
        assert_eq!(found["sslrootcert"], "/ca.pem");
    }
}
