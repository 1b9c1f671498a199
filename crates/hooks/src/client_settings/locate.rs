//! Which files are meant, and the path by which this program is called.

use crate::settings::check::nearest;
use anyhow::{Context, Result, bail, ensure};
use headspace_platform::config;
use headspace_platform::usage::Usage;
use headspace_platform::{files, git};
use std::path::{Path, PathBuf};

/// Whose settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Client {
    #[default]
    Claude,
    Wave,
}

/// Which of the client's settings files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All sessions of the user
    #[default]
    User,
    /// Everybody who works on the project
    Project,
    /// The user, in this project
    Local,
}

/// One settings file to work on.
#[derive(Clone, Debug)]
pub struct Target {
    /// As the user knows it.
    pub path: PathBuf,
    /// The file behind symbolic links.
    pub file: PathBuf,
    /// The client's directory, where the script belongs.
    pub config_dir: PathBuf,
}

impl Target {
    fn new(dir: PathBuf, name: &str, config_dir: PathBuf) -> Result<Target> {
        let path = dir.join(name);
        let file = straight(&files::resolve(&path)?);
        Ok(Target { file, path, config_dir })
    }

    /// A file of a client that has just this one.
    pub fn at(path: &Path) -> Result<Target> {
        let path = std::path::absolute(path).context("could not find the current directory")?;
        let dir = path.parent().unwrap_or(Path::new("/")).to_path_buf();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Target::new(dir.clone(), &name, dir)
    }

    pub fn is_symlink(&self) -> bool {
        self.path.is_symlink()
    }
}

/// Resolves links in the existing directories: the same file must be recognized however it is reached.
fn straight(file: &Path) -> PathBuf {
    let known = |dir: &Path| Some((dir.canonicalize().ok()?, file.strip_prefix(dir).ok()?));
    match file.ancestors().skip(1).find_map(known) {
        Some((dir, rest)) => dir.join(rest),
        None => file.to_path_buf(),
    }
}

/// The files for these choices; a file named twice, even through links, is listed once.
pub fn targets(client: Client, scope: Scope, config_dirs: &[PathBuf]) -> Result<Vec<Target>> {
    let (folder, home) = match client {
        Client::Claude => (".claude", config::claude_dir()),
        Client::Wave => (".wave", config::home().join(".wave")),
    };
    let absolute = |path: &Path| std::path::absolute(path).context("could not find the current directory");
    let mut targets: Vec<Target> = Vec::new();
    match scope {
        Scope::User if config_dirs.is_empty() => {
            let home = absolute(&home)?;
            targets.push(Target::new(home.clone(), "settings.json", home)?);
        }
        Scope::User => {
            for dir in config_dirs {
                let dir = absolute(dir)?;
                let target = Target::new(dir.clone(), "settings.json", dir)?;
                if targets.iter().all(|other| other.file != target.file) {
                    targets.push(target);
                }
            }
        }
        Scope::Project | Scope::Local => {
            if !config_dirs.is_empty() {
                return Err(Usage("could not use --config-dir: it goes with --scope user only".into()).into());
            }
            let name = if scope == Scope::Project { "settings.json" } else { "settings.local.json" };
            targets.push(Target::new(project_root()?.join(folder), name, absolute(&home)?)?);
        }
    }
    Ok(targets)
}

/// A directory named on the command line must exist: if it does not, it is a typo, and hooks in it would never be
/// called.
pub fn check_there(dir: &Path) -> Result<()> {
    if dir.is_dir() {
        return Ok(());
    }
    ensure!(!dir.exists(), "could not use {} as --config-dir: it is not a directory", dir.display());
    let whole = std::path::absolute(dir).context("could not find the current directory")?;
    let parent = whole.parent().unwrap_or(Path::new("/"));
    let siblings: Vec<String> = std::fs::read_dir(parent)
        .map(|entries| entries.flatten().filter(|entry| entry.path().is_dir()))
        .map(|dirs| dirs.filter_map(|entry| entry.file_name().into_string().ok()).collect())
        .unwrap_or_default();
    let name = whole.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let advice = match nearest(&name, siblings.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {}? ", parent.join(near).display()),
        None => String::new(),
    };
    bail!("could not find the directory {}: {advice}`headspace install … --create` creates it", dir.display())
}

/// The nearest directory with a `.git`, else the current one.
fn project_root() -> Result<PathBuf> {
    let here = std::env::current_dir().context("could not find the current directory")?;
    Ok(git::root_of(&here).unwrap_or(&here).to_path_buf())
}

/// The path by which to call this program from now on: the one on `PATH` if it leads here, since package managers put a
/// link there that survives updates; otherwise the program's own location.
pub fn program() -> Result<String> {
    let exe = std::env::current_exe().context("could not find this program's own path")?;
    let name = exe.file_name().unwrap_or_default().to_owned();
    let same = |path: &PathBuf| path.canonicalize().ok() == exe.canonicalize().ok();
    let path = headspace_platform::process::on_path(&name.to_string_lossy()).filter(same).unwrap_or(exe);
    anyhow::ensure!(path.is_file(), "could not find this program at {}: was it replaced?", path.display());
    utf8(&path)
}

/// Settings are JSON, so a path must be text.
pub fn utf8(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).with_context(|| format!("could not use {}: not UTF-8", path.display()))
}

/// Whether `program` is the output of `cargo build`, which the next `cargo clean` deletes.
pub fn in_build_dir(program: &Path) -> bool {
    program.ancestors().skip(1).any(|dir| dir.ends_with("target") || dir.join(".rustc_info.json").is_file())
}
