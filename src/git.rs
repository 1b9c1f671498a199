//! Where a directory belongs: the repository's root, the project's name, the branch. Read from git's own files, without
//! starting it; the hook and the server ask on every event.

use std::path::{Component, Path, PathBuf};

/// Where a directory belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub root: String,
    pub project: String,
    pub branch: Option<String>,
}

/// The nearest ancestor with a `.git`, as the path spells it; `None` outside of any repository.
pub fn root_of(dir: &Path) -> Option<&Path> {
    dir.ancestors().find(|dir| dir.join(".git").exists())
}

/// The nearest ancestor with `.git`, else the directory itself; any path is accepted, existing or not.
pub fn place_of(cwd: &Path) -> Place {
    let cwd = cwd.canonicalize().unwrap_or_else(|_| tidy(cwd));
    for root in cwd.ancestors() {
        let dot_git = root.join(".git");
        let Ok(meta) = std::fs::metadata(&dot_git) else { continue };
        let git_dir = if meta.is_dir() { Some(dot_git) } else { linked_git_dir(&dot_git) };
        let Some(git_dir) = git_dir else { continue };
        let main = main_checkout(&git_dir).unwrap_or_else(|| root.to_path_buf());
        return Place { root: text(root), project: name_of(&main), branch: branch(&git_dir) };
    }
    Place { root: text(&cwd), project: name_of(&cwd), branch: None }
}

/// A `.git` file names the real directory: `gitdir: PATH`, relative to the file.
fn linked_git_dir(file: &Path) -> Option<PathBuf> {
    let content = read_small(file)?;
    let target = content.strip_prefix("gitdir:")?.trim();
    let target = file.parent()?.join(target);
    target.is_dir().then(|| target.canonicalize().unwrap_or(target))
}

/// Of a linked worktree: the checkout it was made from, whose name is the project's.
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

/// These files are one line; whatever is bigger (or never ends) is not one of them.
fn read_small(path: &Path) -> Option<String> {
    use std::io::Read;
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut content = String::new();
    std::fs::File::open(path).ok()?.take(4096).read_to_string(&mut content).ok()?;
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

/// `.` and `..` worked out by spelling alone, for directories that do not exist here.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                tidy.pop();
            }
            part => tidy.push(part),
        }
    }
    tidy
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
            Place { root: text(&root), project: "repo".into(), branch: Some("feature/x".into()) }
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
    fn a_directory_that_is_not_there_stands_for_itself() {
        let place = place_of(Path::new("/definitely/./not/x/../here"));
        assert_eq!((place.root.as_str(), place.project.as_str()), ("/definitely/not/here", "here"));
        assert_eq!(place_of(Path::new("/")).project, "/");
    }
}
