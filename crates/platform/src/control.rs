//! Process and descriptor operations that the standard library lacks. The unsafe calls are here, so that the program
//! itself needs none.

use crate::process_group;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// Starts the child in its own session: closing this terminal does not end it.
pub fn detach(command: &mut Command) {
    process_group::lead_own_session(command);
}

/// Asks one process to end.
#[cfg(unix)]
pub fn terminate(pid: u32) -> std::io::Result<()> {
    // Zero, one and negative numbers would mean a group, init, or all processes.
    let pid = i32::try_from(pid).ok().filter(|pid| *pid > 1).ok_or(std::io::ErrorKind::InvalidInput)?;
    // SAFETY: kill takes plain numbers; the pid is positive, so it names one process and not a group.
    match unsafe { libc::kill(pid, libc::SIGTERM) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[cfg(not(unix))]
pub fn terminate(_: u32) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

static TERMINATED: AtomicBool = AtomicBool::new(false);

/// From now on a signal that would end this program is only recorded, for [`is_terminated`]: the program can restore the
/// terminal first.
pub fn note_termination() {
    #[cfg(unix)]
    {
        extern "C" fn note(_: libc::c_int) {
            TERMINATED.store(true, Ordering::Relaxed);
        }
        for signal in [libc::SIGTERM, libc::SIGHUP, libc::SIGINT] {
            // SAFETY: the handler only stores to an atomic, which is allowed in a signal handler.
            unsafe { libc::signal(signal, note as *const () as libc::sighandler_t) };
        }
    }
}

/// Whether a recorded signal has asked this program to end.
pub fn is_terminated() -> bool {
    TERMINATED.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_number_that_names_more_than_one_process_is_refused() {
        for pid in [0, 1, u32::MAX, 1 << 31] {
            assert_eq!(terminate(pid).unwrap_err().kind(), std::io::ErrorKind::InvalidInput, "{pid}");
        }
    }
}
