/// Show every agent, the ones that need you first
#[derive(Debug, clap::Args)]
pub struct StatusArgs {}

pub fn run(_args: &StatusArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}
