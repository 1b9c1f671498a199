//! Threads for work that may take long, so that it does not block the server's runtime: files, queries, big bodies.
//!
//! One thread is started at once and stays, so that work continues if the system gives no more threads; tokio's own pool
//! panics then. More threads are started when there is work, and end when there is none.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

const MAX_THREADS: usize = 8;
/// A thread beyond the first that had nothing to do for this long ends.
const THREAD_ENDS_AFTER: Duration = Duration::from_secs(10);

type Work = Box<dyn FnOnce() + Send>;

struct BlockingPool {
    state: Mutex<PoolState>,
    more: Condvar,
}

struct PoolState {
    waiting: VecDeque<Work>,
    threads: usize,
    idle: usize,
}

static POOL: BlockingPool = BlockingPool {
    state: Mutex::new(PoolState { waiting: VecDeque::new(), threads: 0, idle: 0 }),
    more: Condvar::new(),
};

/// The work ended without an answer: a bug.
#[derive(Debug)]
pub struct WorkLost;

impl std::fmt::Display for WorkLost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the work was not finished")
    }
}

impl std::error::Error for WorkLost {}

/// Starts the thread that stays.
pub fn start() -> std::io::Result<()> {
    POOL.lock().threads += 1;
    spawn(None).inspect_err(|_| POOL.lock().threads -= 1)
}

/// Does `work` on another thread, inside the runtime. It runs to its end even if the caller stops waiting.
pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, WorkLost> {
    let (sender, receiver) = oneshot::channel();
    let runtime = Handle::current();
    POOL.put(Box::new(move || {
        let _inside = runtime.enter();
        let _ = sender.send(work());
    }));
    receiver.await.map_err(|_| WorkLost)
}

fn spawn(patience: Option<Duration>) -> std::io::Result<()> {
    let thread = std::thread::Builder::new().name("blocking".into());
    thread.spawn(move || POOL.serve(patience)).map(drop)
}

impl BlockingPool {
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, work: Work) {
        let mut state = self.lock();
        state.waiting.push_back(work);
        if state.waiting.len() <= state.idle || state.threads >= MAX_THREADS {
            self.more.notify_one();
            return;
        }
        state.threads += 1;
        drop(state);
        // The system gives no thread: one of the existing ones will do it.
        if spawn(Some(THREAD_ENDS_AFTER)).is_err() {
            self.lock().threads -= 1;
            self.more.notify_one();
        }
    }

    /// Works until there was nothing to do for as long as `patience` goes.
    fn serve(&self, patience: Option<Duration>) {
        let mut state = self.lock();
        loop {
            if let Some(work) = state.waiting.pop_front() {
                drop(state);
                // The panic hook has logged the place; the caller learns that no answer comes.
                let _ = catch_unwind(AssertUnwindSafe(work));
                state = self.lock();
                continue;
            }
            state.idle += 1;
            let empty = |state: &mut PoolState| state.waiting.is_empty();
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

    #[test]
    fn work_runs_in_parallel_and_a_panic_stays_with_its_caller() {
        start().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            assert!(run::<()>(|| panic!("a bug")).await.is_err());
            // The first waits for the second, so there must be two threads.
            let (sender, receiver) = std::sync::mpsc::channel();
            let first = tokio::spawn(run(move || receiver.recv().unwrap()));
            let second = run(move || sender.send(7).unwrap());
            second.await.unwrap();
            assert_eq!(first.await.unwrap().unwrap(), 7);
        });
        assert!(POOL.lock().threads <= MAX_THREADS);
    }
}
