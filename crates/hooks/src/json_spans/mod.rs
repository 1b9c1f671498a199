//! Strict JSON with the position of every value.
//!
//! `serde_json` says where a document is broken, but not where a value of a valid one is, and it silently takes the
//! last of two equal keys. To tell a user what is wrong with a settings file, both are needed. This parser accepts
//! exactly what `JSON.parse` accepts (including lone surrogates, which become U+FFFD), after an optional byte order
//! mark, and keeps its values in one flat list, so depth costs no stack.

mod parser;

use std::fmt;

const BOM: &str = "\u{feff}";

/// A position in a text as an editor shows it: both numbers start at 1 and count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

/// The position of byte `at` in `text`. A byte order mark takes up no column.
pub fn position(text: &str, at: usize) -> Position {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let before = &text[..at];
    let before = before.strip_prefix(BOM).unwrap_or(before);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    Position {
        line: before.bytes().filter(|&byte| byte == b'\n').count() + 1,
        column: before[line_start..].chars().count() + 1,
    }
}

/// Why a text is not JSON; `at` is the byte of the first character that cannot be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    pub at: usize,
    pub fault: SyntaxFault,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SyntaxFault {
    Empty,
    Comment,
    TrailingComma,
    StrayComma,
    MissingComma,
    MissingColon,
    SingleQuote,
    UnquotedKey,
    LineBreakInText,
    ControlCharacter,
    Escape,
    Number,
    CutOff,
    TextAfterEnd,
    Unexpected(char),
}

impl fmt::Display for SyntaxFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = match self {
            SyntaxFault::Empty => "it is empty",
            SyntaxFault::Comment => "JSON has no comments",
            SyntaxFault::TrailingComma => "there must be no comma before this bracket",
            SyntaxFault::StrayComma => "this comma has no value before it",
            SyntaxFault::MissingComma => "a comma is missing before this",
            SyntaxFault::MissingColon => "a colon is missing after the key",
            SyntaxFault::SingleQuote => "texts need double quotes",
            SyntaxFault::UnquotedKey => "keys need double quotes",
            SyntaxFault::LineBreakInText => "a text contains a line break (is a quote missing?)",
            SyntaxFault::ControlCharacter => "a control character inside a text must be written as an escape",
            SyntaxFault::Escape => "unknown escape in a text (write a backslash as \\\\)",
            SyntaxFault::Number => "this is not how JSON writes a number",
            SyntaxFault::CutOff => "it ends in the middle",
            SyntaxFault::TextAfterEnd => "there is more text after the end",
            SyntaxFault::Unexpected(c) => return write!(f, "{c:?} cannot be here"),
        };
        f.write_str(words)
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)
    }
}

impl std::error::Error for SyntaxError {}

/// A text that is one JSON value.
#[derive(Debug)]
pub struct JsonDocument<'t> {
    text: &'t str,
    nodes: Vec<JsonNode>,
    duplicates: Vec<u32>,
}

#[derive(Debug)]
struct JsonNode {
    parent: Option<u32>,
    step: PathStep,
    start: usize,
    end: usize,
    data: NodeData,
}

/// How a value is reached from its parent.
#[derive(Debug)]
enum PathStep {
    Root,
    Item(usize),
    Member { key: String, start: usize },
}

#[derive(Debug)]
enum NodeData {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<u32>),
    /// The members that count: the last one of equal keys.
    Object(Vec<u32>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonKind {
    Null,
    Bool,
    Number,
    Text,
    List,
    Object,
}

impl fmt::Display for JsonKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JsonKind::Null => "null",
            JsonKind::Bool => "true or false",
            JsonKind::Number => "a number",
            JsonKind::Text => "a text",
            JsonKind::List => "a list",
            JsonKind::Object => "an object",
        })
    }
}

impl<'t> JsonDocument<'t> {
    pub fn parse(text: &'t str) -> Result<JsonDocument<'t>, SyntaxError> {
        let at = if text.starts_with(BOM) { BOM.len() } else { 0 };
        parser::JsonParser::new(text, at).run()
    }

    pub fn root(&self) -> SpannedValue<'_> {
        SpannedValue { doc: self, id: 0 }
    }

    /// Members that repeat an earlier key of the same object: these count, the earlier ones do not.
    pub(crate) fn duplicates(&self) -> impl Iterator<Item = SpannedValue<'_>> {
        self.duplicates.iter().map(|&id| SpannedValue { doc: self, id })
    }
}

/// One value of a document.
#[derive(Clone, Copy, Debug)]
pub struct SpannedValue<'d> {
    doc: &'d JsonDocument<'d>,
    id: u32,
}

