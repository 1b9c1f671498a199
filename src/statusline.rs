/// Record what the status line knows, print what your own command prints
#[derive(Debug, clap::Args)]
pub struct StatuslineArgs {}

pub fn run(_args: &StatuslineArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}
