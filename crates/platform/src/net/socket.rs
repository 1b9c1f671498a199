//! Socket options that the standard library does not set, waiting for several sockets, and the limit on open descriptors.

/// A client that reads nothing for this long is gone, whatever its connection says.
#[cfg(target_os = "linux")]
const UNREAD_FOR: std::time::Duration = std::time::Duration::from_secs(30);

/// Closes the connection of a client that stopped reading.
#[cfg(target_os = "linux")]
pub fn drop_when_unread(stream: &impl std::os::fd::AsRawFd) {
    let milliseconds = UNREAD_FOR.as_millis() as libc::c_uint;
    // SAFETY: the pointer and the length describe `milliseconds`; the descriptor is open.
    unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_USER_TIMEOUT,
            std::ptr::from_ref(&milliseconds).cast(),
            size_of_val(&milliseconds) as libc::socklen_t,
        )
    };
}

#[cfg(not(target_os = "linux"))]
pub fn drop_when_unread<T>(_: &T) {}

/// Waits until something can be read from one of these, or `timeout` is over; returns for each whether something can.
#[cfg(unix)]
pub fn wait_readable<'a>(
    sockets: impl Iterator<Item = std::os::fd::BorrowedFd<'a>>,
    timeout: std::time::Duration,
) -> Vec<bool> {
    use std::os::fd::AsRawFd;
    let ask = |socket: std::os::fd::BorrowedFd<'_>| libc::pollfd {
        fd: socket.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let mut asked: Vec<libc::pollfd> = sockets.map(ask).collect();
    // At least a millisecond: a shorter time would be rounded to zero.
    let timeout = i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX).max(1);
    // SAFETY: the pointer and the length describe `asked`; the descriptors are open as long as they are borrowed.
    let ready = unsafe { libc::poll(asked.as_mut_ptr(), asked.len() as libc::nfds_t, timeout) };
    asked.iter().map(|asked| ready > 0 && asked.revents != 0).collect()
}

/// Raises the limit on open descriptors as far as the system allows without asking.
pub fn raise_descriptor_limit() {
    #[cfg(unix)]
    {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: both calls get a pointer to a living rlimit.
        unsafe {
            if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 {
                limit.rlim_cur = limit.rlim_max.min(65_536);
                libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
            }
        }
    }
}
