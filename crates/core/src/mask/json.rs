//! Masks secrets in JSON text without parsing it, for the spool: each string is masked as [`super::value`] would, and
//! nothing else changes. So input that a JSON parser rejects is not lost here either.

use crate::json::repair::repaired;
use crate::mask::assign::authorization;
use crate::mask::commands::prints_secret;
use crate::mask::judge::{Judged, Style, is_secret};
use crate::mask::names::{Kind, kind_of};
use crate::mask::recognize::alone;
use crate::mask::scan::Scan;
use std::borrow::Cow;

/// What was read just before a string, and says what the string is.
#[derive(Default)]
pub struct Labels {
    /// What the key of the next string says about it.
    key: Option<Label>,
    /// What a `name` says about the `value` beside it.
    name: Option<Kind>,
    /// What the name of an object says about its `value`: `"db_password": {"sensitive": true, "value": …}`.
    object: Option<Kind>,
    /// The option before this word of a command line.
    option: Option<Kind>,
    /// A command was run that prints a secret and nothing else.
    prints: bool,
}

#[derive(Clone, Copy)]
enum Label {
    Secret(Kind),
    Name,
    Value,
    Command,
    Output,
}

impl Labels {
    /// The next string is the value of this key.
    pub fn key(&mut self, key: &str) {
        let is = |words: &[&str]| words.iter().any(|word| key.eq_ignore_ascii_case(word));
        let label = || {
            const LABELS: [(&str, Label); 7] = [
                ("name", Label::Name),
                ("key", Label::Name),
                ("value", Label::Value),
                ("command", Label::Command),
                ("cmd", Label::Command),
                ("stdout", Label::Output),
                ("output", Label::Output),
            ];
            // No longer than the longest of them: most keys are.
            let known = || LABELS.iter().find(|(word, _)| key.eq_ignore_ascii_case(word));
            (key.len() <= 7).then(known)?.map(|(_, label)| *label)
        };
        self.option = None;
        self.key = label().or_else(|| kind_of(key.as_bytes()).map(Label::Secret));
        match self.key {
            Some(Label::Value) => self.name = self.name.or(self.object.take()),
            Some(Label::Secret(kind)) => (self.name, self.object) = (None, Some(kind)),
            _ => {
                self.name = None;
                self.object = self.object.filter(|_| is(&["sensitive", "type", "description"]));
            }
        }
    }

    /// Masks a string that is not a key.
    pub fn text<'t>(&mut self, text: &'t str) -> Cow<'t, str> {
        let (key, option) = (self.key.take(), self.option.take());
        let kind = match key {
            Some(Label::Secret(kind)) => {
                self.object = None;
                Some(kind)
            }
            Some(Label::Value) => self.name.take(),
            Some(Label::Name) => {
                self.name = kind_of(text.as_bytes());
                None
            }
            Some(Label::Command) => {
                self.prints = prints_secret(text);
                None
            }
            Some(Label::Output) if std::mem::take(&mut self.prints) => return printed(text),
            Some(Label::Output) => None,
            None => option,
        };
        if key.is_none() && text.starts_with('-') && text.len() < 64 {
            self.option = kind_of(text.as_bytes());
        }
        match kind {
            Some(kind) => known(text, kind),
            None => crate::mask::text(text),
        }
    }
}

/// Masks what a command printed that prints a secret.
fn printed(text: &str) -> Cow<'_, str> {
    let Some(secret) = alone(text.as_bytes(), 0) else { return crate::mask::text(text) };
    Cow::Owned(format!("[masked:{}]{}", secret.name, crate::mask::text(&text[secret.span.end..])))
}

/// Masks `text`, whose name says what it is.
fn known(text: &str, kind: Kind) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let judged = Judged { bytes: &bytes[..bytes.len().min(LONGEST_JUDGED)], quoted: true, next: b'"' };
    match kind {
        Kind::Cookie => crate::mask::masked(text, |bytes| Scan::of_cookies(bytes)),
        Kind::Authorization => crate::mask::masked(text, |bytes| match authorization(bytes, 0) {
            Some(secret) => Scan::with_authorization(bytes, secret.span),
            None => Scan::new(bytes),
        }),
        // With several lines, or a mask in it, the rules for free text are better.
        _ if memchr::memchr(b'\n', bytes).is_none()
            && memchr::memmem::find(bytes, b"[masked:").is_none()
            && is_secret(kind, Style::Data, &judged) =>
        {
            Cow::Owned("[masked:secret]".into())
        }
        _ => crate::mask::text(text),
    }
}

/// How much of a value is examined.
const LONGEST_JUDGED: usize = 96;

/// Masks the secrets in every string of `bytes`, keys included.
pub fn bytes(bytes: &[u8]) -> Cow<'_, [u8]> {
    let mut out = Vec::new();
    let (mut copied, mut i) = (0, 0);
    let mut labels = Labels::default();
    while let Some(open) = bytes.get(i..).and_then(|rest| memchr::memchr(b'"', rest)) {
        let start = i + open;
        let end = end_of_text(bytes, start + 1);
        let after = bytes.get(end + 1..).unwrap_or_default();
        let is_key = after.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b':');
        if let Some(masked) = masked(&bytes[start + 1..end], is_key, &mut labels) {
            out.extend_from_slice(&bytes[copied..=start]);
            out.extend_from_slice(masked.as_bytes());
            copied = end;
        }
        i = end + 1;
    }
    if copied == 0 {
        return Cow::Borrowed(bytes);
    }
    out.extend_from_slice(&bytes[copied..]);
    Cow::Owned(out)
}

