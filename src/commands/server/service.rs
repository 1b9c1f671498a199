//! `headspace service`: the server as a systemd user unit or a launchd agent.

use crate::commands::install;
use crate::commands::server::up;
use anyhow::{Context, Result, bail};
use fs_err as fs;
use headspace_core::text::{markup, strip_control};
use headspace_hooks::client_settings::locate;
use headspace_platform::config;
use headspace_platform::config::Config;
use headspace_platform::files;
use headspace_platform::net::peer_uid::own_uid;
use headspace_platform::process::on_path;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::{Duration, Instant};

/// Run the server as a service of your login session
///
/// Uses systemd on Linux and launchd on macOS. The server is started at login and restarted after a failure.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  headspace service install\n  headspace service status")]
pub struct ServiceArgs {
    #[command(subcommand)]
    pub action: ServiceAction,
}

#[derive(Clone, Copy, Debug, clap::Subcommand)]
pub enum ServiceAction {
    /// Write the unit; start the server now and at every login
    #[command(after_help = "Example:\n  headspace service install")]
    Install,
    /// Stop the server and remove the unit
    #[command(after_help = "Example:\n  headspace service uninstall")]
    Uninstall,
    /// Show whether the unit is installed and the server is running
    #[command(after_help = "Example:\n  headspace service status --json")]
    Status {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
}

const SYSTEMD_UNIT: &str = include_str!("../../../install/headspace.service");
const LAUNCHD_AGENT: &str = include_str!("../../../install/headspace.plist");
const LABEL: &str = "headspace.serve";

/// The line by which a unit of ours is recognized.
const MARK: &str = "Written by `headspace service install`";

/// Variables that the server must get from the user's shell, or it would look for its files elsewhere.
const ENVIRONMENT: [&str; 3] = ["XDG_CONFIG_HOME", "XDG_STATE_HOME", config::var::CONFIG_DIR];

pub fn run(args: &ServiceArgs) -> Result<ExitCode> {
    match args.action {
        ServiceAction::Install => install(),
        ServiceAction::Uninstall => uninstall(),
        ServiceAction::Status { json } => status(json),
    }
}

fn install() -> Result<ExitCode> {
    let manager = Manager::find()?;
    let config = Config::load()?;
    let url = config.server_url();
    let program = locate::program()?;
    if locate::in_build_dir(program.as_ref()) {
        bail!(
            "could not install a service for {program}: it is in a build directory; run `headspace up` once, then ~/.local/bin/headspace service install"
        );
    }
    let unit = manager.unit();
    if let Ok(text) = files::read_text(&unit)
        && !text.contains(MARK)
    {
        bail!("could not write {}: a unit that headspace did not write is there", unit.display());
    }
    let exec: Vec<String> = std::iter::once(program).chain(up::serve_args(&config, &url)?).collect();
    // A server that `up` started would hold the port; the service itself is started again below.
    up::stop(&url)?;
    if let Some(dir) = unit.parent() {
        fs::create_dir_all(dir)?;
    }
    files::replace(&unit, manager.render(&exec).as_bytes())
        .with_context(|| format!("could not write {}", unit.display()))?;
    manager.start()?;
    let deadline = Instant::now() + up::SERVER_STARTS_WITHIN;
    let server = loop {
        match headspace_platform::net::http_client::health(&url, Duration::from_secs(1)) {
            Some(server) => break server,
            None if Instant::now() > deadline => {
                bail!("could not reach the server at {url}: see its log, {}", manager.log());
            }
            None => std::thread::sleep(Duration::from_millis(50)),
        }
    };
    println!("unit         {}", install::short(&unit));
    println!("server       running, version {}, pid {}", strip_control(&server.version), server.pid);
    println!("log          {}", manager.log());
    println!("\nDashboard:   {}/", strip_control(&config::shown_url(&url, server.url.as_deref())));
    println!("To undo:     headspace service uninstall");
    Ok(ExitCode::SUCCESS)
}

fn uninstall() -> Result<ExitCode> {
    let manager = Manager::find()?;
    let unit = manager.unit();
    match files::read_text(&unit) {
        Ok(text) if text.contains(MARK) => {
            manager.stop()?;
            fs::remove_file(&unit)?;
            manager.reload();
            println!("service stopped, {} removed", install::short(&unit));
        }
        Ok(_) => bail!("could not remove {}: headspace did not write it", unit.display()),
        Err(_) => println!("no service is installed, nothing changed"),
    }
    Ok(ExitCode::SUCCESS)
}

fn status(json: bool) -> Result<ExitCode> {
    let manager = Manager::find()?;
    let unit = manager.unit();
    let installed = unit.is_file();
    let active = installed && manager.is_active();
    let url = Config::load()?.server_url();
    let server = headspace_platform::net::http_client::health(&url, Duration::from_secs(1));
    if json {
        let said = serde_json::json!({
            "unit": unit, "installed": installed, "active": active, "log": manager.log(),
            "url": url, "server": server,
        });
        println!("{said:#}");
        return Ok(ExitCode::SUCCESS);
    }
    let state = match (installed, active) {
        (false, _) => "not installed (headspace service install)",
        (true, true) => "installed, active",
        (true, false) => "installed, not active",
    };
    println!("service      {state}");
    if installed {
        println!("unit         {}", install::short(&unit));
        println!("log          {}", manager.log());
    }
    match server {
        Some(server) => {
            println!(
                "server       running at {}, version {}, pid {}",
                strip_control(&url),
                strip_control(&server.version),
                server.pid
            );
        }
        None => println!("server       no answer at {}", strip_control(&url)),
    }
    Ok(ExitCode::SUCCESS)
}

/// Whether a service manager runs the server.
pub fn is_active() -> bool {
    Manager::find().is_ok_and(|manager| manager.unit().exists() && manager.is_active())
}

/// Restarts the server where a service manager runs it.
pub fn restart() -> Result<()> {
    Manager::find()?.start()
}

/// The service manager of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manager {
    Systemd,
    Launchd,
}

