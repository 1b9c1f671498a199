//! A few threads for work that takes long or may hang. They are started when there is work, and end when there is none.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A thread that had nothing to do for this long ends.
const THREAD_ENDS_AFTER: Duration = Duration::from_secs(10);

type Work = Box<dyn FnOnce() + Send>;

/// Clones share the threads.
#[derive(Clone)]
pub struct WorkerThreads {
    shared: Arc<Shared>,
}

struct Shared {
    name: &'static str,
    most: usize,
    state: Mutex<State>,
    more: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Work>,
    threads: usize,
    idle: usize,
}

impl WorkerThreads {
    /// At most `most` threads of this name; none is started yet.
    pub fn new(name: &'static str, most: usize) -> WorkerThreads {
        let (state, more) = (Mutex::default(), Condvar::new());
        WorkerThreads { shared: Arc::new(Shared { name, most, state, more }) }
    }

    /// Starts a thread that stays, so that work continues if the system gives no more threads.
    pub fn keep_one(&self) -> std::io::Result<()> {
        self.start(&mut self.shared.lock(), None)
    }

    /// Does the work when a thread has time for it.
    pub fn put(&self, work: impl FnOnce() + Send + 'static) {
        let mut state = self.shared.lock();
        state.waiting.push_back(Box::new(work));
        // If the system gives no thread, one of the existing ones will do it.
        if state.has_free_thread()
            || state.threads >= self.shared.most
            || self.start(&mut state, Some(THREAD_ENDS_AFTER)).is_err()
        {
            self.shared.more.notify_one();
        }
    }

    /// Does the work now, or not at all: `false` if every thread is busy.
    pub fn put_if_free(&self, work: impl FnOnce() + Send + 'static) -> bool {
        let mut state = self.shared.lock();
        state.waiting.push_back(Box::new(work));
        if state.has_free_thread() {
            self.shared.more.notify_one();
            return true;
        }
        let begins =
            state.threads < self.shared.most && self.start(&mut state, Some(THREAD_ENDS_AFTER)).is_ok();
        if !begins {
            state.waiting.pop_back();
        }
        begins
    }

    /// How many there are at the moment.
    pub fn count(&self) -> usize {
        self.shared.lock().threads
    }

    /// Starts a thread that ends when it had nothing to do for as long as `patience` says.
    fn start(&self, state: &mut State, patience: Option<Duration>) -> std::io::Result<()> {
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::Builder::new().name(shared.name.into());
        thread.spawn(move || shared.serve(patience))?;
        state.threads += 1;
        Ok(())
    }
}

impl State {
    /// Whether somebody idle will take what was put last.
    fn has_free_thread(&self) -> bool {
        self.waiting.len() <= self.idle
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, patience: Option<Duration>) {
        let mut state = self.lock();
        loop {
            if let Some(work) = state.waiting.pop_front() {
                drop(state);
                // The panic hook has logged the place; whoever waits for a result learns that none comes.
                let _ = catch_unwind(AssertUnwindSafe(work));
                state = self.lock();
                continue;
            }
            state.idle += 1;
            let empty = |state: &mut State| state.waiting.is_empty();
            state = match patience {
                None => self.more.wait_while(state, empty).unwrap_or_else(PoisonError::into_inner),
                Some(time) => {
                    self.more.wait_timeout_while(state, time, empty).unwrap_or_else(PoisonError::into_inner).0
                }
            };
            state.idle -= 1;
            if state.waiting.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn work_runs_in_parallel_up_to_the_limit_and_a_panic_harms_nobody() {
        let workers = WorkerThreads::new("test", 2);
        assert_eq!(workers.count(), 0);
        workers.put(|| panic!("a bug"));
        // Each of the two waits for the other, so there must be two threads.
        let (to_first, first) = mpsc::channel();
        let (to_second, second) = mpsc::channel();
        let (tell, done) = mpsc::channel();
        let tell_too = tell.clone();
        workers.put(move || {
            to_second.send(()).unwrap();
            tell.send(first.recv_timeout(LONG)).unwrap();
        });
        workers.put(move || {
            to_first.send(()).unwrap();
            tell_too.send(second.recv_timeout(LONG)).unwrap();
        });
        assert_eq!([done.recv_timeout(LONG), done.recv_timeout(LONG)], [Ok(Ok(())); 2]);
        assert_eq!(workers.count(), 2);
    }

    #[test]
    fn work_that_cannot_begin_now_is_done_later_or_not_at_all() {
        let workers = WorkerThreads::new("test", 1);
        let (end, hangs) = mpsc::channel::<()>();
        let (tell, told) = mpsc::channel();
        let (tell_second, tell_third) = (tell.clone(), tell);
        assert!(workers.put_if_free(move || {
            let _ = hangs.recv();
        }));
        assert!(!workers.put_if_free(move || tell_second.send("at once").unwrap()));
        workers.put(move || tell_third.send("later").unwrap());
        drop(end);
        assert_eq!(told.recv_timeout(LONG), Ok("later"));
        assert!(told.recv_timeout(LONG).is_err(), "and nobody else has anything to say");
        assert_eq!(workers.count(), 1);
    }
}
