//! A settings file as text that can be edited in place: where its values, commas and comments are.
//!
//! The file is parsed by `jsonc-parser`, but edited by splicing the text, not through that crate's mutable tree: the
//! tree spreads a one-line object over several lines when it appends to it, and takes blanks away with what it removes.
//! A splice cannot touch a byte it does not name.

use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

/// JSON with comments and trailing commas, and nothing else that JSON5 allows.
const CLIENT_JSON: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A message about a position in the file. Lines and columns start at 1; columns count characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub line: usize,
    pub column: usize,
    pub message: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for Diagnostic {}

/// An object or array in the file, seen as brackets around elements.
#[derive(Clone, Debug)]
pub(crate) struct Container {
    /// From the opening bracket to the closing one, inclusive.
    pub range: Range<usize>,
    pub elements: Vec<Range<usize>>,
}

impl From<&Object<'_>> for Container {
    fn from(object: &Object<'_>) -> Container {
        let elements = object.properties.iter().map(|p| p.start()..p.end()).collect();
        Container { range: object.start()..object.end(), elements }
    }
}

impl From<&Array<'_>> for Container {
    fn from(array: &Array<'_>) -> Container {
        let elements = array.elements.iter().map(|v| v.start()..v.end()).collect();
        Container { range: array.start()..array.end(), elements }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenKind {
    Comma,
    LineComment,
    BlockComment,
    Other,
}

/// The parsed file. The text has no byte order mark: the caller takes it off and puts it back.
pub struct SettingsDocument<'a> {
    pub text: &'a str,
    /// `None`: an empty file, or one with only blanks and comments.
    pub root: Option<Object<'a>>,
    tokens: Vec<(TokenKind, Range<usize>)>,
}

