//! `headspace open`: the dashboard in the browser, logged in.

use super::client::Client;
use crate::config::{self, Config};
use anyhow::{Context, Result};
use serde_json::json;
use std::process::{Command, ExitCode, Stdio};

/// Open the dashboard in the browser
///
/// The link works once and logs the browser in, so that it gets in where the server cannot see whose
/// connection it is. Without a browser at hand the link is printed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  headspace open\n  headspace open --print")]
pub struct OpenArgs {
    /// Only print the link
    #[arg(long)]
    print: bool,
}

pub fn run(args: &OpenArgs) -> Result<ExitCode> {
    let client = Client::new(&Config::load()?);
    let answer = client.post("/api/login-code", &json!({})).with_context(|| {
        format!(
            "could not open the dashboard at {}: is the server running? `headspace up` starts it",
            client.url
        )
    })?;
    let code =
        answer["code"].as_str().context("could not open the dashboard: the server gave no login code")?;
    let link = format!("{}/login?code={code}", client.url);
    if !args.print && in_browser(&link) {
        println!("opened {} in the browser", client.url);
    } else {
        println!("{link}");
    }
    Ok(ExitCode::SUCCESS)
}

type Usable = fn() -> bool;

/// Programs that open a link in the user's browser, and whether they can here.
const OPENERS: &[(&str, Usable)] = &[
    ("open", || cfg!(target_os = "macos")),
    ("wslview", || config::env(config::var::WSL).is_some()),
    // Without a display it would start a browser in this very terminal.
    ("xdg-open", || {
        config::env(config::var::DISPLAY).or_else(|| config::env(config::var::WAYLAND)).is_some()
    }),
];

/// Opens `link`; `false` if nothing here can.
pub fn in_browser(link: &str) -> bool {
    OPENERS.iter().filter(|(_, usable)| usable()).any(|(program, _)| {
        let quiet = || Stdio::null();
        let status = Command::new(program).arg(link).stdin(quiet()).stdout(quiet()).stderr(quiet()).status();
        status.is_ok_and(|status| status.success())
    })
}
