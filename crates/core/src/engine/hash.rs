//! A hash that is the same on every day and every machine: it is stored, and replays must agree with it.

use crate::fnv::{PRIME, START, fnv1a};
use crate::text::cut;
use serde_json::Value;

pub fn bytes(seed: u64, bytes: &[u8]) -> u64 {
    fnv1a(START ^ seed, bytes)
}

/// Of a text, ignoring white space: a hook and a transcript end the same text differently.
pub fn text(text: &str) -> u64 {
    text.split_whitespace().fold(START, |hash, word| bytes(hash.rotate_left(5), word.as_bytes()))
}

/// Of a tool's input, however much of it is stored: the request of a call is kept longer than the call itself.
pub fn input(input: &Value) -> u64 {
    fn is_long(value: &Value) -> bool {
        match value {
            Value::String(text) => text.len() > cut::MAX_STORED_TEXT && !cut::is_cut(text),
            Value::Array(items) => items.iter().any(is_long),
            Value::Object(fields) => fields.values().any(is_long),
            _ => false,
        }
    }
    if !is_long(input) && cut::fits(input) {
        return value(input);
    }
    let mut input = input.clone();
    cut::stored(&mut input);
    if !cut::fits(&input) {
        input = cut::beginning(&input);
    }
    value(&input)
}

/// Of a JSON value, ignoring the order of its keys.
pub fn value(value: &Value) -> u64 {
    match value {
        Value::Null => 1,
        Value::Bool(b) => 2 + u64::from(*b),
        Value::Number(n) => bytes(4, n.to_string().as_bytes()),
        Value::String(s) => bytes(5, s.as_bytes()),
        Value::Array(items) => items.iter().fold(6, |hash, item| {
            (hash ^ crate::engine::hash::value(item)).wrapping_mul(PRIME).rotate_left(7)
        }),
        Value::Object(map) => map.iter().fold(7, |hash, (key, item)| hash.wrapping_add(entry(key, item))),
    }
}

/// Of one key and its value; an object's hash is the sum of its entries.
pub fn entry(key: &str, item: &Value) -> u64 {
    // Spread before adding up: sums of plain FNV values of short keys collide.
    let mixed = bytes(value(item).rotate_left(13), key.as_bytes());
    let mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed ^ (mixed >> 33)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_order_of_keys_is_ignored_and_nothing_else() {
        let a = json!({"a": 1, "b": [1, 2], "c": null});
        assert_eq!(value(&a), value(&json!({"c": null, "b": [1, 2], "a": 1})));
        for other in [
            json!({"a": 1, "b": [2, 1], "c": null}),
            json!({"a": 1, "b": [1, 2]}),
            json!({"a": "1", "b": [1, 2], "c": null}),
            json!({"b": 1, "a": [1, 2], "c": null}),
        ] {
            assert_ne!(value(&a), value(&other), "{other}");
        }
    }

    #[test]
    fn a_call_and_its_request_have_the_same_hash_however_much_of_each_is_kept() {
        let edit = |text: &str| json!({"old_string": text, "new_string": ""});
        for whole in [
            json!({"content": "x".repeat(300_000)}),
            json!({"edits": vec![edit("a"); 30_000]}),
            json!({"edits": vec![edit(&"a".repeat(20_000)); 40]}),
        ] {
            let (mut call, mut request) = (whole.clone(), whole);
            cut::stored(&mut call);
            cut::asked_values(&mut request);
            cut::asked(&mut request);
            assert_eq!(input(&call), input(&request));
        }
    }

    #[test]
    fn a_stored_hash_never_changes() {
        assert_eq!(bytes(0, b"hello"), 0xa430_d846_80aa_bd0b);
        assert_eq!(text("two  words\n"), text("two words"));
        assert_ne!(text("twowords"), text("two words"));
    }
}
