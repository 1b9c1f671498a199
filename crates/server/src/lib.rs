//! `headspace serve`: receives, stores and shows the events.
//!
//! [`http`] accepts connections, checks access and routes requests; [`ingest`] turns bytes into events; [`ledger`] is the
//! only way to the only writer of the database; [`reconcile`] notices what no hook reports; [`alerts`] notifies people;
//! [`answers`] holds the dialogs that wait for an answer; [`reply`] types prompts into terminals; [`other_machines`] holds
//! the agents of other machines.
//!
//! The server decides nothing about states: it stores events and shows what the engine in core made of them. It knows
//! nothing about the command line or the fleet. Begin with [`serve`], which starts the parts in order.

#![forbid(unsafe_code)]

pub mod alerts;
pub mod answers;
pub mod app_state;
pub mod blocking_pool;
pub mod http;
pub mod ingest;
pub mod ledger;
pub mod other_machines;
pub mod reconcile;
pub mod reply;

use crate::answers::buttons::ButtonMaker;
use crate::app_state::AppState;
use crate::http::auth::{credentials, policy};
use crate::http::own_socket::SocketThread;
use crate::http::{accept, routes, time_updates};
use crate::ingest::{hook_latency, hook_reply, spool_drain};
use crate::ledger::Ledger;
use crate::ledger::writer::{self, SharedWriter};
use crate::other_machines::OtherMachines;
use crate::reconcile::host;
use anyhow::{Context, Result, bail};
use headspace_core::stamp::Stamp;
use headspace_page::connection::Signals;
use headspace_platform::clock::WallClock;
use headspace_platform::config::{self, Config, Durability};
use headspace_platform::net::{http_client, local};
use headspace_platform::{files, log};
use headspace_store as store;
use headspace_store::read_only::is_no_room;
use headspace_store::replay::rebuild;
use headspace_store::retention::schedule;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Where to listen and where to store; what is not chosen comes from the configuration.
#[derive(Clone, Debug, Default)]
pub struct ServeOptions {
    pub host: Option<String>,
    pub port: Option<u16>,
    pub database: Option<PathBuf>,
}

/// What a companion of the server gets to work with (see [`serve`]).
#[derive(Clone)]
pub struct ServerParts {
    /// Where the companion puts agents of other machines.
    pub other_machines: Arc<OtherMachines>,
    pub ledger: Ledger,
    pub database: PathBuf,
}

/// Serves until a signal. `beside` starts what runs beside the server in this process without being part of it (links to
/// other machines and to the hub); what it returns is dropped when the server has stopped.
pub fn serve<B>(options: &ServeOptions, beside: impl FnOnce(&ServerParts) -> Result<B>) -> Result<ExitCode> {
    let mut config = Config::load()?;
    let listener = listen_as_asked(options, &config)?;
    let bound = listener.local_addr().context("could not listen")?;
    // From here on the configuration says where the server is, so that its links lead there.
    config.host = options.host.clone().unwrap_or(config.host);
    config.port = bound.port();
    let path = options.database.clone().unwrap_or_else(config::database);
    let lock = lock_store(&path)?;
    let keys = credentials::KeyRing::open(&config::token_file())?;
    headspace_platform::machine::ensure_id();
    let opened = open_store(&path)?;
    headspace_platform::net::socket::raise_descriptor_limit();
    quiet_panics();

    let tails = store::read::queries::tails(&opened.db)?;
    let ledger = Ledger::new(&config);
    let (writer, writing) = start_writer(opened, lock, &path, &ledger, &config)?;
    let answers = Arc::new(crate::answers::Answers::new(&config));
    let buttons = ButtonMaker::new(Arc::clone(&answers), ledger.clone());
    spawn_alerts(&config, &ledger, buttons)?;
    let reconciler = host::start(&config, &ledger, tails).context("could not start the reconciler")?;
    let other_machines = Arc::new(OtherMachines::new(ledger.clone()));
    let parts = ServerParts {
        other_machines: Arc::clone(&other_machines),
        ledger: ledger.clone(),
        database: path.clone(),
    };
    let app = Arc::new(AppState {
        other_machines,
        names: policy::Names::new(&config.names, bound).reached_at(config.dashboard_url.as_deref()),
        hook_latency: hook_latency::HookLatency::new(),
        hook_replies: hook_reply::HookReplies::new(&config),
        reconciler,
        transcript_looks: Default::default(),
        replies: Arc::default(),
        readers: app_state::Readers::new(path),
        connections: Arc::default(),
        started_at: Stamp::now(),
        stopping: AtomicBool::new(false),
        answers,
        config,
        ledger: ledger.clone(),
        keys,
    });
    start_threads(&app)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("could not start the server")?;
    let companions = beside(&parts)?;
    // With durability "power" every answer waits for the disk, so events are better committed together.
    let direct = (app.config.durability == Durability::Crash).then_some(writer);
    let served = runtime.block_on(run(listener, app, direct));
    drop(companions);
    // Requests that still wait for the store are answered before it closes.
    ledger.queue.close();
    runtime.shutdown_timeout(Duration::from_secs(1));
    let _ = writing.join();
    served?;
    Ok(ExitCode::SUCCESS)
}

