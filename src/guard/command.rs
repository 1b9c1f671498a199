/// Judge tool calls: check, explain, rules
#[derive(Debug, clap::Args)]
pub struct GuardArgs {}

pub fn run(_args: &GuardArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}
