//! Where a path leads and which zone it is in. Paths are made canonical before they are compared: `.`, `..`, double
//! slashes, symbolic links (also those the same line creates), `/proc/self/root`.

use crate::environment::{FileSystem, GuardEnvironment};
use crate::protected::{ProtectedKind, ProtectedRoots, kind};
use crate::rules::names;
use std::cell::RefCell;
use std::collections::HashMap;

/// What deleting something at a path would mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zone {
    /// Strictly inside the project.
    Inside,
    /// The project's root or a directory above it.
    Root,
    /// Inside a `.git`.
    Git,
    /// Strictly below a temp directory.
    Temp,
    TempRoot,
    Outside,
}

/// More links than this in one path are a loop.
const MAX_LINKS: usize = 40;
/// No system takes a longer path, so nothing can be there.
const MAX_PATH_BYTES: usize = 4096;

pub(crate) struct Locations<'a> {
    pub files: &'a dyn FileSystem,
    /// As the user writes it.
    pub home: String,
    pub user: Option<String>,
    /// Canonical, like all paths below.
    pub real_home: String,
    pub projects: Vec<String>,
    pub temps: Vec<String>,
    pub cwd: String,
    /// `$TMPDIR`, or `/tmp`.
    pub tmpdir: String,
    pub protected_roots: ProtectedRoots,
    links: RefCell<HashMap<String, Option<String>>>,
}

