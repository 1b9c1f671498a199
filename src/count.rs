//! Numbers as people read them.

use std::fmt::Display;

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

/// `1 event`, `2 events`.
pub fn counted<N: Display + PartialEq + From<u8>>(number: N, what: &str) -> String {
    if number == N::from(1) { format!("1 {what}") } else { format!("{} {what}s", thousands(number)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_commas_and_nouns_their_number() {
        assert_eq!([0, 999, 1_234_567].map(thousands), ["0", "999", "1,234,567"]);
        let events = [0, 1, 2, 18_204].map(|number: u64| counted(number, "event"));
        assert_eq!(events, ["0 events", "1 event", "2 events", "18,204 events"]);
    }
}
