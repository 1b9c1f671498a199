//! The hook's promise: an answer in time, whatever the payload does to its reader.
//!
//! The judgment runs in a thread of its own. If it needs too much time, or more stack than there is, the answer is what
//! was found so far, and "ask" at least. A guard that crashes or hangs would let everything through.

use crate::{GuardEnvironment, Verdict, judge_bytes, rules};
use headspace_platform::watchdog::{CpuTimeOf, cpu_time, crash};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

/// Enough for the nesting that is tried first; it costs nothing until it is used.
const WORKER_STACK_BYTES: usize = 8 << 20;

/// On a machine so busy, or with a disk so slow, that this many times the limit have passed, the user is asked anyway.
const WALL_CLOCK_FACTOR: u32 = 10;

/// How long a judgment may take. Work counts, not the wall clock: on a machine that is busy with a build, an everyday
/// command must not become a question because the guard got no CPU.
#[derive(Debug)]
pub(crate) struct Budget {
    of: CpuTimeOf,
    cpu_at_start: Duration,
    started: Instant,
    limit: Duration,
}

impl Budget {
    pub(crate) fn new(of: CpuTimeOf, limit: Duration) -> Budget {
        Budget { of, cpu_at_start: cpu_time(of), started: Instant::now(), limit }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// How long it will last at least.
    fn left(&self) -> Duration {
        let wall_clock = (self.limit * WALL_CLOCK_FACTOR).saturating_sub(self.started.elapsed());
        let work = self.limit.saturating_sub(cpu_time(self.of).saturating_sub(self.cpu_at_start));
        wall_clock.min(work)
    }
}

/// Judges `payload` within [`GuardEnvironment::time_limit`]. `render` writes this process's answer in case the process
/// has no time left to do so itself.
pub fn judge(
    payload: &Arc<Vec<u8>>,
    environment: GuardEnvironment,
    render: fn(&Verdict) -> Option<String>,
) -> Verdict {
    let environment = Arc::new(environment);
    let on_crash = Verdict::unreadable(&environment, "input that crashed the guard");
    crash::answer_with(render(&on_crash).unwrap_or_default());
    let (send, receive) = mpsc::channel();
    let worker = {
        let (payload, environment) = (Arc::clone(payload), Arc::clone(&environment));
        std::thread::Builder::new().stack_size(WORKER_STACK_BYTES).spawn(move || {
            crash::prepare_thread();
            // Nobody is listening any more if this took too long.
            let _ = send.send(judge_bytes(&payload, &environment));
        })
    };
    let verdict = match worker {
        Ok(_) => wait(&receive, &environment),
        Err(_) => judge_bytes(payload, &environment),
    };
    crash::answered();
    verdict
}

fn wait(receive: &mpsc::Receiver<Verdict>, environment: &GuardEnvironment) -> Verdict {
    let budget = Budget::new(CpuTimeOf::Process, environment.time_limit);
    loop {
        let left = budget.left();
        match receive.recv_timeout(left) {
            Ok(verdict) => return verdict,
            Err(_) if left.is_zero() => return found_so_far(environment),
            Err(_) => {}
        }
    }
}

/// What is known when time is up.
fn found_so_far(environment: &GuardEnvironment) -> Verdict {
    let found = environment.worst_so_far.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
    found.unwrap_or_else(|| {
        rules::verdict(
            &rules::GUARD_DEADLINE,
            environment.failure(),
            "",
            &environment.config_file.to_string_lossy(),
        )
    })
}
