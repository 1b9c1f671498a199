//! Which files are protected, and from what: a table of locations and names.
//!
//! Paths are compared without regard to case, because some file systems do so too.

use crate::eval::glob;
use crate::eval::value;
use crate::eval::value::is_hole;
use crate::rules;
use crate::rules::Rule;
use crate::rules::names;
use crate::rules::names::{DISK_DEVICES, HARMLESS_DEVICES, SOURCE_ENDINGS, TEMPLATE_ENDINGS};

/// Why a file is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProtectedKind {
    /// `.env` and its variants.
    Env,
    /// Private keys.
    Key,
    /// Anything else in `~/.ssh`.
    Ssh,
    Credentials,
    /// Runs at login or when a shell starts.
    Start,
    /// What git runs: its configuration and its hooks.
    Git,
    GitData,
    /// Settings of Claude Code, of other agents, and of this guard.
    Agent,
    System,
    /// `/usr/bin` and similar: no secrets, but not the user's files either.
    SystemTree,
    /// The password file.
    Shadow,
    History,
    /// Written by package managers.
    Lock,
    Device,
}

enum Anchor {
    /// The last component, anywhere.
    Name,
    /// Below any home directory; `**` at the end means the directory and everything in it.
    Home,
    /// From the root (or a Windows drive).
    Root,
}
use Anchor::*;
use ProtectedKind::*;

include!(concat!(env!("OUT_DIR"), "/guard/shields.rs"));

/// Where homes are, apart from the user's own.
static HOME_PATTERNS: &[&str] = &["home/*", "users/*", "root", "var/root", "c:/users/*"];

/// The directories needed to classify a path, all in lower case and without a trailing slash.
#[derive(Debug, Default)]
pub(crate) struct ProtectedRoots {
    pub homes: Vec<String>,
    /// `CLAUDE_CONFIG_DIR`, if it is not `~/.claude`.
    pub claude_dir: String,
    pub config_dir: String,
}

/// Whether the file is a template of an environment file: `.env.example`, `.env.production.sample`.
pub(crate) fn is_template(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let ending = name.rsplit(['.', '-', '_']).next().unwrap_or("");
    name.starts_with(".env") && TEMPLATE_ENDINGS.contains(&ending)
}

/// Why the file at `path` is protected. `path` is absolute; a path with an unknown start begins with a hole and is
/// judged by what follows. Active globs in the last component are compared as patterns.
pub(crate) fn kind(path: &str, known: &ProtectedRoots) -> Option<ProtectedKind> {
    let path = path.to_lowercase();
    let unknown_start = path.chars().next().is_some_and(is_hole);
    // Windows ignores blanks and dots at the end of a name.
    let path = without_drive(path.trim_end_matches(['/', ' ', '.']));
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let name = parts.last().copied().unwrap_or("");
    if let Some(rest) = path.strip_prefix("/dev/") {
        return device(rest);
    }
    if let Some(kind) = git_kind(&parts) {
        return kind;
    }
    if is_agent_settings(&path, &parts, known) {
        return Some(Agent);
    }
    let in_home = below_homes(&path, &parts, known);
    for (at, shield, kind) in SHIELDS {
        let hit = match at {
            Name => name_matches(shield, name),
            Home if unknown_start => (0..parts.len()).any(|from| tree_matches(shield, &parts[from..])),
            Home => in_home.iter().any(|from| tree_matches(shield, &parts[*from..])),
            Root => !unknown_start && tree_matches(shield, &parts),
        };
        if !hit || is_exempt(*kind, name) {
            continue;
        }
        return Some(*kind);
    }
    None
}

/// `C:\x`, `C:/x`, `/c/x` and `/mnt/c/x` all become `/c:/x`.
fn without_drive(path: &str) -> String {
    let slashed = if path.contains('\\') { path.replace('\\', "/") } else { path.to_owned() };
    let bytes = slashed.as_bytes();
    if bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' {
        return format!("/c:{}", &slashed[2..]);
    }
    for prefix in ["/mnt/c/", "/c/", "//?/c:/", "/cygdrive/c/"] {
        if let Some(rest) = slashed.strip_prefix(prefix) {
            return format!("/c:/{rest}");
        }
    }
    slashed
}

fn is_exempt(kind: ProtectedKind, name: &str) -> bool {
    match kind {
        Env => is_template(name) || name == ".env.d.ts" || name.ends_with(".md"),
        // `id_rsa.md` and `id_rsa_test.go` are about keys.
        Key => {
            name.ends_with(".pub")
                || name.rsplit_once('.').is_some_and(|(_, end)| SOURCE_ENDINGS.contains(&end))
        }
        _ => false,
    }
}