impl<'a> SettingsDocument<'a> {
    /// Parses `text`, or says where it is something Claude Code can never read: JSON5, duplicate keys (it would
    /// silently take the last), anything but an object.
    pub fn parse(text: &'a str) -> Result<SettingsDocument<'a>, Diagnostic> {
        let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        let parsed = parse_to_ast(text, &collect, &CLIENT_JSON).map_err(|error| {
            // What was cut off is missing at the end, not where it began.
            let at = match error.kind() {
                ParseErrorKind::UnterminatedObject | ParseErrorKind::UnterminatedArray => {
                    text.trim_end().len()
                }
                _ => error.range().start,
            };
            diagnostic(text, at, format!("not valid JSON: {}", lower_first(&error.kind().to_string())))
        })?;
        let tokens: Vec<_> = parsed
            .tokens
            .unwrap_or_default()
            .into_iter()
            .map(|token| {
                let kind = match token.token {
                    Token::Comma => TokenKind::Comma,
                    Token::CommentLine(_) => TokenKind::LineComment,
                    Token::CommentBlock(_) => TokenKind::BlockComment,
                    _ => TokenKind::Other,
                };
                (kind, token.range.start..token.range.end)
            })
            .collect();
        let root = match parsed.value {
            None => None,
            Some(Value::Object(object)) => Some(object),
            Some(other) => {
                return Err(diagnostic(text, other.start(), "the file must hold an object".into()));
            }
        };
        let document = SettingsDocument { text, root, tokens };
        document.check_strict()?;
        if let Some(root) = &document.root {
            check_keys(text, root)?;
        }
        Ok(document)
    }

    pub(crate) fn diagnostic(&self, at: usize, message: impl Into<String>) -> Diagnostic {
        diagnostic(self.text, at, message.into())
    }

    /// The first comment or trailing comma: Claude Code reads strict JSON and ignores a file that has one.
    pub(crate) fn first_leniency(&self) -> Option<Diagnostic> {
        self.tokens.iter().enumerate().find_map(|(i, (token, range))| match token {
            TokenKind::LineComment | TokenKind::BlockComment => {
                Some(self.diagnostic(range.start, "Claude Code ignores a settings file with comments"))
            }
            TokenKind::Comma if self.is_trailing(i) => Some(
                self.diagnostic(range.start, "Claude Code ignores a settings file with a trailing comma"),
            ),
            _ => None,
        })
    }

    /// Where the comma after the element that ends at `end` is.
    pub(crate) fn comma_after(&self, end: usize) -> Option<Range<usize>> {
        let from = self.tokens.partition_point(|(_, range)| range.start < end);
        let next = self.tokens[from..]
            .iter()
            .find(|(token, _)| !matches!(token, TokenKind::LineComment | TokenKind::BlockComment))?;
        (next.0 == TokenKind::Comma).then(|| next.1.clone())
    }

    /// The end of the last non-blank text before `at`, and whether that is a comment that extends to the end of its
    /// line.
    pub(crate) fn solid_before(&self, at: usize) -> (usize, bool) {
        let count = self.tokens.partition_point(|(_, range)| range.end <= at);
        match self.tokens[..count].last() {
            Some((token, range)) => (range.end, *token == TokenKind::LineComment),
            None => (0, false),
        }
    }

    /// Whether there is a comment inside `range`.
    pub(crate) fn has_comment(&self, range: &Range<usize>) -> bool {
        let from = self.tokens.partition_point(|(_, r)| r.start < range.start);
        self.tokens[from..]
            .iter()
            .take_while(|(_, r)| r.start < range.end)
            .any(|(token, _)| matches!(token, TokenKind::LineComment | TokenKind::BlockComment))
    }

    fn is_trailing(&self, comma: usize) -> bool {
        self.tokens[comma + 1..]
            .iter()
            .find(|(token, _)| !matches!(token, TokenKind::LineComment | TokenKind::BlockComment))
            .is_some_and(|(_, range)| matches!(&self.text[range.clone()], "}" | "]"))
    }

    /// The parser is lenient in small things (control characters in strings, leading zeros, other blanks than JSON's):
    /// what remains without comments and trailing commas must be strict JSON.
    fn check_strict(&self) -> Result<(), Diagnostic> {
        let mut strict = self.text.as_bytes().to_vec();
        for (i, (token, range)) in self.tokens.iter().enumerate() {
            let blank = match token {
                TokenKind::LineComment | TokenKind::BlockComment => true,
                TokenKind::Comma => self.is_trailing(i),
                TokenKind::Other => false,
            };
            if blank {
                for byte in &mut strict[range.clone()] {
                    if *byte != b'\n' {
                        *byte = b' ';
                    }
                }
            }
        }
        if self.root.is_none() {
            let other = strict.iter().position(|byte| !b" \n\r\t".contains(byte));
            let why = "not valid JSON: a blank that JSON does not allow";
            return other
                .map_or(Ok(()), |at| Err(diagnostic(self.text, floor_char(self.text, at), why.into())));
        }
        let read: Result<serde::de::IgnoredAny, _> = serde_json::from_slice(&strict);
        read.map(drop).map_err(|error| {
            let at = offset(&strict, error.line(), error.column()).min(self.text.len());
            // For a control character in a string, serde_json reports its position or the one before it.
            let next_is_it =
                strict.get(at).is_some_and(|b| *b >= 0x20) && strict.get(at + 1).is_some_and(|b| *b < 0x20);
            let message = error.to_string();
            let at = if next_is_it && message.starts_with("control character") { at + 1 } else { at };
            let message = message.split(" at line ").next().unwrap_or(&message);
            diagnostic(self.text, floor_char(self.text, at), format!("not valid JSON: {message}"))
        })
    }
}

/// A member of an object by its name as the client reads it, with escapes resolved.
pub(crate) fn member<'a, 'b>(object: &'b Object<'a>, name: &str) -> Option<&'b ObjectProp<'a>> {
    object.properties.iter().find(|p| p.name.as_str() == name)
}

/// Replacements that do not overlap, applied together.
#[derive(Debug, Default)]
pub(crate) struct Splices(Vec<(Range<usize>, String)>);

impl Splices {
    pub(crate) fn replace(&mut self, range: Range<usize>, by: impl Into<String>) {
        self.0.push((range, by.into()));
    }

    pub(crate) fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.replace(at..at, text);
    }

    pub(crate) fn delete(&mut self, range: Range<usize>) {
        self.replace(range, "");
    }

    /// Insertions at the same position keep the order in which they were requested.
    pub(crate) fn apply(mut self, text: &str) -> String {
        self.0.sort_by_key(|(range, _)| (range.start, range.end));
        let mut out =
            String::with_capacity(text.len() + self.0.iter().map(|(_, by)| by.len()).sum::<usize>());
        let mut done = 0;
        for (range, by) in self.0 {
            debug_assert!(done <= range.start, "splices overlap");
            out.push_str(&text[done..range.start]);
            out.push_str(&by);
            done = range.end;
        }
        out.push_str(&text[done..]);
        out
    }
}

