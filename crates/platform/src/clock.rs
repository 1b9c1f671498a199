//! The wall clock, and the user's local time. The only clock in the program: core has none.

use headspace_core::stamp::Stamp;
use std::time::SystemTime;

/// `Stamp::now()`, for every crate above core.
pub trait WallClock {
    fn now() -> Self;
}

impl WallClock for Stamp {
    fn now() -> Stamp {
        Stamp::from(SystemTime::now())
    }
}

/// Hour, minute and second in the user's time zone; UTC if the zone is unknown.
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

/// `10:02:11` in the user's time zone.
pub fn local_clock(stamp: Stamp) -> String {
    let (hour, minute, second) = local_time(stamp);
    format!("{hour:02}:{minute:02}:{second:02}")
}
