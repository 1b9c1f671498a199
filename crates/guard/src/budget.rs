//! How long a judgement may take. What counts is the work, not the clock on the wall: on a machine that is busy with a
//! build, an everyday command must not become a question because nobody let the guard run.

use std::time::{Duration, Instant};

/// A machine so busy, or a disk so slow, that this many times the promise have passed: the user is asked anyway.
const WAITING: u32 = 10;

/// The time of one thread, or of all of them.
#[derive(Clone, Copy, Debug)]
pub enum Whose {
    Thread,
    Process,
}

#[derive(Debug)]
pub struct Budget {
    whose: Whose,
    worked: Duration,
    started: Instant,
    patience: Duration,
}

impl Budget {
    pub fn new(whose: Whose, patience: Duration) -> Budget {
        Budget { whose, worked: worked(whose), started: Instant::now(), patience }
    }

    pub fn is_over(&self) -> bool {
        self.left().is_zero()
    }

    /// How long it will last at least.
    pub fn left(&self) -> Duration {
        let waited = (self.patience * WAITING).saturating_sub(self.started.elapsed());
        let work = self.patience.saturating_sub(worked(self.whose).saturating_sub(self.worked));
        waited.min(work)
    }
}

#[cfg(unix)]
fn worked(whose: Whose) -> Duration {
    let clock = match whose {
        Whose::Thread => libc::CLOCK_THREAD_CPUTIME_ID,
        Whose::Process => libc::CLOCK_PROCESS_CPUTIME_ID,
    };
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the length of the call.
    unsafe { libc::clock_gettime(clock, &mut time) };
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Without such clocks the one on the wall has to do.
#[cfg(not(unix))]
fn worked(_: Whose) -> Duration {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}
