//! Threads for work that may take long, so that it does not block the server's runtime: files, queries, big bodies.
//!
//! tokio's own pool panics if the system gives no thread; here one is started at once and stays.

use headspace_platform::worker_threads::WorkerThreads;
use std::sync::LazyLock;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

static THREADS: LazyLock<WorkerThreads> = LazyLock::new(|| WorkerThreads::new("blocking", 8));

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
    THREADS.keep_one()
}

/// Does `work` on another thread, inside the runtime. It runs to its end even if the caller stops waiting.
pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, WorkLost> {
    let (sender, receiver) = oneshot::channel();
    let runtime = Handle::current();
    THREADS.put(move || {
        let _inside = runtime.enter();
        let _ = sender.send(work());
    });
    receiver.await.map_err(|_| WorkLost)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_stays_with_its_caller() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            assert!(run::<()>(|| panic!("a bug")).await.is_err());
            assert_eq!(run(|| 7).await.unwrap(), 7);
        });
    }
}
