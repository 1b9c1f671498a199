/// Watch the agents live in the terminal
#[derive(Debug, clap::Args)]
pub struct TopArgs {}

pub fn run(_args: &TopArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}
