//! Where a tool call happens: the directories that matter, the user's settings, and access to the disk.

use crate::{Decision, Verdict};
use headspace_platform::config;
use headspace_platform::config::Config;
use std::path::PathBuf;
use std::time::Duration;

/// What the guard may ask the disk. It looks at names and links; it reads contents only of scripts that a line runs and
/// of the project's own settings.
pub trait FileSystem: Send + Sync {
    /// Where the symbolic link `path` points; `None` if it is not a link.
    fn link(&self, path: &str) -> Option<String>;
    fn exists(&self, path: &str) -> bool;
    fn is_dir(&self, path: &str) -> bool;
    /// The names in a directory, at most a few thousand.
    fn names(&self, dir: &str) -> Vec<String>;
    /// The text of a regular file of at most [`MAX_SCRIPT_BYTES`].
    fn read(&self, path: &str) -> Option<String>;
    /// Whether the repository at `root` has no uncommitted changes; `None` if that is unknown.
    fn is_clean(&self, root: &str) -> Option<bool>;
    /// The tmux panes in which agents are known to run.
    fn agent_panes(&self) -> AgentPanes {
        AgentPanes::default()
    }
}

/// Panes whose keys are an agent's answers.
#[derive(Clone, Debug, Default)]
pub struct AgentPanes {
    /// The pane of the agent whose call is judged, if it runs in tmux.
    pub own: Option<String>,
    /// All that the server knows.
    pub known: Vec<String>,
}

/// Longer scripts are not read.
pub(crate) const MAX_SCRIPT_BYTES: u64 = 64 << 10;

/// The real disk.
#[derive(Debug)]
pub(crate) struct Disk;

/// A directory with more entries than this is judged by the pattern alone.
const MAX_DIRECTORY_ENTRIES: usize = 5000;

impl FileSystem for Disk {
    fn link(&self, path: &str) -> Option<String> {
        std::fs::read_link(path).ok().map(|target| target.to_string_lossy().into_owned())
    }

    fn exists(&self, path: &str) -> bool {
        std::fs::symlink_metadata(path).is_ok()
    }

    fn is_dir(&self, path: &str) -> bool {
        std::fs::metadata(path).is_ok_and(|meta| meta.is_dir())
    }

    fn names(&self, dir: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(dir) else { return Vec::new() };
        entries
            .take(MAX_DIRECTORY_ENTRIES)
            .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
            .collect()
    }

    fn read(&self, path: &str) -> Option<String> {
        // A pipe or a device could block or never end.
        let length = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?.len();
        if length > MAX_SCRIPT_BYTES {
            return None;
        }
        headspace_platform::files::read_text(path.as_ref()).ok()
    }

    fn is_clean(&self, root: &str) -> Option<bool> {
        // Settings that would make git run another program are off; untracked files survive a reset and do not count.
        let out = std::process::Command::new("git")
            .args(["--no-optional-locks", "-c", "core.fsmonitor=false", "-C", root])
            .args(["status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"])
            .stdin(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .output()
            .ok()?;
        out.status.success().then_some(out.stdout.is_empty())
    }

    fn agent_panes(&self) -> AgentPanes {
        let known = config::panes_file().to_str().and_then(|path| self.read(path)).unwrap_or_default();
        AgentPanes {
            own: config::env(config::var::TMUX_PANE),
            known: known.lines().map(str::to_owned).collect(),
        }
    }
}

/// The environment a judgment is made in.
pub struct GuardEnvironment {
    pub home: PathBuf,
    /// The user's login name, for `~name`.
    pub user: Option<String>,
    /// `CLAUDE_PROJECT_DIR`; the repository around the payload's `cwd` counts as a project too.
    pub project: Option<PathBuf>,
    /// Used if the payload does not name a directory.
    pub cwd: PathBuf,
    pub tmpdir: Option<PathBuf>,
    /// `CLAUDE_SESSION_MODE`
    pub session_mode: Option<String>,
    pub claude_dir: PathBuf,
    /// Named in every reason, and protected from the tools that are judged.
    pub config_file: PathBuf,
    pub config: config::Guard,
    pub files: Box<dyn FileSystem>,
    /// How long a judgment may take before it becomes "ask".
    pub time_limit: Duration,
    /// Writes down the answer as it is so far, in case there is no time to wait for the end (see `deadline`).
    pub early_answer: Option<fn(&Verdict) -> Option<String>>,
}

/// How long the hook may spend on a judgment.
pub(crate) const HOOK_TIME_LIMIT: Duration = Duration::from_millis(50);
const UNHURRIED_TIME_LIMIT: Duration = Duration::from_secs(2);

/// For tests: builds for development, which are slow, take their time if `HEADSPACE_GUARD_UNHURRIED` is set.
fn is_unhurried() -> bool {
    cfg!(debug_assertions) && config::env("HEADSPACE_GUARD_UNHURRIED").is_some()
}

impl GuardEnvironment {
    /// The answer to a call that the guard cannot judge, as the user configured it.
    pub fn failure(&self) -> Decision {
        if self.config.on_failure.as_deref() == Some("block") { Decision::Deny } else { Decision::Ask }
    }

