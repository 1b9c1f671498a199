//! Finding, reading and laying out the context files.

use crate::context::glob;
use headspace_guard as guard;
use headspace_platform::{config, files, git};
use serde_json::json;
use std::collections::HashSet;
use std::io::Read;
use std::path::{Path, PathBuf};

/// How much `additionalContext` the client accepts. It counts as JavaScript does, where an emoji is two: see [`length`].
const MAX_CONTEXT_CHARS: usize = 8000;
/// More files would not be read, and a glob over a whole disk must not delay the hook.
const MAX_FILES: usize = 200;

/// The directories that paths start at and must stay in.
pub struct ContextRoots {
    pub project: PathBuf,
    pub home: PathBuf,
    /// Both with links resolved, to compare found files with. `None` for a home that would not confine anything.
    real_project: Option<PathBuf>,
    real_home: Option<PathBuf>,
    /// What `${PROJECT_PATH}` stands for.
    project_path: String,
    /// A path in the variable of that name counts as the project, too: role files may refer to it.
    named_project: Option<PathBuf>,
    /// The guard, which knows which files hold secrets.
    guard: guard::GuardEnvironment,
}

/// Who names a file, which decides where it may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// The user, in their own configuration or a role of their own.
    User,
    /// A file of the project, which another person may have written.
    Project,
}

/// Why a file is not loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is not there, or out of bounds.
    Silent,
    /// The file of this label is a hard link, and its other name may be out of bounds.
    HardLink(String),
}

#[cfg(unix)]
fn has_other_name(file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.metadata().is_ok_and(|meta| meta.nlink() > 1)
}

#[cfg(not(unix))]
fn has_other_name(_: &Path) -> bool {
    false
}

impl ContextRoots {
    pub fn of(cwd: &Path) -> ContextRoots {
        let cwd = std::path::absolute(cwd).unwrap_or_else(|_| cwd.to_path_buf());
        let project = git::root_of(&cwd).unwrap_or(&cwd).to_path_buf();
        let home = config::home();
        // A process without a home has `/` for one: that would confine nothing.
        let real = |dir: &Path| dir.canonicalize().ok().filter(|dir| dir.parent().is_some());
        let (real_project, real_home) = (real(&project), real(&home));
        let project_path =
            config::env(config::var::PROJECT_PATH).unwrap_or_else(|| project.display().to_string());
        let named_project = config::env_path(config::var::PROJECT_PATH).and_then(|dir| real(&dir));
        // With its defaults: what the user allows tools to read is not meant for every session.
        let guard = guard::GuardEnvironment::here(&config::Config::default());
        ContextRoots { project, home, real_project, real_home, project_path, named_project, guard }
    }

    /// `~` starts at home, anything else relative at the project; `${PROJECT_PATH}` is filled in.
    pub fn absolute(&self, path: &str) -> PathBuf {
        let path = &path.replace("${PROJECT_PATH}", &self.project_path);
        match path.strip_prefix('~') {
            Some("") => self.home.clone(),
            Some(rest) if rest.starts_with('/') => self.home.join(rest.trim_start_matches('/')),
            _ => self.project.join(path),
        }
    }

    /// The regular file that `path` leads to, if it may be loaded. A file that the user names must be in the project or at
    /// home; a path in the project, or named by one of its files, must not lead out of it. Files with secrets are never
    /// loaded, nor are those with a second name, which may be anywhere.
    pub fn confined(&self, path: &Path, asker: Asker) -> Result<PathBuf, Refusal> {
        let real = self.inside(path, asker).ok_or(Refusal::Silent)?;
        if has_other_name(&real) { Err(Refusal::HardLink(self.label(path))) } else { Ok(real) }
    }

    fn inside(&self, path: &Path, asker: Asker) -> Option<PathBuf> {
        let real = path.canonicalize().ok()?;
        let within = |bound: &Option<PathBuf>| bound.as_ref().is_some_and(|bound| real.starts_with(bound));
        let starts_in_project = self.is_in_project(path);
        let inside = match asker {
            Asker::User if !starts_in_project => within(&self.real_home) || within(&self.real_project),
            Asker::Project if within(&self.named_project) => {
                within(&self.real_home) || within(&self.real_project)
            }
            _ => within(&self.real_project),
        };
        (inside && real.metadata().ok()?.is_file() && !self.is_secret(path) && !self.is_secret(&real))
            .then_some(real)
    }

    /// Whether `path`, as it is written, begins in the project.
    pub fn is_in_project(&self, path: &Path) -> bool {
        let path = files::lexically_normal(path);
        let real = self.real_project.as_ref().is_some_and(|project| path.starts_with(project));
        // A project that is the home directory itself belongs to the user.
        (path.starts_with(&self.project) || real) && self.real_project != self.real_home
    }

    /// Whether the guard would stop a tool that reads it.
    fn is_secret(&self, path: &Path) -> bool {
        let read = json!({"hook_event_name": "PreToolUse", "tool_name": "Read", "cwd": self.project.to_string_lossy(),
            "tool_input": {"file_path": path.to_string_lossy()}});
        guard::judge(&read, &self.guard).decision != guard::Decision::Allow
    }

