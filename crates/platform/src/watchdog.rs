//! For a process that must answer in time: how much CPU time it has used, and an answer even if it crashes.

use std::time::Duration;

/// The CPU time of one thread, or of the whole process.
#[derive(Clone, Copy, Debug)]
pub enum CpuTimeOf {
    Thread,
    Process,
}

#[cfg(unix)]
pub fn cpu_time(of: CpuTimeOf) -> Duration {
    let clock = match of {
        CpuTimeOf::Thread => libc::CLOCK_THREAD_CPUTIME_ID,
        CpuTimeOf::Process => libc::CLOCK_PROCESS_CPUTIME_ID,
    };
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the duration of the call.
    unsafe { libc::clock_gettime(clock, &mut time) };
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Without CPU clocks, the wall clock has to do.
#[cfg(not(unix))]
pub fn cpu_time(_: CpuTimeOf) -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// The answer of a process that runs out of stack or memory.
#[cfg(unix)]
pub mod crash {
    use std::ffi::{c_int, c_void};
    use std::mem::zeroed;
    use std::ptr::null_mut;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    static CRASH_ANSWER: OnceLock<String> = OnceLock::new();
    static ANSWERED: AtomicBool = AtomicBool::new(false);
    const HANDLER_STACK_BYTES: usize = 32 << 10;

    /// From now on a crash prints `text` and exits with 0.
    pub fn answer_with(text: String) {
        let _ = CRASH_ANSWER.set(text);
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT, libc::SIGILL] {
            // SAFETY: an all-zero sigaction is valid; the handler only loads atomics, writes and exits.
            unsafe {
                let mut action: libc::sigaction = zeroed();
                action.sa_sigaction = on_crash as *const () as usize;
                action.sa_flags = libc::SA_ONSTACK;
                libc::sigaction(signal, &action, null_mut());
            }
        }
    }

    /// Gives this thread a second stack for the crash handler: a stack that has run out cannot hold its frame. Each
    /// thread that might crash calls this first.
    pub fn prepare_thread() {
        let stack_memory = Box::leak(vec![0u8; HANDLER_STACK_BYTES].into_boxed_slice());
        // SAFETY: the memory is never freed, and nothing else uses it.
        unsafe {
            let mut stack: libc::stack_t = zeroed();
            stack.ss_sp = stack_memory.as_mut_ptr().cast::<c_void>();
            stack.ss_size = HANDLER_STACK_BYTES;
            libc::sigaltstack(&stack, null_mut());
        }
    }

    /// The answer has been sent: a later crash prints nothing.
    pub fn answered() {
        ANSWERED.store(true, Ordering::Relaxed);
    }

    extern "C" fn on_crash(_: c_int) {
        if !ANSWERED.load(Ordering::Relaxed)
            && let Some(text) = CRASH_ANSWER.get()
        {
            // SAFETY: the text lives as long as the process, and write is async-signal-safe.
            unsafe { libc::write(1, text.as_ptr().cast::<c_void>(), text.len()) };
        }
        // SAFETY: _exit is async-signal-safe.
        unsafe { libc::_exit(0) };
    }
}

#[cfg(not(unix))]
pub mod crash {
    pub fn answer_with(_: String) {}
    pub fn prepare_thread() {}
    pub fn answered() {}
}
