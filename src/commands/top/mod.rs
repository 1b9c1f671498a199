//! `headspace top`: the agents, live in the terminal. `app` has the state and the keys (pure), `decide` the dialogs (pure),
//! `draw` the screen; `feed` brings changes and previews, `surface` sends answers.

mod app;
mod decide;
mod draw;
mod feed;
mod surface;

use crate::commands::top::app::{Effect, TopState};
use crate::commands::top::feed::{Feed, News};
use crate::view::far_agent;
use anyhow::{Result, bail};
use headspace_core::stamp::Stamp;
use headspace_core::text::one_line;
use headspace_platform::clock::WallClock;
use headspace_platform::config::Config;
use headspace_platform::control;
use ratatui::crossterm::event::{self, DisableMouseCapture, EnableMouseCapture};
use ratatui::crossterm::execute;
use std::io::IsTerminal;
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// Watch the agents live in the terminal
///
/// Enter shows the whole ask, or jumps to the agent's pane; n jumps to the agent that has waited longest; / filters; ?
/// lists all keys.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  headspace top")]
pub struct TopArgs {
    /// Also show ended agents and headless runs (`claude -p`)
    #[arg(long, short)]
    all: bool,
    /// Show the team's board, from the hub this machine has joined
    #[arg(long)]
    hub: bool,
}

/// Ages have a resolution of one second, so without news nothing is drawn more often.
const REDRAW_EVERY: Duration = Duration::from_millis(1000);

pub fn run(args: &TopArgs) -> Result<ExitCode> {
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        bail!("could not start: `top` needs a terminal; `headspace status` does not");
    }
    let config = Config::load()?;
    let (feed, news) = Feed::start(&config, args.hub)?;
    let keys = feed.keyboard();
    // On a hangup or termination signal, the terminal gets its screen back.
    control::note_termination();
    let terminal = ratatui::try_init()?;
    let _ = execute!(std::io::stdout(), EnableMouseCapture);
    std::thread::spawn(move || {
        while let Ok(event) = event::read() {
            if keys.send(News::Input(event)).is_err() {
                return;
            }
        }
    });
    let mut app = TopState::new(args.all);
    app.hub = args.hub;
    let result = live(terminal, app, &feed, &news);
    feed.surface.leave();
    let _ = execute!(std::io::stdout(), DisableMouseCapture);
    ratatui::restore();
    result.map(|()| ExitCode::SUCCESS)
}

fn live(
    mut terminal: ratatui::DefaultTerminal,
    mut app: TopState,
    feed: &Feed,
    news: &Receiver<News>,
) -> Result<()> {
    loop {
        terminal.draw(|frame| draw::screen(frame, &mut app))?;
        let first = match news.recv_timeout(REDRAW_EVERY) {
            Ok(first) => Some(first),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        // A burst of news is one redraw.
        (app.clock, app.wall_clock) = (Some(Instant::now()), Some(Stamp::now()));
        for one in first.into_iter().chain(news.try_iter().take(512)) {
            for effect in app.take(one) {
                match effect {
                    Effect::Quit => return Ok(()),
                    effect => perform(effect, &mut app, feed),
                }
            }
        }
        if control::is_terminated() {
            return Ok(());
        }
    }
}

fn perform(effect: Effect, app: &mut TopState, feed: &Feed) {
    match effect {
        Effect::Quit => {}
        Effect::Jump(agent) => {
            app.message = match far_agent::jump_beside(&agent) {
                Ok(()) => None,
                Err(why) => Some(format!("could not jump to {}: {why}", one_line(&agent.name, 30))),
            }
        }
        Effect::Seen(id) => feed.seen(id),
        Effect::Preview(agent) => feed.preview(agent),
        Effect::Decide(decision) => feed.surface.decide(*decision),
        Effect::LockAnswering => feed.surface.lock(),
        Effect::OpenDashboard => open_dashboard(feed.keyboard()),
    }
}

/// Runs `headspace open`, in a thread because a browser takes its time, and tells what it printed: without a browser, that
/// is the link.
fn open_dashboard(news: Sender<News>) {
    std::thread::spawn(move || {
        let output = std::env::current_exe()
            .and_then(|exe| Command::new(exe).arg("open").stdin(Stdio::null()).output());
        let message = match output {
            Ok(output) => {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
                match (output.status.success(), text(&output.stdout)) {
                    (true, link) if link.starts_with("http") => format!("no browser here; open {link}"),
                    (true, said) => said,
                    (false, _) => text(&output.stderr).trim_start_matches("headspace: ").to_owned(),
                }
            }
            Err(error) => format!("could not open the dashboard: {error}"),
        };
        let _ = news.send(News::Said(message));
    });
}
