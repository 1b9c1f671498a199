//! Configuration: where things are and what the user chose. The only reader of the environment.

use crate::files;
use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

pub const DEFAULT_PORT: u16 = 5055;
pub const DEFAULT_HOST: &str = "127.0.0.1";
/// What the two before this make.
pub const DEFAULT_URL: &str = "http://127.0.0.1:5055";

/// The names of the environment variables headspace reads. Their descriptions, like those of the settings below, are what
/// `docs/configuration.md` says.
pub mod var {
    /// Where the hook and the command line find the server. Overrides `url`.
    pub const URL: &str = "CLAUDE_HEADSPACE_URL";
    /// Name of the tmux session, for agents that a launcher starts.
    pub const TMUX_SESSION: &str = "CLAUDE_HEADSPACE_TMUX_SESSION";
    /// An id that a launcher gives to the session it starts, so that the agent keeps its identity.
    pub const HEADSPACE_SESSION_ID: &str = "CLAUDE_HEADSPACE_SESSION_ID";
    /// Used as `CLAUDE_HEADSPACE_SESSION_ID` where that is not set.
    pub const SESSION_ID: &str = "CLAUDE_SESSION_ID";
    /// The session's role: which file in `context.roles_dir` names more context files. Shown with the agent.
    pub const SESSION_ROLE: &str = "CLAUDE_SESSION_ROLE";
    /// What the session runs as. Anything but `interactive` counts as unattended: the guard denies sending messages there,
    /// and `context.reminders` asks for a report.
    pub const SESSION_MODE: &str = "CLAUDE_SESSION_MODE";
    /// Claude Code's configuration directory, if it is not `~/.claude`.
    pub const CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";
    /// Set by Claude Code in everything it starts. `guard allow` refuses to run there.
    pub const CLAUDECODE: &str = "CLAUDECODE";
    /// Set by Claude Code: its process id, by which events belong to a process.
    pub const PID: &str = "CLAUDE_PID";
    /// Set by Claude Code: how it was started. Anything but `cli` is a headless session.
    pub const ENTRYPOINT: &str = "CLAUDE_CODE_ENTRYPOINT";
    /// Set by Claude Code: the project the guard protects.
    pub const PROJECT_DIR: &str = "CLAUDE_PROJECT_DIR";
    /// What `${PROJECT_PATH}` in a role file stands for, if that is not the repository around the session's directory.
    pub const PROJECT_PATH: &str = "PROJECT_PATH";
    /// Set by tmux: the pane that a jump goes to.
    pub const TMUX_PANE: &str = "TMUX_PANE";
    /// Set by tmux: which tmux server the pane belongs to.
    pub const TMUX: &str = "TMUX";
    /// `1` makes the hook write what it did to `notify.log` in the state directory.
    pub const DEBUG: &str = "HEADSPACE_DEBUG";
    /// Set by `headspace hooks run`: events of such a hook are made up, and are neither sent nor kept.
    pub const REHEARSAL: &str = "HEADSPACE_REHEARSAL";
    /// Set by kitty: the window that a jump goes to.
    pub const KITTY_WINDOW_ID: &str = "KITTY_WINDOW_ID";
    /// Set by kitty: where it takes commands.
    pub const KITTY_LISTEN_ON: &str = "KITTY_LISTEN_ON";
    /// Set by WezTerm: the pane that a jump goes to.
    pub const WEZTERM_PANE: &str = "WEZTERM_PANE";
    /// Set by iTerm2: the session that a jump goes to.
    pub const ITERM_SESSION_ID: &str = "ITERM_SESSION_ID";
    /// Set by many terminals: which one it is.
    pub const TERM_PROGRAM: &str = "TERM_PROGRAM";
    /// Set by Ghostty: that it is the terminal.
    pub const GHOSTTY: &str = "GHOSTTY_RESOURCES_DIR";
    /// Set by X11: there is a screen to open a browser on.
    pub const DISPLAY: &str = "DISPLAY";
    /// Set by Wayland: there is a screen to open a browser on.
    pub const WAYLAND: &str = "WAYLAND_DISPLAY";
    /// Set by WSL: the browser is opened on the Windows side.
    pub const WSL: &str = "WSL_DISTRO_NAME";
}

/// An environment variable that is set and not empty.
pub fn env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Whether a variable is set and not empty.
pub fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty())
}

/// As [`env`], for paths, which need not be UTF-8.
pub fn env_path(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from)
}

/// `$HOME`, or the file system's root for a process that has none.
pub fn home() -> PathBuf {
    env_path("HOME").or_else(|| env_path("USERPROFILE")).unwrap_or_else(|| PathBuf::from("/"))
}

/// Where things go that need not outlive the process.
pub fn temp_dir() -> PathBuf {
    std::env::temp_dir()
}

/// `$XDG_STATE_HOME/headspace`: the database, the spool, the token, backups, the log.
pub fn state_dir() -> PathBuf {
    xdg("XDG_STATE_HOME", ".local/state").join("headspace")
}

