//! For a process that must answer in time: how much CPU time it has used, and an answer even if it crashes or hangs.

use std::time::Duration;

/// The CPU time that this thread has used.
#[cfg(unix)]
pub fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec for the duration of the call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Without CPU clocks, the wall clock has to do.
#[cfg(not(unix))]
pub fn cpu_time() -> Duration {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed()
}

/// The answer of a process that crashes or runs out of time before it can give one.
///
/// Signals, not a second thread, keep the time: a thread would be a third of the cost of a hook that has nothing to say.
#[cfg(unix)]
pub mod early_answer {
    use std::ffi::{c_int, c_void};
    use std::mem::zeroed;
    use std::ptr::null_mut;
    use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
    use std::time::{Duration, Instant};

    static TEXT: AtomicPtr<String> = AtomicPtr::new(null_mut());
    static GIVEN: AtomicBool = AtomicBool::new(false);
    const HANDLER_STACK_BYTES: usize = 32 << 10;

    /// From now on this is the answer. The text before it is never freed, because a handler may be reading it.
    pub fn set(text: String) {
        TEXT.store(Box::leak(Box::new(text)), Ordering::Release);
    }

    /// The answer has been given: a crash after this prints nothing.
    pub fn given() {
        GIVEN.store(true, Ordering::Relaxed);
    }

    /// From now on a crash gives the answer and exits with 0. For the main thread; every other thread that might crash
    /// calls [`prepare_thread`] first.
    pub fn on_crash() {
        // Not touched, it costs nothing.
        static mut HANDLER_STACK: [u8; HANDLER_STACK_BYTES] = [0; HANDLER_STACK_BYTES];
        // SAFETY: the memory lives as long as the process, and nothing else uses it.
        unsafe { use_stack((&raw mut HANDLER_STACK).cast()) };
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT, libc::SIGILL] {
            handle(signal, &answer_action());
        }
    }

    /// Gives this thread a second stack for the crash handler: a stack that has run out cannot hold its frame.
    pub fn prepare_thread() {
        let memory = Box::leak(vec![0u8; HANDLER_STACK_BYTES].into_boxed_slice());
        // SAFETY: the memory is never freed, and nothing else uses it.
        unsafe { use_stack(memory.as_mut_ptr()) };
    }

    /// # Safety
    /// `memory` has [`HANDLER_STACK_BYTES`], and belongs to this thread's handlers for as long as it runs.
    unsafe fn use_stack(memory: *mut u8) {
        // SAFETY: an all-zero stack_t is valid, and the memory is as promised.
        unsafe {
            let mut stack: libc::stack_t = zeroed();
            stack.ss_sp = memory.cast::<c_void>();
            stack.ss_size = HANDLER_STACK_BYTES;
            libc::sigaltstack(&stack, null_mut());
        }
    }

    /// Two clocks: this process's CPU time, and everybody's.
    const CLOCKS: [(c_int, c_int); 2] =
        [(libc::ITIMER_PROF, libc::SIGPROF), (libc::ITIMER_REAL, libc::SIGALRM)];

    /// While this lives, running out of time gives the answer and exits with 0. Afterwards the timers and handlers are as
    /// they were.
    pub struct TimeLimit {
        started: Instant,
        before: [(libc::itimerval, libc::sigaction); 2],
    }

    impl TimeLimit {
        /// Neither may be zero.
        pub fn new(cpu_time: Duration, wall_clock: Duration) -> TimeLimit {
            // SAFETY: the set is initialized by sigemptyset and outlives the calls.
            unsafe {
                // A parent may have left the signals blocked, which survives exec.
                let mut set: libc::sigset_t = zeroed();
                libc::sigemptyset(&mut set);
                CLOCKS.iter().for_each(|(_, signal)| {
                    libc::sigaddset(&mut set, *signal);
                });
                libc::sigprocmask(libc::SIG_UNBLOCK, &set, null_mut());
            }
            let begin = |(timer, signal), limit| {
                let action = handle(signal, &answer_action());
                (set_timer(timer, &once(limit)), action)
            };
            let [cpu, wall] = CLOCKS;
            TimeLimit { started: Instant::now(), before: [begin(cpu, cpu_time), begin(wall, wall_clock)] }
        }
    }

    impl Drop for TimeLimit {
        fn drop(&mut self) {
            for ((timer, signal), (timer_before, action_before)) in CLOCKS.into_iter().zip(&self.before) {
                set_timer(timer, &once(Duration::ZERO));
                // A signal that is still on its way must not meet the action of before, which may end the process.
                handle(signal, &action(libc::SIG_IGN));
                handle(signal, action_before);
                let left = duration(timer_before.it_value);
                if !left.is_zero() {
                    let left = left.saturating_sub(self.started.elapsed()).max(Duration::from_micros(1));
                    set_timer(timer, &libc::itimerval { it_value: once(left).it_value, ..*timer_before });
                }
            }
        }
    }

    fn once(after: Duration) -> libc::itimerval {
        let time = |seconds, microseconds| libc::timeval { tv_sec: seconds, tv_usec: microseconds };
        libc::itimerval {
            it_value: time(after.as_secs() as libc::time_t, after.subsec_micros() as libc::suseconds_t),
            it_interval: time(0, 0),
        }
    }

    fn duration(time: libc::timeval) -> Duration {
        Duration::from_secs(time.tv_sec as u64) + Duration::from_micros(time.tv_usec as u64)
    }

    /// Returns what was set before.
    fn set_timer(timer: c_int, value: &libc::itimerval) -> libc::itimerval {
        // SAFETY: both are plain values that outlive the call.
        unsafe {
            let mut before: libc::itimerval = zeroed();
            libc::setitimer(timer, value, &mut before);
            before
        }
    }

    /// Returns what was done before.
    fn handle(signal: c_int, action: &libc::sigaction) -> libc::sigaction {
        // SAFETY: an all-zero sigaction is valid, and both outlive the call.
        unsafe {
            let mut before: libc::sigaction = zeroed();
            libc::sigaction(signal, action, &mut before);
            before
        }
    }

    fn action(handler: libc::sighandler_t) -> libc::sigaction {
        // SAFETY: an all-zero sigaction is valid.
        let mut action: libc::sigaction = unsafe { zeroed() };
        action.sa_sigaction = handler;
        action.sa_flags = libc::SA_ONSTACK;
        action
    }

    fn answer_action() -> libc::sigaction {
        action(give as *const () as libc::sighandler_t)
    }

    /// Only loads atomics, writes and exits, which a signal handler may.
    extern "C" fn give(_: c_int) {
        // SAFETY: whatever is stored there lives as long as the process.
        let text = unsafe { TEXT.load(Ordering::Acquire).as_ref() };
        if let Some(text) = text.filter(|_| !GIVEN.load(Ordering::Relaxed)) {
            // SAFETY: the text lives as long as the process, and write is async-signal-safe.
            unsafe { libc::write(1, text.as_ptr().cast::<c_void>(), text.len()) };
        }
        // SAFETY: _exit is async-signal-safe.
        unsafe { libc::_exit(0) };
    }
}

