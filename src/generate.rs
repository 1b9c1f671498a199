/// Print shell completions
#[derive(Debug, clap::Args)]
pub struct CompletionsArgs {}

pub fn completions(_args: &CompletionsArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}

/// Write the completion files and the manual pages
#[derive(Debug, clap::Args)]
pub struct GenerateArgs {}

pub fn run(_args: &GenerateArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}
