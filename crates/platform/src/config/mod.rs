//! Configuration: what the user chose, and, in [`environment`], where things are.

mod alerts;
pub mod environment;
mod jsonc;
mod mistake;

pub use alerts::{Notifications, QuietHours, Sounds, Webhook, WebhookFormat};
pub use environment::*;
pub use jsonc::strict_json;
use mistake::Mistake;

use crate::files;
use anyhow::{Context, Result, anyhow, bail, ensure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

pub const DEFAULT_PORT: u16 = 5055;
pub const DEFAULT_HOST: &str = "127.0.0.1";
/// The address with the default host and port.
pub const DEFAULT_URL: &str = "http://127.0.0.1:5055";

/// What `config.jsonc` may say. Everything has a default; unknown keys are ignored here and reported by `doctor`.
///
/// The first paragraph of a description is what `docs/configuration.md` says about the setting; a test fails for one
/// without, and writes the page again with `HEADSPACE_WRITE_DOCS=1 cargo test --test documentation`.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default)]
pub struct Config {
    /// Address the server listens on. Anything but loopback needs the token.
    pub host: String,
    /// Port the server listens on.
    pub port: u16,
    /// Where the hook and the command line find the server, if not in the state directory. http only. A server on another
    /// machine needs its `token` here, too.
    pub url: Option<String>,
    /// Token of the server at `url`, if that is on another machine: the content of its `token` file.
    pub token: Option<String>,
    /// Names besides loopback that a request's `Host` header may carry.
    pub names: Vec<String>,
    /// How often headspace looks for what hooks do not say.
    pub reconcile: Reconcile,
    /// Context files, roles and warnings.
    pub context: ContextFiles,
    /// The guard's settings.
    pub guard: Guard,
    /// Answering from anywhere: how long codes and keys count.
    pub answer: Answering,
    /// When to notify.
    pub notifications: Notifications,
    /// Where to notify besides the desktop.
    pub webhooks: Vec<Webhook>,
    /// Where your phone reaches the dashboard, for links in webhooks; `headspace open --phone` sets it. Without it, the
    /// first of `names`, else loopback.
    pub dashboard_url: Option<String>,
    /// Your other machines, whose agents stand on this board.
    pub machines: Vec<OtherMachine>,
    /// How long events are kept.
    pub retention: Retention,
    /// What must not lose an answered event: `crash`, a crash of the server or the system's, within 50 ms of it; `power`, a
    /// power cut at any time, which makes every hook wait for the disk.
    pub durability: Durability,
    /// What a team's hub may know of this machine. See [the hub](hub.md).
    pub hub: HubSharing,
    /// Store no prompt, no tool input and no tool output.
    pub paranoid: bool,
    /// Put the agent's state and name into the terminal's title.
    pub terminal_title: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            host: DEFAULT_HOST.into(),
            port: DEFAULT_PORT,
            url: None,
            token: None,
            names: Vec::new(),
            reconcile: Reconcile::default(),
            context: ContextFiles::default(),
            guard: Guard::default(),
            answer: Answering::default(),
            notifications: Notifications::default(),
            webhooks: Vec::new(),
            dashboard_url: None,
            machines: Vec::new(),
            retention: Retention::default(),
            durability: Durability::Crash,
            hub: HubSharing::default(),
            paranoid: false,
            terminal_title: false,
        }
    }
}

/// What leaves this machine for the hub it has joined.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct HubSharing {
    /// Globs of project directories with `"none"`, `"states"`, `"asks"` or `"full"`; the most exact one counts. `"*"` is for all
    /// others; without it, what was chosen at `hub join`.
    pub share: BTreeMap<String, String>,
}

/// What an answered event survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    Crash,
    Power,
}

/// Answering from anywhere. Both times can only be shortened.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default)]
pub struct Answering {
    /// Seconds in which the code of `headspace answer unlock` can be typed into a page.
    pub code_seconds: u64,
    /// Seconds in which an unlocked page can answer.
    pub key_seconds: u64,
}

impl Default for Answering {
    fn default() -> Answering {
        Answering { code_seconds: MAX_CODE_SECONDS, key_seconds: MAX_KEY_SECONDS }
    }
}

const MAX_CODE_SECONDS: u64 = 300;
const MAX_KEY_SECONDS: u64 = 43_200;

