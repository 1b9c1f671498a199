//! What only a person may do: a command that answers, replies or lifts a refusal is not for a coding agent, whatever the
//! agent carries. The server judges again by the process at the other end; this says it early and in words.

use anyhow::{Result, bail};
use headspace_clients::lineage;
use headspace_platform::{config, process};

/// Fails unless a person at a terminal runs this command. `doing` completes "could not …".
pub fn require(doing: &str) -> Result<()> {
    if !process::has_controlling_terminal() {
        bail!("could not {doing}: only a person at a terminal may");
    }
    // The variable may have been set after the start, where only this process itself sees it.
    let variable =
        config::is_set(config::var::CLAUDECODE).then(|| format!("{} is set", config::var::CLAUDECODE));
    if let Some(why) = variable.or_else(|| lineage::agent_behind(std::process::id(), |_| false)) {
        bail!("could not {doing}: only a person may, not a coding agent ({why})");
    }
    Ok(())
}
