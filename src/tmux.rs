/// Type a message into an agent's own tmux pane
#[derive(Debug, clap::Args)]
pub struct WakeArgs {}

pub fn wake(_args: &WakeArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}

/// Wake another agent when this one is done
#[derive(Debug, clap::Args)]
pub struct NotifyWhenArgs {}

pub fn notify_when(_args: &NotifyWhenArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}