    /// The environment of this process, with the user's settings.
    pub fn here(config: &Config) -> GuardEnvironment {
        GuardEnvironment {
            home: config::home(),
            user: config::env("USER").or_else(|| config::env("LOGNAME")),
            project: config::env_path(config::var::PROJECT_DIR),
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
            tmpdir: config::env_path("TMPDIR").filter(|path| path.is_absolute()),
            session_mode: config::env(config::var::SESSION_MODE),
            claude_dir: config::claude_dir(),
            config_file: config::config_file(),
            config: config.guard.clone(),
            files: Box::new(Disk),
            time_limit: if is_unhurried() { UNHURRIED_TIME_LIMIT } else { HOOK_TIME_LIMIT },
            early_answer: None,
        }
    }
}

#[cfg(test)]
pub(crate) mod fake {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// A made-up disk: directories end in `/`, links are `name->target`.
    #[derive(Default, Debug)]
    pub(crate) struct FakeFileSystem {
        entries: BTreeSet<String>,
        links: BTreeMap<String, String>,
        pub texts: BTreeMap<String, String>,
        pub clean: Option<bool>,
    }

    impl FakeFileSystem {
        pub(crate) fn new(lines: &str) -> FakeFileSystem {
            let mut fake = FakeFileSystem::default();
            for line in lines.split_whitespace() {
                let (name, target) = line.split_once("->").map_or((line, None), |(n, t)| (n, Some(t)));
                let name = name.trim_end_matches('/');
                let mut upto = String::new();
                for part in name.split('/').filter(|part| !part.is_empty()) {
                    upto.push('/');
                    upto.push_str(part);
                    fake.entries.insert(upto.clone());
                }
                if let Some(target) = target {
                    fake.links.insert(name.to_owned(), target.to_owned());
                }
            }
            fake
        }
    }

    impl FileSystem for FakeFileSystem {
        fn link(&self, path: &str) -> Option<String> {
            self.links.get(path).cloned()
        }

        fn exists(&self, path: &str) -> bool {
            self.entries.contains(path)
        }

        fn is_dir(&self, path: &str) -> bool {
            let below = format!("{path}/");
            self.entries.range(below.clone()..).next().is_some_and(|next| next.starts_with(&below))
        }

        fn names(&self, dir: &str) -> Vec<String> {
            let below = format!("{}/", dir.trim_end_matches('/'));
            self.entries
                .range(below.clone()..)
                .take_while(|path| path.starts_with(&below))
                .filter_map(|path| path.strip_prefix(&below))
                .filter(|rest| !rest.contains('/'))
                .map(str::to_owned)
                .collect()
        }

        fn read(&self, path: &str) -> Option<String> {
            self.texts.get(path).cloned()
        }

        fn is_clean(&self, _: &str) -> Option<bool> {
            self.clean
        }

        fn agent_panes(&self) -> AgentPanes {
            AgentPanes { own: Some("%7".into()), known: vec!["%8".into(), "%9".into()] }
        }
    }
}
