//! Which repository a directory belongs to: its root, the project's name, the branch. Read from git's own files without
//! starting git, because the hook and the server ask on every event.
//!
//! Directories that many projects share are not the project of what is below them: people keep their dotfiles in
//! `~/.git`, and a stray `.git` in `/tmp` would make everything there one project.

use crate::{config, files};
use std::path::{Path, PathBuf};

/// The repository a directory belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    pub root: String,
    pub project: String,
    pub branch: Option<String>,
}

/// The root of the repository around `dir`, as the path spells it; `None` outside any repository.
pub fn root_of(dir: &Path) -> Option<&Path> {
    enclosing(dir, shared_roots).map(|(root, _)| root)
}

/// The root of the repository around `cwd`, otherwise the directory itself; accepts any path, existing or not.
pub fn place_of(cwd: &Path) -> Repository {
    let cwd = cwd.canonicalize().unwrap_or_else(|_| files::lexically_normal(cwd));
    let Some((root, dot_git)) = enclosing(&cwd, shared_roots) else {
        return Repository { root: text(&cwd), project: name_of(&cwd), branch: None };
    };
    // If a worktree's repository is missing, only the location is known.
    let DotGit::Dir(git_dir) = dot_git else {
        return Repository { root: text(root), project: name_of(root), branch: None };
    };
    let main = main_checkout(&git_dir).unwrap_or_else(|| root.to_path_buf());
    Repository { root: text(root), project: name_of(&main), branch: branch(&git_dir) }
}

/// What makes a directory the root of a repository.
#[derive(Debug)]
enum DotGit {
    /// Git's own directory: `.git` itself, or what the file of that name points to.
    Dir(PathBuf),
    /// A file that points to a directory which is not there: inside a container, the repository may be missing.
    Elsewhere,
}

/// The nearest repository at or above `dir`, unless a directory that projects share is between them or is its root; in
/// the shared directory itself it counts.
fn enclosing(dir: &Path, shared: impl FnOnce() -> Vec<PathBuf>) -> Option<(&Path, DotGit)> {
    let (root, dot_git) = dir.ancestors().find_map(|root| Some((root, dot_git(root)?)))?;
    let counts =
        root == dir || !shared().iter().any(|shared| dir.starts_with(shared) && shared.starts_with(root));
    counts.then_some((root, dot_git))
}

/// Home, the file system's root, and the directories for temporary files; as spelled and with links resolved.
fn shared_roots() -> Vec<PathBuf> {
    let known = ["/", "/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp"].map(PathBuf::from);
    let mut roots = Vec::from(known);
    for dir in [config::home(), config::temp_dir()] {
        roots.extend(dir.canonicalize());
        roots.push(dir);
    }
    // Every relative path starts with the empty path.
    roots.retain(|dir| dir.is_absolute());
    roots
}

/// An empty `.git` is not a repository: a directory has a HEAD, which may be a link to a file that does not exist yet,
/// and a file names the real directory: `gitdir: PATH`, relative to the file.
fn dot_git(root: &Path) -> Option<DotGit> {
    let path = root.join(".git");
    if std::fs::metadata(&path).ok()?.is_dir() {
        std::fs::symlink_metadata(path.join("HEAD")).ok()?;
        return Some(DotGit::Dir(path));
    }
    let content = read_small(&path)?;
    let target = root.join(content.strip_prefix("gitdir:")?.trim());
    let there = target.is_dir();
    Some(if there { DotGit::Dir(target.canonicalize().unwrap_or(target)) } else { DotGit::Elsewhere })
}

/// For a linked worktree: the checkout it was made from, whose name is the project's.
fn main_checkout(git_dir: &Path) -> Option<PathBuf> {
    let common = git_dir.join(read_small(&git_dir.join("commondir"))?.trim());
    let common = common.canonicalize().ok()?;
    if common.file_name()? == ".git" { Some(common.parent()?.to_path_buf()) } else { Some(common) }
}

/// The branch's name, or the short id of a detached commit.
fn branch(git_dir: &Path) -> Option<String> {
    let head = read_small(&git_dir.join("HEAD"))?;
    let head = head.trim();
    match head.strip_prefix("ref:") {
        Some(reference) => {
            let reference = reference.trim();
            let name = reference.strip_prefix("refs/heads/").unwrap_or(reference);
            Some(name.to_owned()).filter(|name| name != ".invalid" && !name.is_empty())
        }
        None => Some(head.chars().take(8).collect::<String>())
            .filter(|id| id.len() == 8 && id.chars().all(|c| c.is_ascii_hexdigit())),
    }
}

/// These files have one line; anything bigger (or endless) is not one of them.
fn read_small(path: &Path) -> Option<String> {
    use std::io::Read;
    let file = files::open_regular(path, std::fs::OpenOptions::new().read(true)).ok()?;
    let mut content = String::new();
    file.take(4096).read_to_string(&mut content).ok()?;
    Some(content)
}

