/// Show or follow the events, like journalctl
#[derive(Debug, clap::Args)]
pub struct EventsArgs {}

pub fn run(_args: &EventsArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}
