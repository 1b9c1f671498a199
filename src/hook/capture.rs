//! Capture.
use std::process::ExitCode;

/// Record real payloads
#[derive(Debug, clap::Args)]
pub struct CaptureArgs {}

pub fn run(_args: &CaptureArgs) -> anyhow::Result<ExitCode> {
    anyhow::bail!("not yet")
}
