//! This process and others, as the operating system sees them.

/// What a Rust program may rely on and a C `main` does not get: the standard descriptors are open (a closed one would be
/// given to the next file or socket, and be printed into), and writing to a closed pipe is an error, not the end.
#[cfg(unix)]
pub fn prepare() {
    let mut standard = [0, 1, 2].map(|fd| libc::pollfd { fd, events: 0, revents: 0 });
    // SAFETY: three descriptors are named and given; a path and flags are constants.
    unsafe {
        if libc::poll(standard.as_mut_ptr(), 3, 0) > 0
            && standard.iter().any(|fd| fd.revents & libc::POLLNVAL != 0)
        {
            // The lowest free number is taken, so this fills the gaps.
            loop {
                match libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) {
                    0..=2 => {}
                    extra => {
                        libc::close(extra);
                        break;
                    }
                }
            }
        }
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
    }
}

/// When process `pid` started, in the system's own unit: together with the pid it names one process for good,
/// for pids are used again. On Linux field 22 of `/proc/PID/stat` (clock ticks since boot), on macOS microseconds
/// since 1970. `None`: there is no such process, or this system does not tell.
#[cfg(target_os = "linux")]
pub fn start_time(pid: u32) -> Option<u64> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in brackets, which may itself hold blanks and brackets.
    let after_name = stat.iter().rposition(|&b| b == b')')? + 1;
    let field = stat[after_name..].split(|&b| b == b' ').filter(|f| !f.is_empty()).nth(19)?;
    std::str::from_utf8(field).ok()?.parse().ok()
}

#[cfg(target_os = "macos")]
pub fn start_time(pid: u32) -> Option<u64> {
    let size = size_of::<libc::proc_bsdinfo>() as i32;
    // SAFETY: `info` is a plain struct of `size` bytes that the call fills.
    let info = unsafe {
        let mut info: libc::proc_bsdinfo = std::mem::zeroed();
        let got = libc::proc_pidinfo(
            pid as i32,
            libc::PROC_PIDTBSDINFO,
            0,
            (&raw mut info).cast::<libc::c_void>(),
            size,
        );
        (got == size).then_some(info)?
    };
    Some(info.pbi_start_tvsec * 1_000_000 + info.pbi_start_tvusec)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub fn start_time(_: u32) -> Option<u64> {
    None
}

/// This machine's name.
#[cfg(unix)]
pub fn host_name() -> Option<String> {
    let mut name = [0u8; 256];
    // SAFETY: the buffer is one byte longer than what the call may fill.
    let failed = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    let end = name.iter().position(|&b| b == 0)?;
    (failed == 0 && end > 0).then(|| String::from_utf8_lossy(&name[..end]).into_owned())
}

#[cfg(not(unix))]
pub fn host_name() -> Option<String> {
    crate::config::env("COMPUTERNAME")
}

/// 64 bits nobody can guess.
pub fn random() -> u64 {
    let mut bytes = [0u8; 8];
    #[cfg(unix)]
    // SAFETY: the buffer has the length that is named.
    if unsafe { libc::getentropy(bytes.as_mut_ptr().cast(), bytes.len()) } == 0 {
        return u64::from_ne_bytes(bytes);
    }
    // The standard library's hash keys come from the system's random numbers too.
    use std::hash::{BuildHasher, Hasher};
    let mut hasher = std::hash::RandomState::new().build_hasher();
    hasher.write(&std::mem::take(&mut bytes));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    fn a_process_has_one_start_time_and_a_missing_one_has_none() {
        let own = start_time(std::process::id());
        assert!(own.is_some_and(|ticks| ticks > 0));
        assert_eq!(own, start_time(std::process::id()));
        assert_eq!(start_time(u32::MAX - 1), None);
    }

    #[test]
    fn random_numbers_differ() {
        assert_ne!(random(), random());
    }
}
