//! What identifies one call of the hook: when it began, and a random number.

use crate::clock::WallClock;
use crate::process;
use headspace_core::stamp::Stamp;

/// Identifies one call of the hook.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    pub sent_at: Stamp,
    pub random: u64,
}

impl Delivery {
    /// Stamped now.
    pub fn now() -> Delivery {
        Delivery { sent_at: Stamp::now(), random: process::random() }
    }

    /// A call that has already begun: nanoseconds since 1970, and its random number.
    pub fn of(sent_at: i64, random: u64) -> Delivery {
        Delivery { sent_at: Stamp(sent_at), random }
    }

    /// Sorts by time, and is also what a spooled event's file is called.
    pub fn id(&self) -> String {
        let mut bits = u128::from(self.sent_at.0.max(0).cast_unsigned()) << 64 | u128::from(self.random);
        let mut digits = [0; 32];
        for digit in digits.iter_mut().rev() {
            *digit = b"0123456789abcdef"[(bits & 15) as usize];
            bits >>= 4;
        }
        digits.map(char::from).iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delivery_ids_sort_by_time() {
        let early = Delivery { sent_at: Stamp(5), random: u64::MAX };
        let late = Delivery { sent_at: Stamp(1_900_000_000_000_000_000), random: 0 };
        assert!(early.id() < late.id());
        assert_eq!(early.id(), "0000000000000005ffffffffffffffff");
    }
}
