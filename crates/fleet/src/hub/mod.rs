//! `headspace hub serve`: stores in PostgreSQL what a team's machines send, and shows it to the team.
//!
//! A hub has no state of its own: any number of hubs share one database, each accepts any batch, and each may be killed
//! at any time. Machines compute their agents' states themselves; a hub stores documents and shows them. Top down:
//! [`serve`] binds and starts the parts, [`http::routes`] says who may call what, [`ingest`] stores batches, [`board`]
//! shows them, [`fanout`] informs other hubs.

pub mod board;
pub mod database;
mod fanout;
pub mod faults;
pub mod http;
pub mod ingest;
pub mod people;

use crate::tls;
use anyhow::{Context, Result, anyhow, bail};
use database::{Database, Lease, Settings};
use fanout::Fanout;
use headspace_platform::log;
use http::streams::Streams;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::Semaphore;

/// The port a hub listens on by default.
pub const DEFAULT_LISTEN: &str = "127.0.0.1:5056";
/// How often the database is pinged; more often while it is away.
const PING_DATABASE_EVERY: Duration = Duration::from_secs(1);
/// All connections may be busy when one of them should be pinged.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);

/// The options of a hub.
#[derive(Clone, Debug)]
pub struct HubOptions {
    pub database_url: String,
    pub password_file: Option<PathBuf>,
    pub listen: String,
    pub public_url: Option<String>,
    pub tls: Option<(PathBuf, PathBuf)>,
    /// `false`: hubs learn only from the poll what others committed.
    pub notify: bool,
}

/// What the routes share.
pub struct Hub {
    pub database: Database,
    /// Identifies this hub among those that notify each other.
    pub id: String,
    pub public_url: String,
    pub notify: bool,
    pub(crate) streams: Streams,
    pub(crate) fanout: Fanout,
    pub(crate) floods: http::log_route::Floods,
    pub(crate) large_batches: Arc<Semaphore>,
    pub(crate) posters: http::access::Posters,
    /// Why the hub cannot serve now, for anybody who asks; `None` while it can.
    trouble: RwLock<Option<String>>,
}

impl Hub {
    pub fn is_ready(&self) -> bool {
        self.trouble().is_none()
    }

    pub fn trouble(&self) -> Option<String> {
        self.trouble.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_trouble(&self, why: Option<String>) {
        *self.trouble.write().unwrap_or_else(PoisonError::into_inner) = why;
    }
}

pub fn serve(options: &HubOptions) -> Result<ExitCode> {
    let address = resolve(&options.listen)?;
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let proxied = options.public_url.as_deref().is_some_and(|url| url.starts_with("https://"));
    if !address.ip().is_loopback() && options.tls.is_none() && !proxied {
        bail!(
            "could not listen on {address} without TLS: give --tls-cert and --tls-key, or, behind a proxy that has them, \
             --public-url https://…"
        );
    }
    let tls = match &options.tls {
        Some((certificate, key)) => Some(tls::server(certificate, key)?),
        None => None,
    };
    let settings = Settings::new(&options.database_url, options.password_file.as_deref())?;
    let listener = TcpListener::bind(address).with_context(|| format!("could not listen on {address}"))?;
    listener.set_nonblocking(true)?;
    let bound = listener.local_addr()?;
    headspace_platform::net::socket::raise_descriptor_limit();
    let hub = Arc::new(Hub {
        database: Database::new(settings),
        id: format!("{:016x}", headspace_platform::process::random()),
        public_url: options.public_url.clone().unwrap_or_else(|| format!("{scheme}://{bound}")),
        notify: options.notify,
        streams: Streams::default(),
        fanout: Fanout::default(),
        floods: http::log_route::Floods::default(),
        large_batches: Arc::new(Semaphore::new(http::log_route::MAX_LARGE_AT_ONCE)),
        posters: http::access::Posters::default(),
        trouble: RwLock::new(Some("it has not been reached yet".into())),
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("could not start the hub")?;
    let explicit = options.public_url.is_some();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).context("could not listen")?;
        log::line(&format!("listening on {scheme}://{bound}"));
        tokio::spawn(keep_ready(Arc::clone(&hub), explicit));
        tokio::spawn(fanout::run(Arc::clone(&hub)));
        tokio::spawn(fanout::poll(Arc::clone(&hub)));
        tokio::spawn(database::upkeep::run(Arc::clone(&hub)));
        if hub.notify {
            tokio::spawn(fanout::listen(Arc::clone(&hub)));
        }
        http::connections::serve(listener, tls, Arc::clone(&hub)).await
    })?;
    runtime.shutdown_timeout(Duration::from_secs(1));
    Ok(ExitCode::SUCCESS)
}

