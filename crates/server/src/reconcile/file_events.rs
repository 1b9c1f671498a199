//! Which of the client's files changed, told by the system at once. Where it cannot tell (no more watches, a network
//! file system), the reconciler's rounds find it a little later.

use file_events::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Watches files and directories. Without a watcher it watches nothing, and says so.
pub(super) struct FileEvents {
    watcher: Option<RecommendedWatcher>,
    watched: HashSet<PathBuf>,
}

impl FileEvents {
    /// `changed` is called with every path that was written, made, moved or removed, from a thread of its own.
    pub(super) fn start(changed: impl Fn(&Path) + Send + 'static) -> FileEvents {
        let watcher =
            file_events::recommended_watcher(move |event: file_events::Result<file_events::Event>| {
                let Ok(event) = event else { return };
                // Reading changes nothing, and we read what we watch.
                if !matches!(event.kind, EventKind::Access(_)) {
                    event.paths.iter().for_each(|path| changed(path));
                }
            });
        FileEvents { watcher: watcher.ok(), watched: HashSet::new() }
    }

    /// Whether this system tells at all.
    pub(super) fn works(&self) -> bool {
        self.watcher.is_some()
    }

    /// Watches these from now on and no others. What does not exist yet is tried again next time.
    pub(super) fn follow(&mut self, wanted: &HashSet<PathBuf>) {
        // Its own thread may not have started, which it shows by a panic.
        let followed = catch_unwind(AssertUnwindSafe(|| self.follow_with_watcher(wanted)));
        if followed.is_err() {
            self.watcher = None;
        }
    }

    fn follow_with_watcher(&mut self, wanted: &HashSet<PathBuf>) {
        let Some(watcher) = &mut self.watcher else { return };
        self.watched.retain(|path| {
            // A file that was replaced under its name is another file: it is watched anew.
            let stays = wanted.contains(path) && path.exists();
            if !stays {
                let _ = watcher.unwatch(path);
            }
            stays
        });
        for path in wanted {
            if !self.watched.contains(path)
                && path.exists()
                && watcher.watch(path, RecursiveMode::NonRecursive).is_ok()
            {
                self.watched.insert(path.clone());
            }
        }
    }
}
