/// Open the dashboard in the browser
#[derive(Debug, clap::Args)]
pub struct OpenArgs {}

pub fn run(_args: &OpenArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}
