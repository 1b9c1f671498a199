//! Looks at files that may be on a file system that does not answer, such as a dead network mount. There a look happens on
//! a thread of its own, which may hang; whoever wants to know waits a moment for it and then continues without. On a file
//! system that always answers ([`mounts`]), a look happens at once: handing it over would cost more than the look, and a
//! busy machine would make it too late.
//!
//! The system offers no way to end such a look, so three things are bounded: how long a caller waits, how many threads
//! hang, and how often a caller waits for the same directory: until its look returns, the answer is "unknown" at once.

use crate::mounts;
use crate::worker_threads::WorkerThreads;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Looks that are under way at the same time, most of them hanging. Beyond that everything is unknown.
const MAX_THREADS: usize = 16;
/// While something hangs, a wait is shorter by this factor: what is on the same mount will not answer either.
const HURRY: u32 = 4;

/// The threads that look. Clones share them.
#[derive(Clone)]
pub struct FileLooks {
    threads: WorkerThreads,
    hanging: Arc<Hanging>,
    may_hang: fn(&Path) -> bool,
}

impl Default for FileLooks {
    fn default() -> FileLooks {
        FileLooks {
            threads: WorkerThreads::new("file look", MAX_THREADS),
            hanging: Arc::default(),
            may_hang: mounts::may_hang,
        }
    }
}

/// Directories whose look took too long and has not returned.
#[derive(Default)]
struct Hanging(Mutex<Vec<PathBuf>>);

impl std::fmt::Debug for FileLooks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FileLooks")
    }
}

/// Where a look puts its result, and where the caller says that it waits no longer.
struct Slot<T> {
    result: Mutex<(Option<T>, Caller)>,
    ready: Condvar,
}

#[derive(Clone, Copy, PartialEq)]
enum Caller {
    Waits,
    Left,
}

impl FileLooks {
    /// The ones that this process shares, for looks at single files.
    pub fn of_process() -> &'static FileLooks {
        static LOOKS: LazyLock<FileLooks> = LazyLock::new(FileLooks::default);
        &LOOKS
    }

    /// Trusts no file system to answer.
    pub fn distrustful() -> FileLooks {
        FileLooks { may_hang: |_| true, ..FileLooks::default() }
    }

    /// [`FileLooks::within`] for one file: while it hangs, so do its neighbors.
    pub fn at_file<T: Send + 'static>(
        &self,
        file: &Path,
        limit: Duration,
        look: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        self.within(file.parent().unwrap_or(file), limit, look)
    }

    /// What `look` returns, if that is within `limit`. `directory` is what it looks at or in: while a look there hangs,
    /// others there or below are not begun. `None`: unknown.
    pub fn within<T: Send + 'static>(
        &self,
        directory: &Path,
        limit: Duration,
        look: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        self.within_or_late(directory, limit, look, drop)
    }

    /// Like [`FileLooks::within`]. A result that comes too late goes to `late`, on the thread that looked.
    pub fn within_or_late<T: Send + 'static>(
        &self,
        directory: &Path,
        limit: Duration,
        look: impl FnOnce() -> T + Send + 'static,
        late: impl FnOnce(T) + Send + 'static,
    ) -> Option<T> {
        if !(self.may_hang)(directory) {
            return Some(look());
        }
        let limit = {
            let hanging = self.hanging.lock();
            if hanging.iter().any(|hanging| directory.starts_with(hanging)) {
                return None;
            }
            if hanging.is_empty() { limit } else { limit / HURRY }
        };
        let slot = Arc::new(Slot { result: Mutex::new((None, Caller::Waits)), ready: Condvar::new() });
        let (there, hanging, key) = (Arc::clone(&slot), Arc::clone(&self.hanging), directory.to_owned());
        let begun = self.threads.put_if_free(move || {
            let found = catch_unwind(AssertUnwindSafe(look)).ok();
            let mut result = there.result.lock().unwrap_or_else(PoisonError::into_inner);
            if result.1 == Caller::Left {
                drop(result);
                hanging.returned(&key);
                if let Some(found) = found {
                    late(found);
                }
                return;
            }
            result.0 = found;
            // Without a result, the caller need not wait until the time is over either.
            result.1 = Caller::Left;
            there.ready.notify_one();
        });
        if !begun {
            return None;
        }
        let until = Instant::now() + limit;
        let mut result = slot.result.lock().unwrap_or_else(PoisonError::into_inner);
        while result.1 == Caller::Waits {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                // Remembered before the look can see that nobody waits, so that it is also forgotten.
                self.hanging.lock().push(directory.to_owned());
                result.1 = Caller::Left;
                return None;
            }
            result = slot.ready.wait_timeout(result, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        result.0.take()
    }
}

