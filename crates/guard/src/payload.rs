//! From bytes to a payload. Text that only the tool reads (file contents, an edit) is skipped: it can be megabytes
//! long, and no rule looks at it.

use crate::rules::names;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, de::DeserializeSeed};
use serde_json::{Map, Value};
use std::fmt;

/// The payload in `bytes`, without the text that no rule judges; `None` if it is not JSON.
pub fn read(bytes: &[u8]) -> Option<Value> {
    // Skipped fields are not decoded, so whether they are valid UTF-8 must be checked here.
    let text = std::str::from_utf8(bytes).ok()?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let payload = PayloadObject::Payload.deserialize(&mut reader).ok()?;
    reader.end().ok()?;
    Some(payload)
}

/// The event a payload is about, if it names one. Nothing else is read.
pub fn event(bytes: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct EventField {
        hook_event_name: Option<String>,
    }
    serde_json::from_slice::<EventField>(bytes).ok()?.hook_event_name
}

/// Which object of the payload is being read.
#[derive(Clone, Copy, PartialEq)]
enum PayloadObject {
    Payload,
    Input,
}

impl<'de> DeserializeSeed<'de> for PayloadObject {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

/// Every kind of value but an object is read as `Value` itself would.
macro_rules! as_value {
    ($($visit:ident $kind:ty),*) => {$(
        fn $visit<E: serde::de::Error>(self, value: $kind) -> Result<Value, E> {
            Ok(Value::from(value))
        }
    )*};
}

impl<'de> Visitor<'de> for PayloadObject {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a payload")
    }

    as_value!(visit_bool bool, visit_i64 i64, visit_u64 u64, visit_f64 f64, visit_str &str, visit_string String);

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, items: A) -> Result<Value, A::Error> {
        Vec::<Value>::deserialize(serde::de::value::SeqAccessDeserializer::new(items)).map(Value::Array)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = match self {
                PayloadObject::Payload if key == "tool_input" => {
                    entries.next_value_seed(PayloadObject::Input)?
                }
                PayloadObject::Input if names::UNJUDGED_TEXT_FIELDS.contains(&key.as_str()) => {
                    entries.next_value::<IgnoredAny>()?;
                    continue;
                }
                _ => entries.next_value()?,
            };
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_text_fields_are_skipped() {
        for (text, expected) in [
            (
                r#"{"tool_name":"Write","tool_input":{"file_path":"a","content":"x"}}"#,
                json!({"tool_name": "Write", "tool_input": {"file_path": "a"}}),
            ),
            (
                r#"{"content":"x","n":[1,-2,3.5,true,null,"s",{"content":1}]}"#,
                json!({"content": "x", "n": [1, -2, 3.5, true, null, "s", {"content": 1}]}),
            ),
            (r#"{"tool_input":"rm"}"#, json!({"tool_input": "rm"})),
            (
                r#"{"tool_input":{"content":[{"a":"}"}],"command":"ls"}}"#,
                json!({"tool_input": {"command": "ls"}}),
            ),
            ("[1]", json!([1])),
            ("null", json!(null)),
            ("18446744073709551615", json!(u64::MAX)),
        ] {
            assert_eq!(read(text.as_bytes()), Some(expected), "{text}");
        }
    }

    #[test]
    fn input_that_is_not_json_is_rejected() {
        for text in [
            &b"{"[..],
            b"",
            b"{} x",
            b"{\"tool_input\":{\"content\":\"\xff\"}}",
            b"{\"tool_input\":{\"content\":}}",
        ] {
            assert_eq!(read(text), None, "{}", String::from_utf8_lossy(text));
        }
    }
}
