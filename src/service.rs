/// Run the server as a service of your login session
#[derive(Debug, clap::Args)]
pub struct ServiceArgs {}

pub fn run(_args: &ServiceArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}