impl Answering {
    pub fn code_for(&self) -> std::time::Duration {
        std::time::Duration::from_secs(self.code_seconds.min(MAX_CODE_SECONDS))
    }

    pub fn key_for(&self) -> std::time::Duration {
        std::time::Duration::from_secs(self.key_seconds.min(MAX_KEY_SECONDS))
    }
}

/// How often headspace looks for what hooks do not say, in seconds. Agents that look busy are checked every 2 s at least.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default)]
pub struct Reconcile {
    /// Seconds between two looks while hooks arrive.
    pub polling_interval_with_hooks: f64,
    /// Seconds between two looks when hooks are silent.
    pub polling_interval_fallback: f64,
    /// Seconds without any hook after which hooks count as silent.
    pub fallback_timeout: f64,
}

impl Default for Reconcile {
    fn default() -> Reconcile {
        Reconcile {
            polling_interval_with_hooks: 60.0,
            polling_interval_fallback: 2.0,
            fallback_timeout: 300.0,
        }
    }
}

/// What a session is given at its start, and when it is warned about a full context window. See [context](context.md).
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default)]
pub struct ContextFiles {
    /// Files loaded at session start: paths or globs, relative to the project, or starting with `~`.
    pub files: Vec<String>,
    /// Directory with a file per role, whose front matter names more files.
    pub roles_dir: Option<String>,
    /// Percentages of the context window at which to warn. An empty list turns warnings off.
    pub warnings: Vec<u32>,
    /// Size of the context window in tokens. Without it, what the client says counts; failing that, 200,000.
    pub window: Option<u64>,
    /// Also warn when a turn ends. The user sees that warning; the model does not.
    pub warn_at_stop: bool,
    /// Remind a model that has worked for two minutes without a word to say something, and an unattended one to report.
    pub reminders: bool,
}

impl Default for ContextFiles {
    fn default() -> ContextFiles {
        ContextFiles {
            files: Vec::new(),
            roles_dir: None,
            warnings: vec![60, 80, 90, 95],
            window: None,
            warn_at_stop: true,
            reminders: false,
        }
    }
}

/// What the guard says to tool calls. See [the guard](guard.md).
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct Guard {
    /// Judge tool calls inside `headspace notify` too, without the entry that `install --guard` adds.
    pub enabled: bool,
    /// `"strict"` (what you get without it), `"balanced"` or `"quiet"`.
    pub profile: Option<String>,
    /// A rule's id, or the part before its dot, with `"on"`, `"off"`, `"ask"` or `"deny"`.
    pub rules: BTreeMap<String, String>,
    /// Patterns of commands and tools to ask about.
    pub ask: Vec<String>,
    /// Patterns of commands and tools to deny.
    pub deny: Vec<String>,
    /// Patterns of commands to leave alone.
    pub allow: Vec<String>,
    /// Paths that no tool may write, move or delete.
    pub protected_paths: Vec<String>,
    /// The older name of `allow`; still read.
    pub allowed_commands: Vec<String>,
    /// `"continue"` or `"block"`: what Claude Code does if the guard itself fails. Without it, `"continue"`.
    pub on_failure: Option<String>,
    /// The same settings for single projects, by their directories.
    pub projects: BTreeMap<String, Guard>,
}

/// Machines whose agents stand on this board, each an object. `headspace machines add` writes them. See [machines](machines.md).
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct OtherMachine {
    /// What it is called on the board. Without it, the host that `ssh` names.
    pub name: Option<String>,
    /// The host as ssh takes it, such as `"devbox"` or `"me@devbox"`.
    pub ssh: Option<String>,
    /// In place of `ssh`: a command and its arguments, such as `["docker", "exec", "-i", "box", "headspace", "relay"]`.
    pub command: Option<Vec<String>>,
    /// Where headspace is on that machine, if ssh does not find it there: `"~/.cargo/bin/headspace"`.
    pub program: Option<String>,
    /// `false`: its agents do not notify here. Without it, they do.
    pub alerts: Option<bool>,
}

/// How long events are kept. See [what is kept](#what-is-kept).
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default)]
pub struct Retention {
    /// Days after which an event is deleted, unless its session is still running.
    pub days: u32,
    /// Size of the database in bytes at which the oldest events are deleted.
    pub max_bytes: u64,
}

