/// Show the dashboard with a made-up day of several agents
#[derive(Debug, clap::Args)]
pub struct DemoArgs {}

pub fn run(_args: &DemoArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}
