//! The hook's promise: an answer in time, whatever the payload does to its reader. The judgement runs in a thread
//! of its own; if it takes too long, or more stack than there is, the answer is what was found so far, and "ask" at
//! least. A guard that crashes or hangs would let everything through.

use crate::budget::{Budget, Whose};
use crate::{Place, Verdict, judge_bytes, rules};
use std::sync::{Arc, mpsc};

/// Enough for the depth that is tried first, and costs nothing until it is used.
const STACK: usize = 8 << 20;

/// Judges `payload` within [`Place::patience`]. `render` is how this process answers, for the case that it has no
/// time left to do so itself.
pub fn judge(payload: &Arc<Vec<u8>>, place: Place, render: fn(&Verdict) -> Option<String>) -> Verdict {
    let place = Arc::new(place);
    let stumbled = Verdict::unreadable(&place, "input that the guard stumbled over");
    crash::answer_with(render(&stumbled).unwrap_or_default());
    let (send, receive) = mpsc::channel();
    let worker = {
        let (payload, place) = (Arc::clone(payload), Arc::clone(&place));
        std::thread::Builder::new().stack_size(STACK).spawn(move || {
            crash::own_stack();
            // Nobody listens any more if it took too long.
            let _ = send.send(judge_bytes(&payload, &place));
        })
    };
    let verdict = match worker {
        Ok(_) => wait(&receive, &place),
        Err(_) => judge_bytes(payload, &place),
    };
    crash::answered();
    verdict
}

fn wait(receive: &mpsc::Receiver<Verdict>, place: &Place) -> Verdict {
    let budget = Budget::new(Whose::Process, place.patience);
    loop {
        let left = budget.left();
        match receive.recv_timeout(left) {
            Ok(verdict) => return verdict,
            Err(_) if left.is_zero() => return so_far(place),
            Err(_) => {}
        }
    }
}

/// What is known when the time is up.
fn so_far(place: &Place) -> Verdict {
    let found = place.so_far.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
    found.unwrap_or_else(|| {
        rules::verdict(&rules::GUARD_DEADLINE, place.failure(), "", &place.config_file.to_string_lossy())
    })
}

/// The last word of a process that runs out of stack or memory.
#[cfg(unix)]
pub(super) mod crash {
    use std::ffi::{c_int, c_void};
    use std::mem::zeroed;
    use std::ptr::null_mut;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicBool, Ordering};

    static LAST_WORD: OnceLock<String> = OnceLock::new();
    static ANSWERED: AtomicBool = AtomicBool::new(false);
    const ROOM: usize = 32 << 10;

    /// From now on a crash prints `word` and is a success.
    pub fn answer_with(word: String) {
        let _ = LAST_WORD.set(word);
        for signal in [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT, libc::SIGILL] {
            // SAFETY: an all-zero sigaction is a valid one; the handler only loads atomics, writes and ends.
            unsafe {
                let mut action: libc::sigaction = zeroed();
                action.sa_sigaction = on_crash as *const () as usize;
                action.sa_flags = libc::SA_ONSTACK;
                libc::sigaction(signal, &action, null_mut());
            }
        }
    }

    /// A stack that has run out cannot hold the handler's frame: each thread that judges calls this first.
    pub fn own_stack() {
        let room = Box::leak(vec![0u8; ROOM].into_boxed_slice());
        // SAFETY: the room is never freed and nobody else uses it.
        unsafe {
            let mut stack: libc::stack_t = zeroed();
            stack.ss_sp = room.as_mut_ptr().cast::<c_void>();
            stack.ss_size = ROOM;
            libc::sigaltstack(&stack, null_mut());
        }
    }

    /// The answer is on its way: a crash has nothing more to say.
    pub fn answered() {
        ANSWERED.store(true, Ordering::Relaxed);
    }

    extern "C" fn on_crash(_: c_int) {
        if !ANSWERED.load(Ordering::Relaxed)
            && let Some(word) = LAST_WORD.get()
        {
            // SAFETY: the text lives as long as the process, and write is async-signal-safe.
            unsafe { libc::write(1, word.as_ptr().cast::<c_void>(), word.len()) };
        }
        // SAFETY: _exit is async-signal-safe.
        unsafe { libc::_exit(0) };
    }
}

#[cfg(not(unix))]
pub(super) mod crash {
    pub fn answer_with(_: String) {}
    pub fn own_stack() {}
    pub fn answered() {}
}
