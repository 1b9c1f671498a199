//! The hook's clock: one timer that interrupts whatever blocks, and ends the process if that was not enough.
//!
//! From the soft deadline on the timer ticks. Each tick makes a blocking `read`, `connect` or `flock` return with
//! `Interrupted`, so no call needs a timeout of its own (a `poll` or `setsockopt` each); there are many ticks
//! because one alone could fall between a check and the call it should have interrupted. At the hard deadline
//! the handler exits with code 0. Signals that would break "exit 0, silently" are handled here as well.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static LATE: AtomicBool = AtomicBool::new(false);

/// True after the soft deadline: stop waiting.
pub fn late() -> bool {
    LATE.load(Ordering::Relaxed)
}

/// Ends the process silently with exit code 0 when memory runs out.
static OUT_OF_MEMORY_IS_THE_END: AtomicBool = AtomicBool::new(false);

/// The system's allocator, for the program to use. When memory runs out, the standard library prints a message and aborts;
/// a hook must do neither.
#[derive(Debug)]
pub struct QuietAllocator;

impl QuietAllocator {
    #[cold]
    fn out_of_memory() {
        #[cfg(unix)]
        if OUT_OF_MEMORY_IS_THE_END.load(Ordering::Relaxed) {
            // SAFETY: ends the process; nothing that would need memory runs any more.
            unsafe { libc::_exit(0) };
        }
    }
}

// SAFETY: every call is passed on to the system's allocator unchanged, and so is its result.
unsafe impl GlobalAlloc for QuietAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are passed on.
        let memory = unsafe { System.alloc(layout) };
        if memory.is_null() {
            QuietAllocator::out_of_memory();
        }
        memory
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let memory = unsafe { System.alloc_zeroed(layout) };
        if memory.is_null() {
            QuietAllocator::out_of_memory();
        }
        memory
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        let memory = unsafe { System.realloc(old, layout, size) };
        if memory.is_null() {
            QuietAllocator::out_of_memory();
        }
        memory
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[cfg(unix)]
pub use unix::{arm, disarm, exit_quietly_whatever_happens, outlive_file_size_limit};

#[cfg(unix)]
mod unix {
    use super::*;
    use libc::{c_int, c_void};
    use std::mem::zeroed;
    use std::ptr::null_mut;
    use std::sync::atomic::AtomicU32;

    const CHECK_DEADLINE_EVERY: Duration = Duration::from_millis(50);

    /// Ticks left until the process ends; `u32::MAX`: it does not.
    static TICKS_LEFT: AtomicU32 = AtomicU32::new(u32::MAX);

    /// Starts the clock: late after `soft`, gone after `hard` (if given). A second call sets it again.
    pub fn arm(soft: Duration, hard: Option<Duration>) {
        let ticks = hard.map_or(u32::MAX, |hard| {
            let left = hard.saturating_sub(soft).as_millis() / CHECK_DEADLINE_EVERY.as_millis();
            u32::try_from(left).unwrap_or(u32::MAX)
        });
        TICKS_LEFT.store(ticks, Ordering::Relaxed);
        LATE.store(false, Ordering::Relaxed);
        // No SA_RESTART: interrupted calls must not continue.
        handle(libc::SIGALRM, on_tick, 0);
        // SAFETY: the set lives on the stack, is initialized by sigemptyset, and outlives the calls.
        unsafe {
            // A parent may have left the signal blocked, which survives exec.
            let mut set: libc::sigset_t = zeroed();
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGALRM);
            libc::sigprocmask(libc::SIG_UNBLOCK, &set, null_mut());
        }
        set_timer(soft, CHECK_DEADLINE_EVERY);
    }

    /// Stops the clock; [`late`] keeps its answer.
    pub fn disarm() {
        set_timer(Duration::ZERO, Duration::ZERO);
    }

    /// With a limit on the size of files, writing is an error like any other.
    pub fn outlive_file_size_limit() {
        // SAFETY: SIG_IGN is a valid disposition for this signal.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    }

    /// A request to end is ignored (`claude -p` ends its hooks when it exits; the few milliseconds that the event
    /// needs are bounded anyway), and a crash is a silent success: a hook must never break the user's work.
    pub fn exit_quietly_whatever_happens() {
        OUT_OF_MEMORY_IS_THE_END.store(true, Ordering::Relaxed);
        outlive_file_size_limit();
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP] {
            // SAFETY: SIG_IGN is a valid disposition for these signals.
            unsafe { libc::signal(signal, libc::SIG_IGN) };
        }
        // A separate stack, because one that has overflowed cannot hold the handler's frame.
        static mut STACK: [u8; 32 * 1024] = [0; 32 * 1024];
        // SAFETY: STACK is used for this and nothing else, and lives as long as the process.
        unsafe {
            let mut stack: libc::stack_t = zeroed();
            stack.ss_sp = (&raw mut STACK).cast::<c_void>();
            stack.ss_size = 32 * 1024;
            libc::sigaltstack(&stack, null_mut());
        }
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT, libc::SIGILL] {
            handle(signal, on_crash, libc::SA_ONSTACK);
        }
    }

    fn handle(signal: c_int, handler: extern "C" fn(c_int), flags: c_int) {
        // SAFETY: an all-zero sigaction is a valid one; the handlers only touch atomics and call _exit.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = flags;
            libc::sigaction(signal, &action, null_mut());
        }
    }

    fn set_timer(first: Duration, then: Duration) {
        let timeval = |d: Duration| libc::timeval {
            tv_sec: d.as_secs() as libc::time_t,
            tv_usec: d.subsec_micros() as libc::suseconds_t,
        };
        let timer = libc::itimerval { it_value: timeval(first), it_interval: timeval(then) };
        // SAFETY: `timer` is a plain value that outlives the call.
        unsafe { libc::setitimer(libc::ITIMER_REAL, &timer, null_mut()) };
    }

    extern "C" fn on_tick(_: c_int) {
        LATE.store(true, Ordering::Relaxed);
        let left = TICKS_LEFT.load(Ordering::Relaxed);
        if left == 0 {
            // SAFETY: _exit is async-signal-safe.
            unsafe { libc::_exit(0) };
        }
        if left != u32::MAX {
            TICKS_LEFT.store(left - 1, Ordering::Relaxed);
        }
    }

    extern "C" fn on_crash(_: c_int) {
        // SAFETY: _exit is async-signal-safe.
        unsafe { libc::_exit(0) };
    }
}

#[cfg(not(unix))]
pub fn arm(soft: Duration, hard: Option<Duration>) {
    std::thread::spawn(move || {
        std::thread::sleep(soft);
        LATE.store(true, Ordering::Relaxed);
        if let Some(hard) = hard {
            std::thread::sleep(hard.saturating_sub(soft));
            std::process::exit(0);
        }
    });
}

#[cfg(not(unix))]
pub fn disarm() {}

#[cfg(not(unix))]
pub fn exit_quietly_whatever_happens() {}

#[cfg(not(unix))]
pub fn outlive_file_size_limit() {}
