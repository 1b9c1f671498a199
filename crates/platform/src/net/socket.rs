//! What the standard library does not set: options of sockets, and how many descriptors we may have.

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
