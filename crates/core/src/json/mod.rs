//! Writes a JSON value exactly as `serde_json` does, in a third of the instructions: every stored event is written once,
//! and most of it is text with nothing to escape.

pub mod bounded;
pub mod repair;
pub mod serialize;

use serde_json::Value;

/// Appends `value`.
pub fn write(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(true) => out.push_str("true"),
        Value::Bool(false) => out.push_str("false"),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => quote(out, text),
        Value::Array(items) => {
            let mut separator = '[';
            for item in items {
                out.push(separator);
                write(out, item);
                separator = ',';
            }
            out.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        Value::Object(fields) => {
            let mut separator = '{';
            for (key, item) in fields {
                out.push(separator);
                quote(out, key);
                out.push(':');
                write(out, item);
                separator = ',';
            }
            out.push_str(if fields.is_empty() { "{}" } else { "}" });
        }
    }
}

/// Appends `text` as a string.
pub fn quote(out: &mut String, text: &str) {
    out.reserve(text.len() + 2);
    out.push('"');
    let mut rest = text;
    loop {
        // Only ASCII characters are escaped, so these are character boundaries.
        let (plain, from_escape) = rest.split_at(plain_length(rest.as_bytes()));
        out.push_str(plain);
        let Some(escaped) = from_escape.as_bytes().first() else { break };
        escape(out, *escaped);
        rest = &from_escape[1..];
    }
    out.push('"');
}

fn escape(out: &mut String, byte: u8) {
    match byte {
        b'"' => out.push_str("\\\""),
        b'\\' => out.push_str("\\\\"),
        b'\n' => out.push_str("\\n"),
        b'\r' => out.push_str("\\r"),
        b'\t' => out.push_str("\\t"),
        0x08 => out.push_str("\\b"),
        0x0c => out.push_str("\\f"),
        _ => {
            let hex = |digit: u8| char::from(b"0123456789abcdef"[usize::from(digit)]);
            out.extend(['\\', 'u', '0', '0', hex(byte >> 4), hex(byte & 15)]);
        }
    }
}

/// How many bytes at the start need no escape; checks eight at a time.
fn plain_length(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    /// The high bit of each zero byte. Above the first such byte, other bits may be set wrongly.
    fn zeros(word: u64) -> u64 {
        word.wrapping_sub(ONES) & !word & HIGHS
    }
    let mut words = bytes.chunks_exact(8);
    let mut length = 0;
    for word in &mut words {
        let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
        let control = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
        let special =
            control | zeros(word ^ (ONES * u64::from(b'"'))) | zeros(word ^ (ONES * u64::from(b'\\')));
        if special != 0 {
            return length + special.trailing_zeros() as usize / 8;
        }
        length += 8;
    }
    let end = words.remainder();
    length + end.iter().position(|byte| matches!(byte, ..0x20 | b'"' | b'\\')).unwrap_or(end.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::any_json;
    use proptest::prelude::*;
    use serde_json::json;

    fn same(value: &Value) {
        let mut out = String::new();
        write(&mut out, value);
        assert_eq!(out, value.to_string());
    }

    #[test]
    fn every_byte_is_written_as_serde_writes_it_at_every_position() {
        for byte in 0..=0x180u32 {
            let Some(character) = char::from_u32(byte) else { continue };
            for before in 0..17 {
                same(&json!(format!("{}{character}{}", "a".repeat(before), "ü".repeat(before % 5))));
            }
        }
    }

    #[test]
    fn numbers_and_empty_values_are_written_as_serde_writes_them() {
        same(
            &json!({"a": [], "b": {}, "c": [1, -2.5e300, u64::MAX, i64::MIN, 0.1], "d": [null, true, false], "": ""}),
        );
    }

    proptest! {
        #[test]
        fn any_value_is_written_as_serde_writes_it(value in any_json()) {
            same(&value);
        }
    }
}
