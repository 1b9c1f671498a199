//! Formats numbers and durations for people.

use std::fmt::Display;
use std::time::Duration;

/// 12345 ▶ `12,345`
pub fn thousands(number: impl Display) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// "950", "84 k", "1.2 M": for counts whose size is what matters.
pub fn short(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        // What would round up to 1,000 k is 1.0 M.
        1_000..999_500 => format!("{:.0} k", number as f64 / 1e3),
        999_500..999_950_000 => format!("{:.1} M", number as f64 / 1e6),
        _ => format!("{:.1} G", number as f64 / 1e9),
    }
}

/// `1 event`, `2 events`.
pub fn counted<N: Display + PartialEq + From<u8>>(number: N, what: &str) -> String {
    if number == N::from(1) { format!("1 {what}") } else { format!("{} {what}s", thousands(number)) }
}

/// One unit, the coarsest that fits: `8 s`, `3 m`, `2 h`, `5 d`.
pub fn duration(duration: Duration) -> String {
    match duration.as_secs() {
        s @ 0..60 => format!("{s} s"),
        s @ 60..3600 => format!("{} m", s / 60),
        s @ 3600..86_400 => format!("{} h", s / 3600),
        s => format!("{} d", s / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shown_in_one_unit() {
        for (seconds, words) in
            [(0, "0 s"), (59, "59 s"), (60, "1 m"), (3599, "59 m"), (7200, "2 h"), (90_000, "1 d")]
        {
            assert_eq!(duration(Duration::from_secs(seconds)), words);
        }
    }

    #[test]
    fn numbers_get_commas_and_nouns_get_plurals() {
        assert_eq!([0, 999, 1_234_567].map(thousands), ["0", "999", "1,234,567"]);
        let events = [0, 1, 2, 18_204].map(|number: u64| counted(number, "event"));
        assert_eq!(events, ["0 events", "1 event", "2 events", "18,204 events"]);
    }
}
