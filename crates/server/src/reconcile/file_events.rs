//! Reports at once which of the client's files changed, as the system says. Where the system cannot (no more watches, a
//! network file system), the reconciler's rounds find it a little later.

use file_events::{EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Watches files and directories. Without a watcher it watches nothing, and [`FileEvents::works`] says so.
pub(super) struct FileEvents {
    watcher: Option<RecommendedWatcher>,
    watched: HashSet<PathBuf>,
}

impl FileEvents {
    /// `changed` is called from a separate thread with every path that was written, created, moved or removed.
    pub(super) fn start(changed: impl Fn(&Path) + Send + 'static) -> FileEvents {
        let watcher =
            file_events::recommended_watcher(move |event: file_events::Result<file_events::Event>| {
                let Ok(event) = event else { return };
                // Reading changes nothing, and we read the files we watch.
                if !matches!(event.kind, EventKind::Access(_)) {
                    event.paths.iter().for_each(|path| changed(path));
                }
            });
        FileEvents { watcher: watcher.ok(), watched: HashSet::new() }
    }

    /// Whether this system reports changes at all.
    pub(super) fn works(&self) -> bool {
        self.watcher.is_some()
    }

    /// Watches exactly these from now on. What does not exist yet is tried again next time.
    pub(super) fn follow(&mut self, wanted: &HashSet<PathBuf>) {
        // The watcher's own thread may not have started; then it panics.
        let followed = catch_unwind(AssertUnwindSafe(|| self.follow_with_watcher(wanted)));
        if followed.is_err() {
            self.watcher = None;
        }
    }

    fn follow_with_watcher(&mut self, wanted: &HashSet<PathBuf>) {
        let Some(watcher) = &mut self.watcher else { return };
        self.watched.retain(|path| {
            // A file that was replaced under the same name is another file and must be watched again.
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
