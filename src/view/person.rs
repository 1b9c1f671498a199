//! Commands that only a person may run: a coding agent must not answer, reply or lift a refusal, whatever token it has. The
//! server checks the calling process again; this check comes earlier and explains itself.

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