/// `$XDG_CONFIG_HOME/headspace/config.jsonc`
pub fn config_file() -> PathBuf {
    xdg("XDG_CONFIG_HOME", ".config").join("headspace").join("config.jsonc")
}

/// `$XDG_CONFIG_HOME`, where programs keep their configuration.
pub fn config_home() -> PathBuf {
    xdg("XDG_CONFIG_HOME", ".config")
}

/// Where Claude Code keeps its settings and transcripts.
pub fn claude_dir() -> PathBuf {
    env_path(var::CONFIG_DIR).unwrap_or_else(|| home().join(".claude"))
}

pub fn database() -> PathBuf {
    state_dir().join("headspace.db")
}

pub fn spool_dir() -> PathBuf {
    state_dir().join("spool")
}

pub fn token_file() -> PathBuf {
    state_dir().join("token")
}

/// What tells this machine from others of its name.
pub fn host_id_file() -> PathBuf {
    state_dir().join("host_id")
}

/// The secret that lets the command line and the hooks in; `None` where no server has run yet.
pub fn token() -> Option<String> {
    let mut buffer = [0; 256];
    let mut file = files::open_regular(&token_file(), std::fs::OpenOptions::new().read(true)).ok()?;
    // One that others may have planted or read is no secret of ours.
    if !files::is_ours_alone(&file.metadata().ok()?) {
        return None;
    }
    let length = file.read(&mut buffer).ok()?;
    let token = std::str::from_utf8(buffer[..length].trim_ascii()).ok()?;
    (!token.is_empty()).then(|| token.to_owned())
}

/// The state directory and the token must be ours: whoever else can write there could take the events, or plant a token
/// and be taken for the server. What is not there yet is fine.
pub fn check_state() -> Result<()> {
    const OTHERS_WRITE: u32 = 0o022;
    const OTHERS_DO_ANYTHING: u32 = 0o077;
    files::check_ours(&state_dir(), OTHERS_WRITE)?;
    let token = token_file();
    match std::fs::metadata(&token).map(|meta| files::check_regular(&meta)) {
        Ok(Err(error)) => anyhow::bail!("could not trust {}: {error}; remove it", token.display()),
        _ => files::check_ours(&token, OTHERS_DO_ANYTHING),
    }
}

/// XDG asks that relative paths be ignored.
fn xdg(name: &str, fallback: &str) -> PathBuf {
    env_path(name).filter(|path| path.is_absolute()).unwrap_or_else(|| home().join(fallback))
}

/// What `config.jsonc` may say. Everything has a default; unknown keys are ignored here and reported by `doctor`.
///
/// The first paragraph of a description is what `docs/configuration.md` says about the setting; a test fails for one
/// without, and writes the page anew with `HEADSPACE_WRITE_DOCS=1 cargo test --test documentation`.
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
    /// When to notify.
    pub notifications: Notifications,
    /// Where to notify besides the desktop.
    pub webhooks: Vec<Webhook>,
    /// How long events are kept.
    pub retention: Retention,
    /// What must not lose an answered event: `crash`, a crash of the server or the system's, within 50 ms of it; `power`, a
    /// power cut at any time, which makes every hook wait for the disk.
    pub durability: Durability,
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
            notifications: Notifications::default(),
            webhooks: Vec::new(),
            retention: Retention::default(),
            durability: Durability::Crash,
            paranoid: false,
            terminal_title: false,
        }
    }
}

/// What an answered event survives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    Crash,
    Power,
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

/// When to notify, and when not. The rules hold for the desktop and for webhooks.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(default)]
pub struct Notifications {
    /// `false` turns every notification off, webhooks included.
    pub enabled: bool,
    /// Show notifications on the desktop.
    pub desktop: bool,
    /// Notify when an agent needs you.
    pub on_attention: bool,
    /// Notify when a turn ends with an error.
    pub on_error: bool,
    /// Notify when an agent is done, background work included.
    pub on_finished: bool,
    /// Seconds of work below which a finished agent is not worth a notification.
    pub finished_after: f64,
    /// A span of local time without notifications, as `"22:00-07:30"`.
    pub quiet_hours: Option<QuietHours>,
    /// Projects, by name or path, that never notify.
    pub mute_projects: Vec<String>,
}

impl Default for Notifications {
    fn default() -> Notifications {
        Notifications {
            enabled: true,
            desktop: true,
            on_attention: true,
            on_error: true,
            on_finished: true,
            finished_after: 30.0,
            quiet_hours: None,
            mute_projects: Vec::new(),
        }
    }
}

/// A span of the day, in minutes after midnight; it may go over midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct QuietHours {
    pub from: u16,
    pub to: u16,
}

impl QuietHours {
    pub fn contains(self, minute: u16) -> bool {
        if self.from <= self.to {
            (self.from..self.to).contains(&minute)
        } else {
            minute >= self.from || minute < self.to
        }
    }
}

impl From<QuietHours> for String {
    fn from(hours: QuietHours) -> String {
        let clock = |minutes: u16| format!("{:02}:{:02}", minutes / 60, minutes % 60);
        format!("{}-{}", clock(hours.from), clock(hours.to))
    }
}

