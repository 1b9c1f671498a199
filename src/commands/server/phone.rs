//! `headspace open --phone`: lets a phone reach the dashboard, and shows the link as a QR code.

use crate::commands::config_edit;
use crate::commands::install::diff;
use crate::commands::server::up;
use crate::view::client::Client;
use crate::view::columns::width;
use crate::view::person;
use anyhow::{Context, Result, bail};
use headspace_core::model::AgentId;
use headspace_core::text::strip_control;
use headspace_core::wire::LoginCode;
use headspace_platform::config;
use headspace_platform::config::Config;
use headspace_platform::files;
use headspace_platform::net::local;
use headspace_platform::usage::Usage;
use jsonc_parser::cst::CstInputValue;
use qrcode::{Color, EcLevel, QrCode};
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::net::IpAddr;
use std::process::ExitCode;

/// Listens on every address of this machine.
const EVERYWHERE: &str = "0.0.0.0";

/// Where the phone will find the dashboard.
#[derive(Debug, PartialEq)]
struct PhoneAddress {
    /// Without a slash at its end.
    url: String,
    /// A tunnel or a proxy forwards requests to loopback; otherwise the server itself must listen on the network.
    by_tunnel: bool,
}

impl PhoneAddress {
    /// `https://box.example`, `http://192.168.1.7:5055`, `box.lan`.
    fn read(text: &str, port: u16) -> Result<PhoneAddress> {
        let text = text.trim().trim_end_matches('/');
        let wrong = |why: &str| Usage(format!("could not use the address {text:?}: {why}"));
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let plain = |c: char| c.is_ascii_alphanumeric() || "-.:[]".contains(c);
        if rest.is_empty() || !rest.chars().all(plain) {
            return Err(wrong("write it like https://box.example or 192.168.1.7").into());
        }
        let name_end = if rest.starts_with('[') { rest.find(']').map_or(rest.len(), |at| at + 1) } else { 0 };
        let has_port = rest[name_end..].contains(':');
        let name = rest[..name_end.max(rest.find(':').filter(|_| name_end == 0).unwrap_or(rest.len()))]
            .trim_matches(['[', ']']);
        if name == "localhost"
            || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback() || ip.is_unspecified())
        {
            return Err(wrong("a phone cannot reach this machine's loopback address").into());
        }
        match scheme {
            "https" => Ok(PhoneAddress { url: text.to_owned(), by_tunnel: true }),
            "http" if has_port => Ok(PhoneAddress { url: format!("http://{rest}"), by_tunnel: false }),
            "http" => Ok(PhoneAddress { url: format!("http://{rest}:{port}"), by_tunnel: false }),
            _ => Err(wrong("only http and https lead to the dashboard").into()),
        }
    }
}

/// Shows the QR code, after asking if the configuration has to change for it.
pub fn run(address: Option<&str>, agent: Option<AgentId>) -> Result<ExitCode> {
    person::require("open the dashboard to your phone")?;
    if !std::io::stdout().is_terminal() {
        bail!("could not show the QR code: standard output is not a terminal");
    }
    let config = Config::load()?;
    let known = address.map(str::to_owned).or_else(|| config.dashboard_url.clone());
    let address = match known {
        Some(address) => PhoneAddress::read(&address, config.port)?,
        None => {
            let ip = local::network_address().context(
                "could not find this machine's network address: name one with --address, for example a tunnel's",
            )?;
            let host = if ip.is_ipv6() { format!("[{ip}]") } else { ip.to_string() };
            PhoneAddress::read(&host, config.port)?
        }
    };
    if !make_reachable(&config, &address)? {
        println!("Nothing was changed.");
        return Ok(ExitCode::FAILURE);
    }
    let client = Client::new(&Config::load()?)?;
    let LoginCode { code } =
        client.post("/api/login-code", &json!({})).context("could not make a link for the phone")?;
    let agent = agent.map_or(String::new(), |id| format!("&agent={id}"));
    let link = format!("{}/login?code={code}{agent}", address.url);
    show(&link)?;
    println!("\n{link}\n");
    println!("Scan it with the phone's camera: it logs in one browser, once, within a minute.");
    println!("Run this again for another browser. To undo it: headspace open --phone --off");
    Ok(ExitCode::SUCCESS)
}

/// Changes the configuration so that the server answers at `address`, after asking; `false` if the user refused.
fn make_reachable(config: &Config, address: &PhoneAddress) -> Result<bool> {
    let hidden = local::is_loopback_host(&config.host);
    let listens = address.by_tunnel || !hidden;
    if listens && config.dashboard_url.as_deref() == Some(&address.url) {
        return Ok(true);
    }
    let before = config_edit::read()?;
    let after = config_edit::edited(&before, |root| {
        config_edit::set(root, "dashboard_url", Some(CstInputValue::String(address.url.clone())));
        if !listens {
            config_edit::set(root, "host", Some(CstInputValue::String(EVERYWHERE.into())));
        }
    })?;
    println!("The dashboard will be reachable at {}", strip_control(&address.url));
    if address.by_tunnel {
        println!(
            "Your tunnel or proxy must lead there from {} to http://127.0.0.1:{}.",
            strip_control(&address.url),
            config.port
        );
    } else {
        println!(
            "for every device in your network that logs in with a link of yours. It is plain http: anyone who can"
        );
        println!(
            "read along in that network sees what the phone sees. A tunnel with https (Tailscale, Cloudflare, …)"
        );
        println!("avoids that: headspace open --phone --address https://NAME");
    }
    ask_and_apply(&before, &after, !listens)
}