impl Manager {
    fn find() -> Result<Manager> {
        if cfg!(target_os = "macos") && on_path("launchctl").is_some() {
            return Ok(Manager::Launchd);
        }
        let otherwise = "start the server with `headspace up`, from your shell's profile or with `@reboot` in your crontab";
        if on_path("systemctl").is_none() {
            bail!("could not find systemd or launchd on this machine: {otherwise}");
        }
        let reachable = ask("systemctl", &["--user", "show", "--property=Version"]);
        if !reachable.is_ok_and(|output| output.status.success()) {
            bail!("could not reach systemd's user manager (no login session?): {otherwise}");
        }
        Ok(Manager::Systemd)
    }

    fn unit(self) -> PathBuf {
        match self {
            Manager::Systemd => {
                let config = config::env_path("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
                let config = config.unwrap_or_else(|| config::home().join(".config"));
                config.join("systemd/user/headspace.service")
            }
            Manager::Launchd => config::home().join("Library/LaunchAgents").join(format!("{LABEL}.plist")),
        }
    }

    fn log(self) -> String {
        match self {
            Manager::Systemd => "journalctl --user -u headspace".to_owned(),
            Manager::Launchd => install::short(&up::log_file()),
        }
    }

    fn render(self, exec: &[String]) -> String {
        let environment: Vec<(&str, String)> =
            ENVIRONMENT.iter().filter_map(|name| Some((*name, config::env(name)?))).collect();
        match self {
            Manager::Systemd => systemd_unit(exec, &environment),
            Manager::Launchd => launchd_agent(exec, &environment, &up::log_file().to_string_lossy()),
        }
    }

    fn start(self) -> Result<()> {
        match self {
            Manager::Systemd => {
                must("systemctl", &["--user", "daemon-reload"])?;
                must("systemctl", &["--user", "enable", "headspace.service"])?;
                must("systemctl", &["--user", "restart", "headspace.service"])
            }
            Manager::Launchd => {
                files::private_dir(&config::state_dir())?;
                let _ = ask("launchctl", &["bootout", &self.domain_label()]);
                must("launchctl", &["bootstrap", &domain(), &self.unit().to_string_lossy()])
            }
        }
    }

    fn stop(self) -> Result<()> {
        match self {
            Manager::Systemd => must("systemctl", &["--user", "disable", "--now", "headspace.service"]),
            Manager::Launchd => ask("launchctl", &["bootout", &self.domain_label()]).map(drop),
        }
    }

    fn reload(self) {
        if self == Manager::Systemd {
            let _ = ask("systemctl", &["--user", "daemon-reload"]);
        }
    }

    fn is_active(self) -> bool {
        let output = match self {
            Manager::Systemd => ask("systemctl", &["--user", "is-active", "--quiet", "headspace.service"]),
            Manager::Launchd => ask("launchctl", &["print", &self.domain_label()]),
        };
        output.is_ok_and(|output| output.status.success())
    }

    fn domain_label(self) -> String {
        format!("{}/{LABEL}", domain())
    }
}

/// launchd's name for the login session of this user.
fn domain() -> String {
    format!("gui/{}", own_uid())
}

fn ask(program: &str, args: &[&str]) -> Result<Output> {
    let output = Command::new(program).args(args).stdin(Stdio::null()).output();
    output.with_context(|| format!("could not run {program}"))
}

fn must(program: &str, args: &[&str]) -> Result<()> {
    let output = ask(program, args)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        bail!("could not {program} {}: {}", args.join(" "), strip_control(&said));
    }
    Ok(())
}

