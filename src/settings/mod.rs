pub mod document;
pub mod entry;
mod layout;
pub mod merge;
/// Merge headspace's hooks into Claude Code's settings.json
#[derive(Debug, clap::Args)]
pub struct InstallArgs {}

pub fn install(_args: &InstallArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}

/// Take headspace's hooks out of settings.json again
#[derive(Debug, clap::Args)]
pub struct UninstallArgs {}

pub fn uninstall(_args: &UninstallArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}
