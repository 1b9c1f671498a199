/// Give an agent a name of your own
#[derive(Debug, clap::Args)]
pub struct RenameArgs {}

pub fn run(_args: &RenameArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}