impl Hanging {
    fn lock(&self) -> MutexGuard<'_, Vec<PathBuf>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn returned(&self, directory: &Path) {
        let mut hanging = self.lock();
        if let Some(index) = hanging.iter().position(|one| one == directory) {
            hanging.swap_remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const SHORT: Duration = Duration::from_millis(30);
    const LONG: Duration = Duration::from_secs(60);

    /// A look that hangs until the sender is dropped.
    fn hang() -> (mpsc::Sender<()>, impl FnOnce() -> u8 + Send + 'static) {
        let (end, hangs) = mpsc::channel::<()>();
        (end, move || {
            let _ = hangs.recv();
            1
        })
    }

    fn until(condition: impl Fn() -> bool) {
        let started = Instant::now();
        while !condition() {
            assert!(started.elapsed() < LONG, "it never came");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    #[test]
    fn a_look_that_hangs_is_unknown_until_it_returns() {
        let looks = FileLooks::distrustful();
        let dead = Path::new("/dead/project");
        assert_eq!(looks.within(dead, LONG, || 7), Some(7));
        let (end, look) = hang();
        let (tell, late) = mpsc::channel();
        assert_eq!(looks.within_or_late(dead, SHORT, look, move |value| tell.send(value).unwrap()), None);
        let started = Instant::now();
        for path in ["/dead/project", "/dead/project/below"] {
            assert_eq!(looks.within(Path::new(path), LONG, || 7), None, "{path}");
        }
        assert!(started.elapsed() < LONG / 2, "nobody waits a second time");
        assert_eq!(looks.within(Path::new("/dead/projects"), LONG, || 7), Some(7), "a neighbor");
        drop(end);
        assert_eq!(late.recv_timeout(LONG), Ok(1), "what came too late is not lost");
        assert_eq!(looks.within(dead, LONG, || 7), Some(7));
    }

    #[test]
    fn few_threads_hang_and_then_nothing_is_looked_at() {
        let looks = FileLooks::distrustful();
        let mut ends = Vec::new();
        for number in 0..MAX_THREADS * 3 {
            let (end, look) = hang();
            assert_eq!(looks.within(&Path::new("/dead").join(number.to_string()), SHORT, look), None);
            ends.push(end);
        }
        assert_eq!(looks.threads.count(), MAX_THREADS);
        assert_eq!(looks.hanging.lock().len(), MAX_THREADS);
        assert_eq!(looks.within(Path::new("/healthy"), LONG, || 7), None);
        drop(ends);
        until(|| looks.within(Path::new("/healthy"), LONG, || 7) == Some(7));
        until(|| looks.hanging.lock().is_empty());
    }

    #[test]
    fn a_look_that_panics_is_unknown_and_the_next_is_not() {
        let looks = FileLooks::distrustful();
        assert_eq!(looks.within::<u8>(Path::new("/a"), LONG, || panic!("a bug")), None);
        assert_eq!(looks.within(Path::new("/a"), LONG, || 7), Some(7));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_system_that_always_answers_is_looked_at_by_the_caller() {
        let looker =
            FileLooks::default().within(Path::new("/proc/self"), SHORT, || std::thread::current().id());
        assert_eq!(looker, Some(std::thread::current().id()));
    }
}
