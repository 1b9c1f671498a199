//! Masks secrets before an event is stored: provider keys, JWTs, private keys, addresses with passwords, cookies, values
//! whose name says they are secret, options of programs that take one. Pure, one pass, no regular expressions: it reads
//! every byte of every event.
//!
//! The tables (`shapes`, `names`, `commands`) say what secrets look like and where they occur; `judge` distinguishes
//! secrets from code, placeholders and words; `scan` finds the places worth checking. Begin with [`text`].

mod address;
mod assign;
mod beginnings;
mod bytes;
mod commands;
pub mod json;
mod judge;
mod lists;
mod names;
mod noise;
pub mod paranoid;
mod pem;
mod recognize;
mod scan;
mod shapes;
mod table;
mod tell;

use crate::mask::json::Labels;
use crate::mask::scan::Scan;
use serde_json::Value;
use std::borrow::Cow;

/// Masks every string of a JSON value in place, keys included. `true` if something was masked.
pub fn value(value: &mut Value) -> bool {
    labeled(value, &mut Labels::default())
}

fn labeled(value: &mut Value, labels: &mut Labels) -> bool {
    match value {
        Value::String(string) => match labels.text(string) {
            Cow::Owned(masked) => {
                *string = masked;
                true
            }
            Cow::Borrowed(_) => false,
        },
        Value::Array(items) => items.iter_mut().fold(false, |any, item| labeled(item, labels) | any),
        Value::Object(map) => {
            let mut any = false;
            if map.keys().any(|name| matches!(key(name), Cow::Owned(_))) {
                any = true;
                *map =
                    std::mem::take(map).into_iter().map(|(name, v)| (key(&name).into_owned(), v)).collect();
            }
            for (key, item) in map.iter_mut() {
                labels.key(key);
                any |= labeled(item, labels);
            }
            any
        }
        _ => false,
    }
}

/// [`text`] for a key of an object. Nearly every key is a short word that nobody made at random.
fn key(name: &str) -> Cow<'_, str> {
    let is_word = name.len() <= LONGEST_WORD && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'_'));
    if is_word { Cow::Borrowed(name) } else { text(name) }
}

/// Longer than any field of an event, and shorter than a secret without digits.
const LONGEST_WORD: usize = 32;

/// `text` with each secret replaced by `[masked:what]`.
pub fn text(text: &str) -> Cow<'_, str> {
    masked(text, |bytes| Scan::new(bytes))
}

/// A text without secrets is read once. One that had some is read again: what was beside them may look like a secret now
/// that they are gone, and masking must be idempotent. Two rounds are enough, except for texts made to defeat this.
const MOST_ROUNDS: usize = 8;

fn masked<'t>(text: &'t str, scan: impl Fn(&[u8]) -> Scan<'_>) -> Cow<'t, str> {
    let Some(mut masked) = masked_once(text, scan(text.as_bytes())) else { return Cow::Borrowed(text) };
    for _ in 1..MOST_ROUNDS {
        match masked_once(&masked, scan(masked.as_bytes())) {
            Some(again) => masked = again,
            None => break,
        }
    }
    Cow::Owned(masked)
}

fn masked_once(text: &str, mut scan: Scan) -> Option<String> {
    let mut out = String::new();
    let mut copied = 0;
    while let Some(Secret { name, span }) = scan.next_secret() {
        out.push_str(&text[copied..text.floor_char_boundary(span.start).max(copied)]);
        out.push_str("[masked:");
        out.push_str(name);
        out.push(']');
        copied = text.ceil_char_boundary(span.end);
    }
    if copied == 0 {
        return None;
    }
    out.push_str(&text[copied..]);
    Some(out)
}

struct Secret {
    name: &'static str,
    span: std::ops::Range<usize>,
}

impl Secret {
    fn new(name: &'static str, span: std::ops::Range<usize>) -> Option<Secret> {
        (!span.is_empty()).then_some(Secret { name, span })
    }
}

#[cfg(test)]
mod tests;