fn systemd_unit(exec: &[String], environment: &[(&str, String)]) -> String {
    let exec: Vec<String> = exec.iter().map(|word| systemd_word(word).replace('$', "$$")).collect();
    let environment: Vec<String> = environment
        .iter()
        .map(|(name, value)| format!("Environment={}", systemd_word(&format!("{name}={value}"))))
        .collect();
    fill(SYSTEMD_UNIT, &[("@EXEC@", exec.join(" ")), ("@ENVIRONMENT@", environment.join("\n"))])
}

fn launchd_agent(exec: &[String], environment: &[(&str, String)], log: &str) -> String {
    let exec: Vec<String> =
        exec.iter().map(|word| format!("\t\t<string>{}</string>", markup(word))).collect();
    let environment: Vec<String> = environment
        .iter()
        .map(|(name, value)| format!("\t\t<key>{name}</key>\n\t\t<string>{}</string>", markup(value)))
        .collect();
    fill(
        LAUNCHD_AGENT,
        &[("@EXEC@", exec.join("\n")), ("@ENVIRONMENT@", environment.join("\n")), ("@LOG@", markup(log))],
    )
}

/// Replaces the names by their values; a line that would be empty is left out.
fn fill(template: &str, values: &[(&str, String)]) -> String {
    let mut out = String::new();
    for line in template.lines() {
        if values.iter().any(|(name, value)| line.trim() == *name && value.is_empty()) {
            continue;
        }
        let mut line = line.to_owned();
        for (name, value) in values {
            line = line.replace(name, value);
        }
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// A word of a unit file, quoted if needed; `%` begins a specifier there.
fn systemd_word(word: &str) -> String {
    let word = word.replace('%', "%%");
    let needs_no_quotes = |c: char| c.is_ascii_alphanumeric() || "/._-+=:,@%$".contains(c);
    if word.chars().all(needs_no_quotes) {
        return word;
    }
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_unit_quotes_what_systemd_would_split() {
        let exec = words(&["/my \"bin\"/50%/$x/headspace", "serve", "--port", "5055"]);
        let unit = systemd_unit(&exec, &[("XDG_STATE_HOME", "/s t".into())]);
        assert!(
            unit.contains("\nExecStart=\"/my \\\"bin\\\"/50%%/$$x/headspace\" serve --port 5055\n"),
            "{unit}"
        );
        assert!(unit.contains("\nEnvironment=\"XDG_STATE_HOME=/s t\"\n") && unit.contains(MARK), "{unit}");
        assert!(unit.contains("Restart=on-failure") && !unit.contains('@'));
        assert!(!systemd_unit(&exec, &[]).contains("Environment"));
    }

    #[test]
    fn a_launchd_agent_is_well_formed_whatever_the_path_contains() {
        let agent = launchd_agent(&words(&["/a & <b>/headspace", "serve"]), &[], "/log");
        assert!(agent.contains("<string>/a &amp; &lt;b&gt;/headspace</string>"), "{agent}");
        assert!(agent.contains(MARK) && !agent.contains('@'), "{agent}");
    }
}
