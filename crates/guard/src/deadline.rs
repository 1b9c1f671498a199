//! The hook's promise: an answer in time, whatever the payload does to its reader.
//!
//! If the judgment needs too much time, or more stack than there is, the answer is what was found so far, and "ask" at
//! least. A guard that crashes or hangs would let everything through. Nearly always the judgment itself sees that its
//! [`Budget`] is used up, and ends like every other. Whatever hangs without looking, such as a disk that does not answer,
//! is ended from outside, with the answer that was ready at that moment.

use crate::{GuardEnvironment, Verdict, judge_bytes, rules};
use headspace_platform::watchdog::{cpu_time, early_answer};
use std::time::{Duration, Instant};

/// On a machine so busy, or with a disk so slow, that this many times the limit have passed, the user is asked anyway.
const WALL_CLOCK_FACTOR: u32 = 10;

/// How long a judgment may take. Work counts, not the wall clock: on a machine that is busy with a build, an everyday
/// command must not become a question because the guard got no CPU.
#[derive(Debug)]
pub(crate) struct Budget {
    cpu_at_start: Duration,
    started: Instant,
    limit: Duration,
}

impl Budget {
    /// For the thread that calls.
    pub(crate) fn new(limit: Duration) -> Budget {
        Budget { cpu_at_start: cpu_time(), started: Instant::now(), limit }
    }

    pub(crate) fn is_over(&self) -> bool {
        cpu_time().saturating_sub(self.cpu_at_start) >= self.limit
            || self.started.elapsed() >= self.limit * WALL_CLOCK_FACTOR
    }
}

/// Judges `payload` within [`GuardEnvironment::time_limit`]. `render` writes this process's answer in case the process
/// has no time left to do so itself. For the main thread of a process that has no other.
pub fn judge(
    payload: &[u8],
    environment: GuardEnvironment,
    render: fn(&Verdict) -> Option<String>,
) -> Verdict {
    let environment = GuardEnvironment { early_answer: Some(render), ..environment };
    let nothing_found = rules::verdict(
        &rules::GUARD_DEADLINE,
        environment.failure(),
        "",
        &environment.config_file.to_string_lossy(),
    );
    early_answer::set(render(&nothing_found).unwrap_or_default());
    early_answer::on_crash();
    let limit =
        early_answer::TimeLimit::new(environment.time_limit, environment.time_limit * WALL_CLOCK_FACTOR);
    let verdict = judge_bytes(payload, &environment);
    drop(limit);
    early_answer::given();
    verdict
}
