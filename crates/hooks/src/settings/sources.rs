//! The settings files that apply to a project, read from disk.

use crate::client_settings::locate;
use crate::dialect::Dialect;
use crate::json_spans;
use crate::json_spans::Position;
use crate::settings::check;
use crate::settings::check::CheckedSettings;
use crate::settings::plugins;
use crate::settings::{HookEntry, HookEventConfig};
use headspace_platform::config;
use std::fmt;
use std::path::{Path, PathBuf};

/// Whose settings a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceScope {
    Managed,
    User,
    Project,
    Local,
    /// A plugin's own hooks, by the plugin's id.
    Plugin(String),
}

impl fmt::Display for SourceScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourceScope::Managed => f.write_str("managed"),
            SourceScope::User => f.write_str("user"),
            SourceScope::Project => f.write_str("project"),
            SourceScope::Local => f.write_str("local"),
            SourceScope::Plugin(id) => write!(f, "plugin {id}"),
        }
    }
}

/// One settings file.
#[derive(Debug)]
pub struct Source {
    pub scope: SourceScope,
    pub path: PathBuf,
    pub found: bool,
    pub reading: CheckedSettings,
    /// Set for a file that was already read under another name: its hooks belong to that one.
    pub same_as: Option<PathBuf>,
    /// The directory that a plugin's commands find in `CLAUDE_PLUGIN_ROOT`.
    pub plugin_root: Option<PathBuf>,
}

/// All files of a dialect for one project, in the order in which their hooks are listed.
#[derive(Debug)]
pub struct Sources {
    pub dialect: &'static Dialect,
    pub project: PathBuf,
    pub files: Vec<Source>,
}

/// A usable hook and where it comes from.
#[derive(Clone, Copy, Debug)]
pub struct FoundHook<'s> {
    pub source: &'s Source,
    pub group: &'s HookEventConfig,
    pub entry: &'s HookEntry,
}

impl Sources {
    /// Reads the files. Missing files are listed too, except managed ones.
    pub fn load(dialect: &'static Dialect, project: &Path) -> Sources {
        let mut files: Vec<Source> = Vec::new();
        if dialect.has_policies {
            for path in managed_files() {
                files.extend(
                    Some(read_file(dialect, SourceScope::Managed, path)).filter(|source| source.found),
                );
            }
        }
        let user =
            if dialect.has_policies { config::claude_dir() } else { config::home().join(dialect.directory) };
        let below = project.join(dialect.directory);
        for (scope, path) in [
            (SourceScope::User, user.join("settings.json")),
            (SourceScope::Project, below.join("settings.json")),
            (SourceScope::Local, below.join("settings.local.json")),
        ] {
            let mut source = read_file(dialect, scope, path);
            source.same_as = files.iter().find(|earlier| same_file(earlier, &source)).map(|s| s.path.clone());
            files.push(source);
        }
        let mut sources = Sources { dialect, project: project.to_path_buf(), files };
        if dialect.has_policies {
            let plugins = plugins::installed(&user, &sources.enabled_plugins());
            sources.files.extend(plugins.into_iter().map(|plugin| {
                let mut source = read_file(dialect, SourceScope::Plugin(plugin.id), plugin.hooks_file);
                source.plugin_root = Some(plugin.root);
                source
            }));
        }
        sources
    }

    /// The files as a user thinks of them: each once.
    pub fn read_once(&self) -> impl Iterator<Item = &Source> {
        self.files.iter().filter(|source| source.same_as.is_none())
    }

    /// Every usable hook, in file order and as written, duplicates included.
    pub fn hooks(&self) -> impl Iterator<Item = FoundHook<'_>> {
        self.read_once().flat_map(|source| {
            let groups = &source.reading.configuration.groups;
            groups.iter().flat_map(move |group| {
                group.hooks.iter().map(move |entry| FoundHook { source, group, entry })
            })
        })
    }

    /// Why hooks in this file do not run although they are valid.
    pub fn disabled(&self, source: &Source) -> Option<String> {
        let says = |what: fn(&Source) -> bool| self.read_once().find(move |source| what(source));
        let managed_only = says(|s| s.scope == SourceScope::Managed && s.reading.configuration.managed_only)
            .map(|s| &s.path);
        if source.scope != SourceScope::Managed
            && let Some(path) = managed_only
        {
            return Some(format!("allowManagedHooksOnly in {}", path.display()));
        }
        // A user cannot turn off what the administrator has set.
        let reaches = |by: &Source| source.scope != SourceScope::Managed || by.scope == SourceScope::Managed;
        self.read_once()
            .find(|by| by.reading.configuration.disable_all && reaches(by))
            .map(|by| format!("disableAllHooks in {}", by.path.display()))
    }

    /// What the files set for the client's environment; later files override earlier ones.
    pub fn env(&self) -> Vec<(String, String)> {
        self.read_once().flat_map(|source| source.reading.configuration.env.clone()).collect()
    }

    fn enabled_plugins(&self) -> Vec<(String, bool)> {
        self.read_once().flat_map(|source| source.reading.configuration.plugins.clone()).collect()
    }
}

impl FoundHook<'_> {
    /// Whether this is one of headspace's own entries, as install knows them.
    pub fn is_ours(&self) -> bool {
        self.entry.role(locate::program().ok().as_deref()).is_some()
    }
}

/// A settings file of the dialect, whatever state it is in.
pub(crate) fn read_file(dialect: &'static Dialect, scope: SourceScope, path: PathBuf) -> Source {
    let start = Position { line: 1, column: 1 };
    let (found, reading) = match headspace_platform::files::read(&path) {
        Ok(bytes) => (true, read_bytes(dialect, bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => (false, CheckedSettings::default()),
        // There is a file where the directory should be, so there are no settings in it.
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => {
            (false, CheckedSettings::default())
        }
        Err(_) if path.is_dir() => {
            (true, CheckedSettings::unreadable("could not read it: it is a directory".into(), start))
        }
        Err(error) => (true, CheckedSettings::unreadable(format!("could not read it: {error}"), start)),
    };
    Source { scope, path, found, reading, same_as: None, plugin_root: None }
}

fn read_bytes(dialect: &'static Dialect, bytes: Vec<u8>) -> CheckedSettings {
    match String::from_utf8(bytes) {
        Ok(text) => check::read(dialect, &text),
        Err(error) => {
            let good = error.utf8_error().valid_up_to();
            let text = String::from_utf8_lossy(&error.as_bytes()[..good]).into_owned();
            let message = format!("the file is not UTF-8 text; {} ignores the whole file", dialect.client);
            CheckedSettings::unreadable(message, json_spans::position(&text, good))
        }
    }
}

fn same_file(a: &Source, b: &Source) -> bool {
    match (std::fs::canonicalize(&a.path), std::fs::canonicalize(&b.path)) {
        (Ok(a), Ok(b)) => a == b,
        _ => a.path == b.path,
    }
}

/// Where an administrator puts settings.
fn managed_files() -> Vec<PathBuf> {
    let directory = Path::new(if cfg!(target_os = "macos") {
        "/Library/Application Support/ClaudeCode"
    } else if cfg!(windows) {
        "C:\\Program Files\\ClaudeCode"
    } else {
        "/etc/claude-code"
    });
    let mut files = vec![directory.join("managed-settings.json")];
    if let Ok(entries) = std::fs::read_dir(directory.join("managed-settings.d")) {
        let mut more: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .collect();
        more.sort_unstable();
        files.extend(more);
    }
    files
}
