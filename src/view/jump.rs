/// Jump to the agent that has waited longest for you
#[derive(Debug, clap::Args)]
pub struct NextArgs {}

pub fn next(_args: &NextArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}

/// Jump to an agent's terminal pane
#[derive(Debug, clap::Args)]
pub struct JumpArgs {}

pub fn jump(_args: &JumpArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}