impl Default for Retention {
    fn default() -> Retention {
        Retention { days: 30, max_bytes: 1 << 30 }
    }
}

impl Config {
    /// Reads the user's configuration; no file means the defaults.
    pub fn load() -> Result<Config> {
        Config::read(&config_file())
    }

    /// The same for the hook, which does not even create the defaults if there is no file.
    pub fn load_if_any() -> Result<Option<Config>> {
        Config::read_if_any(&config_file())
    }

    /// For the guard, which a mistake in the file must not switch off: the file as it is, or what can be found of the
    /// guard's part in it, and what is wrong.
    pub fn load_for_guard() -> (Config, Option<String>) {
        match Config::load() {
            Ok(config) => (config, None),
            Err(error) => {
                let text = files::read_text(&config_file()).unwrap_or_default();
                let config = Config { guard: guard_of(&text), ..Config::default() };
                (
                    config,
                    Some(format!("headspace: {error:#}. The guard continues with what it can read of it.")),
                )
            }
        }
    }

    pub fn read(path: &Path) -> Result<Config> {
        Ok(Config::read_if_any(path)?.unwrap_or_default())
    }

    fn read_if_any(path: &Path) -> Result<Option<Config>> {
        let text = match files::read_text(path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(error)
                    .with_context(|| format!("could not read the configuration {}", path.display()));
            }
        };
        let config = Config::parse(&text).map_err(|error| match error.downcast::<Mistake>() {
            // As compilers write it, so that terminals and editors lead there.
            Ok(Mistake { line, column, why }) => {
                anyhow!("could not read the configuration {}:{line}:{column}: {why}", path.display())
            }
            Err(error) => error.context(format!("could not read the configuration {}", path.display())),
        });
        config.map(Some)
    }

    pub fn parse(text: &str) -> Result<Config> {
        let json = strict_json(text);
        if json.trim().is_empty() {
            return Ok(Config::default());
        }
        // serde would take a list for the fields in their order.
        ensure!(json.trim_start().starts_with('{'), "it is not an object: {{ … }}");
        let config: Config = serde_json::from_str(&json).map_err(|error| Mistake::new(&error, &json))?;
        if let Some((number, why)) =
            config.webhooks.iter().enumerate().find_map(|(number, hook)| Some((number, hook.problem()?)))
        {
            bail!("webhook {}: {why}", number + 1);
        }
        Ok(config)
    }

    /// Where a link in a notification leads: to the dashboard at the address that other machines reach, if that is known.
    pub fn dashboard_url(&self) -> String {
        let named = || self.names.first().map(|name| format!("http://{}:{}", bracketed(name), self.port));
        let url = self.dashboard_url.clone().or_else(named).unwrap_or_else(|| self.own_address());
        url.trim_end_matches('/').to_owned()
    }

    /// Where this machine reaches its own server. A server that listens on all addresses is on loopback, too; `0.0.0.0`
    /// itself cannot be connected to.
    pub fn own_address(&self) -> String {
        let everywhere = matches!(self.host.as_str(), "0.0.0.0" | "::" | "[::]");
        format!("http://{}:{}", bracketed(if everywhere { DEFAULT_HOST } else { &self.host }), self.port)
    }

    /// The token of the server at `url`, if it is the one this configuration names.
    pub fn token_for(&self, url: &str) -> Option<&str> {
        let named = self.url.as_deref()?.trim_end_matches('/');
        self.token.as_deref().map(str::trim).filter(|token| !token.is_empty() && named == url)
    }

    /// Where the server is: `CLAUDE_HEADSPACE_URL`, the configuration, the default.
    pub fn server_url(&self) -> String {
        Config::server_url_of(Some(self))
    }

    /// The same for the hook, which may have no configuration.
    pub fn server_url_of(config: Option<&Config>) -> String {
        let named = env(var::URL).or_else(|| config?.url.clone());
        let url = named.unwrap_or_else(|| match config {
            Some(config) => config.own_address(),
            None => DEFAULT_URL.to_owned(),
        });
        url.trim_end_matches('/').to_owned()
    }
}

/// Whether `url` is the server whose socket is in the state directory: the user named no other address.
pub fn is_own_server(url: &str) -> bool {
    let config = Config::load_if_any().unwrap_or_default();
    !is_named(config.as_ref()) && url == Config::server_url_of(config.as_ref())
}