/// Where the string that begins at `from` ends: at its closing quote, or at the end of the input.
fn end_of_text(bytes: &[u8], mut from: usize) -> usize {
    while let Some(at) = bytes.get(from..).and_then(|rest| memchr::memchr2(b'"', b'\\', rest)) {
        match bytes[from + at] {
            b'"' => return from + at,
            _ => from += at + 2,
        }
    }
    bytes.len()
}

/// The masked content of the quotes, if it had a secret.
fn masked(written: &[u8], is_key: bool, labels: &mut Labels) -> Option<String> {
    let plain = std::str::from_utf8(written).ok().filter(|_| memchr::memchr(b'\\', written).is_none());
    let text = match plain {
        Some(plain) => Cow::Borrowed(plain),
        // What no parser reads is masked as it is: its blanks may be odd, its secrets are the same.
        None => {
            let readable = repaired(written);
            Cow::Owned(serde_json::from_str(&format!("\"{readable}\"")).unwrap_or(readable))
        }
    };
    let masked = if is_key {
        let masked = crate::mask::key(&text);
        labels.key(&masked);
        masked
    } else {
        labels.text(&text)
    };
    let Cow::Owned(masked) = masked else { return None };
    let quoted = serde_json::Value::String(masked).to_string();
    Some(quoted[1..quoted.len() - 1].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn what_a_command_prints_is_masked_by_what_it_prints() {
        for (command, stdout, masked) in [
            ("printenv DB_PASSWORD", "hunter2hunter\n", "[masked:password]\n"),
            ("cd x && op read op://a/b/c", "blue-Horse.77", "[masked:password]"),
            ("echo \"$API_TOKEN\"", "x7Kq29fLm2", "[masked:password]"),
            ("printenv HOSTNAME", "x7Kq29fLm2", "x7Kq29fLm2"),
            ("npm test", "x7Kq29fLm2", "x7Kq29fLm2"),
            ("op read op://a/b/c", "[ERROR] 2026/11/18 not signed in", "[ERROR] 2026/11/18 not signed in"),
        ] {
            let mut value = json!({"tool_input": {"command": command}, "tool_response": {"stdout": stdout}});
            let spooled = bytes(value.to_string().as_bytes()).into_owned();
            crate::mask::value(&mut value);
            assert_eq!(value["tool_response"]["stdout"], masked, "{command}");
            assert_eq!(serde_json::from_slice::<Value>(&spooled).unwrap(), value, "{command}");
        }
    }

    /// Shaped like a key, but not a key.
    fn key() -> String {
        format!("{}_{}", "ghp", "aB3".repeat(12))
    }

    #[test]
    fn it_masks_the_same_as_masking_the_parsed_value() {
        let key = key();
        let pem = format!("-----BEGIN {0}-----\nMIIE\n-----END {0}-----", "RSA PRIVATE KEY");
        for value in [
            json!({"prompt": format!("use {key} please")}),
            json!({"prompt": format!("line\n\"{key}\"\tend \u{1f600}")}),
            json!({"a": [{"b": pem}], "n": 1, "c": "after"}),
            json!({ (key.clone()): "as a key" }),
            json!({"url": "https://me:pass-w0rd@host/x", "t": "GITHUB_TOKEN=abc123def456"}),
            json!({"nothing": "to see", "here": [true, null, 1.5, "\\"]}),
        ] {
            let written = value.to_string();
            let mut expected = value.clone();
            let any = crate::mask::value(&mut expected);
            let masked = bytes(written.as_bytes());
            assert_eq!(serde_json::from_slice::<Value>(&masked).unwrap(), expected);
            assert_eq!(matches!(masked, Cow::Owned(_)), any, "{written}");
            assert_eq!(bytes(&masked), masked, "masking twice is masking once");
        }
    }

    #[test]
    fn strings_without_secrets_keep_every_byte() {
        let key = key();
        let written = format!("{{ \"e\" : \"\\u0041\\/\" ,\n\"k\":\"{key}\",\"big\":123456789012345678901}}");
        let masked = bytes(written.as_bytes()).into_owned();
        let expected = written.replace(&key, "[masked:github-token]");
        assert_eq!(String::from_utf8(masked).unwrap(), expected);
    }

    #[test]
    fn broken_strings_are_masked_too() {
        let key = key();
        for (before, after) in [("\\ud800 ", ""), ("", " \\udc00\\n"), ("a\\", "\\q"), ("\n", "\u{1}")] {
            let written = format!("{{\"p\":\"{before} {key} {after}\"}}");
            let masked = String::from_utf8_lossy(&bytes(written.as_bytes())).into_owned();
            assert!(!masked.contains(&key) && masked.starts_with("{\"p\":\""), "{masked}");
        }
        let invalid = [b"{\"p\":\"\xff\xfe ".as_slice(), key.as_bytes(), b"\"}"].concat();
        let masked: Value = serde_json::from_slice(&bytes(&invalid)).unwrap();
        assert_eq!(masked["p"], "\u{fffd}\u{fffd} [masked:github-token]");
    }

    #[test]
    fn truncated_input_is_returned_unchanged() {
        for written in ["", "\"", "\"\\", "{\"a\":\"x\\\"", "\\\"", "\"a\"\""] {
            assert_eq!(bytes(written.as_bytes()), written.as_bytes());
        }
    }
}