fn resolve(listen: &str) -> Result<SocketAddr> {
    let found = listen
        .to_socket_addrs()
        .with_context(|| format!("could not read the address {listen}: it is like {DEFAULT_LISTEN}"))?;
    let found: Vec<SocketAddr> = found.collect();
    found
        .iter()
        .find(|address| address.is_ipv4())
        .or(found.first())
        .copied()
        .context("could not find the address to listen on")
}

/// Connects to the database, creates its tables, and notices when it goes away and comes back.
async fn keep_ready(hub: Arc<Hub>, explicit: bool) {
    let (mut said, mut served) = (None, false);
    loop {
        let tried = if hub.is_ready() { alive(&hub).await } else { prepare(&hub, explicit).await };
        match tried {
            Ok(()) => {
                if said.take().is_some() && served {
                    log::line("the database is there again");
                }
                if !std::mem::replace(&mut served, true) {
                    log::line(&format!("ready, with the {}", hub.database.settings.shown()));
                }
                hub.set_trouble(None);
            }
            Err(error) => {
                let why = format!("{error:#}");
                if said.as_ref() != Some(&why) {
                    log::line(&format!("waiting for the database: {why}"));
                }
                hub.set_trouble(Some(told_to_anybody(&error)));
                // A stream would claim that the board is live. Clients that come back read everything again.
                hub.streams.close(|_| true);
                said = Some(why);
            }
        }
        let pause = if hub.is_ready() { PING_DATABASE_EVERY } else { PING_DATABASE_EVERY / 2 };
        let rested = hub.database.until_rested().unwrap_or(pause).max(SHORTEST_PAUSE);
        tokio::time::sleep(pause.min(rested)).await;
    }
}

/// Without its database a hub cannot tell who asks. So where the database is, which is the context of an error, stays in
/// the log.
fn told_to_anybody(error: &anyhow::Error) -> String {
    match error.chain().len() {
        1 => error.to_string(),
        _ => "it cannot be reached; the hub's log says why".into(),
    }
}

/// Pings every connection that has rested, then the one that the next request would get, which decides.
async fn alive(hub: &Hub) -> Result<()> {
    while let Some(lease) = hub.database.rested() {
        // One that fails is closed: it was cut, which says nothing about the database.
        let _ = ping(lease).await;
    }
    ping(hub.database.lease().await?).await
}

async fn ping(mut lease: Lease) -> Result<()> {
    let asked = lease.query(
        "SELECT current_setting('transaction_read_only') = 'on', max(version), max(oldest_reader) FROM schema_version",
        &[],
    );
    let rows =
        tokio::time::timeout(Duration::from_secs(5), asked).await.context("it did not answer within 5 s")?;
    let rows = rows.map_err(|error| anyhow!("{}", database::said(&error)))?;
    let row = rows.first().context("it did not answer")?;
    database::refuse_read_only(row.get(0))?;
    // A newer hub may have changed the tables while this one ran.
    database::schema::refuse_newer(row.get(1), row.get(2))?;
    lease.give_back_pinged();
    Ok(())
}

async fn prepare(hub: &Hub, explicit: bool) -> Result<()> {
    let mut client = hub.database.settings.connect().await?;
    database::schema::migrate(&mut client).await?;
    database::upkeep::partitions(&client).await.map_err(|error| anyhow!("{}", database::said(&error)))?;
    let key = if explicit { "public_url" } else { "listen_url" };
    client
        .execute(
            "INSERT INTO settings (key, value) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = excluded.value, at = now()",
            &[&key, &hub.public_url],
        )
        .await?;
    Ok(())
}
