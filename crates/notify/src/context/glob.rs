//! `*`, `**` and `?` over the file system: sorted, bounded, never through links.

use headspace_core::text::glob::{GlobPart, fits};
use std::path::{Path, PathBuf};

/// Directory entries looked at before a search gives up: the hook has two seconds for everything.
const MAX_VISITS: usize = 20_000;

pub fn is_pattern(path: &str) -> bool {
    path.contains(['*', '?'])
}

/// All files that match, sorted by path, at most `limit`. `**` goes through directories, but not through links
/// (which may loop) nor hidden ones.
pub fn expand(pattern: &Path, limit: usize) -> Vec<PathBuf> {
    let parts: Vec<String> =
        pattern.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
    let fixed = parts.iter().take_while(|part| !is_pattern(part)).count();
    let base: PathBuf = parts[..fixed].iter().collect();
    let mut walk = Walk { limit, visits: 0, hits: Vec::new() };
    walk.descend(&base, &parts[fixed..]);
    walk.hits.sort_unstable();
    walk.hits.dedup();
    walk.hits
}

struct Walk {
    limit: usize,
    visits: usize,
    hits: Vec<PathBuf>,
}

impl Walk {
    fn descend(&mut self, dir: &Path, parts: &[String]) {
        let Some((part, rest)) = parts.split_first() else {
            if dir.is_file() {
                self.hits.push(dir.to_path_buf());
            }
            return;
        };
        if !is_pattern(part) {
            return self.descend(&dir.join(part), rest);
        }
        if part == "**" {
            self.descend(dir, rest);
        }
        let Ok(entries) = std::fs::read_dir(dir) else { return };
        let mut entries: Vec<_> = entries.flatten().collect();
        entries.sort_unstable_by_key(std::fs::DirEntry::file_name);
        for entry in entries {
            self.visits += 1;
            if self.visits > MAX_VISITS || self.hits.len() >= self.limit {
                return;
            }
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with('.') && !part.starts_with('.') {
                continue;
            }
            if part == "**" {
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    self.descend(&entry.path(), parts);
                } else if rest.is_empty() {
                    // `docs/**` means everything in there.
                    self.descend(&entry.path(), rest);
                }
            } else if matches(part, &name) {
                self.descend(&entry.path(), rest);
            }
        }
    }
}

/// Whether `name` matches `pattern` of `*` and `?`.
fn matches(pattern: &str, name: &str) -> bool {
    let piece = |c: char| match c {
        '*' => GlobPart::Many,
        '?' => GlobPart::One,
        c => GlobPart::Literal(c),
    };
    fits(&pattern.chars().map(piece).collect::<Vec<_>>(), name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks() {
        for (pattern, name, expected) in [
            ("*.md", "a.md", true),
            ("*.md", "a.txt", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*a*b*", "xxaxxbxx", true),
            ("", "", true),
            ("*", "", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn double_stars_go_through_directories_but_not_through_link_loops() {
        let dir = tempfile::tempdir().unwrap();
        for path in ["docs/b.md", "docs/a.md", "docs/x/y/c.md", "docs/.git/d.md", "docs/x/e.txt"] {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink(dir.path(), dir.path().join("docs/loop")).unwrap();
        let hits = expand(&dir.path().join("docs/**/*.md"), 100);
        let names: Vec<_> =
            hits.iter().map(|hit| hit.strip_prefix(dir.path()).unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["docs/a.md", "docs/b.md", "docs/x/y/c.md"]);
        let all = expand(&dir.path().join("docs/**"), 100);
        let names: Vec<_> =
            all.iter().map(|hit| hit.strip_prefix(dir.path()).unwrap().to_str().unwrap()).collect();
        assert_eq!(names, ["docs/a.md", "docs/b.md", "docs/x/e.txt", "docs/x/y/c.md"]);
    }
}
