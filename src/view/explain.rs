/// Say why an agent is in its state
#[derive(Debug, clap::Args)]
pub struct ExplainArgs {}

pub fn run(_args: &ExplainArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}