impl TryFrom<String> for QuietHours {
    type Error = String;

    fn try_from(text: String) -> Result<QuietHours, String> {
        let minutes = |clock: &str| {
            let (hour, minute) = clock.trim().split_once(':')?;
            let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
            (hour < 24 && minute < 60).then(|| hour * 60 + minute)
        };
        text.split_once('-')
            .and_then(|(from, to)| Some(QuietHours { from: minutes(from)?, to: minutes(to)? }))
            .ok_or_else(|| format!("quiet_hours is {text:?}; write it like \"22:00-07:30\""))
    }
}

/// Receivers of notifications, each an object. `https` goes through `curl`, which must be installed.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Webhook {
    /// Where to POST.
    pub url: String,
    /// The form of the message.
    #[serde(default)]
    pub format: WebhookFormat,
    /// Send the texts of questions and errors too, not only names and states.
    #[serde(default)]
    pub include_text: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WebhookFormat {
    #[default]
    Json,
    Ntfy,
    Slack,
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

    /// The same for the hook, which does not even make the defaults if there is no file.
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
                    Some(format!("headspace: {error:#}. The guard goes on with what it can read of it.")),
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
        let config = Config::parse(&text);
        config.map(Some).with_context(|| format!("could not read the configuration {}", path.display()))
    }

    pub fn parse(text: &str) -> Result<Config> {
        let json = strict_json(text);
        if json.trim().is_empty() {
            return Ok(Config::default());
        }
        // A list would pass for the fields in their order.
        ensure!(json.trim_start().starts_with('{'), "it is not an object: {{ … }}");
        Ok(serde_json::from_str(&json)?)
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
            Some(config) => format!("http://{}:{}", bracketed(&config.host), config.port),
            None => DEFAULT_URL.to_owned(),
        });
        url.trim_end_matches('/').to_owned()
    }
}

/// Whether `url` is the server whose socket is in the state directory: nobody named an address.
pub fn is_own_server(url: &str) -> bool {
    let config = Config::load_if_any().unwrap_or_default();
    !is_named(config.as_ref()) && url == Config::server_url_of(config.as_ref())
}

/// Whether the user named the server's address.
pub fn is_named(config: Option<&Config>) -> bool {
    env(var::URL).is_some() || config.is_some_and(|config| config.url.is_some())
}

/// The token that the configuration has for the server at `url`.
pub fn token_for(url: &str) -> Option<String> {
    Config::load_if_any().ok()??.token_for(url).map(str::to_owned)
}

/// The guard's part of a configuration that cannot be read as a whole. From a text that is no JSON at all only whether
/// it was on.
pub fn guard_of(text: &str) -> Guard {
    let json = strict_json(text);
    let whole = serde_json::from_str::<serde_json::Value>(&json).unwrap_or_default();
    let part = whole.get("guard").cloned().unwrap_or_default();
    serde_json::from_value(part).unwrap_or_else(|_| {
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

/// JSON with comments and trailing commas made strict JSON by overwriting them with blanks, so that every
/// position an error names is the position in the user's file.
pub fn strict_json(text: &str) -> String {
    let mut out: Vec<u8> = text.strip_prefix('\u{feff}').unwrap_or(text).as_bytes().to_vec();
    let mut comma: Option<usize> = None;
    let mut i = 0;
    while i < out.len() {
        match out[i] {
            b'"' => {
                comma = None;
                i += 1;
                while i < out.len() && out[i] != b'"' {
                    i += if out[i] == b'\\' { 2 } else { 1 };
                }
            }
            b'/' if out.get(i + 1) == Some(&b'/') => {
                while i < out.len() && out[i] != b'\n' {
                    out[i] = b' ';
                    i += 1;
                }
                continue;
            }
            b'/' if out.get(i + 1) == Some(&b'*') => {
                let end = memchr::memmem::find(&out[i + 2..], b"*/").map_or(out.len(), |at| i + 4 + at);
                for byte in &mut out[i..end] {
                    if *byte != b'\n' {
                        *byte = b' ';
                    }
                }
                i = end;
                continue;
            }
            b',' => comma = Some(i),
            b'}' | b']' => {
                if let Some(at) = comma.take() {
                    out[at] = b' ';
                }
            }
            byte if byte.is_ascii_whitespace() => {}
            _ => comma = None,
        }
        i += 1;
    }
    // Only whole characters outside of strings were blanked, byte by byte.
    String::from_utf8(out).unwrap_or_default()
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
        assert!(error.contains("line 3 column 13"), "{error}");
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
    fn quiet_hours_may_go_over_midnight() {
        let night = QuietHours::try_from("22:00-07:30".to_owned()).unwrap();
        assert_eq!(String::from(night), "22:00-07:30");
        for (minute, quiet) in [(21 * 60 + 59, false), (22 * 60, true), (0, true), (449, true), (450, false)]
        {
            assert_eq!(night.contains(minute), quiet, "{minute}");
        }
        for bad in ["", "22-7", "25:00-07:00", "22:00", "2020:22-07:30"] {
            assert!(QuietHours::try_from(bad.to_owned()).is_err(), "{bad}");
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
