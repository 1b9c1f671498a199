use std::time::{Duration, Instant};

/// No machine is so busy that what should happen has not happened after this.
pub const LONG_ENOUGH: Duration = Duration::from_secs(90);

const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// Looks until `look` finds something; panics with `what` if it never does.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + LONG_ENOUGH;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "gave up waiting for {what}");
        std::thread::sleep(BETWEEN_LOOKS);
    }
}

/// Looks until `holds` does; panics with `what` if it never does.
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    wait_for(what, || holds().then_some(()));
}
