/// List, check and run hook configurations
#[derive(Debug, clap::Args)]
pub struct HooksArgs {}

pub fn run(_args: &HooksArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}
