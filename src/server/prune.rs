/// Delete old events now instead of when the server gets to it
#[derive(Debug, clap::Args)]
pub struct PruneArgs {}

pub fn run(_args: &PruneArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}
