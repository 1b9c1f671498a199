//! Configuration: where things are and what the user chose. The only reader of the environment.

use crate::files;
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};

pub const DEFAULT_PORT: u16 = 5055;
pub const DEFAULT_HOST: &str = "127.0.0.1";
/// What the two before this make.
pub const DEFAULT_URL: &str = "http://127.0.0.1:5055";

/// The names of the environment variables headspace reads, and no others.
pub mod var {
    pub const URL: &str = "CLAUDE_HEADSPACE_URL";
    pub const TMUX_SESSION: &str = "CLAUDE_HEADSPACE_TMUX_SESSION";
    pub const HEADSPACE_SESSION_ID: &str = "CLAUDE_HEADSPACE_SESSION_ID";
    pub const SESSION_ID: &str = "CLAUDE_SESSION_ID";
    pub const SESSION_ROLE: &str = "CLAUDE_SESSION_ROLE";
    pub const SESSION_MODE: &str = "CLAUDE_SESSION_MODE";
    pub const CONFIG_DIR: &str = "CLAUDE_CONFIG_DIR";
    /// Set in everything that Claude Code starts.
    pub const CLAUDECODE: &str = "CLAUDECODE";
    pub const PID: &str = "CLAUDE_PID";
    pub const ENTRYPOINT: &str = "CLAUDE_CODE_ENTRYPOINT";
    pub const PROJECT_DIR: &str = "CLAUDE_PROJECT_DIR";
    pub const PROJECT_PATH: &str = "PROJECT_PATH";
    pub const TMUX_PANE: &str = "TMUX_PANE";
    pub const TMUX: &str = "TMUX";
    pub const DEBUG: &str = "HEADSPACE_DEBUG";
    /// Set by `hooks run`: what happens is made up and must not reach the user's history.
    pub const REHEARSAL: &str = "HEADSPACE_REHEARSAL";
    /// Which window of which terminal: what a jump needs later.
    pub const KITTY_WINDOW_ID: &str = "KITTY_WINDOW_ID";
    pub const KITTY_LISTEN_ON: &str = "KITTY_LISTEN_ON";
    pub const WEZTERM_PANE: &str = "WEZTERM_PANE";
    pub const ITERM_SESSION_ID: &str = "ITERM_SESSION_ID";
    pub const TERM_PROGRAM: &str = "TERM_PROGRAM";
    pub const GHOSTTY: &str = "GHOSTTY_RESOURCES_DIR";
    /// Whether there is a screen to open a browser on.
    pub const DISPLAY: &str = "DISPLAY";
    pub const WAYLAND: &str = "WAYLAND_DISPLAY";
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
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Config {
    pub host: String,
    pub port: u16,
    /// Where `notify` and the command line find the server, if not on `host` and `port`.
    pub url: Option<String>,
    /// Names besides loopback that the `Host` header may carry.
    pub names: Vec<String>,
    pub reconcile: Reconcile,
    pub context: ContextFiles,
    pub guard: Guard,
    pub notifications: Notifications,
    pub webhooks: Vec<Webhook>,
    pub retention: Retention,
    /// Store no prompt, tool input or tool output.
    pub paranoid: bool,
    /// Put state and name of the agent into the terminal's title.
    pub terminal_title: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            host: DEFAULT_HOST.into(),
            port: DEFAULT_PORT,
            url: None,
            names: Vec::new(),
            reconcile: Reconcile::default(),
            context: ContextFiles::default(),
            guard: Guard::default(),
            notifications: Notifications::default(),
            webhooks: Vec::new(),
            retention: Retention::default(),
            paranoid: false,
            terminal_title: false,
        }
    }
}

/// The pace of the reconciler, in seconds.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Reconcile {
    pub polling_interval_with_hooks: f64,
    pub polling_interval_fallback: f64,
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

/// Files given to the model at session start, and when to warn of a full context.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct ContextFiles {
    pub files: Vec<String>,
    pub roles_dir: Option<String>,
    pub warnings: Vec<u32>,
    /// Tokens of the context window; where it is not set, what the client says, else 200,000.
    pub window: Option<u64>,
    /// Also warn at Stop (shown to the user only).
    pub warn_at_stop: bool,
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

/// The guard's settings; `projects` holds the same per project directory.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Guard {
    /// Judge tool calls inside `notify` too, without an entry of the guard's own.
    pub enabled: bool,
    /// `strict` (as without it), `balanced` or `quiet`.
    pub profile: Option<String>,
    /// Rule id, or the part before its dot ▶ `on`, `off`, `ask` or `deny`.
    pub rules: BTreeMap<String, String>,
    /// Patterns of commands: see `rules/pattern.rs` of the guard.
    pub ask: Vec<String>,
    pub deny: Vec<String>,
    pub allow: Vec<String>,
    pub protected_paths: Vec<String>,
    /// The older name of `allow`.
    pub allowed_commands: Vec<String>,
    /// `continue` or `block`: what the client does if the guard itself fails.
    pub on_failure: Option<String>,
    pub projects: BTreeMap<String, Guard>,
}

/// When to ring, and when not. The rules hold for the desktop and for webhooks.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Notifications {
    /// The off switch of everything below.
    pub enabled: bool,
    pub desktop: bool,
    pub on_attention: bool,
    pub on_error: bool,
    pub on_finished: bool,
    /// A turn shorter than this rings no bell when it ends, in seconds.
    pub finished_after: f64,
    /// `"22:00-07:30"`, local time: nothing rings.
    pub quiet_hours: Option<QuietHours>,
    /// Projects, by name or path, that never ring.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
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

#[derive(Clone, Debug, Deserialize)]
pub struct Webhook {
    pub url: String,
    #[serde(default)]
    pub format: WebhookFormat,
    /// Send prompt and question texts, not only names and states.
    #[serde(default)]
    pub include_text: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WebhookFormat {
    #[default]
    Json,
    Ntfy,
    Slack,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Retention {
    pub days: u32,
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
