//! Characters that make a text look like another one, so that a person would allow something they have not seen.

use crate::text::invisible::{self, Effect};
use serde_json::Value;

/// Whether any text in it, key or value, could look like something else than it is.
pub fn any(value: &Value) -> bool {
    match value {
        Value::String(text) => text.chars().any(is_deceptive),
        Value::Array(items) => items.iter().any(any),
        Value::Object(fields) => {
            fields.iter().any(|(key, value)| key.chars().any(is_deceptive) || any(value))
        }
        _ => false,
    }
}

/// Control characters (a carriage return overwrites what comes before it), characters that change the direction of writing,
/// and invisible characters. Line feed and tab are text; so are joiners, because scripts and emoji need them.
pub fn is_deceptive(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        _ if c.is_control() => true,
        _ => invisible::effect(c).is_some_and(|effect| effect != Effect::Joins),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_hides_or_turns_text_is_deceptive() {
        for bad in [
            "\u{1b}[2K",
            "a\rb",
            "\u{0}",
            "\u{7f}",
            "\u{85}",
            "\u{202e}",
            "\u{2066}",
            "\u{200f}",
            "\u{61c}",
            "\u{200b}",
            "\u{feff}",
            "\u{2028}",
            "\u{e0041}",
            "\u{ad}",
        ] {
            assert!(any(&json!({"command": ["x", bad]})), "{bad:?}");
            let mut keyed = serde_json::Map::new();
            keyed.insert(bad.into(), Value::Null);
            assert!(any(&Value::Object(keyed)), "{bad:?} as a key");
        }
        let family = "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}";
        assert!(!any(&json!({"command": "two\n\tlines", "n": 7, "text": ["żółć 漢字 عربي", family]})));
    }
}