/// Without signals, a thread keeps the time, and a crash is a crash.
#[cfg(not(unix))]
pub mod early_answer {
    use std::io::Write;
    use std::sync::Mutex;
    use std::time::Duration;

    /// `None` once it has been given.
    static TEXT: Mutex<Option<String>> = Mutex::new(None);

    pub fn set(text: String) {
        *TEXT.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(text);
    }

    pub fn given() {
        *TEXT.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
    }

    pub fn on_crash() {}

    pub fn prepare_thread() {}

    pub struct TimeLimit;

    impl TimeLimit {
        pub fn new(_: Duration, wall_clock: Duration) -> TimeLimit {
            std::thread::spawn(move || {
                std::thread::sleep(wall_clock);
                let text = TEXT.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
                if let Some(text) = text {
                    let _ = std::io::stdout().write_all(text.as_bytes());
                    std::process::exit(0);
                }
            });
            TimeLimit
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::early_answer::{self, TimeLimit};
    use std::process::Command;
    use std::time::{Duration, Instant};

    const FAILURE: &str = "HEADSPACE_TEST_FAILURE";
    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(50);

    /// The process that fails: this test program itself, with the kind of failure in its environment.
    fn fail(kind: &str) {
        early_answer::set("not this one".into());
        early_answer::set("the answer\n".into());
        early_answer::on_crash();
        match kind {
            "hangs" => {
                let _limit = TimeLimit::new(LONG, SHORT);
                std::thread::sleep(LONG);
            }
            "works too long" => {
                let _limit = TimeLimit::new(SHORT, LONG);
                while Instant::now().elapsed() < LONG {}
            }
            "crashes" => std::process::abort(),
            "answered, then crashes" => {
                early_answer::given();
                std::process::abort();
            }
            "was in time" => {
                drop(TimeLimit::new(LONG, SHORT));
                std::thread::sleep(SHORT * 4);
            }
            // A timer that was running continues with what was left of its time.
            "had a timer" => {
                let _outer = TimeLimit::new(LONG, SHORT);
                drop(TimeLimit::new(LONG, LONG));
                std::thread::sleep(LONG);
            }
            other => panic!("no failure is called {other}"),
        }
    }

    #[test]
    fn a_process_that_hangs_or_crashes_answers_first() {
        if let Ok(kind) = std::env::var(FAILURE) {
            return fail(&kind);
        }
        for (kind, answers) in [
            ("hangs", true),
            ("works too long", true),
            ("crashes", true),
            ("answered, then crashes", false),
            ("was in time", false),
            ("had a timer", true),
        ] {
            let started = Instant::now();
            let output = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "watchdog::tests::a_process_that_hangs_or_crashes_answers_first"])
                .env(FAILURE, kind)
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            assert_eq!(said.contains("the answer"), answers, "{kind}: {said}");
            assert!(!said.contains("not this one"), "{kind}: {said}");
            assert!(output.status.success(), "{kind}: {output:?}");
            // Half of what it would have slept, on however busy a machine.
            assert!(started.elapsed() < LONG / 2, "{kind}");
        }
    }
}
