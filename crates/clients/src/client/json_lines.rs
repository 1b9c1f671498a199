//! What the transcripts of several clients have in common: a JSON object per line, with a type and a time.

use headspace_core::stamp::Stamp;
use headspace_core::transcript::Entry;
use serde_json::Value;

/// The line, if its `type` is one of these; most lines are not, and are not parsed.
pub(crate) fn parse(line: &[u8], types: &[&str]) -> Option<Value> {
    let named = |kind: &&&str| memchr::memmem::find(line, kind.as_bytes()).is_some();
    types.iter().find(named)?;
    let value: Value = serde_json::from_str(&String::from_utf8_lossy(line)).ok()?;
    let known = text(&value, "type").is_some_and(|kind| types.contains(&kind));
    known.then_some(value)
}

/// An entry with the line's time and its id.
pub(crate) fn entry(line: &Value, id: &str) -> Entry {
    let uuid = match line.get(id) {
        Some(Value::String(id)) => id.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    Entry { uuid, at: text(line, "timestamp").and_then(Stamp::parse), ..Entry::default() }
}

pub(crate) fn text<'a>(value: &'a Value, field: &str) -> Option<&'a str> {
    value.get(field)?.as_str().filter(|text| !text.is_empty())
}

pub(crate) fn at<'a>(value: &'a Value, pointer: &str) -> Option<&'a Value> {
    value.pointer(pointer)
}

/// Some clients count tokens with a decimal point.
pub(crate) fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_f64().filter(|n| *n >= 0.0).map(|n| n as u64))
}