/// Undoes what `--phone` changed, and logs every browser out.
pub fn off() -> Result<ExitCode> {
    person::require("close the dashboard to your phone")?;
    let before = config_edit::read()?;
    let config = Config::load()?;
    let after = config_edit::edited(&before, |root| {
        config_edit::set(root, "dashboard_url", None);
        if config.host == EVERYWHERE && was_set_here() {
            config_edit::set(root, "host", None);
        }
    })?;
    if after == before {
        println!("No phone was let in: `dashboard_url` is not set.");
        return Ok(ExitCode::SUCCESS);
    }
    println!("Every browser that logged in with a link has to log in again.");
    if !ask_and_apply(&before, &after, false)? {
        println!("Nothing was changed.");
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// The file that records that `--phone` changed `host`, so that `--off` undoes only that.
fn mark() -> std::path::PathBuf {
    config::state_dir().join("phone")
}

fn was_set_here() -> bool {
    mark().exists()
}

fn ask_and_apply(before: &str, after: &str, host_changes: bool) -> Result<bool> {
    let path = config::config_file();
    let name = path.display().to_string();
    println!();
    for line in diff::unified((&name, before), (&name, after)).lines() {
        println!("{}", strip_control(line));
    }
    print!("\nWrite this and restart the server? [y/N] ");
    std::io::stdout().flush().context("could not print")?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).context("could not read the answer")?;
    if !matches!(answer.trim(), "y" | "Y" | "yes") {
        return Ok(false);
    }
    let opens = Config::parse(after)?.dashboard_url.is_some();
    let old_url = Config::load()?.server_url();
    config_edit::write(&path, after)?;
    if host_changes {
        files::replace(&mark(), b"host\n").context("could not note what was changed")?;
    }
    if !opens {
        let _ = std::fs::remove_file(mark());
    }
    up::restart(&old_url, || {
        if !opens {
            let _ = std::fs::remove_file(config::state_dir().join("logins"));
        }
    })?;
    Ok(true)
}

/// Two rows of modules per line, dark on light whatever the terminal's colors are, with the quiet zone that readers need.
fn show(link: &str) -> Result<()> {
    let lines = qr_lines(link)?;
    let columns = crate::view::columns::terminal_columns().unwrap_or(80);
    if lines.first().is_some_and(|line| width(line) > columns) {
        println!("\n(The terminal is too narrow for the QR code; open this on the phone:)");
        return Ok(());
    }
    println!();
    for line in lines {
        println!("\x1b[38;5;16;48;5;231m{line}\x1b[0m");
    }
    Ok(())
}

fn qr_lines(text: &str) -> Result<Vec<String>> {
    const QUIET_ZONE_MODULES: usize = 2;
    let code = QrCode::with_error_correction_level(text, EcLevel::L).context("could not make the QR code")?;
    let size = code.width();
    let dark = |x: usize, y: usize| {
        let inside = (QUIET_ZONE_MODULES..QUIET_ZONE_MODULES + size).contains(&x)
            && (QUIET_ZONE_MODULES..QUIET_ZONE_MODULES + size).contains(&y);
        inside && code[(x - QUIET_ZONE_MODULES, y - QUIET_ZONE_MODULES)] == Color::Dark
    };
    let full = size + 2 * QUIET_ZONE_MODULES;
    let line = |y: usize| {
        (0..full)
            .map(|x| match (dark(x, y), dark(x, y + 1)) {
                (true, true) => '█',
                (true, false) => '▀',
                (false, true) => '▄',
                (false, false) => ' ',
            })
            .collect()
    };
    Ok((0..full).step_by(2).map(line).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_networks_and_tunnels_are_read() {
        for (text, expected) in [
            ("192.168.1.7", Some(("http://192.168.1.7:5055", false))),
            ("http://box.lan:80/", Some(("http://box.lan:80", false))),
            ("[fd00::7]", Some(("http://[fd00::7]:5055", false))),
            ("https://box.tail.ts.net/", Some(("https://box.tail.ts.net", true))),
            ("127.0.0.1", None),
            ("http://localhost:5055", None),
            ("https://[::1]", None),
            ("0.0.0.0", None),
            ("ftp://x", None),
            ("https://x/?a=\u{1b}[2J", None),
            ("", None),
        ] {
            let read = PhoneAddress::read(text, 5055).ok();
            let expected = expected.map(|(url, by_tunnel)| PhoneAddress { url: url.to_owned(), by_tunnel });
            assert_eq!(read, expected, "{text}");
        }
    }

    #[test]
    fn the_code_is_square_and_fits_eighty_columns() {
        let lines = qr_lines(&format!("http://192.168.100.100:5055/login?code={}&agent=123", "a".repeat(32)))
            .unwrap();
        let columns: Vec<usize> = lines.iter().map(|line| width(line)).collect();
        assert!(columns.iter().all(|width| *width == columns[0] && *width <= 60), "{columns:?}");
        assert_eq!(lines.len(), columns[0].div_ceil(2));
        assert!(lines[0].trim().is_empty(), "the quiet zone");
    }
}
