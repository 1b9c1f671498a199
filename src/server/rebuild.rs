/// Work out every state anew from the stored events
#[derive(Debug, clap::Args)]
pub struct RebuildArgs {}

pub fn run(_args: &RebuildArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}
