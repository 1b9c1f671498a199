//! When to try again after a hub did not answer.

use std::time::{Duration, Instant};

/// How soon after a failure a hub is tried, however long it was away, if an agent begins or stops needing a person.
const NEWS_WITHIN: Duration = Duration::from_secs(4);

/// A pause after a failure. It doubles with each further failure, so that a hub that is away costs nothing. News that a
/// team should see at once starts it over, so that a hub that was away for an hour does not get the news a minute late.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    failed_at: Instant,
    at: Instant,
    pause: Duration,
}

impl Retry {
    /// `last`: the pause after the failure before this one.
    pub fn after(last: Option<Retry>, first: Duration, longest: Duration, now: Instant) -> Retry {
        let pause = last.map_or(first, |last| (last.pause * 2).min(longest));
        Retry { failed_at: now, at: now + spread(pause), pause }
    }

    /// How much of it is left at `now`; `None`: it is over.
    pub fn left(&self, now: Instant) -> Option<Duration> {
        self.at.checked_duration_since(now).filter(|left| !left.is_zero())
    }

    /// There is news that should not wait.
    pub fn hurry(&mut self) {
        if self.pause > NEWS_WITHIN {
            self.pause = NEWS_WITHIN;
            self.at = self.at.min(self.failed_at + spread(NEWS_WITHIN));
        }
    }
}

/// Between half the pause and all of it: machines that lost a hub together do not come back together.
fn spread(pause: Duration) -> Duration {
    pause.mul_f64(0.5 + (headspace_platform::process::random() % 1000) as f64 / 2000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_millis(400);
    const LONGEST: Duration = Duration::from_secs(60);

    /// The pause after this many failures, and when it began.
    fn failed(times: usize) -> (Retry, Instant) {
        let now = Instant::now();
        let next = |last: Option<Retry>, _| Some(Retry::after(last, FIRST, LONGEST, now));
        ((0..times).fold(None, next).unwrap(), now)
    }

    #[test]
    fn a_pause_doubles_up_to_a_minute_and_never_below_half_of_itself() {
        for (times, whole) in [(1, FIRST), (2, FIRST * 2), (5, FIRST * 16), (20, LONGEST)] {
            let (retry, now) = failed(times);
            let left = retry.left(now).unwrap();
            assert!(left >= whole / 2 && left <= whole, "{times}: {left:?}");
            assert_eq!(retry.left(now + whole), None);
        }
    }

    #[test]
    fn news_shortens_a_long_pause_once_and_leaves_a_short_one() {
        let (mut long, now) = failed(20);
        long.hurry();
        let left = long.left(now).unwrap();
        assert!(left <= NEWS_WITHIN, "{left:?}");
        long.hurry();
        assert_eq!(long.left(now).unwrap(), left, "more news is not more haste");
        let next = Retry::after(Some(long), FIRST, LONGEST, now).left(now).unwrap();
        assert!(next <= NEWS_WITHIN * 2, "what follows begins there again: {next:?}");
        let (mut short, now) = failed(2);
        let before = short.left(now);
        short.hurry();
        assert_eq!(short.left(now), before);
    }
}