impl<'d> SpannedValue<'d> {
    fn node(self) -> &'d JsonNode {
        &self.doc.nodes[self.id as usize]
    }

    pub fn kind(self) -> JsonKind {
        match self.node().data {
            NodeData::Null => JsonKind::Null,
            NodeData::Bool(_) => JsonKind::Bool,
            NodeData::Number(_) => JsonKind::Number,
            NodeData::Text(_) => JsonKind::Text,
            NodeData::List(_) => JsonKind::List,
            NodeData::Object(_) => JsonKind::Object,
        }
    }

    pub fn flag(self) -> Option<bool> {
        if let NodeData::Bool(flag) = self.node().data { Some(flag) } else { None }
    }

    pub fn number(self) -> Option<f64> {
        if let NodeData::Number(number) = self.node().data { Some(number) } else { None }
    }

    pub fn text(self) -> Option<&'d str> {
        if let NodeData::Text(text) = &self.node().data { Some(text) } else { None }
    }

    /// The values of a list; none for anything else.
    pub fn items(self) -> impl Iterator<Item = SpannedValue<'d>> {
        let ids: &[u32] = if let NodeData::List(ids) = &self.node().data { ids } else { &[] };
        ids.iter().map(move |&id| SpannedValue { doc: self.doc, id })
    }

    /// Keys and values of an object; none for anything else.
    pub fn members(self) -> impl Iterator<Item = (&'d str, SpannedValue<'d>)> {
        let ids: &[u32] = if let NodeData::Object(ids) = &self.node().data { ids } else { &[] };
        ids.iter().map(move |&id| {
            let value = SpannedValue { doc: self.doc, id };
            (value.key().unwrap_or_default(), value)
        })
    }

    pub fn get(self, key: &str) -> Option<SpannedValue<'d>> {
        self.members().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// The key this value has in its object.
    pub fn key(self) -> Option<&'d str> {
        if let PathStep::Member { key, .. } = &self.node().step { Some(key) } else { None }
    }

    /// Where the value starts.
    pub fn position(self) -> Position {
        position(self.doc.text, self.node().start)
    }

    /// Where its key starts; without a key, where the value starts.
    pub(crate) fn key_position(self) -> Position {
        match self.node().step {
            PathStep::Member { start, .. } => position(self.doc.text, start),
            _ => self.position(),
        }
    }

    /// The value as it is written.
    pub fn source(self) -> &'d str {
        &self.doc.text[self.node().start..self.node().end]
    }

    /// `hooks.PreToolUse[0].hooks[1].timeout`; empty for the whole document.
    pub fn path(self) -> String {
        let mut steps = Vec::new();
        let mut node = self.node();
        loop {
            steps.push(&node.step);
            match node.parent {
                Some(parent) => node = &self.doc.nodes[parent as usize],
                None => break,
            }
        }
        let mut path = String::new();
        for step in steps.iter().rev() {
            match step {
                PathStep::Root => {}
                PathStep::Item(index) => path.push_str(&format!("[{index}]")),
                PathStep::Member { key, .. } if key.is_empty() || key.contains(['.', '[', ']', '"']) => {
                    path.push_str(&format!("[{key:?}]"));
                }
                PathStep::Member { key, .. } => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(key);
                }
            }
        }
        path
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> (usize, usize, SyntaxFault) {
        let error = JsonDocument::parse(text).unwrap_err();
        let position = position(text, error.at);
        (position.line, position.column, error.fault)
    }

    #[test]
    fn errors_point_at_the_first_invalid_character() {
        let table: &[(&str, usize, usize, SyntaxFault)] = &[
            ("", 1, 1, SyntaxFault::Empty),
            (" \n ", 2, 2, SyntaxFault::Empty),
            ("{\n  // mine\n}", 2, 3, SyntaxFault::Comment),
            ("{\"a\": 1, /* x */ \"b\": 2}", 1, 10, SyntaxFault::Comment),
            ("{} // end", 1, 4, SyntaxFault::Comment),
            ("{\"a\" /* x */: 1}", 1, 6, SyntaxFault::Comment),
            ("# yaml", 1, 1, SyntaxFault::Comment),
            ("{\"a\": [],\n}", 2, 1, SyntaxFault::TrailingComma),
            ("[1, ]", 1, 5, SyntaxFault::TrailingComma),
            ("[,1]", 1, 2, SyntaxFault::StrayComma),
            ("[1,,2]", 1, 4, SyntaxFault::StrayComma),
            ("{\"a\":,}", 1, 6, SyntaxFault::StrayComma),
            ("{\"a\": 1 \"b\": 2}", 1, 9, SyntaxFault::MissingComma),
            ("{\"a\" 1}", 1, 6, SyntaxFault::MissingColon),
            ("{'a': 1}", 1, 2, SyntaxFault::SingleQuote),
            ("['a']", 1, 2, SyntaxFault::SingleQuote),
            ("{a: 1}", 1, 2, SyntaxFault::UnquotedKey),
            ("[\"a\nb\"]", 1, 4, SyntaxFault::LineBreakInText),
            ("[\"a\tb\"]", 1, 4, SyntaxFault::ControlCharacter),
            ("[\"\\x41\"]", 1, 4, SyntaxFault::Escape),
            ("[\"\\u12g4\"]", 1, 7, SyntaxFault::Escape),
            ("[01]", 1, 3, SyntaxFault::Number),
            ("[1.]", 1, 4, SyntaxFault::Number),
            ("[+1]", 1, 2, SyntaxFault::Number),
            ("[.5]", 1, 2, SyntaxFault::Number),
            ("[-]", 1, 3, SyntaxFault::Number),
            ("[1e]", 1, 4, SyntaxFault::Number),
            ("[trux]", 1, 5, SyntaxFault::Unexpected('x')),
            ("[NaN]", 1, 2, SyntaxFault::Unexpected('N')),
            ("[undefined]", 1, 2, SyntaxFault::Unexpected('u')),
            ("[}", 1, 2, SyntaxFault::Unexpected('}')),
            ("{\"é\": é}", 1, 7, SyntaxFault::Unexpected('é')),
            ("{\"a\": [1}", 1, 9, SyntaxFault::Unexpected('}')),
            ("{\"a\": ", 1, 7, SyntaxFault::CutOff),
            ("{\"a", 1, 4, SyntaxFault::CutOff),
            ("[tru", 1, 5, SyntaxFault::CutOff),
            ("{\"a\"", 1, 5, SyntaxFault::CutOff),
            ("{}\n{}", 2, 1, SyntaxFault::TextAfterEnd),
            ("{}x", 1, 3, SyntaxFault::TextAfterEnd),
            ("\u{feff}{x}", 1, 2, SyntaxFault::UnquotedKey),
            ("[\u{a0}1]", 1, 2, SyntaxFault::Unexpected('\u{a0}')),
        ];
        for (text, line, column, expected) in table {
            assert_eq!(fault(text), (*line, *column, expected.clone()), "{text:?}");
        }
    }

    #[test]
    fn every_value_knows_its_position_and_path() {
        let text = "\u{feff}{\r\n  \"ü\": [1, {\"a b\": true}],\n  \"x.y\": null\n}";
        let doc = JsonDocument::parse(text).unwrap();
        let list = doc.root().get("ü").unwrap();
        let deep = list.items().nth(1).unwrap().get("a b").unwrap();
        assert_eq!((deep.path(), deep.flag()), ("ü[1].a b".to_owned(), Some(true)));
        assert_eq!(deep.position(), Position { line: 2, column: 20 });
        assert_eq!(deep.key_position(), Position { line: 2, column: 13 });
        assert_eq!(doc.root().get("x.y").unwrap().path(), "[\"x.y\"]");
        assert_eq!(list.source(), "[1, {\"a b\": true}]");
    }

    #[test]
    fn the_last_of_equal_keys_counts_and_is_reported() {
        let doc = JsonDocument::parse("{\"a\": 1, \"b\": 2, \"a\": 3,\n \"a\": {\"c\":0,\"c\":1}}").unwrap();
        let names: Vec<_> = doc.root().members().map(|(key, _)| key).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(doc.root().get("a").unwrap().get("c").unwrap().number(), Some(1.0));
        let mut places: Vec<_> = doc.duplicates().map(|v| (v.key_position().line, v.path())).collect();
        places.sort_unstable();
        assert_eq!(places, [(1, "a".to_owned()), (2, "a".to_owned()), (2, "a.c".to_owned())]);
    }

    #[test]
    fn texts_are_decoded_as_in_javascript() {
        let table = [
            (r#""\u0041\n\/\"""#, "A\n/\""),
            (r#""\ud83d\ude00""#, "😀"),
            (r#""\ud83d""#, "\u{fffd}"),
            (r#""\ud83d\u0041""#, "\u{fffd}A"),
            (r#""\udc00x""#, "\u{fffd}x"),
        ];
        for (json, expected) in table {
            assert_eq!(JsonDocument::parse(json).unwrap().root().text(), Some(expected), "{json}");
        }
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        assert!(JsonDocument::parse(&deep).is_ok());
        assert_eq!(JsonDocument::parse(&deep[..100_000]).unwrap_err().fault, SyntaxFault::CutOff);
    }

    proptest::proptest! {
        #[test]
        fn accepts_what_serde_accepts(text in "[\\[\\]{}:,\"a\\\\u0dD8 1.e+\\-tfn\n/']{0,24}") {
            let ours = JsonDocument::parse(&text);
            let theirs = serde_json::from_str::<&serde_json::value::RawValue>(&text);
            proptest::prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?}", text);
        }
    }
}
