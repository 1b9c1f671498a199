/// Find out why something does not show, and mend it
#[derive(Debug, clap::Args)]
pub struct DoctorArgs {}

pub fn run(_args: &DoctorArgs) -> anyhow::Result<std::process::ExitCode> {
    anyhow::bail!("this build has no such command yet")
}
