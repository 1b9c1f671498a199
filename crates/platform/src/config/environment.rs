//! The environment: the variables headspace reads, and where its files are. No other module reads a variable or knows a path.

use crate::files;
use crate::net::peer_uid::own_uid;
use crate::spool::second_place::SecondPlace;
use anyhow::Result;
use headspace_core::fnv::{START, fnv1a};
use std::ffi::OsString;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

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
    /// Set by Claude Code: `1` if a person is at the session's terminal. `wait` holds only such sessions.
    pub const ATTENDED: &str = "CLAUDE_CODE_SESSION_ATTENDED";
    /// Set by Claude Code: the project the guard protects.
    pub const PROJECT_DIR: &str = "CLAUDE_PROJECT_DIR";
    /// What `${PROJECT_PATH}` in a context path stands for, if that is not the repository around the session's directory.
    pub const PROJECT_PATH: &str = "PROJECT_PATH";
    /// Set by tmux: the pane that a jump goes to.
    pub const TMUX_PANE: &str = "TMUX_PANE";
    /// Set by tmux: which tmux server the pane belongs to.
    pub const TMUX: &str = "TMUX";
    /// What `headspace hub join` calls this machine at the hub, in place of its host name. A container that is made again under the
    /// same name is the same machine there.
    pub const EDGE: &str = "HEADSPACE_EDGE";
    /// The hub's database, for `headspace hub serve`, `invite` and `revoke`: keeps it out of the process list.
    pub const DATABASE_URL: &str = "HEADSPACE_DATABASE_URL";
    /// A file with the password of the hub's database, for the same commands: what `--database-password-file` names.
    pub const DATABASE_PASSWORD_FILE: &str = "HEADSPACE_DATABASE_PASSWORD_FILE";
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

/// `$HOME`, else what the system knows as this user's home, as the clients see it. A relative `$HOME` would be another
/// directory for every process, and counts as none.
pub fn home() -> PathBuf {
    let named = env_path("HOME").or_else(|| env_path("USERPROFILE"));
    named.filter(|home| home.is_absolute()).unwrap_or_else(home_without_environment)
}

#[cold]
fn home_without_environment() -> PathBuf {
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    home_in(&users, own_uid()).unwrap_or_else(|| PathBuf::from("/"))
}

/// The home of the user with this number, in the form of `/etc/passwd`.
fn home_in(users: &str, uid: u32) -> Option<PathBuf> {
    let of_line = |line: &str| {
        let mut fields = line.split(':');
        let is_ours = fields.nth(2)?.parse() == Ok(uid);
        fields.nth(2).filter(|_| is_ours).map(PathBuf::from)
    };
    users.lines().find_map(of_line).filter(|home| home.is_absolute())
}

/// The directory for temporary files.
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

/// This file exists while answering from anywhere is on.
pub fn answering_file() -> PathBuf {
    state_dir().join("answering")
}

pub fn database() -> PathBuf {
    state_dir().join("headspace.db")
}

pub fn spool_dir() -> PathBuf {
    state_dir().join("spool")
}

/// Where events go while the disk with the state directory takes none: `headspace/spool/` in `$XDG_RUNTIME_DIR`, or where
/// that is by default, for a hook that was started without the variable. Each state directory has its own there, because a
/// user may have several; however its path is spelled, it is the same one.
pub fn second_spool_places() -> Vec<SecondPlace> {
    let state = files::canonical_as_far_as_it_exists(&state_dir());
    let own = format!("headspace/spool/{:016x}", fnv1a(START, state.as_os_str().as_encoded_bytes()));
    let named = env_path("XDG_RUNTIME_DIR").filter(|path| path.is_absolute());
    let mut runtime_dirs: Vec<PathBuf> = named.into_iter().collect();
    if cfg!(unix) {
        runtime_dirs.push(PathBuf::from(format!("/run/user/{}", own_uid())));
    }
    runtime_dirs.dedup();
    runtime_dirs.into_iter().map(|runtime| SecondPlace::new(runtime, PathBuf::from(&own))).collect()
}

pub fn token_file() -> PathBuf {
    state_dir().join("token")
}

/// The tmux panes of this machine's agents, one on each line: the server writes it, the guard reads it.
pub fn panes_file() -> PathBuf {
    state_dir().join("panes")
}

/// The id that distinguishes this machine from others with the same name.
pub fn host_id_file() -> PathBuf {
    state_dir().join("host_id")
}

/// The secret that lets the command line and the hooks in; `None` where no server has run yet.
pub fn token() -> Option<String> {
    let mut buffer = [0; 256];
    let mut file = files::open_regular(&token_file(), std::fs::OpenOptions::new().read(true)).ok()?;
    // A token that others may have planted or read is not a secret.
    if !files::is_ours_alone(&file.metadata().ok()?) {
        return None;
    }
    let length = file.read(&mut buffer).ok()?;
    let token = std::str::from_utf8(buffer[..length].trim_ascii()).ok()?;
    (!token.is_empty() && !token.contains(char::is_control)).then(|| token.to_owned())
}

/// The token in `file`, for the server, which makes one if there is none. If the file holds something that cannot be a
/// token, this fails with a message that says how to fix it, and leaves the file alone.
pub fn read_token(file: &Path) -> Result<Option<String>> {
    // As much as the hook reads of it.
    const MAX_TOKEN_FILE: u64 = 255;
    let refused = |why: &str| {
        let shown = file.display();
        anyhow::anyhow!("could not use the token {shown}: {why}; remove it, and the server makes another")
    };
    let bytes = match files::read_up_to(file, MAX_TOKEN_FILE) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refused(&error.to_string())),
    };
    match std::str::from_utf8(bytes.trim_ascii()) {
        Ok("") => Ok(None),
        Ok(token) if token.contains(char::is_control) => Err(refused("it has control characters")),
        Ok(token) => Ok(Some(token.to_owned())),
        Err(_) => Err(refused("it is not UTF-8")),
    }
}

/// The state directory must be ours: another user who can write there could take the events. Where it is not, nothing is read
/// and nothing is made. One that does not exist is fine.
pub fn check_state_dir() -> Result<()> {
    files::check_ours(&state_dir(), files::OTHERS_WRITE)
}

/// Like [`check_state_dir`], and the token must be ours, too: another user who planted it would be taken for the server.
pub fn check_state() -> Result<()> {
    const OTHERS_DO_ANYTHING: u32 = 0o077;
    check_state_dir()?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_home_of_a_process_without_one_is_the_users() {
        let users = "root:x:0:0:root:/root:/bin/sh\nbroken\na:b:c\ndev:x:1000:100:A, B:/home/dev:/bin/zsh\nx:x:7:7::none:\n";
        for (uid, home) in [(0, Some("/root")), (1000, Some("/home/dev")), (7, None), (8, None)] {
            assert_eq!(home_in(users, uid), home.map(PathBuf::from), "{uid}");
        }
    }
}