    fn label(&self, path: &Path) -> String {
        let shown = match (path.strip_prefix(&self.project), path.strip_prefix(&self.home)) {
            (Ok(relative), _) => relative.display().to_string(),
            (_, Ok(relative)) => format!("~/{}", relative.display()),
            _ => path.display().to_string(),
        };
        headspace_core::text::strip_control(&shown)
    }
}

pub struct Found {
    pub label: String,
    pub path: PathBuf,
}

/// Collects files in the order they are asked for, each once.
pub struct Search<'a> {
    roots: &'a ContextRoots,
    seen: HashSet<PathBuf>,
    pub found: Vec<Found>,
    /// Labels of files that are left out because they are hard links.
    pub hard_links: Vec<String>,
}

impl<'a> Search<'a> {
    pub fn new(roots: &'a ContextRoots) -> Search<'a> {
        Search { roots, seen: HashSet::new(), found: Vec::new(), hard_links: Vec::new() }
    }

    /// A path or a glob. The order of a glob's hits is that of their paths.
    pub fn add(&mut self, entry: &str, asker: Asker) {
        let path = self.roots.absolute(entry.trim());
        if glob::is_pattern(entry) {
            for hit in glob::expand(&path, MAX_FILES) {
                self.add_file(&hit, asker);
            }
        } else {
            self.add_file(&files::lexically_normal(&path), asker);
        }
    }

    /// Leaves a file out, whoever asks for it from now on.
    pub fn leave_out(&mut self, real: PathBuf) {
        self.seen.insert(real);
    }

    fn add_file(&mut self, path: &Path, asker: Asker) {
        if self.found.len() >= MAX_FILES {
            return;
        }
        match self.roots.confined(path, asker) {
            Ok(real) if self.seen.insert(real.clone()) => {
                self.found.push(Found { label: self.roots.label(path), path: real });
            }
            Ok(_) | Err(Refusal::Silent) => {}
            Err(Refusal::HardLink(label)) => self.leave_out_link(label),
        }
    }

    /// Mentions a hard link among what is left out, once.
    pub fn leave_out_link(&mut self, label: String) {
        if self.hard_links.len() < MAX_FILES && !self.hard_links.contains(&label) {
            self.hard_links.push(label);
        }
    }
}

const CUT: &str = "\n[truncated]";

/// Headline, list, contents; at most [`MAX_CONTEXT_CHARS`] characters. Small files come whole; what room they leave is
/// shared among the big ones.
pub fn render(files: &[Found]) -> Option<String> {
    let mut contents: Vec<(&str, String)> =
        files.iter().filter_map(|file| Some((file.label.as_str(), read(&file.path)?))).collect();
    if contents.is_empty() {
        return None;
    }
    let head = "[HEADSPACE: INFO]: Session context loaded\n\nCore memory files loaded automatically:\n";
    let middle = "\nFull content follows:\n";
    // Per file: "- label\n" in the list, "\n## label\n" and a line end around its content.
    let frame = |label: &str| 2 * length(label) + "- \n".len() + "\n## \n".len() + "\n".len();
    let mut room = MAX_CONTEXT_CHARS - head.len() - middle.len() - 64;
    let mut fitting = 0;
    for (label, content) in &contents {
        let least = frame(label) + length(content).min(CUT.len() + 40);
        if least > room {
            break;
        }
        room -= least;
        fitting += 1;
    }
    let left_out = contents.len() - fitting;
    contents.truncate(fitting);
    let room = MAX_CONTEXT_CHARS
        - head.len()
        - middle.len()
        - 64
        - contents.iter().map(|(label, _)| frame(label)).sum::<usize>();
    let share = fair_share(contents.iter().map(|(_, content)| length(content)).collect(), room);
    let mut text = String::from(head);
    for (label, _) in &contents {
        text.push_str(&format!("- {label}\n"));
    }
    if left_out > 0 {
        text.push_str(&format!("({left_out} more left out: truncated)\n"));
    }
    text.push_str(middle);
    for (label, content) in &contents {
        text.push_str(&format!("\n## {label}\n"));
        if length(content) > share {
            text.push_str(beginning(content, share.saturating_sub(CUT.len())));
            text.push_str(CUT);
        } else {
            text.push_str(content.trim_end());
        }
        text.push('\n');
    }
    Some(text)
}

/// In UTF-16 units.
fn length(text: &str) -> usize {
    text.chars().map(char::len_utf16).sum()
}

/// As many whole characters as fit.
fn beginning(text: &str, most: usize) -> &str {
    let mut taken = 0;
    let end = text.char_indices().find(|(_, c)| {
        taken += c.len_utf16();
        taken > most
    });
    end.map_or(text, |(at, _)| &text[..at])
}

/// The length up to which every text may come, so that all together take at most `room`.
fn fair_share(mut lengths: Vec<usize>, room: usize) -> usize {
    lengths.sort_unstable();
    let mut left = room;
    for (i, length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - i);
        if *length > share {
            return share;
        }
        left -= length;
    }
    room
}

