//! `headspace serve`: the server in the foreground.

use crate::commands::server::beside;
use anyhow::Result;
use headspace_server::ServeOptions;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run the server: receive and store events, and show the dashboard
///
/// Runs in the foreground until it is told to stop (Ctrl-C, SIGTERM). `headspace up` starts it in the background.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  headspace serve\n  headspace serve --port 6000 --db /tmp/try.db")]
pub struct ServeArgs {
    /// Address to listen on; any address but loopback requires the token
    #[arg(long, value_name = "ADDRESS")]
    host: Option<String>,
    /// Port to listen on
    #[arg(long)]
    port: Option<u16>,
    /// Database file
    #[arg(long, value_name = "FILE")]
    db: Option<PathBuf>,
}

pub fn run(args: &ServeArgs) -> Result<ExitCode> {
    let ServeArgs { host, port, db } = args;
    let options = ServeOptions { host: host.clone(), port: *port, database: db.clone() };
    headspace_server::serve(&options, beside::start)
}
