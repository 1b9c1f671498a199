//! `headspace up` and `headspace down`: install and start the server in the background, and stop it.

use crate::commands::install;
use crate::commands::server::service;
use crate::view::columns::{hanging, terminal_columns};
use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;
use headspace_core::model::Process;
use headspace_core::text::strip_control;
use headspace_core::wire::Health;
use headspace_hooks::client_settings::locate;
use headspace_platform::config;
use headspace_platform::config::Config;
use headspace_platform::control;
use headspace_platform::files;
use headspace_platform::net::address::Url;
use headspace_platform::net::http_client::health;
use headspace_platform::net::peer_uid::own_uid;
use headspace_platform::process::{lives, start_time};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Install the hooks, start the server, print the dashboard's address
///
/// Does only what is not done yet, so it is safe to run again. A binary in a build directory first copies itself to
/// ~/.local/bin.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  headspace up\n  headspace down")]
pub struct UpArgs {
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Stop the server that is running in the background
///
/// The server finishes its work first. Later events are spooled until the server runs again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  headspace down")]
pub struct DownArgs {}

/// Columns of a label and the blanks after it.
const LABEL: usize = 13;

/// How long a server may take to answer after its start.
pub const SERVER_STARTS_WITHIN: Duration = Duration::from_secs(15);
/// How long a server may take to end after it was asked to.
const SERVER_STOPS_WITHIN: Duration = Duration::from_secs(15);

/// A log larger than this is renamed when the server starts.
const MAX_LOG_BYTES: u64 = 4 << 20;

/// A server that is silent for so long does not run. A busy machine may be slow, and where nobody listens nobody waits.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);

pub fn up(args: &UpArgs) -> Result<ExitCode> {
    let config = Config::load()?;
    let own = PathBuf::from(locate::program()?);
    let program = if locate::in_build_dir(&own) { copy_to_local_bin(&own)? } else { own.clone() };
    let installed = install::ensure(&program, &[])?;
    let url = config.server_url();
    let (server, started) = match health(&url, ANSWERS_WITHIN) {
        Some(server) => (server, false),
        None => (start(&program, &config, &url)?, true),
    };
    let url = config::shown_url(&url, server.url.as_deref());
    if args.json {
        let settled = (program != own).then_some(&program);
        let said = serde_json::json!({
            "url": url, "pid": server.pid, "version": server.version, "started": started,
            "installed": installed, "program": program, "copied_to": settled, "log": log_file(),
        });
        println!("{said:#}");
        return Ok(ExitCode::SUCCESS);
    }
    if program != own {
        println!("program      {} (a build directory does not last)", install::short(&program));
    }
    let hooks = installed.as_deref().unwrap_or("installed");
    println!("hooks        {}", hanging(hooks, LABEL, LABEL, terminal_columns()));
    let state = if started { "started" } else { "already running" };
    println!("server       {state}, version {}, pid {}", strip_control(&server.version), server.pid);
    println!("log          {}", install::short(&log_file()));
    println!("\nDashboard:   {}/", strip_control(&url));
    println!("To stop:     headspace down");
    if server.version != env!("CARGO_PKG_VERSION") {
        eprintln!(
            "headspace: note: the server is version {}, this is {}: headspace down && headspace up",
            strip_control(&server.version),
            env!("CARGO_PKG_VERSION")
        );
    }
    Ok(ExitCode::SUCCESS)
}

pub fn down(_args: &DownArgs) -> Result<ExitCode> {
    let url = Config::load()?.server_url();
    match stop(&url)? {
        Some(pid) => println!("server stopped (pid {pid}); events are spooled until it runs again"),
        None => println!("no server is running at {}", strip_control(&url)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Stops the server at `url`, if it runs and is provably a headspace server of this user; returns its pid.
pub fn stop(url: &str) -> Result<Option<u32>> {
    let address = Url::parse(url).map_err(|why| anyhow::anyhow!("{why}: {url}"))?;
    let Some(server) = health(url, ANSWERS_WITHIN) else { return Ok(None) };
    ensure!(address.is_local(), "could not stop the server at {url}: it is not on this machine");
    ensure!(
        is_our_server(server.pid),
        "could not stop the server at {url}: process {} is not a headspace server of yours",
        server.pid
    );
    let start = start_time(server.pid);
    control::terminate(server.pid).with_context(|| {
        format!("could not stop the server: process {} does not take a signal", server.pid)
    })?;
    let deadline = Instant::now() + SERVER_STOPS_WITHIN;
    let alive = || match start {
        Some(start) => lives(Process { pid: server.pid, start }),
        None => is_our_server(server.pid),
    };
    while alive() {
        ensure!(
            Instant::now() < deadline,
            "could not stop the server: process {} is still there after {} s",
            server.pid,
            SERVER_STOPS_WITHIN.as_secs()
        );
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(Some(server.pid))
}

/// Stops the server at `old_url` and starts it with the configuration as it is now; `between` is done while none runs. A
/// server that does not run stays down, and one that a service manager runs is restarted by it.
pub fn restart(old_url: &str, between: impl FnOnce()) -> Result<()> {
    if service::is_active() {
        between();
        return service::restart();
    }
    let running = stop(old_url)?;
    between();
    if running.is_none() {
        return Ok(());
    }
    let config = Config::load()?;
    start(&PathBuf::from(locate::program()?), &config, &config.server_url()).map(drop)
}

/// The log of a server that runs in the background.
pub fn log_file() -> PathBuf {
    config::state_dir().join("serve.log")
}

/// The arguments that make `serve` listen where the hooks expect it.
pub fn serve_args(config: &Config, url: &str) -> Result<Vec<String>> {
    let mut args = vec!["serve".to_owned()];
    if config::env(config::var::URL).is_some() || config.url.is_some() {
        let place = Url::parse(url).map_err(|why| anyhow::anyhow!("{why}: {url}"))?;
        ensure!(
            place.is_local(),
            "could not start the server: it is expected at {url}, which is not this machine"
        );
        args.extend(["--host".into(), place.host.to_owned(), "--port".into(), place.port.to_string()]);
    }
    Ok(args)
}

/// Copies the program to `~/.local/bin`, unless the same bytes are there already.
fn copy_to_local_bin(program: &Path) -> Result<PathBuf> {
    let dir = config::home().join(".local").join("bin");
    let place = dir.join(program.file_name().unwrap_or_default());
    let bytes = fs::read(program).context("could not read this program")?;
    if files::read_up_to(&place, bytes.len() as u64).ok().as_deref() != Some(&bytes[..]) {
        fs::create_dir_all(&dir)?;
        files::replace_executable(&place, &bytes)
            .with_context(|| format!("could not copy this program to {}", place.display()))?;
    }
    Ok(place)
}

/// Starts `serve` detached from this terminal, and waits until it answers.
fn start(program: &Path, config: &Config, url: &str) -> Result<Health> {
    let args = serve_args(config, url)?;
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
    match open_log() {
        Ok(log) => drop(command.stdout(log.try_clone()?).stderr(log)),
        // The server itself says on the board that the disk is full.
        Err(error) if files::is_no_room(&error) => {}
        Err(error) => return Err(error),
    }
    for name in SESSION_VARIABLES {
        command.env_remove(name);
    }
    control::detach(&mut command);
    let mut child = command.spawn().context("could not start the server")?;
    let deadline = Instant::now() + SERVER_STARTS_WITHIN;
    loop {
        if let Some(server) = health(url, Duration::from_secs(1)) {
            return Ok(server);
        }
        if let Some(status) = child.try_wait()? {
            bail!("could not start the server: {}", last_words(&mut child, &status.to_string()));
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            bail!(
                "could not start the server: no answer at {url} within {} s",
                SERVER_STARTS_WITHIN.as_secs()
            );
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Variables of the Claude session that may have called `up`; one of them is a secret.
const SESSION_VARIABLES: [&str; 7] = [
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_MESSAGING_SOCKET",
    "CLAUDE_CODE_MESSAGING_TOKEN",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_PID",
];

fn open_log() -> Result<std::fs::File> {
    let path = log_file();
    files::private_dir(&config::state_dir())?;
    if fs::metadata(&path).is_ok_and(|meta| meta.len() > MAX_LOG_BYTES) {
        fs::rename(&path, path.with_extension("log.old"))?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    files::open_regular(&path, &mut options)
        .with_context(|| format!("could not open the log {}", path.display()))
}

/// The last line of the server's log: why it ended.
fn last_words(child: &mut Child, status: &str) -> String {
    let _ = child.wait();
    let log = files::read(&log_file()).unwrap_or_default();
    let log = String::from_utf8_lossy(&log);
    let last = log.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let last = last.trim_start_matches("headspace: ");
    if last.is_empty() { status.to_owned() } else { format!("{} ({status})", strip_control(last)) }
}

/// Whether this process is a `headspace serve` that belongs to this user. A pid is only a number: it may come from
/// another machine through a tunnel, or have a new owner.
#[cfg(target_os = "linux")]
fn is_our_server(pid: u32) -> bool {
    use std::os::unix::fs::MetadataExt;
    let dir = PathBuf::from(format!("/proc/{pid}"));
    let mine = fs::metadata(&dir).is_ok_and(|meta| meta.uid() == own_uid());
    // A zombie has no arguments any more.
    let args = fs::read(dir.join("cmdline")).unwrap_or_default();
    let mut args = args.split(|byte| *byte == 0);
    let program = fs::read_link(dir.join("exe")).unwrap_or_default();
    let name = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    mine && is_our_name(name.trim_end_matches(" (deleted)")) && args.any(|arg| arg == b"serve")
}

/// As on Linux, with what `ps` knows.
#[cfg(all(unix, not(target_os = "linux")))]
fn is_our_server(pid: u32) -> bool {
    let ps = Command::new("ps").args(["-o", "uid=,command=", "-p", &pid.to_string()]).output();
    let Ok(ps) = ps else { return false };
    let line = String::from_utf8_lossy(&ps.stdout).into_owned();
    let mut words = line.split_whitespace();
    let mine = words.next().is_some_and(|uid| uid == own_uid().to_string());
    let named = |word: &str| word.rsplit('/').next().is_some_and(is_our_name);
    let rest: Vec<&str> = words.collect();
    mine && rest.iter().any(|word| named(word)) && rest.contains(&"serve")
}

#[cfg(not(unix))]
fn is_our_server(_: u32) -> bool {
    true
}

/// `headspace`, or the name of this program.
#[cfg(unix)]
fn is_our_name(name: &str) -> bool {
    let own = std::env::current_exe().ok();
    let own = own.as_deref().and_then(Path::file_name).and_then(|name| name.to_str());
    name == "headspace" || Some(name) == own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_is_not_our_server_is_left_alone() {
        assert!(!is_our_server(std::process::id()));
        assert!(!is_our_server(1));
    }
}
