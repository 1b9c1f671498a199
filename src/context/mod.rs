/// Show what context files a session would get
#[derive(Debug, clap::Args)]
pub struct ContextArgs {}

pub fn run(_args: &ContextArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}
