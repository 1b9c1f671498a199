//! Decodes an event's body: tolerant of broken text, strict about the shape. Pure.

use headspace_core::json::bounded;
use headspace_core::json::repair::repaired;
use serde_json::{Map, Value};

/// The JSON object in `bytes`. Invalid UTF-8 and lone surrogates become replacement characters, because the rest of the
/// event is still true. The error says what to do.
pub fn decode(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err("the body is empty: send the event as a JSON object".into());
    }
    let value = bounded::parse(bytes)
        .or_else(|error| bounded::parse(repaired(bytes).as_bytes()).map_err(|_| error))
        .map_err(|error| format!("the body is not JSON ({error}): send the event as a JSON object"))?;
    match value {
        Value::Object(fields) => Ok(fields),
        other => {
            let what = match other {
                Value::Array(_) => "an array",
                Value::String(_) => "a string",
                Value::Number(_) => "a number",
                Value::Bool(_) => "a boolean",
                _ => "null",
            };
            Err(format!("the body is {what}: send the event as a JSON object"))
        }
    }
}

/// The `session_id` every event must have.
pub fn session_id(body: &Map<String, Value>) -> Result<String, String> {
    match body.get("session_id") {
        Some(Value::String(id)) if !id.trim().is_empty() => Ok(id.clone()),
        Some(Value::String(_)) => Err("`session_id` is empty: send the session's id".into()),
        Some(_) => Err("`session_id` is not a string: send the session's id as a string".into()),
        None => Err("`session_id` is missing: send the session's id".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn broken_text_becomes_replacement_characters() {
        let table: &[(&[u8], &str)] = &[
            (b"{\"a\":\"plain\"}", "plain"),
            (b"{\"a\":\"a\xff\xfeb\"}", "a\u{fffd}\u{fffd}b"),
            (br#"{"a":"a\ud800b"}"#, "a\u{fffd}b"),
            (br#"{"a":"\udc00\ud83d\ude00\ud83d"}"#, "\u{fffd}\u{1f600}\u{fffd}"),
            (br#"{"a":"\ud800\ud800\udc00"}"#, "\u{fffd}\u{10000}"),
            (br#"{"a":"\\ud800\"\ud800\n"}"#, "\\ud800\"\u{fffd}\n"),
            (b"\xef\xbb\xbf {\"a\":\"bom\"}", "bom"),
        ];
        for (bytes, expected) in table {
            let fields = decode(bytes).unwrap();
            assert_eq!(fields["a"], **expected, "{}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn a_body_that_is_not_an_object_is_refused_with_advice() {
        let deep = "[".repeat(100_000);
        for bad in ["", " \n", "{not json", "[1]", "42", "null", "\"x\"", "true", "{\"a\":\"\\ud8", &deep] {
            let why = decode(bad.as_bytes()).unwrap_err();
            assert!(why.contains("JSON object"), "{why}");
        }
        assert!(decode(b"\xff\xfe{\0").is_err());
    }

    #[test]
    fn sixty_levels_of_nesting_are_accepted() {
        let nested = format!("{}1{}", "{\"a\":".repeat(60), "}".repeat(60));
        assert!(decode(nested.as_bytes()).is_ok());
    }

    #[test]
    fn a_session_id_is_a_string_that_is_not_empty() {
        for bad in
            [json!({}), json!({"session_id": null}), json!({"session_id": ""}), json!({"session_id": 5})]
        {
            assert!(session_id(bad.as_object().unwrap()).is_err(), "{bad}");
        }
        assert_eq!(session_id(json!({"session_id": "s"}).as_object().unwrap()).unwrap(), "s");
    }
}