fn git_kind(parts: &[&str]) -> Option<Option<ProtectedKind>> {
    let at = parts.iter().rposition(|part| *part == ".git")?;
    let rest = &parts[at + 1..];
    // A submodule's own directory has the same structure.
    let inner = match rest {
        ["modules" | "worktrees", .., "config" | "config.worktree"] => return Some(Some(Git)),
        ["modules", middle @ ..] if middle.contains(&"hooks") => return Some(Some(Git)),
        rest => rest,
    };
    Some(match inner {
        ["config" | "config.worktree", ..] | ["hooks", ..] => Some(Git),
        ["info", "exclude" | "attributes"] | ["commit_editmsg" | "merge_msg" | "description"] => None,
        _ => Some(GitData),
    })
}

fn is_agent_settings(path: &str, parts: &[&str], known: &ProtectedRoots) -> bool {
    let is_settings = |name: &str| name.starts_with("settings") && name.ends_with(".json");
    let below =
        |dir: &str| !dir.is_empty() && path.strip_prefix(dir).is_some_and(|rest| rest.starts_with('/'));
    match parts {
        [.., ".claude", name] if is_settings(name) => true,
        // The second one wherever the state directory is.
        [.., ".headspace.jsonc" | "guard-once.json"] => true,
        [.., name] if is_settings(name) => {
            below(&known.claude_dir) && path.len() == known.claude_dir.len() + 1 + name.len()
        }
        _ => below(&known.config_dir),
    }
}

/// For every home that the path is in, the number of its components.
fn below_homes(path: &str, parts: &[&str], known: &ProtectedRoots) -> Vec<usize> {
    let mut found = Vec::new();
    for home in &known.homes {
        if path.strip_prefix(home.as_str()).is_some_and(|rest| rest.starts_with('/')) {
            found.push(home.split('/').filter(|part| !part.is_empty()).count());
        }
    }
    for home in HOME_PATTERNS {
        let length = home.split('/').count();
        if parts.len() > length && tree_matches(home, &parts[..length]) && !found.contains(&length) {
            found.push(length);
        }
    }
    found
}

fn name_matches(shield: &str, name: &str) -> bool {
    if value::has_special(name) {
        // A glob hits a plain protected name if it would match it; two patterns are not compared.
        return !value::has_hole(name) && pattern_hits(shield, name);
    }
    star_matches(shield, name)
}

/// A protected name has at most one star, and about a hundred are compared per path.
fn star_matches(shield: &str, name: &str) -> bool {
    match shield.split_once('*') {
        None => shield == name,
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
    }
}

/// Whether a glob means the protected files: it would match the name, or everything it matches is protected.
fn pattern_hits(shield: &str, pattern: &str) -> bool {
    let Some((start, end)) = shield.split_once('*') else {
        return pattern.starts_with('.') && glob::matches_visible(pattern, shield);
    };
    let head = pattern.split(value::is_glob).next().unwrap_or("");
    let tail = pattern.rsplit(value::is_glob).next().unwrap_or("");
    head.starts_with(start) && tail.ends_with(end)
}

/// Compares component by component; `**` at the end stands for the directory itself and everything in it.
fn tree_matches(shield: &str, parts: &[&str]) -> bool {
    let mut parts = parts.iter();
    for wanted in shield.split('/') {
        if wanted == "**" {
            return true;
        }
        match parts.next() {
            Some(part) if component_matches(wanted, part) => {}
            _ => return false,
        }
    }
    parts.next().is_none()
}

fn component_matches(wanted: &str, part: &str) -> bool {
    if value::has_special(part) {
        return !wanted.contains('*') && !value::has_hole(part) && glob::matches_visible(part, wanted);
    }
    star_matches(wanted, part)
}

/// Whether `/dev/NAME` is a disk, or the memory.
pub(crate) fn is_disk(name: &str) -> bool {
    device(name).is_some()
}

fn device(rest: &str) -> Option<ProtectedKind> {
    let parts: Vec<&str> = rest.split('/').collect();
    if rest.starts_with("tcp/") || rest.starts_with("udp/") {
        return None;
    }
    if HARMLESS_DEVICES.iter().any(|name| tree_matches(name, &parts)) {
        return None;
    }
    DISK_DEVICES.iter().any(|name| tree_matches(name, &parts)).then_some(Device)
}

impl ProtectedKind {
    /// A file of the system.
    pub(crate) fn is_system(self) -> bool {
        matches!(self, System | Shadow | SystemTree)
    }

    /// The rule that a write breaks.
    pub(crate) fn write_rule(self) -> &'static Rule {
        match self {
            Env => &rules::WRITE_ENV,
            Key => &rules::WRITE_KEY,
            Ssh | Credentials => &rules::WRITE_CREDENTIALS,
            Start => &rules::WRITE_SHELL_START,
            Git => &rules::WRITE_GIT,
            GitData => &rules::WRITE_GIT_DATA,
            Agent => &rules::WRITE_AGENT_SETTINGS,
            System | Shadow => &rules::WRITE_SYSTEM,
            SystemTree => &rules::WRITE_SYSTEM_TREE,
            History => &rules::HISTORY,
            Lock => &rules::WRITE_LOCK_FILE,
            Device => &rules::DISK_WRITE,
        }
    }

    /// The rule that a read of `path` breaks, if reading is protected at all.
    pub(crate) fn read_rule(self, path: &str) -> Option<&'static Rule> {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        match self {
            Env | Credentials => Some(&rules::READ_SECRET),
            Key if looks_public(&name) => None,
            Key | Shadow => Some(&rules::READ_KEY),
            Ssh if name.ends_with(".pub") => None,
            Ssh if name.starts_with("known_hosts") || name.starts_with("authorized_keys") => None,
            Ssh => Some(&rules::READ_SECRET),
            _ => None,
        }
    }

    /// The rule that deleting the file breaks where deleting would otherwise be allowed.
    pub(crate) fn delete_rule(self) -> Option<&'static Rule> {
        match self {
            Env | Key | Ssh | Credentials => Some(&rules::DELETE_PROTECTED),
            Agent => Some(&rules::WRITE_AGENT_SETTINGS),
            _ => None,
        }
    }
}

