//! Looks up what the engine may not look up itself: which repository a directory belongs to.

use headspace_core::model::Facts;
use headspace_platform::git::{self, Repository};
use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a result for a directory is reused. A branch can change at any time, so not for long.
const REUSE_LOOKUP_FOR: Duration = Duration::from_secs(2);
/// More directories than this are not remembered.
const MAX_REMEMBERED_DIRECTORIES: usize = 1000;

/// Looks up directories, and caches the results briefly.
#[derive(Debug, Default)]
pub struct FactLookup {
    places: HashMap<String, (Instant, Repository)>,
}

impl FactLookup {
    /// `fresh`: do not use the cache.
    pub fn place(&mut self, cwd: &str, fresh: bool) -> Repository {
        if let Some((at, place)) = self.places.get(cwd)
            && !fresh
            && at.elapsed() < REUSE_LOOKUP_FOR
        {
            return place.clone();
        }
        let place = git::place_of(Path::new(cwd));
        if self.places.len() >= MAX_REMEMBERED_DIRECTORIES {
            self.places.clear();
        }
        self.places.insert(cwd.to_owned(), (Instant::now(), place.clone()));
        place
    }

    /// Fills in what depends on the event's directory.
    pub fn directory(&mut self, facts: &mut Facts, cwd: Option<&str>, fresh: bool) {
        if let Some(cwd) = cwd {
            let place = self.place(cwd, fresh);
            facts.root = Some(place.root);
            facts.project = Some(place.project);
            facts.branch = place.branch;
        }
    }
}
