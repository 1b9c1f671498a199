//! `headspace rebuild`: recomputes the states in a copy that replaces the database when it is complete.

use anyhow::{Context, Result, ensure};
use headspace_core::text::numbers::counted;
use headspace_core::text::strip_control;
use headspace_platform::config;
use headspace_store::lock;
use headspace_store::recover::Lost;
use headspace_store::replay::rebuild;
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Recompute all agent states from the stored events
///
/// Works on a copy, which replaces the database when it is complete. Everything that can be read of a damaged database is
/// kept. Stop the server first.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace rebuild\n  headspace rebuild --from ~/.local/state/headspace/headspace.db.damaged-1763287331"
)]
pub struct RebuildArgs {
    /// Database file
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
    /// Also use the events of this database, which may be damaged
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &RebuildArgs) -> Result<ExitCode> {
    let path = args.db.clone().unwrap_or_else(config::database);
    ensure!(path.exists() || args.from.is_some(), "could not find {}: no server has run yet", path.display());
    let _lock =
        lock::take(&path).context("could not rebuild while a server runs (`headspace down` stops it)")?;
    let mut progress = Progress::new();
    let done = rebuild::rebuild(&path, args.from.as_deref(), |count, total| progress.show(count, total));
    progress.end();
    let (done, unreadable) = done?;
    if args.json {
        let report = json!({"events": done.events, "agents": done.agents, "without_effect": done.without_effect,
            "unreadable": unreadable.counted, "perhaps_more": unreadable.perhaps_more});
        println!("{report}");
    } else {
        let events = |number: u64| counted(number, "event");
        println!("Rebuilt {} from {}.", counted(done.agents, "agent"), events(done.events));
        if done.without_effect > 0 {
            println!("{} had no effect: that is a bug in headspace.", events(done.without_effect));
        }
        match unreadable {
            Lost { counted: 0, perhaps_more: false } => {}
            Lost { counted: 0, perhaps_more: true } => {
                println!("Other events may be lost; their number is unknown.");
            }
            Lost { counted, perhaps_more: false } => println!("{} could not be read.", events(counted)),
            Lost { counted, perhaps_more: true } => {
                println!(
                    "At least {} could not be read; how many there were cannot be known.",
                    events(counted)
                );
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The progress, shown on a terminal only.
struct Progress {
    shown: Option<u64>,
    on: bool,
}

impl Progress {
    fn new() -> Progress {
        Progress { shown: None, on: std::io::stderr().is_terminal() }
    }

    fn show(&mut self, count: u64, total: u64) {
        let percent = count * 100 / total.max(1);
        if self.on && self.shown != Some(percent) {
            self.shown = Some(percent);
            let line = format!("rebuilding: {percent} % of {total} events");
            let _ = write!(std::io::stderr(), "\r{}", strip_control(&line));
        }
    }

    fn end(&self) {
        if self.on {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