fn diagnostic(text: &str, at: usize, message: String) -> Diagnostic {
    let before = &text[..floor_char(text, at.min(text.len()))];
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    Diagnostic {
        line: before.matches('\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
        message,
    }
}

fn check_keys(text: &str, object: &Object<'_>) -> Result<(), Diagnostic> {
    let mut seen = HashSet::new();
    for property in &object.properties {
        let name = property.name.as_str();
        if !seen.insert(name) {
            let shown = headspace_core::text::one_line(name, 40);
            return Err(diagnostic(text, property.start(), format!("the key \"{shown}\" stands here twice")));
        }
        check_value(text, &property.value)?;
    }
    Ok(())
}

fn check_value(text: &str, value: &Value<'_>) -> Result<(), Diagnostic> {
    match value {
        Value::Object(object) => check_keys(text, object),
        Value::Array(array) => array.elements.iter().try_for_each(|element| check_value(text, element)),
        _ => Ok(()),
    }
}

/// The byte offset for serde_json's line and column (in bytes, starting at 1).
fn offset(bytes: &[u8], line: usize, column: usize) -> usize {
    let start = bytes
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .map(|(i, _)| i + 1)
        .nth(line.saturating_sub(2))
        .filter(|_| line > 1)
        .unwrap_or(0);
    start + column.saturating_sub(1)
}

fn floor_char(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|c| c.to_ascii_lowercase()).into_iter().chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_the_client_cannot_read_are_rejected_with_the_position() {
        let cases = [
            ("{\"model\": \"opus\",", 1, 18, "unterminated object"),
            ("hello", 1, 1, "unexpected word"),
            ("[]\n", 1, 1, "must hold an object"),
            ("\"x\"", 1, 1, "must hold an object"),
            ("{\n  \"a\": 1,\n  \"ü\": 2, \"a\": 3\n}", 3, 11, "\"a\" stands here twice"),
            ("{\"a\": {\"b\": [{\"c\": 1, \"\\u0063\": 2}]}}", 1, 23, "\"c\" stands here twice"),
            ("{'model': 1}", 1, 2, "single-quoted"),
            ("{model: 1}", 1, 2, "expected string"),
            ("{\"a\" 1}", 1, 6, "expected colon"),
            ("{\"a\": 1 \"b\": 2}", 1, 8, "expected comma"),
            ("{\"a\": 0x1F}", 1, 7, "hexadecimal"),
            ("{\"a\": +1}", 1, 7, "unary plus"),
            ("{\"a\": .5}", 1, 7, "decimal point"),
            ("{\"a\": NaN}", 1, 7, "unexpected token"),
            ("{\"a\": \"\\x41\"}", 1, 8, "escape"),
            ("{\n\"a\": 01}", 2, 7, "expected comma"),
            ("{\"a\": \"tab\there\"}", 1, 11, "control character"),
            ("{\"a\": \"\x1b\"}", 1, 8, "control character"),
            ("{\"a\":\u{a0}1}", 1, 6, "expected value"),
            ("{} {}", 1, 4, "more than one"),
        ];
        for (text, line, column, words) in cases {
            let error = SettingsDocument::parse(text).err().unwrap_or_else(|| panic!("accepted {text}"));
            let shown = error.to_string().to_lowercase();
            assert!(shown.contains(words), "{text}: {shown}");
            assert_eq!((error.line, error.column), (line, column), "{text}: {shown}");
        }
    }

    #[test]
    fn comments_and_trailing_commas_are_accepted_and_reported() {
        let cases = [
            ("{\"a\": [1,]}", Some((1, 9))),
            ("{\n \"a\": 1, // x\n}", Some((2, 8))),
            ("\n /* x */ {}", Some((2, 2))),
            ("{\"a\": \"// no\", \"b\": [1, 2]}", None),
            ("", None),
        ];
        for (text, place) in cases {
            let document = SettingsDocument::parse(text).unwrap();
            assert_eq!(document.first_leniency().map(|r| (r.line, r.column)), place, "{text}");
        }
    }

    #[test]
    fn endless_nesting_is_rejected_without_overflow() {
        let text = format!("{{\"a\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000));
        assert!(SettingsDocument::parse(&text).is_err());
    }
}
