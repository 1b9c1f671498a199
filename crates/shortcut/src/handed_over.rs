//! What the short way leaves to the ordinary one: what it read, what it has sent, and since when.

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use crate::{entry, system};

/// Everything that must not be done twice.
#[derive(Debug)]
pub struct HandedOver {
    /// What was read from standard input.
    pub input: &'static [u8],
    /// When the hook began, in nanoseconds since 1970, and its random number.
    pub sent_at: i64,
    pub random: u64,
    /// The connection on which the event was sent, if it was.
    pub sent: Option<Sent>,
    /// When the hook began, by the clock that is never set back.
    pub begun: i64,
    /// The signals that were blocked before the hook blocked all of them.
    pub signals: u64,
}

/// An event on its way.
#[derive(Debug)]
pub struct Sent {
    /// A nonblocking stream socket.
    pub socket: i32,
    /// What came back so far.
    pub answer: &'static [u8],
}

/// What there is to take over, for the first caller. `None`: the short way was not begun.
pub fn take() -> Option<HandedOver> {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    return entry::hand_over();
    #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
    None
}

impl HandedOver {
    /// How long the hook has been running.
    pub fn elapsed(&self) -> core::time::Duration {
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        let now = system::steady_clock();
        #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
        let now = self.begun;
        core::time::Duration::from_nanos(now.saturating_sub(self.begun).max(0).cast_unsigned())
    }

    /// Unblocks the signals again. By now they are ignored, or handled.
    pub fn let_signals_through(&self) {
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        system::set_signals(self.signals);
    }
}