impl<'a> Locations<'a> {
    pub(crate) fn new(environment: &'a GuardEnvironment, payload_cwd: Option<&str>) -> Locations<'a> {
        let text = |path: &std::path::Path| {
            let text = path.to_string_lossy();
            if is_windows(&text) { slashed(&text) } else { text.into_owned() }
        };
        let home = trimmed(&text(&environment.home));
        let cwd = match payload_cwd {
            Some(cwd) if cwd.starts_with('/') => cwd.to_owned(),
            Some(cwd) if is_windows(cwd) => slashed(cwd),
            Some(cwd) if !cwd.is_empty() => format!("{}/{cwd}", text(&environment.cwd)),
            _ => text(&environment.cwd),
        };
        let mut locations = Locations {
            files: environment.files.as_ref(),
            home: home.clone(),
            user: environment.user.clone(),
            real_home: String::new(),
            projects: Vec::new(),
            temps: Vec::new(),
            cwd: trimmed(&cwd),
            tmpdir: "/tmp".into(),
            protected_roots: ProtectedRoots::default(),
            links: RefCell::new(HashMap::new()),
        };
        locations.real_home = locations.real(&home, true);
        let real_cwd = locations.real(&locations.cwd, true);
        for temp in ["/tmp", "/var/tmp"] {
            locations.add_temp(temp);
        }
        let tmpdir = environment.tmpdir.as_deref().map(|dir| trimmed(&text(dir)));
        let real_tmpdir = tmpdir.as_deref().map(|dir| locations.real(dir, true));
        locations.add_project(&locations.enclosing_repository(&real_cwd, real_tmpdir.as_deref()));
        if let Some(project) = &environment.project {
            let project = locations.real(&trimmed(&text(project)), true);
            locations.add_project(&project);
        }
        if locations.projects.is_empty() {
            locations.add_project(&real_cwd);
        }
        if let Some(tmpdir) = tmpdir {
            locations.add_tmpdir(&tmpdir);
            locations.tmpdir = tmpdir;
        }
        let mut homes = vec![home.to_lowercase(), locations.real_home.to_lowercase()];
        homes.dedup();
        homes.retain(|home| !home.is_empty());
        let config_dir = environment.config_file.parent().map(text).unwrap_or_default();
        locations.protected_roots = ProtectedRoots {
            homes,
            claude_dir: trimmed(&text(&environment.claude_dir)).to_lowercase(),
            config_dir: trimmed(&config_dir).to_lowercase(),
        };
        locations
    }

    /// The nearest repository at or above `cwd`; empty if there is none. The search stops at a temp directory, because
    /// projects share it.
    fn enclosing_repository(&self, cwd: &str, tmpdir: Option<&str>) -> String {
        let mut dir = cwd;
        while !dir.is_empty() {
            let temp = tmpdir == Some(dir) || self.temps.iter().any(|temp| temp == dir);
            if temp && dir != cwd {
                break;
            }
            if dir.len() < MAX_PATH_BYTES && self.is_repository(dir) {
                return dir.to_owned();
            }
            if temp {
                break;
            }
            dir = parent(dir);
        }
        String::new()
    }

    /// Whether git would take `dir` for the root of a repository, judging by names: an empty `.git` does not count.
    pub(crate) fn is_repository(&self, dir: &str) -> bool {
        let path = format!("{dir}/.git");
        self.files.exists(&path) && (!self.files.is_dir(&path) || self.files.exists(&format!("{path}/HEAD")))
    }

    /// A home, a directory above it, or a system tree is never a project, whatever the payload says.
    fn add_project(&mut self, dir: &str) {
        let above_home = dir.is_empty() || contains(dir, &self.real_home);
        if !above_home && may_hold_work(dir) && !self.projects.iter().any(|project| project == dir) {
            self.projects.push(dir.to_owned());
        }
    }

    /// A temp directory that contains the home or the project would allow everything in it.
    fn add_tmpdir(&mut self, dir: &str) {
        let real = self.real(dir, true);
        let holds_more = contains(&real, &self.real_home)
            || self.projects.iter().any(|project| contains(&real, project))
            || !may_hold_work(&real);
        if !holds_more {
            self.add_temp(dir);
        }
    }

    fn add_temp(&mut self, dir: &str) {
        for temp in [self.real(dir, true), dir.to_owned()] {
            if !self.temps.contains(&temp) {
                self.temps.push(temp);
            }
        }
    }

    /// Records a link that the line itself creates: later paths go through it.
    pub(crate) fn add_link(&self, path: &str, target: &str) {
        let path = self.real(path, false);
        self.links.borrow_mut().insert(path, Some(target.to_owned()));
    }

    fn link(&self, path: &str) -> Option<String> {
        if path.len() > MAX_PATH_BYTES {
            return None;
        }
        if let Some(known) = self.links.borrow().get(path) {
            return known.clone();
        }
        let target = self.files.link(path);
        self.links.borrow_mut().insert(path.to_owned(), target.clone());
        target
    }

    /// The canonical form of an absolute path; the root is the empty string. With `follow_last` a link at the end is
    /// followed, otherwise it stands for itself.
    pub(crate) fn real(&self, path: &str, follow_last: bool) -> String {
        let mut todo: Vec<String> = split(path).rev().map(str::to_owned).collect();
        let mut real = String::with_capacity(path.len());
        let mut hops = 0;
        while let Some(part) = todo.pop() {
            if part == ".." {
                real.truncate(parent(&real).len());
                continue;
            }
            let start = real.len();
            real.push('/');
            real.push_str(&part);
            let is_last = todo.is_empty();
            if let Some(rest) = real.strip_prefix("/proc/") {
                let mut parts = rest.split('/');
                let (process, what) = (parts.next(), parts.next());
                if process.is_some() && what == Some("root") {
                    real.clear();
                } else if process.is_some() && what == Some("cwd") {
                    real = self.cwd.clone();
                }
                continue;
            }
            if real.starts_with("/dev/")
                || (is_last && !follow_last)
                || crate::eval::value::has_special(&part)
            {
                continue;
            }
            if let Some(target) = self.link(&real) {
                hops += 1;
                if hops > MAX_LINKS {
                    continue;
                }
                real.truncate(if target.starts_with('/') { 0 } else { start });
                todo.extend(split(&target).rev().map(str::to_owned));
            }
        }
        real
    }

    /// `path` must be canonical.
    pub(crate) fn zone(&self, path: &str) -> Zone {
        if self.projects.iter().any(|project| contains(path, project)) {
            return Zone::Root;
        }
        let inside = self.projects.iter().find(|project| contains(project, path));
        if let Some(project) = inside {
            let in_git = split(&path[project.len()..]).any(|part| part.eq_ignore_ascii_case(".git"));
            return if in_git { Zone::Git } else { Zone::Inside };
        }
        // A home that was made in a temporary directory is a home all the same.
        if !self.real_home.is_empty() && contains(path, &self.real_home) {
            return Zone::Outside;
        }
        if self.temps.iter().any(|temp| temp == path) {
            return Zone::TempRoot;
        }
        if self.temps.iter().any(|temp| contains(temp, path)) {
            return Zone::Temp;
        }
        Zone::Outside
    }

    /// Why `path` is protected, both as written and as resolved.
    pub(crate) fn kinds(&self, path: &str, follow_last: bool) -> Vec<(ProtectedKind, String)> {
        let mut found: Vec<(ProtectedKind, String)> = Vec::new();
        let mut candidates = vec![path.to_owned()];
        if path.starts_with('/') {
            let real = self.real(path, follow_last);
            if real != path {
                candidates.push(real);
            }
        }
        for candidate in candidates {
            if let Some(kind) = kind(&candidate, &self.protected_roots)
                && !found.iter().any(|(known, _)| *known == kind)
            {
                found.push((kind, candidate));
            }
        }
        found
    }

    /// The root, a system directory, a home, or the directory that holds the homes.
    pub(crate) fn is_system(&self, real: &str) -> bool {
        contains(real, &self.real_home) || is_system_tree(real) && !contains(&self.real_home, real)
    }
}

/// Whether `inner` is `dir` or lies below it; both canonical.
pub(crate) fn contains(dir: &str, inner: &str) -> bool {
    let (dir, inner): (std::borrow::Cow<'_, str>, std::borrow::Cow<'_, str>) =
        if cfg!(any(target_os = "macos", windows)) {
            (dir.to_lowercase().into(), inner.to_lowercase().into())
        } else {
            (dir.into(), inner.into())
        };
    inner.strip_prefix(dir.as_ref()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

pub(crate) fn parent(path: &str) -> &str {
    path.rfind('/').map_or("", |at| &path[..at])
}

pub(crate) fn base_name(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}

/// The components that matter.
pub(crate) fn split(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty() && *part != ".")
}

/// `C:\x` ▶ `/c:/x`
pub(crate) fn slashed(path: &str) -> String {
    let path = path.replace('\\', "/");
    match path.split_once(':') {
        Some((drive, rest)) if drive.len() == 1 => format!("/{}:{rest}", drive.to_ascii_lowercase()),
        _ => path,
    }
}

pub(crate) fn is_windows(path: &str) -> bool {
    let bytes = path.as_bytes();
    (bytes.len() >= 3
        && bytes[0].is_ascii_alphabetic()
        && bytes[1] == b':'
        && matches!(bytes[2], b'\\' | b'/'))
        || path.starts_with(r"\\")
}

fn is_system_tree(real: &str) -> bool {
    let mut parts = split(real);
    let Some(first) = parts.next() else { return true };
    match first {
        "home" | "Users" | "Volumes" | "srv" | "opt" => parts.next().is_none(),
        first => names::SYSTEM_TREES.contains(&first),
    }
}

/// A directory below /srv, /var, /root or /home may well be a project or a temp directory.
fn may_hold_work(real: &str) -> bool {
    let mut parts = split(real);
    let Some(first) = parts.next() else { return false };
    let depth = 1 + parts.count();
    match first {
        "var" | "private" | "run" => depth >= 3,
        "home" | "Users" | "Volumes" | "srv" | "opt" | "root" => depth >= 2,
        first => !names::SYSTEM_TREES.contains(&first),
    }
}

fn trimmed(path: &str) -> String {
    path.trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::fake::FakeFileSystem;

    fn environment() -> GuardEnvironment {
        GuardEnvironment {
            home: "/home/dev".into(),
            user: Some("dev".into()),
            project: Some("/home/dev/proj".into()),
            cwd: "/home/dev/proj".into(),
            tmpdir: Some("/home/dev/.tmp".into()),
            session_mode: None,
            claude_dir: "/home/dev/.claude".into(),
            config_file: "/home/dev/.config/headspace/config.jsonc".into(),
            config: Default::default(),
            files: Box::new(FakeFileSystem::new(
                "/home/dev/proj/.git/ /home/dev/proj/build/ /home/dev/other/ /home/dev/proj/out->../other \
                 /home/dev/proj/b->build /home/dev/proj/loop->loop /home/dev/proj/root->/",
            )),
            time_limit: crate::environment::HOOK_TIME_LIMIT,
            early_answer: None,
        }
    }

    #[test]
    fn paths_are_canonical_before_they_are_compared() {
        let environment = environment();
        let locations = Locations::new(&environment, Some("/home/dev/proj/src"));
        for (path, follow, expected) in [
            ("//usr//./local/", true, "/usr/local"),
            ("/home/dev/proj/../x", true, "/home/dev/x"),
            ("/home/dev/proj/out/a", true, "/home/dev/other/a"),
            ("/home/dev/proj/out", false, "/home/dev/proj/out"),
            ("/home/dev/proj/out", true, "/home/dev/other"),
            ("/home/dev/proj/out/../x", true, "/home/dev/x"),
            ("/proc/self/root/etc/passwd", true, "/etc/passwd"),
            ("/home/dev/proj/root/etc", true, "/etc"),
            ("/..", true, ""),
        ] {
            assert_eq!(locations.real(path, follow), expected, "{path}");
        }
        locations.real("/home/dev/proj/loop/x", true);
    }

    #[test]
    fn zones() {
        let environment = environment();
        let locations = Locations::new(&environment, Some("/home/dev/proj/src"));
        assert_eq!(locations.projects, ["/home/dev/proj"]);
        for (path, expected) in [
            ("/home/dev/proj", Zone::Root),
            ("/home/dev", Zone::Root),
            ("", Zone::Root),
            ("/home/dev/proj/build", Zone::Inside),
            ("/home/dev/proj/.git", Zone::Git),
            ("/home/dev/proj/sub/.GIT/x", Zone::Git),
            ("/home/dev/proj-backup", Zone::Outside),
            ("/tmp", Zone::TempRoot),
            ("/tmp/x", Zone::Temp),
            ("/home/dev/.tmp/x", Zone::Temp),
            ("/usr", Zone::Outside),
        ] {
            assert_eq!(locations.zone(path), expected, "{path}");
        }
    }

    #[test]
    fn a_home_in_a_temporary_directory_is_not_temporary() {
        let mut environment = environment();
        environment.home = "/tmp/trial/home".into();
        let locations = Locations::new(&environment, Some("/home/dev/proj"));
        for (path, expected) in [
            ("/tmp/trial/home", Zone::Outside),
            ("/tmp/trial", Zone::Outside),
            ("/tmp/trial/home/build", Zone::Temp),
            ("/tmp/other", Zone::Temp),
        ] {
            assert_eq!(locations.zone(path), expected, "{path}");
        }
    }

    #[test]
    fn shared_directories_are_never_projects() {
        let mut environment = environment();
        (environment.project, environment.tmpdir) = (None, Some("/scratch/tmp".into()));
        environment.files = Box::new(FakeFileSystem::new(
            "/home/dev/.git/HEAD /home/dev/repo/.git/HEAD /home/dev/empty/.git/hooks /tmp/.git/HEAD /scratch/.git/HEAD
             /scratch/linked/.git",
        ));
        for (cwd, projects) in [
            ("/home/dev", &[][..]),
            ("/home/dev/x", &["/home/dev/x"]),
            ("/home/dev/repo/src", &["/home/dev/repo"]),
            ("/home/dev/empty/src", &["/home/dev/empty/src"]),
            ("/tmp/x", &["/tmp/x"]),
            ("/scratch/src", &["/scratch"]),
            ("/scratch/tmp/x", &["/scratch/tmp/x"]),
            ("/scratch/linked/src", &["/scratch/linked"]),
        ] {
            assert_eq!(Locations::new(&environment, Some(cwd)).projects, projects, "{cwd}");
        }
    }
}