/// The beginning of a file as text; never more than could be shown. `None` for a file that is no text: a zero byte in it
/// says so, as it does to git and grep. It does not block if the file has become a pipe since it
/// was found.
fn read(path: &Path) -> Option<String> {
    let file = files::open_regular(path, std::fs::OpenOptions::new().read(true)).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_CONTEXT_CHARS as u64 * 4).read_to_end(&mut bytes).ok()?;
    if bytes.contains(&0) {
        return None;
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(dir: &Path, name: &str, content: &str) -> Found {
        let path = dir.join(name);
        std::fs::write(&path, content).unwrap();
        Found { label: name.into(), path }
    }

    #[test]
    fn a_path_starts_at_the_project_at_home_or_where_it_says() {
        let dir = tempfile::tempdir().unwrap();
        let mut roots = ContextRoots::of(dir.path());
        roots.home = PathBuf::from("/home/dev");
        roots.project_path = "/srv/named".into();
        for (entry, expected) in [
            ("a.md", dir.path().join("a.md")),
            ("~/a.md", "/home/dev/a.md".into()),
            ("/b/a.md", "/b/a.md".into()),
            ("${PROJECT_PATH}/a.md", "/srv/named/a.md".into()),
        ] {
            assert_eq!(roots.absolute(entry), expected, "{entry}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_with_a_second_name_is_left_out_and_named() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("proj");
        std::fs::create_dir_all(project.join(".git")).unwrap();
        std::fs::write(project.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(dir.path().join("outside.txt"), "not for the model").unwrap();
        std::fs::hard_link(dir.path().join("outside.txt"), project.join("link.md")).unwrap();
        std::fs::write(project.join("own.md"), "mine").unwrap();
        let roots = ContextRoots::of(&project);
        for asker in [Asker::User, Asker::Project] {
            let mut search = Search::new(&roots);
            search.add("link.md", asker);
            search.add("*.md", asker);
            let found: Vec<&str> = search.found.iter().map(|file| file.label.as_str()).collect();
            assert_eq!((found, search.hard_links), (vec!["own.md"], vec!["link.md".to_owned()]), "{asker:?}");
        }
    }

    #[test]
    fn a_big_file_is_cut_and_does_not_push_out_a_small_one() {
        let dir = tempfile::tempdir().unwrap();
        let files =
            [file(dir.path(), "big.md", &"ü".repeat(20_000)), file(dir.path(), "small.md", "all of it")];
        let text = render(&files).unwrap();
        assert!(
            text.chars().count() <= MAX_CONTEXT_CHARS && text.chars().count() > MAX_CONTEXT_CHARS - 100,
            "{}",
            text.chars().count()
        );
        assert!(text.contains("all of it") && text.contains("[truncated]"));
    }

    #[test]
    fn the_limit_is_counted_as_the_client_counts() {
        let dir = tempfile::tempdir().unwrap();
        let text = render(&[file(dir.path(), "big.md", &"🎉".repeat(20_000))]).unwrap();
        let units = text.encode_utf16().count();
        assert!((MAX_CONTEXT_CHARS - 100..=MAX_CONTEXT_CHARS).contains(&units), "{units}");
    }

    #[test]
    fn hundreds_of_files_stay_within_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let files: Vec<_> =
            (0..300).map(|i| file(dir.path(), &format!("{i:060}.md"), &"x".repeat(i * 50))).collect();
        let text = render(&files).unwrap();
        assert!(text.chars().count() <= MAX_CONTEXT_CHARS, "{}", text.chars().count());
        assert!(text.contains("more left out: truncated"));
    }

    #[test]
    fn many_short_names_stay_within_the_limit_too() {
        let dir = tempfile::tempdir().unwrap();
        for count in [100, 150, 200] {
            let files: Vec<_> =
                (0..count).map(|i| file(dir.path(), &format!("f{i}"), &"y".repeat(500))).collect();
            let units = render(&files).unwrap().encode_utf16().count();
            assert!(units <= MAX_CONTEXT_CHARS, "{count} files: {units}");
        }
    }

    #[test]
    fn a_file_that_is_no_text_is_left_out() {
        let dir = tempfile::tempdir().unwrap();
        let files = [file(dir.path(), "image.png", "\u{1}PNG\0\0"), file(dir.path(), "a.md", "text")];
        let text = render(&files).unwrap();
        assert!(text.contains("a.md") && !text.contains("image.png"), "{text}");
        assert_eq!(render(&files[..1]), None);
    }

    #[test]
    fn nothing_there_gives_no_text() {
        assert_eq!(render(&[]), None);
    }

    #[test]
    fn the_share_is_what_the_small_ones_leave() {
        assert_eq!(fair_share(vec![10, 10], 100), 100);
        assert_eq!(fair_share(vec![10, 500, 500], 110), 50);
    }
}
