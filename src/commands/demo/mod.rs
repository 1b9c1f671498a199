//! `headspace demo`: the dashboard with a made-up day, for those who have no Claude at hand.
//!
//! A private server (free port, temporary store) gets the day of a few agents as hook events: the past at once, with time
//! stamps of the past, then the rest as it happens, again and again until the demo is stopped.

mod day;
mod payload;

use crate::commands::demo::payload::Player;
use crate::commands::server::open;
use anyhow::{Context, Result, bail};
use fs_err as fs;
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_platform::{config, files};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Show the dashboard with made-up agents at work
///
/// Starts a private server with a temporary store and removes both when you stop it. Your sessions and settings are not
/// touched.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  headspace demo\n  headspace demo --port 6060 --no-open")]
pub struct DemoArgs {
    /// Port to listen on; 0 means any free port
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Print the address without opening a browser
    #[arg(long)]
    no_open: bool,
}

/// How long the server may take to say where it listens.
const DEMO_STARTS_WITHIN: Duration = Duration::from_secs(10);

pub fn run(args: &DemoArgs) -> Result<ExitCode> {
    let place = DemoDir::make()?;
    let mut server = DemoServer::start(&place, args.port)?;
    let mut player = Player::new(server.url.clone(), &place.root);
    day::CAST.iter().try_for_each(|persona| persona.settle(&place.root))?;
    player.play_past(Stamp::now())?;
    // A reader that only wanted the address may have closed the pipe: the demo goes on.
    let _ = writeln!(
        std::io::stdout(),
        "{}\nA made-up day, live. Ctrl-C ends it and removes all of its files.",
        server.url
    );
    if !args.no_open {
        open::in_browser(&server.url);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("could not start the demo")?;
    let played = runtime.block_on(async {
        tokio::select! {
            played = play_on(&mut player) => played,
            stopped = asked_to_stop() => stopped,
        }
    });
    let died = server.child.try_wait().ok().flatten();
    drop(server);
    match died {
        Some(status) => bail!("could not go on: the demo's server ended by itself ({status})"),
        None => played.map(|()| ExitCode::SUCCESS),
    }
}

/// What happens next, at its real pace, until the demo is stopped.
async fn play_on(player: &mut Player) -> Result<()> {
    loop {
        let begin = Instant::now();
        for (after, persona, act) in day::NEXT {
            let wait = Duration::from_secs_f64(*after).saturating_sub(begin.elapsed());
            tokio::time::sleep(wait).await;
            player.play(persona, act, Stamp::now())?;
        }
    }
}

async fn asked_to_stop() -> Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let mut terminate = signal(SignalKind::terminate()).context("could not listen for signals")?;
        let mut hangup = signal(SignalKind::hangup()).context("could not listen for signals")?;
        tokio::select! {
            asked = tokio::signal::ctrl_c() => asked.context("could not listen for signals"),
            _ = terminate.recv() => Ok(()),
            _ = hangup.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await.context("could not listen for signals")
}

/// The directory that holds all files of a demo; removed when the demo ends.
struct DemoDir {
    root: PathBuf,
}

impl DemoDir {
    fn make() -> Result<DemoDir> {
        let root = config::temp_dir().join(format!("headspace-demo-{}", std::process::id()));
        files::private_dir(&root)?;
        // The demo must not ring on the user's desktop.
        let config = root.join("config/headspace");
        files::private_dir(&config)?;
        fs::write(config.join("config.jsonc"), r#"{ "notifications": { "desktop": false } }"#)?;
        let root = root.canonicalize().unwrap_or(root);
        Ok(DemoDir { root })
    }
}

impl Drop for DemoDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// The private server; it ends with the demo.
struct DemoServer {
    child: Child,
    url: String,
}

impl DemoServer {
    fn start(place: &DemoDir, port: u16) -> Result<DemoServer> {
        let program = std::env::current_exe().context("could not find the headspace program itself")?;
        let log = place.root.join("serve.log");
        let child = Command::new(program)
            .args(["serve", "--host", "127.0.0.1", "--port", &port.to_string()])
            .env("HOME", &place.root)
            .env("XDG_STATE_HOME", place.root.join("state"))
            .env("XDG_CONFIG_HOME", place.root.join("config"))
            .env(config::var::CONFIG_DIR, place.root.join("claude"))
            .env_remove(config::var::URL)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log)?.into_parts().0)
            .spawn()
            .context("could not start the demo's server")?;
        let mut server = DemoServer { child, url: String::new() };
        server.url = server.wait_for_address(&log)?;
        Ok(server)
    }

    fn wait_for_address(&mut self, log: &Path) -> Result<String> {
        let begin = Instant::now();
        while begin.elapsed() < DEMO_STARTS_WITHIN {
            let said = fs::read_to_string(log).unwrap_or_default();
            if let Some(url) = said.lines().find_map(|line| Some(line.split_once("listening on ")?.1.trim()))
            {
                return Ok(url.to_owned());
            }
            if self.child.try_wait()?.is_some() {
                let why = said.lines().last().unwrap_or("it ended without a message").to_owned();
                bail!("could not start the demo's server: {why}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        bail!("could not start the demo's server: it did not say where it listens")
    }
}

impl Drop for DemoServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
