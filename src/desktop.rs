/// Try every notification channel
#[derive(Debug, clap::Args)]
pub struct NotifyTestArgs {}

pub fn notify_test(_args: &NotifyTestArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}