fn name_of(path: &Path) -> String {
    match path.file_name() {
        Some(name) => {
            let name = name.to_string_lossy();
            name.strip_suffix(".git").filter(|rest| !rest.is_empty()).unwrap_or(&name).to_owned()
        }
        None => text(path),
    }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_directory_belongs_to_the_nearest_git_root() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap().join("repo");
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::create_dir_all(root.join("src/deep")).unwrap();
        fs::write(root.join(".git/HEAD"), "ref: refs/heads/feature/x\n").unwrap();
        let place = place_of(&root.join("src/../src/deep"));
        assert_eq!(
            place,
            Repository { root: text(&root), project: "repo".into(), branch: Some("feature/x".into()) }
        );
        fs::write(root.join(".git/HEAD"), "0123456789abcdef0123456789abcdef01234567\n").unwrap();
        assert_eq!(place_of(&root).branch.as_deref(), Some("01234567"));
    }

    #[test]
    fn a_worktree_is_its_own_root_with_the_main_checkouts_name() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let admin = base.join("main/.git/worktrees/topic");
        fs::create_dir_all(&admin).unwrap();
        fs::create_dir_all(base.join("topic")).unwrap();
        fs::write(admin.join("commondir"), "../..\n").unwrap();
        fs::write(admin.join("HEAD"), "ref: refs/heads/topic\n").unwrap();
        fs::write(base.join("topic/.git"), format!("gitdir: {}\n", admin.display())).unwrap();
        let place = place_of(&base.join("topic"));
        assert_eq!(place.root, text(&base.join("topic")));
        assert_eq!((place.project.as_str(), place.branch.as_deref()), ("main", Some("topic")));
    }

    #[test]
    fn something_that_is_not_a_repository_does_not_hide_the_one_around_it() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap().join("outer");
        fs::create_dir_all(base.join(".git")).unwrap();
        fs::write(base.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        type Make = fn(&Path);
        let cases: [(&str, bool, Make); 7] = [
            ("nothing", false, |_| {}),
            ("an empty directory", false, |path| fs::create_dir(path).unwrap()),
            ("a directory with other things", false, |path| {
                fs::create_dir_all(path.join("hooks")).unwrap();
            }),
            ("a directory with HEAD", true, |path| {
                fs::create_dir(path).unwrap();
                fs::write(path.join("HEAD"), "").unwrap();
            }),
            ("an empty file", false, |path| fs::write(path, "").unwrap()),
            ("another file", false, |path| fs::write(path, "nothing of git's\n").unwrap()),
            ("a file that leads elsewhere", true, |path| {
                fs::write(path, "gitdir: /definitely/not/here\n").unwrap();
            }),
        ];
        for (what, counts, make) in cases {
            let inner = base.join(what);
            let deep = inner.join("deep");
            fs::create_dir_all(&deep).unwrap();
            make(&inner.join(".git"));
            let root = if counts { &inner } else { &base };
            assert_eq!(place_of(&deep).root, text(root), "{what}");
            assert_eq!(root_of(&deep), Some(root.as_path()), "{what}");
        }
    }

    #[test]
    fn a_shared_directory_is_a_project_only_in_itself() {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let repo = |path: &str| {
            fs::create_dir_all(base.join(path).join(".git")).unwrap();
            fs::write(base.join(path).join(".git/HEAD"), "").unwrap();
        };
        for path in ["", "home", "home/repo", "work", "work/tmp"] {
            repo(path);
        }
        // A temp directory is below `work`, beside ordinary files.
        let shared = || ["home", "work/tmp", "bare"].map(|path| base.join(path)).to_vec();
        for (cwd, root) in [
            ("home", Some("home")),
            ("home/notes", None),
            ("home/notes/deep", None),
            ("home/repo", Some("home/repo")),
            ("home/repo/src", Some("home/repo")),
            ("work", Some("work")),
            ("work/src", Some("work")),
            ("work/tmp", Some("work/tmp")),
            ("work/tmp/x", None),
            ("work/tmpx", Some("work")),
            // Shared, but not a repository: then a repository above it does not count either.
            ("bare", None),
            ("bare/x", None),
            ("elsewhere", Some("")),
        ] {
            let cwd = base.join(cwd);
            let found = enclosing(&cwd, shared).map(|(root, _)| root.to_path_buf());
            // An empty path joined to another adds a slash.
            let root = root.map(|root| if root.is_empty() { base.clone() } else { base.join(root) });
            assert_eq!(found, root, "{}", cwd.display());
        }
    }

    #[test]
    fn home_and_temp_directories_are_shared() {
        let shared = shared_roots();
        for dir in [config::home(), config::temp_dir(), "/".into(), "/tmp".into(), "/var/tmp".into()] {
            assert!(shared.contains(&dir), "{}", dir.display());
        }
    }

    #[test]
    fn a_directory_that_does_not_exist_is_its_own_root() {
        let place = place_of(Path::new("/definitely/./not/x/../here"));
        assert_eq!((place.root.as_str(), place.project.as_str()), ("/definitely/not/here", "here"));
        assert_eq!(place_of(Path::new("/")).project, "/");
    }
}
