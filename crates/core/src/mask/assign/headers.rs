//! Headers that carry a secret: `Authorization` with its scheme, and cookies.

use crate::mask::Secret;
use crate::mask::assign::first_of_list;
use crate::mask::assign::reading::{plain_end, value_from};
use crate::mask::assign::{LONGEST_NAME, LONGEST_QUOTED, MAX_JUDGED_BYTES};
use crate::mask::bytes::{color_end, is_blank, line_end, run, run_up_to, starts_with_ignore_case};
use crate::mask::judge::{is_random, is_resource, is_wordy, stands_for_a_value};
use crate::mask::shapes::SCHEMES;
use std::ops::Range;

/// The secret of an `Authorization` whose value begins at or after `from`.
pub fn authorization(bytes: &[u8], from: usize) -> Option<Secret> {
    let value = value_from(bytes, first_of_list(bytes, from).unwrap_or(from))?;
    let start = value.span.start;
    let scheme = SCHEMES.iter().find_map(|scheme| {
        let after = start + scheme.len();
        let encoded = bytes.get(after..after + 3) == Some(b"%20");
        let blanks = if encoded { 3 } else { run_up_to(bytes, after, 8, is_blank) };
        (starts_with_ignore_case(&bytes[start..], scheme) && blanks > 0).then_some((scheme, after + blanks))
    });
    let scheme = scheme.or_else(|| unknown_scheme(bytes, start));
    let at = scheme.map_or(start, |(_, after)| after);
    let at = color_end(bytes, at).unwrap_or(at);
    let limit = if value.quoted { value.span.end } else { bytes.len().min(at + LONGEST_QUOTED) };
    let end = plain_end(bytes, at, limit).max(at);
    let token = &bytes[at..end.min(at + MAX_JUDGED_BYTES)];
    if token.is_empty() || stands_for_a_value(token) {
        return None;
    }
    // With parameters, all of them are masked.
    let parameters = scheme.is_some()
        && bytes[at..end].contains(&b'=')
        && matches!(bytes.get(end), Some(b',' | b'"' | b'\\'));
    if parameters {
        let end = line_end(bytes, at, LONGEST_QUOTED);
        let end = if value.quoted { value.span.end } else { end };
        return Secret::new("authorization", at..end);
    }
    let likely = match scheme {
        Some(_) => token.len() >= 6 && !is_wordy(token),
        None => token.len() >= 8 && !is_wordy(token) && (token.len() >= 16 || is_random(token)),
    };
    if likely {
        Secret::new(
            "authorization",
            at..plain_end(bytes, at, if value.quoted { value.span.end } else { bytes.len() }),
        )
    } else {
        None
    }
}

/// A word before something random is a scheme, too.
fn unknown_scheme(bytes: &[u8], start: usize) -> Option<(&'static &'static str, usize)> {
    let word = run_up_to(bytes, start, 24, |byte| byte.is_ascii_alphabetic() || byte == b'-');
    let after = start + word + run_up_to(bytes, start + word, 2, is_blank);
    let token = &bytes[after..plain_end(bytes, after, bytes.len().min(after + MAX_JUDGED_BYTES))];
    let likely =
        word >= 2 && after > start + word && token.len() >= 16 && is_random(token) && !is_wordy(token);
    likely.then_some((&"", after))
}

/// One cookie, with the `=` at `at`, in a list of them that ends at `end`.
pub fn cookie(bytes: &[u8], at: usize, list: &Range<usize>) -> Option<Secret> {
    const ATTRIBUTES: &[&str] = &["path", "domain", "expires", "max-age", "samesite", "version", "priority"];
    let length = bytes[list.start.min(at)..at]
        .iter()
        .rev()
        .take(LONGEST_NAME)
        .take_while(|byte| !matches!(byte, b';' | b' ' | b'='))
        .count();
    let name = &bytes[at - length..at];
    // Inside of the value.
    if at.checked_sub(length + 1).is_some_and(|before| before >= list.start && bytes[before] == b'=') {
        return None;
    }
    if ATTRIBUTES.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes())) {
        return None;
    }
    let limit = &bytes[..list.end];
    let length =
        run(limit, at + 1, |byte| byte > b' ' && !matches!(byte, b';' | b'"' | b'\'' | b'\\' | 0x7f..));
    let value = &bytes[at + 1..at + 1 + length.min(MAX_JUDGED_BYTES)];
    let digits = value.iter().all(u8::is_ascii_digit);
    let words = is_wordy(value) || is_resource(value);
    let likely = value.len() >= 8 && !digits && !words && !stands_for_a_value(value);
    if likely { Secret::new("cookie", at + 1..at + 1 + length) } else { None }
}
