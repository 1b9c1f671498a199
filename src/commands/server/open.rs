//! `headspace open`: opens the dashboard in the browser, logged in.

use crate::commands::server::phone;
use crate::view::client;
use crate::view::client::Client;
use crate::view::person;
use anyhow::{Context, Result, bail};
use headspace_core::wire::{LoginCode, UnlockCode};
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
/// The link works once and logs the browser in. That is needed where the server cannot see which user a connection belongs
/// to. If no browser can be opened, the link is printed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace open\n  headspace open fix-auth         # the card of one agent\n  headspace open --phone          # a QR code for the phone\n  headspace open --phone --off    # undo it\n  headspace open --unlock         # a page that can answer"
)]
pub struct OpenArgs {
    /// The agent whose card to open: id, name as `status` shows it, or the beginning of a name, project or session id
    agent: Option<String>,
    /// Only print the link
    #[arg(long)]
    print: bool,
    /// Show a QR code that logs a phone in, after asking to open the dashboard to the network
    #[arg(long, conflicts_with = "print")]
    phone: bool,
    /// Where the phone reaches this machine, if not at its network address: a host name, or the URL of a tunnel
    #[arg(long, value_name = "ADDRESS", requires = "phone")]
    address: Option<String>,
    /// Undo what --phone changed, and log all browsers out
    #[arg(long, requires = "phone", conflicts_with_all = ["address", "agent"])]
    off: bool,
    /// Unlock the page, so that asks can be answered there (only for a person at a terminal)
    #[arg(long, conflicts_with_all = ["phone", "agent"])]
    unlock: bool,
}

pub fn run(args: &OpenArgs) -> Result<ExitCode> {
    if args.off {
        return phone::off();
    }
    if args.unlock {
        person::require("unlock the dashboard")?;
    }
    let config = Config::load()?;
    let agent = match &args.agent {
        Some(word) => Some(client::find(&client::overview(&config, true)?.agents, word)?.id),
        None => None,
    };
    if args.phone {
        return phone::run(args.address.as_deref(), agent);
    }
    let client = Client::new(&config)?;
    let LoginCode { code } =
        client.post("/api/login-code", &json!({})).context("could not open the dashboard")?;
    let url = client.dashboard_url();
    if let Some(stranger) = local::stranger_at(&url) {
        bail!("could not open the dashboard: {stranger}; {}", config::other_port());
    }
    let unlock = if args.unlock {
        let answer = client.post::<UnlockCode>("/api/answer/code", &json!({}));
        // Behind the `#` it stays in the browser: the page sends it itself.
        format!("#unlock={}", answer.context("could not unlock the dashboard")?.code)
    } else {
        String::new()
    };
    let agent = agent.map_or(String::new(), |id| format!("&agent={id}"));
    let link = format!("{url}/login?code={code}{agent}{unlock}");
    if !args.print && in_browser(&page(&link)?) {
        println!("opened {url} in the browser");
    } else {
        println!("{link}");
    }
    Ok(ExitCode::SUCCESS)
}

/// A private file that redirects to `link`. Every user can read the arguments of the program that opens a browser, and
/// whoever uses the code first is logged in.
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
         <meta http-equiv=refresh content=\"0;url={}\"><title>headspace</title>",
        headspace_core::text::markup(link)
    )
    .context("could not write a page for the browser")?;
    Ok(format!("file://{}", escaped(&path)))
}

/// How long the server accepts a code.
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
