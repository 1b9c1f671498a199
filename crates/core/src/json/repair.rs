//! Makes text readable that a client broke: the event around it is still true. Pure.

use std::borrow::Cow;

/// Valid text in place of broken text: replacement characters for invalid UTF-8, and for `\uD800`-like escapes that
/// are not part of a pair.
pub fn repaired(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut out = String::with_capacity(text.len());
    let mut rest: &str = &text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        out.push_str(before);
        let (taken, put) = escape_at(escape);
        out.push_str(&put);
        rest = &escape[taken..];
    }
    out.push_str(rest);
    out
}

/// The length of the escape at the start of `text`, and its replacement.
fn escape_at(text: &str) -> (usize, Cow<'_, str>) {
    let Some(unit) = code_unit(text) else {
        // Backslash and one more character, whatever it is.
        let end = text.char_indices().nth(2).map_or(text.len(), |(at, _)| at);
        return (end, text[..end].into());
    };
    match unit {
        0xD800..=0xDBFF => match code_unit(&text[6..]) {
            Some(0xDC00..=0xDFFF) => (12, text[..12].into()),
            _ => (6, "\\ufffd".into()),
        },
        0xDC00..=0xDFFF => (6, "\\ufffd".into()),
        _ => (6, text[..6].into()),
    }
}

/// The value of a `\uXXXX` at the start of `text`.
fn code_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    u16::from_str_radix(digits, 16).ok()
}