/// Whether the name suggests a certificate or a public key in the format that private keys also use.
fn looks_public(name: &str) -> bool {
    let Some(stem) = name.strip_suffix(".pem").or_else(|| name.strip_suffix(".key")) else { return false };
    let public = names::PUBLIC_KEY_WORDS;
    stem.split(['.', '-', '_']).any(|word| public.contains(&word))
        && !stem.split(['.', '-', '_']).any(|word| word.contains("priv") || word == "key")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(path: &str) -> Option<ProtectedKind> {
        let known = ProtectedRoots {
            homes: vec!["/srv/people/dev".into()],
            claude_dir: "/srv/people/dev/.claude".into(),
            config_dir: "/srv/people/dev/.config/headspace".into(),
        };
        kind(path, &known)
    }

    #[test]
    fn protected_files_are_classified() {
        let home = "/srv/people/dev";
        for (path, expected) in [
            (format!("{home}/proj/.env"), Some(Env)),
            (format!("{home}/proj/.ENV.Production.local"), Some(Env)),
            (format!("{home}/proj/.env.production.example"), None),
            (format!("{home}/proj/.Env.Example"), None),
            (format!("{home}/proj/.environment"), None),
            (format!("{home}/proj/.envrc"), Some(Env)),
            (format!("{home}/proj/.envrc.md"), None),
            (format!("{home}/proj/src/dotenv.ts"), None),
            (format!("{home}/proj/src/id_generator.rs"), None),
            (format!("{home}/proj/docs/id_rsa.md"), None),
            (format!("{home}/proj/src/id_rsa_test.go"), None),
            (format!("{home}/proj/id_rsa.bak"), Some(Key)),
            (format!("{home}/proj/id_rsa"), Some(Key)),
            (format!("{home}/proj/certs/server.key"), Some(Key)),
            (format!("{home}/.ssh/id_work"), Some(Key)),
            (format!("{home}/.ssh/id_work.pub"), Some(Ssh)),
            (format!("{home}/.ssh"), Some(Ssh)),
            (format!("{home}/.sshx"), None),
            (format!("{home}/proj/.npmrc"), None),
            (format!("{home}/.npmrc"), Some(Credentials)),
            (format!("{home}/proj/.bashrc"), None),
            (format!("{home}/.bashrc"), Some(Start)),
            ("/home/other/.zshrc".into(), Some(Start)),
            ("/root/.profile".into(), Some(Start)),
            (format!("{home}/proj/.git/hooks/pre-commit"), Some(Git)),
            (format!("{home}/proj/.Git/config"), Some(Git)),
            (format!("{home}/proj/.git/info/exclude"), None),
            (format!("{home}/proj/.git/HEAD"), Some(GitData)),
            (format!("{home}/proj/.gitignore"), None),
            (format!("{home}/proj/.claude/settings.local.json"), Some(Agent)),
            (format!("{home}/proj/.claude/commands/x.md"), None),
            (format!("{home}/.config/headspace/config.jsonc"), Some(Agent)),
            ("/etc/hosts".into(), Some(System)),
            ("/etc/shadow".into(), Some(Shadow)),
            (r"C:\Users\dev\.ssh\id_rsa".into(), Some(Key)),
            (r"C:\Windows\System32\drivers\etc\hosts".into(), Some(System)),
            ("/mnt/c/Windows/win.ini".into(), Some(System)),
            ("/dev/nvme0n1".into(), Some(Device)),
            ("/dev/null".into(), None),
            ("/usr/local/bin/x".into(), None),
            ("/usr/bin/x".into(), Some(SystemTree)),
            (format!("{home}/proj/Cargo.lock"), Some(Lock)),
            (format!("{home}/proj/src/auth/credentials_form.tsx"), None),
        ] {
            assert_eq!(kind_of(&path), expected, "{path}");
        }
    }

    #[test]
    fn an_unknown_start_is_judged_by_the_rest() {
        for (rest, expected) in
            [("/.ssh/authorized_keys", Some(Ssh)), ("/.env", Some(Env)), ("/etc/hosts", None), ("/x", None)]
        {
            assert_eq!(kind_of(&format!("\u{100100}{rest}")), expected, "{rest}");
        }
    }
}
