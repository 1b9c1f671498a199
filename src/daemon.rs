/// Install the hooks if needed, start the server, say where the dashboard is
#[derive(Debug, clap::Args)]
pub struct UpArgs {}

pub fn up(_args: &UpArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}

/// Stop the server that `up` started
#[derive(Debug, clap::Args)]
pub struct DownArgs {}

pub fn down(_args: &DownArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}