/// Starts the threads that work beside the server's runtime.
fn start_threads(app: &Arc<AppState>) -> Result<()> {
    let draining = Arc::downgrade(app);
    spawn("drain", move || spool_drain::run(&draining))
        .context("could not start the thread that drains the spool")?;
    let replying = Arc::downgrade(app);
    spawn("replies", move || reply::run(&replying))
        .context("could not start the thread that sends replies")?;
    blocking_pool::start().context("could not start a thread for slow work")
}

/// Listens where the options and the configuration say. An address other than loopback needs a token first.
fn listen_as_asked(options: &ServeOptions, config: &Config) -> Result<TcpListener> {
    let host = options.host.as_deref().unwrap_or(&config.host);
    let address = resolve(host, options.port.unwrap_or(config.port))?;
    match files::private_dir(&config::state_dir()) {
        // It is made when there is room.
        Err(error) if files::is_no_room(&error) => {}
        other => other?,
    }
    if !address.ip().is_loopback() && config::token().is_none() {
        bail!(
            "could not listen on {host}: the whole network could connect, and there is no token yet; \
             start once on 127.0.0.1 to create one, or write one to {}",
            config::token_file().display()
        );
    }
    listen(address)
}

/// Keeps a second server out of the database. On a disk that cannot be written, no lock is needed.
fn lock_store(path: &Path) -> Result<Option<store::lock::Lock>> {
    match store::lock::take(path) {
        Ok(lock) => Ok(Some(lock)),
        // Without a database, only what may pass by itself is worth waiting for. A missing permission is not.
        Err(error) if files::is_no_room(&error) || (path.exists() && is_no_room(&error)) => Ok(None),
        Err(error) => Err(error).context("could not start"),
    }
}

/// The database, and whether it can be written.
struct OpenedStore {
    db: rusqlite::Connection,
    is_writable: bool,
}

/// Opens the database. On a full or read-only disk it is opened for reading: the board still shows what is stored, and
/// hooks keep their events in the spool. If there is no database yet, the board is empty.
fn open_store(path: &Path) -> Result<OpenedStore> {
    let error = match open_or_restore(path) {
        Ok(db) => {
            if let Err(error) = store::preallocate_wal(&db, path) {
                log::line(&format!("could not make room for events: {error:#}"));
            }
            return Ok(OpenedStore { db, is_writable: true });
        }
        Err(error) if is_no_room(&error) => error,
        Err(error) => return Err(error),
    };
    let (db, shown) = match store::read_only::open_alone(path) {
        Ok(db) => (db, "showing what is there".to_owned()),
        Err(why) if path.exists() => (store::read_only::open_empty()?, format!("showing nothing ({why:#})")),
        Err(_) => (store::read_only::open_empty()?, "there is no database yet".to_owned()),
    };
    log::line(&format!(
        "nothing can be stored, because the disk is full or read-only ({error:#}): {shown}, and storing again as soon as \
         there is room"
    ));
    Ok(OpenedStore { db, is_writable: false })
}

/// Starts the one thread that writes the database.
fn start_writer(
    opened: OpenedStore,
    lock: Option<store::lock::Lock>,
    path: &Path,
    ledger: &Ledger,
    config: &Config,
) -> Result<(SharedWriter, JoinHandle<()>)> {
    let writer = writer::Writer::new(
        (opened.db, lock),
        path.to_owned(),
        ledger.clone(),
        schedule::RetentionSchedule::new(config.retention.clone()),
        config.durability,
    )?;
    let writer = if opened.is_writable { writer.writing()? } else { writer.reading_only()? };
    let writer: SharedWriter = Arc::new(Mutex::new(writer));
    let own = Arc::clone(&writer);
    let writing = spawn("writer", move || writer::run(&own)).context("could not start the writer")?;
    Ok((writer, writing))
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name(name.into()).spawn(work)
}

