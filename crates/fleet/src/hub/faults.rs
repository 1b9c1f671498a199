//! Named points at which a hub can be killed, to show that nothing is lost and nothing comes twice. Only development
//! builds have them: `HEADSPACE_HUB_DIES=before_commit:3` ends the process when it reaches that point for the third
//! time.

/// The points where a crash would hurt most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// Everything is written, nothing is committed.
    BeforeCommit,
    /// Committed, but neither the machine nor the other hubs know.
    AfterCommit,
    /// Answered, but the other hubs do not know.
    BeforeNotice,
}

#[cfg(not(debug_assertions))]
pub use never::{reach, will_die_at};
#[cfg(debug_assertions)]
pub use on_request::{reach, will_die_at};

#[cfg(not(debug_assertions))]
mod never {
    use super::Point;

    pub fn reach(_: Point) {}

    pub const fn will_die_at(_: Point) -> bool {
        false
    }
}

#[cfg(debug_assertions)]
mod on_request {
    use super::Point;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicI64, Ordering};

    /// The name of the point to die at, and how many times it is still to be reached.
    static DEATH: OnceLock<Option<(String, AtomicI64)>> = OnceLock::new();

    fn death_at(point: Point) -> Option<&'static AtomicI64> {
        let death = DEATH.get_or_init(|| {
            let wish = headspace_platform::config::env("HEADSPACE_HUB_DIES")?;
            let (name, times) = wish.split_once(':').unwrap_or((&wish, "1"));
            Some((name.to_owned(), AtomicI64::new(times.parse().unwrap_or(1))))
        });
        let name = match point {
            Point::BeforeCommit => "before_commit",
            Point::AfterCommit => "after_commit",
            Point::BeforeNotice => "before_notice",
        };
        death.as_ref().filter(|(wish, _)| wish == name).map(|(_, left)| left)
    }

    pub fn reach(point: Point) {
        if death_at(point).is_some_and(|left| left.fetch_sub(1, Ordering::Relaxed) == 1) {
            std::process::abort();
        }
    }

    /// Whether the point must be reached in a separate round trip.
    pub fn will_die_at(point: Point) -> bool {
        death_at(point).is_some()
    }
}
