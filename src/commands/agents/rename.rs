//! `headspace rename`: a name that a person gave an agent.

use crate::view::client;
use crate::view::client::Client;
use anyhow::Result;
use headspace_core::text;
use headspace_core::wire::AgentChanged;
use headspace_platform::config::Config;
use serde_json::json;
use std::process::ExitCode;

/// Give an agent a name of your own
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace rename 3 'auth rewrite'\n  headspace rename 3 ''      # restores the automatic name"
)]
pub struct RenameArgs {
    /// Id, name as `status` shows it, or the beginning of a name, project or session id
    agent: String,
    /// The new name; an empty one restores the automatic name
    name: String,
}

pub fn run(args: &RenameArgs) -> Result<ExitCode> {
    let client = Client::new(&Config::load()?)?;
    let agents = client.agents(true)?;
    let agent = client::find(&agents, &args.agent)?;
    // A name of blanks is none, as for the server.
    let name = args.name.trim();
    client.post::<AgentChanged>(&format!("/api/agents/{}/name", agent.id), &json!({"name": name}))?;
    println!(
        "{} is now {}",
        text::one_line(&agent.name, 60),
        if name.is_empty() { "named automatically".into() } else { text::one_line(name, 60) }
    );
    Ok(ExitCode::SUCCESS)
}
