//! JSON with a limit on how many values are kept: fifteen megabytes of `1,1,1,…` take half a gigabyte as a tree. Values
//! over the limit are read and counted, but not kept; a marker takes their place. Pure.

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::cell::Cell;
use std::fmt;

/// No event that a person or a model had a part in has this many values.
const MAX_VALUES: usize = 100_000;
/// The event's own fields (`session_id`, the event's name) are at the top level, and may come last.
const MAX_FIELDS: usize = 1_000;
/// An event has about twenty fields, with those that `notify` adds.
const USUAL_FIELDS: usize = 24;

/// Parses `bytes` and keeps as much as fits.
pub fn parse(bytes: &[u8]) -> serde_json::Result<Value> {
    let left = Cell::new(MAX_VALUES);
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = Bounded { left: &left, top: true }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

struct Bounded<'a> {
    left: &'a Cell<usize>,
    top: bool,
}

impl Bounded<'_> {
    fn below(&self) -> Self {
        Bounded { left: self.left, top: false }
    }

    /// Takes one from the budget; `false` if nothing is left.
    fn take(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left > 0
    }
}

/// What stands where values were cut; in an object under [`MARK_KEY`].
pub(crate) fn mark(cut: usize) -> Value {
    format!("[… {cut} values cut …]").into()
}

pub(crate) const MARK_KEY: &str = "[…]";

/// Whether a text is such a mark, or looks like one.
pub(crate) fn is_mark(text: &str) -> bool {
    text.starts_with("[… ") && text.ends_with(" values cut …]")
}

impl<'de> DeserializeSeed<'de> for Bounded<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Bounded<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        let mut cut = 0;
        loop {
            if !self.take() {
                while access.next_element::<IgnoredAny>()?.is_some() {
                    cut += 1;
                }
                break;
            }
            match access.next_element_seed(self.below())? {
                Some(item) => items.push(item),
                None => break,
            }
        }
        if cut > 0 {
            items.push(mark(cut));
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        // Growing to the size of a usual event costs as much as decoding it.
        let mut fields = if self.top { Map::with_capacity(USUAL_FIELDS) } else { Map::new() };
        let mut cut = 0;
        while let Some(key) = access.next_key::<Key>()? {
            let fits = if self.top { fields.len() < MAX_FIELDS } else { self.take() };
            if fits {
                fields.insert(key.0, access.next_value_seed(self.below())?);
            } else {
                access.next_value::<IgnoredAny>()?;
                cut += 1;
            }
        }
        if cut > 0 {
            fields.insert(MARK_KEY.into(), mark(cut));
        }
        Ok(Value::Object(fields))
    }
}

/// A key; deserialized by hand, because serde_json treats some keys specially when `raw_value` is on.
struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Key, D::Error> {
        String::deserialize(deserializer).map(Key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_parsed_as_serde_json_parses_it() {
        for text in [
            "{}",
            r#"{"a":[1,-2,3.5,1e300,18446744073709551615,true,null,"x\n\u00e4",{"b":[]}],"a2":{"c":{}}}"#,
            "[[[]]]",
            "\"text\"",
            " 7 ",
        ] {
            let whole: Value = serde_json::from_str(text).unwrap();
            assert_eq!(parse(text.as_bytes()).unwrap(), whole, "{text}");
        }
        for broken in ["", "{", "[1,]", "{\"a\":1}x", "{\"a\" 1}", "nul"] {
            assert!(parse(broken.as_bytes()).is_err(), "{broken}");
        }
    }

    #[test]
    fn values_over_the_limit_are_counted_and_the_rest_is_kept() {
        let many = vec!["1"; MAX_VALUES + 500].join(",");
        let text = format!(r#"{{"x":[{many}],"y":[1,2],"z":{{"a":1}},"session_id":"s"}}"#);
        let value = parse(text.as_bytes()).unwrap();
        let items = value["x"].as_array().unwrap();
        assert_eq!(items.len(), MAX_VALUES + 1);
        assert_eq!(items[MAX_VALUES], "[… 500 values cut …]");
        assert_eq!(value["y"], serde_json::json!(["[… 2 values cut …]"]));
        assert_eq!(value["z"], serde_json::json!({"[…]": "[… 1 values cut …]"}));
        assert_eq!(value["session_id"], "s");
        let keys: Vec<String> = (0..2 * MAX_FIELDS).map(|n| format!("\"k{n}\":1")).collect();
        let value = parse(format!("{{{}}}", keys.join(",")).as_bytes()).unwrap();
        assert_eq!(value.as_object().unwrap().len(), MAX_FIELDS + 1);
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(100), "]".repeat(100));
        assert!(parse(deep.as_bytes()).is_ok());
    }
}
