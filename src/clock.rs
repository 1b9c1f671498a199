//! Time as headspace stores it: nanoseconds since 1970, written as RFC 3339 in UTC on every wire.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// A moment, to the nanosecond. Good until the year 2262.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stamp(pub i64);

impl Stamp {
    pub fn now() -> Stamp {
        Stamp::from(SystemTime::now())
    }

    /// Reads RFC 3339 with any offset; anything else is `None`.
    pub fn parse(text: &str) -> Option<Stamp> {
        let time = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        i64::try_from(time.unix_timestamp_nanos()).ok().map(Stamp)
    }

    pub fn plus(self, duration: Duration) -> Stamp {
        Stamp(self.0.saturating_add(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)))
    }

    pub fn minus(self, duration: Duration) -> Stamp {
        Stamp(self.0.saturating_sub(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)))
    }

    /// How long ago `earlier` was, seen from here; zero if it lies ahead.
    pub fn since(self, earlier: Stamp) -> Duration {
        Duration::from_nanos(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

/// Hour, minute and second of the user's day; UTC where the zone cannot be known.
pub fn local_time(stamp: Stamp) -> (u8, u8, u8) {
    let seconds = stamp.0.div_euclid(1_000_000_000);
    #[cfg(unix)]
    {
        // SAFETY: `tm` is plain data that localtime_r fills in; both pointers live for the call.
        let mut tm: libc::tm = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        if !unsafe { libc::localtime_r(&seconds, &mut tm) }.is_null() {
            let part = |value| u8::try_from(value).unwrap_or(0);
            return (part(tm.tm_hour), part(tm.tm_min), part(tm.tm_sec));
        }
    }
    let part = |value: i64| u8::try_from(value).unwrap_or(0);
    let of_day = seconds.rem_euclid(86_400);
    (part(of_day / 3600), part(of_day / 60 % 60), part(of_day % 60))
}

/// `10:02:11`, as the user's clock has it.
pub fn local_clock(stamp: Stamp) -> String {
    let (hour, minute, second) = local_time(stamp);
    format!("{hour:02}:{minute:02}:{second:02}")
}

impl From<SystemTime> for Stamp {
    fn from(time: SystemTime) -> Stamp {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        Stamp(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
    }
}

/// `2026-11-16T10:02:11.123456789Z`: always nine digits, so that text order is time order.
impl fmt::Display for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0))
            .unwrap_or(OffsetDateTime::UNIX_EPOCH);
        write!(
            f,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z",
            time.year(),
            u8::from(time.month()),
            time.day(),
            time.hour(),
            time.minute(),
            time.second(),
            time.nanosecond()
        )
    }
}

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
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
    fn a_stamp_reads_back_what_it_wrote() {
        for nanos in [0, 1, 999_999_999, 1_763_287_331_123_456_789] {
            assert_eq!(Stamp::parse(&Stamp(nanos).to_string()), Some(Stamp(nanos)));
        }
    }

    #[test]
    fn offsets_are_understood_and_nonsense_is_not() {
        assert_eq!(Stamp::parse("1970-01-01T01:00:00+01:00"), Some(Stamp(0)));
        for bad in ["", "yesterday", "2026-13-01T00:00:00Z", "2026-01-01 00:00:00"] {
            assert_eq!(Stamp::parse(bad), None, "{bad}");
        }
    }
}