/// Opens the database. A damaged one is moved aside, and if all of its events can be read, it is rebuilt from them at
/// once.
fn open_or_restore(path: &Path) -> Result<rusqlite::Connection> {
    let (db, damaged) = store::open_or_start_afresh(path)?;
    let Some(aside) = damaged else { return Ok(db) };
    drop(db);
    let shown = aside.display();
    match rebuild::by_itself(path, &aside) {
        Ok(Some(events)) => log::line(&format!(
            "the database was damaged, but all of its {events} events could be read: everything was recomputed from them; \
             the damaged file is kept as {shown}"
        )),
        other => {
            if let Err(error) = other {
                log::line(&format!("could not rebuild the database: {error:#}"));
            }
            log::line(&format!(
                "the database was damaged: it is kept as {shown}, and a new one was started; \
                 `headspace rebuild --from {shown}` restores what can be read"
            ));
        }
    }
    store::open(path)
}

/// Desktop and webhook notifications, in a thread of their own.
fn spawn_alerts(config: &Config, ledger: &Ledger, buttons: ButtonMaker) -> Result<()> {
    let changes = ledger.watch();
    let existing = ledger.snapshot().agents(0);
    let (config, ledger) = (config.clone(), ledger.clone());
    let alert = move || {
        let now = Stamp::now();
        let existing = existing.iter().map(|agent| Arc::new(ledger.view(agent, now))).collect();
        crate::alerts::run(&config, buttons, existing, &changes);
    };
    spawn("alerts", alert).context("could not start the alerts")?;
    Ok(())
}

/// Serves until a signal, then finishes the requests in flight.
async fn run(listener: TcpListener, app: Arc<AppState>, direct: Option<SharedWriter>) -> Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener).context("could not listen")?;
    let (stop, stopping) = tokio::sync::watch::channel(false);
    let leaving = Arc::clone(&app);
    let mut signals = Signals::new()?;
    let socket = SocketThread::start(Arc::clone(&app), direct).context("could not start")?;
    // Logged only now that it is true, and that a signal stops the server in order.
    log::line(&format!("listening on http://{}", listener.local_addr()?));
    tokio::spawn(async move {
        signals.wait().await;
        log::line("stopping");
        leaving.stopping.store(true, Ordering::Relaxed);
        leaving.ledger.hub().close();
        leaving.answers.with_waiters(|waiters| waiters.dismiss_all());
        let _ = stop.send(true);
    });
    tokio::spawn(time_updates::run(Arc::clone(&app)));
    tokio::spawn(app.ledger.clone().pass_answers_on());
    tokio::spawn(Arc::clone(&app).follow_answers());
    let connections = Arc::clone(&app.connections);
    accept::serve(listener, socket, routes::routes(app), connections, stopping).await;
    Ok(())
}

fn resolve(host: &str, port: u16) -> Result<SocketAddr> {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let addresses: Vec<SocketAddr> = (bare, port)
        .to_socket_addrs()
        .with_context(|| format!("could not find the address {host}"))?
        .collect();
    let v4 = addresses.iter().find(|address| address.is_ipv4());
    v4.or(addresses.first()).copied().with_context(|| format!("could not find the address {host}"))
}

/// Binds the address, or says which program has it.
fn listen(address: SocketAddr) -> Result<TcpListener> {
    // On Unix, std sets `SO_REUSEADDR`, so a restart need not wait until old connections have timed out.
    let listener = match TcpListener::bind(address) {
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            bail!("could not listen on {address}: {}", describe_port_owner(address))
        }
        other => other.with_context(|| format!("could not listen on {address}"))?,
    };
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn describe_port_owner(address: SocketAddr) -> String {
    // Only a start that has failed waits for it.
    match http_client::health(&format!("http://{address}"), Duration::from_secs(2)) {
        Some(health) => {
            let version = headspace_core::text::one_line(&health.version, 40);
            format!("headspace {version} is running there already (pid {})", health.pid)
        }
        None => match local::stranger_at(&format!("http://{address}")) {
            Some(stranger) => format!("{stranger}; {}", config::other_port()),
            None => format!("another program is there already; {}", config::other_port()),
        },
    }
}

/// Logs a panic by its place alone: the message may contain a user's text.
fn quiet_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place =
            panic.location().map_or_else(String::new, |at| format!(" at {}:{}", at.file(), at.line()));
        log::line(&format!("a bug in headspace{place}; the event is kept"));
    }));
}
