//! How soon a line is tried again, and how much of it is read. Pure: times come in as values.

use std::time::{Duration, Instant};

/// The wait before the first try after a line was lost; doubled after each failure.
const FIRST_RECONNECT_AFTER: Duration = Duration::from_secs(1);
/// The longest wait. Reaching a machine that wakes up should not take much longer than waking up did.
const LONGEST_RECONNECT_AFTER: Duration = Duration::from_secs(15);
/// A line that was up for this long was good: the next failure counts as the first.
const GOOD_AFTER: Duration = Duration::from_secs(20);

/// When to try again.
#[derive(Debug, Default)]
pub struct BackOff {
    failures: u32,
}

impl BackOff {
    /// How long to wait after a line that was up for `up`.
    pub fn after(&mut self, up: Duration) -> Duration {
        if up >= GOOD_AFTER {
            self.failures = 0;
        }
        let wait =
            FIRST_RECONNECT_AFTER.saturating_mul(1 << self.failures.min(8)).min(LONGEST_RECONNECT_AFTER);
        self.failures = self.failures.saturating_add(1);
        wait
    }

    pub fn failures(&self) -> u32 {
        self.failures
    }
}

/// How much a relay may send at once, and per second after that. A board of three hundred agents is a megabyte.
const BURST_BYTES: f64 = 20.0 * 1024.0 * 1024.0;
const BYTES_PER_SECOND: f64 = 2.0 * 1024.0 * 1024.0;
const BURST_LINES: f64 = 4000.0;
const LINES_PER_SECOND: f64 = 400.0;

/// Two buckets that fill with time. A relay that sends more is read more slowly; nothing is thrown away.
#[derive(Debug)]
pub struct Allowance {
    bytes: f64,
    lines: f64,
    at: Instant,
}

impl Allowance {
    pub fn new(now: Instant) -> Allowance {
        Allowance { bytes: BURST_BYTES, lines: BURST_LINES, at: now }
    }

    /// Records that a line of this many bytes was read; returns how long to wait before the next.
    pub fn spend(&mut self, bytes: usize, now: Instant) -> Duration {
        let seconds = now.saturating_duration_since(self.at).as_secs_f64();
        self.at = now;
        self.bytes = (self.bytes + seconds * BYTES_PER_SECOND).min(BURST_BYTES) - bytes as f64;
        self.lines = (self.lines + seconds * LINES_PER_SECOND).min(BURST_LINES) - 1.0;
        let missing = (-self.bytes / BYTES_PER_SECOND).max(-self.lines / LINES_PER_SECOND);
        Duration::from_secs_f64(missing.clamp(0.0, 5.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_line_is_tried_soon_then_less_often_and_soon_again_after_a_good_one() {
        let mut back_off = BackOff::default();
        let waits: Vec<u64> = (0..7).map(|_| back_off.after(Duration::ZERO).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 15, 15, 15]);
        assert_eq!(back_off.after(GOOD_AFTER), FIRST_RECONNECT_AFTER);
        (0..100).for_each(|_| assert!(back_off.after(Duration::ZERO) <= LONGEST_RECONNECT_AFTER));
    }

    #[test]
    fn a_flood_is_read_slowly_and_a_board_at_once() {
        let now = Instant::now();
        let mut allowance = Allowance::new(now);
        assert!((0..1000).all(|_| allowance.spend(3000, now).is_zero()));
        let mut flood = Allowance::new(now);
        let waited = (0..10_000).map(|_| flood.spend(100, now)).max().unwrap();
        assert!(waited >= Duration::from_secs(1), "{waited:?}");
        assert!(flood.spend(100, now + Duration::from_secs(60)).is_zero());
    }
}
