//! `headspace open`: opens the dashboard in the browser, logged in.

use crate::view::client::Client;
use anyhow::{Context, Result, bail};
use headspace_core::wire::LoginCode;
use headspace_platform::config;
use headspace_platform::config::Config;
use headspace_platform::files;
use headspace_platform::net::local;
use serde_json::json;
use std::io::Write;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// Open the dashboard in the browser
///
/// The link works once and logs the browser in, which is needed where the server cannot see which user a connection
/// belongs to. If there is no browser, the link is printed.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  headspace open\n  headspace open --print")]
pub struct OpenArgs {
    /// Only print the link
    #[arg(long)]
    print: bool,
}

pub fn run(args: &OpenArgs) -> Result<ExitCode> {
    let client = Client::new(&Config::load()?)?;
    let LoginCode { code } = client.post("/api/login-code", &json!({})).with_context(|| {
        format!(
            "could not open the dashboard at {}: is the server running? `headspace up` starts it",
            client.url
        )
    })?;
    if let Some(stranger) = local::stranger_at(&client.url) {
        bail!("could not open the dashboard: {stranger}; choose another port: \"port\" in config.jsonc");
    }
    let link = format!("{}/login?code={code}", client.url);
    if !args.print && in_browser(&page(&link)?) {
        println!("opened {} in the browser", client.url);
    } else {
        println!("{link}");
    }
    Ok(ExitCode::SUCCESS)
}

/// A page that only this user can read and that leads to `link`. Everybody can read the arguments of the program that
/// opens a browser, and the first one to use the code is logged in.
fn page(link: &str) -> Result<String> {
    let dir = config::state_dir().join("open");
    files::private_dir(&dir)?;
    // Pages are removed later, because the browser needs time to read them. The code of an older one has expired.
    for entry in std::fs::read_dir(&dir).into_iter().flatten().flatten() {
        let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        if age().is_none_or(|age| age > PAGE_LIVES) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
    let path = dir.join(format!("{:016x}.html", headspace_platform::process::random()));
    let mut file = files::create_private(&path).context("could not write a page for the browser")?;
    writeln!(
        file,
        "<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer>\
         <meta http-equiv=refresh content=\"0;url={link}\"><title>headspace</title>"
    )
    .context("could not write a page for the browser")?;
    Ok(format!("file://{}", escaped(&path)))
}

/// As long as the server accepts a code.
const PAGE_LIVES: Duration = Duration::from_secs(60);

/// A path, percent-encoded.
fn escaped(path: &std::path::Path) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'-' | b'_' | b'.' | b'~');
    path.to_string_lossy()
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

type Usable = fn() -> bool;

/// Programs that open a link in the user's browser, and whether they work here.
const OPENERS: &[(&str, Usable)] = &[
    ("open", || cfg!(target_os = "macos")),
    ("wslview", || config::env(config::var::WSL).is_some()),
    // Without a display it would start a browser in this terminal.
    ("xdg-open", || {
        config::env(config::var::DISPLAY).or_else(|| config::env(config::var::WAYLAND)).is_some()
    }),
];

/// Opens `link`; `false` if no program can.
pub fn in_browser(link: &str) -> bool {
    OPENERS.iter().filter(|(_, usable)| usable()).any(|(program, _)| {
        let quiet = || Stdio::null();
        let status = Command::new(program).arg(link).stdin(quiet()).stdout(quiet()).stderr(quiet()).status();
        status.is_ok_and(|status| status.success())
    })
}