/// The address to show a person for the server at `url`. Requests go through its socket, so it may not be on the
/// configured port; `said` is the address it reports. An address that the user named is shown unchanged.
pub fn shown_url(url: &str, said: Option<&str>) -> String {
    said.filter(|_| is_own_server(url)).unwrap_or(url).to_owned()
}

/// What to do if another program has the server's port; every message says it alike.
pub fn other_port() -> String {
    let place = match env(var::URL) {
        Some(_) => var::URL.to_owned(),
        None => format!("\"port\" in {}", config_file().display()),
    };
    format!("choose another port: {place}")
}

/// Whether the user named the server's address.
pub fn is_named(config: Option<&Config>) -> bool {
    env(var::URL).is_some() || config.is_some_and(|config| config.url.is_some())
}

/// The token that the configuration has for the server at `url`.
pub fn token_for(url: &str) -> Option<String> {
    Config::load_if_any().ok()??.token_for(url).map(str::to_owned)
}

/// The guard's part of a configuration that cannot be read as a whole. If the text is not even JSON, only whether the guard
/// is switched on in it.
pub fn guard_of(text: &str) -> Guard {
    let json = strict_json(text);
    let whole = serde_json::from_str::<serde_json::Value>(&json).unwrap_or_default();
    let part = whole.get("guard").cloned().unwrap_or_default();
    serde_json::from_str(&part.to_string()).unwrap_or_else(|_| {
        let enabled = json
            .split_once("\"guard\"")
            .and_then(|(_, rest)| rest.split_once("\"enabled\""))
            .is_some_and(|(_, rest)| rest.trim_start_matches([' ', ':']).starts_with("true"));
        Guard { enabled, ..Guard::default() }
    })
}

fn bracketed(host: &str) -> String {
    if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_read_and_positions_stay() {
        let text = "{ // port\n  \"port\": 6000, /* ü */\n  \"names\": [\"a//b\",],\n}";
        let config = Config::parse(text).unwrap();
        assert_eq!((config.port, config.names), (6000, vec!["a//b".to_owned()]));
        assert_eq!(strict_json(text).len(), text.len());
        let error = Config::parse("{\n  // fine\n  \"port\": \"x\"\n}").unwrap_err().to_string();
        assert!(error.contains("line 3, column 13"), "{error}");
        assert!(Config::parse("[]").unwrap_err().to_string().contains("not an object"));
    }

    #[test]
    fn a_mistake_elsewhere_leaves_the_guard_as_it_was() {
        for (text, enabled, paths) in [
            (r#"{"port": "x", "guard": {"enabled": true, "protected_paths": ["a"]}}"#, true, 1),
            (r#"{"port": "x", "guard": {"enabled": false}}"#, false, 0),
            (r#"{"port": 1 "guard": {"protected_paths": ["a"], "enabled" : true}}"#, true, 0),
            (r#"{"guard": {"enabled": true, "rules": 5}}"#, true, 0),
            (r#"{"guard": {"enabled": false, }"#, false, 0),
            (r#"{ // "guard": {"enabled": true}"#, false, 0),
            ("", false, 0),
        ] {
            let guard = guard_of(text);
            assert_eq!((guard.enabled, guard.protected_paths.len()), (enabled, paths), "{text}");
        }
    }

    #[test]
    fn links_lead_to_the_address_that_others_reach() {
        for (text, expected) in [
            ("{}", "http://127.0.0.1:5055"),
            (r#"{"host": "0.0.0.0", "port": 80}"#, "http://127.0.0.1:80"),
            (r#"{"names": ["box.lan"]}"#, "http://box.lan:5055"),
            (r#"{"names": ["box.lan"], "dashboard_url": "https://x.example/"}"#, "https://x.example"),
        ] {
            assert_eq!(Config::parse(text).unwrap().dashboard_url(), expected, "{text}");
        }
    }

    #[test]
    fn the_default_address_is_made_of_host_and_port() {
        assert_eq!(DEFAULT_URL, format!("http://{DEFAULT_HOST}:{DEFAULT_PORT}"));
    }

    #[test]
    fn an_empty_file_means_the_defaults() {
        assert_eq!(Config::parse(" // nothing\n").unwrap().port, DEFAULT_PORT);
    }
}
