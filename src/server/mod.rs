pub mod discover;
pub mod liveness;
pub mod prune;
pub mod rebuild;
pub mod reconcile;
pub mod watch;

/// Receive, store and show the events
#[derive(Debug, clap::Args)]
pub struct ServeArgs {}

pub fn serve(_args: &ServeArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}
