//! A child process with its own session, and how to end it with everything it started.

use std::process::Command;
use std::time::Duration;

/// The child leads its own session, and so its own process group: it has no terminal, and [`end`] reaches everything
/// it starts.
#[cfg(unix)]
pub fn lead_own_session(command: &mut Command) {
    use std::os::unix::process::CommandExt;
    // SAFETY: setsid is async-signal-safe and touches none of our memory.
    unsafe {
        command.pre_exec(|| {
            libc::setsid();
            Ok(())
        });
    }
}

#[cfg(not(unix))]
pub fn lead_own_session(_: &mut Command) {}

/// Ends the process group that `leader` leads: SIGTERM, and SIGKILL for what is still there after `grace`.
#[cfg(unix)]
pub fn end(leader: u32, grace: Duration) {
    use std::time::Instant;
    let Ok(group) = libc::pid_t::try_from(leader) else { return };
    // SAFETY: kill takes only numbers; a group that is gone answers ESRCH.
    let signal = |signal: libc::c_int| unsafe { libc::kill(-group, signal) };
    signal(libc::SIGTERM);
    let until = Instant::now() + grace;
    while Instant::now() < until {
        if signal(0) != 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(libc::SIGKILL);
}

#[cfg(not(unix))]
pub fn end(leader: u32, _: Duration) {
    let _ = Command::new("taskkill").args(["/T", "/F", "/PID", &leader.to_string()]).status();
}

/// The short name of a signal that ends a process, such as `KILL`.
#[cfg(unix)]
pub fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        libc::SIGHUP => "HUP",
        libc::SIGINT => "INT",
        libc::SIGQUIT => "QUIT",
        libc::SIGILL => "ILL",
        libc::SIGABRT => "ABRT",
        libc::SIGFPE => "FPE",
        libc::SIGKILL => "KILL",
        libc::SIGSEGV => "SEGV",
        libc::SIGPIPE => "PIPE",
        libc::SIGTERM => "TERM",
        _ => return None,
    })
}
