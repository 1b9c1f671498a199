//! `headspace prune`: enforces retention now. The server does it if it runs, otherwise this process.

use crate::view::client::Client;
use anyhow::{Context, Result};
use headspace_core::text::numbers::counted;
use headspace_core::wire::PruneAnswer;
use headspace_platform::config;
use headspace_platform::config::Config;
use headspace_store as store;
use headspace_store::lock;
use headspace_store::retention::prune::Deleted;
use headspace_store::retention::schedule::RetentionSchedule;
use headspace_store::write::projection_state::ProjectionState;
use serde_json::json;
use std::path::Path;
use std::process::ExitCode;

/// Delete old events now
///
/// Retention deletes events older than 30 days, unless their session is still running, and the oldest ones when the
/// database exceeds 1 GiB (both configurable). The server does this continuously; agent states do not change.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  headspace prune\n  headspace prune --days 7")]
pub struct PruneArgs {
    /// Keep this many days instead of the configured number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    days: Option<u32>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: &PruneArgs) -> Result<ExitCode> {
    let config = Config::load()?;
    let path = config::database();
    let deleted = match lock::take(&path) {
        Ok(_lock) => offline(&config, &path, args.days)?,
        Err(_) => ask_server(&config, args.days)?,
    };
    if args.json {
        println!("{}", json!({"events": deleted.events, "agents": deleted.agents}));
    } else {
        let Deleted { events, agents } = deleted;
        println!("Deleted {} and {}.", counted(events, "event"), counted(agents, "agent"));
    }
    Ok(ExitCode::SUCCESS)
}

fn ask_server(config: &Config, days: Option<u32>) -> Result<Deleted> {
    let body = days.map_or_else(|| json!({}), |days| json!({ "days": days }));
    let client = Client::new(config)?;
    // The server answers within seconds even if it is not done; a big database needs several requests.
    loop {
        let answer: PruneAnswer =
            client.post("/api/prune", &body).context("could not ask the server to prune")?;
        if answer.done {
            return Ok(Deleted { events: answer.events, agents: answer.agents });
        }
    }
}

fn offline(config: &Config, path: &Path, days: Option<u32>) -> Result<Deleted> {
    if !path.exists() {
        return Ok(Deleted::default());
    }
    let db = store::open(path)?;
    // The last events of a server that was killed decide which agents still run.
    ProjectionState::load(&db)?.write(&db)?;
    let mut upkeep = RetentionSchedule::new(config.retention.clone());
    let (sender, mut receiver) = tokio::sync::oneshot::channel();
    upkeep.prune_now(days, sender);
    loop {
        upkeep.step(&db, &|| false).context("could not prune")?;
        upkeep.tell();
        if let Ok(deleted) = receiver.try_recv() {
            db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
            return Ok(deleted);
        }
    }
}
