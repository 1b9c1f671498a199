//! The shapes a field of a settings file or of a hook's answer may have.

use crate::json_spans::{JsonKind, SpannedValue};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    Text,
    /// A text that is not blank.
    FilledText,
    Texts,
    /// A list of anything.
    List,
    /// An object whose values are texts.
    TextMap,
    Object,
    Flag,
    /// A number above 0.
    Positive,
    /// A number that is at least 0.
    FromZero,
    Number,
    /// A text that reads as a URL.
    Url,
    OneOf(&'static [&'static str]),
    /// `{"behavior": "allow"}` or `{"behavior": "deny"}`
    PermissionAnswer,
    Any,
}

impl Shape {
    /// What is wrong with `value`: `must be a number above 0, not a text`.
    pub(crate) fn fault(&self, value: SpannedValue<'_>) -> Option<String> {
        let kind = value.kind();
        let fits = match self {
            Shape::Any => true,
            Shape::Text => kind == JsonKind::Text,
            Shape::FilledText if kind == JsonKind::Text => {
                return value
                    .text()
                    .filter(|text| text.trim().is_empty())
                    .map(|_| "must not be empty".into());
            }
            Shape::FilledText => false,
            Shape::Texts => kind == JsonKind::List && value.items().all(|item| item.kind() == JsonKind::Text),
            Shape::List => kind == JsonKind::List,
            Shape::TextMap => {
                kind == JsonKind::Object && value.members().all(|(_, item)| item.kind() == JsonKind::Text)
            }
            Shape::Object => kind == JsonKind::Object,
            Shape::Flag => kind == JsonKind::Bool,
            Shape::Positive => value.number().is_some_and(|number| number > 0.0 && number.is_finite()),
            Shape::FromZero => value.number().is_some_and(|number| number >= 0.0 && number.is_finite()),
            Shape::Number => value.number().is_some_and(f64::is_finite),
            Shape::Url => value.text().is_some_and(is_url),
            Shape::OneOf(words) => value.text().is_some_and(|text| words.contains(&text)),
            Shape::PermissionAnswer => {
                let behavior = value.get("behavior").and_then(SpannedValue::text);
                matches!(behavior, Some("allow" | "deny"))
            }
        };
        (!fits).then(|| format!("must be {}, not {}", self.wanted(), shown(value)))
    }

    pub(crate) fn wanted(&self) -> String {
        match self {
            Shape::Text | Shape::FilledText => "a text".into(),
            Shape::Texts => "a list of texts".into(),
            Shape::List => "a list".into(),
            Shape::TextMap => "an object of texts".into(),
            Shape::Object => "an object".into(),
            Shape::Flag => "true or false".into(),
            Shape::Positive => "a number above 0".into(),
            Shape::FromZero => "a number, 0 or more".into(),
            Shape::Number => "a number".into(),
            Shape::Url => "a URL".into(),
            Shape::OneOf(words) => words.iter().map(|w| format!("\"{w}\"")).collect::<Vec<_>>().join(" or "),
            Shape::PermissionAnswer => r#"{"behavior": "allow"} or {"behavior": "deny"}"#.into(),
            Shape::Any => "anything".into(),
        }
    }
}

/// A short value as it is written, otherwise its kind.
fn shown(value: SpannedValue<'_>) -> String {
    let source = value.source();
    let short = source.chars().count() <= 24 && !source.contains('\n');
    match value.kind() {
        JsonKind::Text if short => format!("the text {source}"),
        JsonKind::Number | JsonKind::Bool | JsonKind::Null if short => source.to_owned(),
        kind => kind.to_string(),
    }
}

/// As `new URL()` sees it: a scheme, and a host if the scheme requires one.
pub(crate) fn is_url(text: &str) -> bool {
    let text = text.trim();
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    let mut letters = scheme.bytes();
    let named = letters.next().is_some_and(|c| c.is_ascii_alphabetic())
        && letters.all(|c| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'-' | b'.'));
    if !named {
        return false;
    }
    match scheme.to_ascii_lowercase().as_str() {
        "http" | "https" | "ws" | "wss" | "ftp" => {
            let host = rest.trim_start_matches(['/', '\\']).split(['/', '?', '#']).next().unwrap_or_default();
            let host = host.rsplit('@').next().unwrap_or_default();
            !host.is_empty() && !host.starts_with(':') && !host.contains([' ', '<', '>', '^', '|'])
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_spans::JsonDocument;

    #[test]
    fn faults_name_the_expected_and_the_actual_value() {
        let table = [
            (Shape::Positive, "\"5\"", Some("must be a number above 0, not the text \"5\"")),
            (Shape::Positive, "0", Some("must be a number above 0, not 0")),
            (Shape::Positive, "1e999", Some("must be a number above 0, not 1e999")),
            (Shape::Positive, "0.5", None),
            (Shape::FromZero, "0", None),
            (Shape::FromZero, "-1", Some("must be a number, 0 or more, not -1")),
            (Shape::FilledText, "\" \\t\"", Some("must not be empty")),
            (Shape::FilledText, "null", Some("must be a text, not null")),
            (Shape::Texts, "[\"a\", 1]", Some("must be a list of texts, not a list")),
            (Shape::Texts, "[]", None),
            (Shape::TextMap, "{\"a\": \"b\"}", None),
            (Shape::TextMap, "{\"a\": 1}", Some("must be an object of texts, not an object")),
            (Shape::Url, "\"http://127.0.0.1:1/x\"", None),
            (Shape::Url, "\"localhost\"", Some("must be a URL, not the text \"localhost\"")),
            (Shape::Url, "\"http://\"", Some("must be a URL, not the text \"http://\"")),
            (Shape::OneOf(&["a", "b"]), "\"c\"", Some("must be \"a\" or \"b\", not the text \"c\"")),
            (Shape::PermissionAnswer, "{\"behavior\":\"deny\"}", None),
            (Shape::Any, "null", None),
        ];
        for (shape, json, expected) in table {
            let doc = JsonDocument::parse(json).unwrap();
            assert_eq!(shape.fault(doc.root()).as_deref(), expected, "{shape:?} {json}");
        }
    }
}
