//! Time as headspace stores it: nanoseconds since 1970, always sent and printed as RFC 3339 in UTC.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A moment, to the nanosecond. Good until the year 2262.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub i64);

impl Stamp {
    /// Reads RFC 3339 with any offset; anything else is `None`.
    pub fn parse(text: &str) -> Option<Stamp> {
        let time = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        i64::try_from(time.unix_timestamp_nanos()).ok().map(Stamp)
    }

    /// Whole milliseconds since 1970: all that the lines of a transcript have.
    pub fn millis(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    pub fn plus(self, duration: Duration) -> Stamp {
        Stamp(self.0.saturating_add(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)))
    }

    pub fn minus(self, duration: Duration) -> Stamp {
        Stamp(self.0.saturating_sub(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)))
    }

    /// How long before `self` `earlier` was; zero if it is later.
    pub fn since(self, earlier: Stamp) -> Duration {
        Duration::from_nanos(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl From<SystemTime> for Stamp {
    fn from(time: SystemTime) -> Stamp {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Stamp(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl Stamp {
    /// `2026-11-16T10:02:11.123456789Z`: always nine digits, so that text order is time order. Written by hand, because
    /// the hook does this on every call and would have to page in the code of a formatter.
    pub fn text(self) -> [u8; 30] {
        const SECOND: i64 = 1_000_000_000;
        let (seconds, nanos) = (self.0.div_euclid(SECOND), self.0.rem_euclid(SECOND));
        let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        // The civil calendar in eras of 400 years, counted from 1 March of year 0.
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
        let year = year_of_era + era * 400 + i64::from(month <= 2);
        let mut text = *b"0000-00-00T00:00:00.000000000Z";
        let fields = [
            (0..4, year),
            (5..7, month),
            (8..10, day),
            (11..13, second / 3600),
            (14..16, second / 60 % 60),
            (17..19, second % 60),
            (20..29, nanos),
        ];
        for (place, mut number) in fields {
            for digit in text[place].iter_mut().rev() {
                *digit = b'0' + (number % 10) as u8;
                number /= 10;
            }
        }
        text
    }
}

impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.text()))
    }
}

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&String::from_utf8_lossy(&self.text()))
    }
}

impl<'de> Deserialize<'de> for Stamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Stamp, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Stamp::parse(&text).ok_or_else(|| serde::de::Error::custom("not an RFC 3339 time"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_parses_what_it_printed() {
        for nanos in [0, 1, -1, 999_999_999, 1_763_287_331_123_456_789, i64::MAX, i64::MIN] {
            assert_eq!(Stamp::parse(&Stamp(nanos).to_string()), Some(Stamp(nanos)));
        }
        for day in 0..80_000 {
            let stamp = Stamp(day * 86_400_000_000_000 + 86_399_999_999_999);
            assert_eq!(Stamp::parse(&stamp.to_string()), Some(stamp));
        }
    }

    #[test]
    fn offsets_are_accepted_and_nonsense_is_rejected() {
        assert_eq!(Stamp::parse("1970-01-01T01:00:00+01:00"), Some(Stamp(0)));
        for bad in ["", "yesterday", "2026-13-01T00:00:00Z", "2026-01-01 00:00:00"] {
            assert_eq!(Stamp::parse(bad), None, "{bad}");
        }
    }
}
