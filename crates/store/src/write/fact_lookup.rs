//! Looks up what the engine may not look up itself: which repository a directory belongs to.

use headspace_core::model::Facts;
use headspace_platform::file_look::FileLooks;
use headspace_platform::git::{self, Repository};
use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a result for a directory is reused. A branch can change at any time, so not for long.
const REUSE_LOOKUP_FOR: Duration = Duration::from_secs(2);
/// More directories than this are not remembered.
const MAX_REMEMBERED_DIRECTORIES: usize = 1000;
/// A directory that does not answer within this time is unknown: every hook of every agent waits for the writer.
const LOOK_WITHIN: Duration = Duration::from_millis(100);

/// Looks up directories, and caches the results briefly.
#[derive(Debug)]
pub struct FactLookup {
    places: HashMap<String, (Instant, Repository)>,
    looks: FileLooks,
    look: fn(&Path) -> Repository,
}

impl Default for FactLookup {
    fn default() -> FactLookup {
        FactLookup { places: HashMap::new(), looks: FileLooks::default(), look: git::place_of }
    }
}

impl FactLookup {
    /// `fresh`: do not use the cache. If the directory does not answer in time, what was known last counts; `None` if
    /// nothing was.
    pub fn place(&mut self, cwd: &str, fresh: bool) -> Option<Repository> {
        let known = self.places.get(cwd);
        if let Some((at, place)) = known
            && !fresh
            && at.elapsed() < REUSE_LOOKUP_FOR
        {
            return Some(place.clone());
        }
        let (look, path) = (self.look, Path::new(cwd).to_owned());
        let Some(place) = self.looks.within(Path::new(cwd), LOOK_WITHIN, move || look(&path)) else {
            return known.map(|(_, place)| place.clone());
        };
        if self.places.len() >= MAX_REMEMBERED_DIRECTORIES {
            self.places.clear();
        }
        self.places.insert(cwd.to_owned(), (Instant::now(), place.clone()));
        Some(place)
    }

    /// Fills in what depends on the event's directory. What is not known stays open; a later event of the same directory
    /// says it.
    pub fn directory(&mut self, facts: &mut Facts, cwd: Option<&str>, fresh: bool) {
        if let Some(cwd) = cwd
            && let Some(place) = self.place(cwd, fresh)
        {
            facts.root = Some(place.root);
            facts.project = Some(place.project);
            facts.branch = place.branch;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{PoisonError, RwLock};

    /// While a test holds the write lock, the file system does not answer.
    static MOUNT: RwLock<()> = RwLock::new(());

    fn look(path: &Path) -> Repository {
        let _answers = MOUNT.read().unwrap_or_else(PoisonError::into_inner);
        Repository { root: path.display().to_string(), project: "api".into(), branch: Some("main".into()) }
    }

    #[test]
    fn a_directory_that_does_not_answer_is_unknown_until_it_does() {
        let mut lookup = FactLookup { places: HashMap::new(), looks: FileLooks::distrustful(), look };
        let answers_at_last = |lookup: &mut FactLookup, directory: &str| {
            let started = Instant::now();
            while lookup.place(directory, false).is_none() {
                assert!(started.elapsed() < Duration::from_secs(60), "{directory} answers");
                std::thread::sleep(Duration::from_millis(1));
            }
        };
        // A busy machine may be late for it once or twice.
        answers_at_last(&mut lookup, "/net/known");
        let dead = MOUNT.write().unwrap();
        let started = Instant::now();
        for _ in 0..1000 {
            let mut facts = Facts::default();
            lookup.directory(&mut facts, Some("/net/api"), true);
            assert_eq!((facts.root, facts.project, facts.branch), (None, None, None));
            let known = lookup.place("/net/known", true).unwrap();
            assert_eq!(known.branch.as_deref(), Some("main"), "what was known last counts");
        }
        // Each directory is waited for once. Far less than a thousand waits, on however busy a machine.
        assert!(started.elapsed() < LOOK_WITHIN * 100, "{:?}", started.elapsed());
        drop(dead);
        answers_at_last(&mut lookup, "/net/api");
    }
}
