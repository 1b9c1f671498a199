//! From text to a flat list of values; iterative, so depth costs no stack.

use crate::json_spans::{JsonDocument, JsonNode, NodeData, PathStep, SyntaxError, SyntaxFault};
use std::collections::HashMap;

pub(super) struct JsonParser<'t> {
    text: &'t str,
    at: usize,
    nodes: Vec<JsonNode>,
    /// The lists and objects around the current position, outermost first, with their children so far.
    open: Vec<(u32, Vec<u32>)>,
    duplicates: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq)]
enum Expected {
    Root,
    ItemOrEnd,
    Item,
    KeyOrEnd,
    Key,
    MemberValue,
    CommaOrEnd,
}

impl<'t> JsonParser<'t> {
    /// `at` is where to start: after a byte order mark.
    pub(super) fn new(text: &'t str, at: usize) -> JsonParser<'t> {
        JsonParser { text, at, nodes: Vec::new(), open: Vec::new(), duplicates: Vec::new() }
    }

    pub(super) fn run(mut self) -> Result<JsonDocument<'t>, SyntaxError> {
        let mut expect = Expected::Root;
        let mut key: Option<(String, usize)> = None;
        loop {
            self.blanks();
            let Some(byte) = self.peek() else {
                return match expect {
                    Expected::CommaOrEnd if self.open.is_empty() => {
                        Ok(JsonDocument { text: self.text, nodes: self.nodes, duplicates: self.duplicates })
                    }
                    Expected::Root => Err(self.error(SyntaxFault::Empty)),
                    _ => Err(self.error(SyntaxFault::CutOff)),
                };
            };
            expect = match (expect, byte) {
                (Expected::ItemOrEnd, b']') | (Expected::KeyOrEnd, b'}') => self.close(),
                (Expected::KeyOrEnd | Expected::Key, b'"') => {
                    let start = self.at;
                    let name = self.string()?;
                    self.blanks();
                    match self.peek() {
                        Some(b':') => self.at += 1,
                        Some(_) => return Err(self.error(self.comment_or(SyntaxFault::MissingColon))),
                        None => return Err(self.error(SyntaxFault::CutOff)),
                    }
                    key = Some((name, start));
                    Expected::MemberValue
                }
                (Expected::KeyOrEnd | Expected::Key, _) => return Err(self.error(self.no_key(expect, byte))),
                (Expected::CommaOrEnd, _) => self.after_value(byte)?,
                (_, _) => self.value(expect, byte, key.take())?,
            };
        }
    }

    fn value(
        &mut self,
        expect: Expected,
        byte: u8,
        key: Option<(String, usize)>,
    ) -> Result<Expected, SyntaxError> {
        let start = self.at;
        let data = match byte {
            b'{' => {
                self.at += 1;
                self.add(key, start, NodeData::Object(Vec::new()), true);
                return Ok(Expected::KeyOrEnd);
            }
            b'[' => {
                self.at += 1;
                self.add(key, start, NodeData::List(Vec::new()), true);
                return Ok(Expected::ItemOrEnd);
            }
            b'"' => NodeData::Text(self.string()?),
            b'-' | b'0'..=b'9' => NodeData::Number(self.number()?),
            b't' => self.word("true", NodeData::Bool(true))?,
            b'f' => self.word("false", NodeData::Bool(false))?,
            b'n' => self.word("null", NodeData::Null)?,
            b']' if expect == Expected::Item => return Err(self.error(SyntaxFault::TrailingComma)),
            b',' => return Err(self.error(SyntaxFault::StrayComma)),
            b'\'' => return Err(self.error(SyntaxFault::SingleQuote)),
            b'+' | b'.' => return Err(self.error(SyntaxFault::Number)),
            _ => return Err(self.error(self.comment_or(self.unexpected()))),
        };
        self.add(key, start, data, false);
        Ok(Expected::CommaOrEnd)
    }

    /// After a value: a comma, the bracket that closes its container, or the end.
    fn after_value(&mut self, byte: u8) -> Result<Expected, SyntaxError> {
        let Some((container, _)) = self.open.last() else {
            return Err(self.error(self.comment_or(SyntaxFault::TextAfterEnd)));
        };
        let is_list = matches!(self.nodes[*container as usize].data, NodeData::List(_));
        match byte {
            b',' => {
                self.at += 1;
                Ok(if is_list { Expected::Item } else { Expected::Key })
            }
            b']' if is_list => Ok(self.close()),
            b'}' if !is_list => Ok(self.close()),
            b'"' | b'{' | b'[' | b'-' | b'0'..=b'9' | b'a'..=b'z' => {
                Err(self.error(SyntaxFault::MissingComma))
            }
            _ => Err(self.error(self.comment_or(self.unexpected()))),
        }
    }

    fn no_key(&self, expect: Expected, byte: u8) -> SyntaxFault {
        match byte {
            b'}' if expect == Expected::Key => SyntaxFault::TrailingComma,
            b',' => SyntaxFault::StrayComma,
            b'\'' => SyntaxFault::SingleQuote,
            b'_' | b'$' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => SyntaxFault::UnquotedKey,
            _ => self.comment_or(self.unexpected()),
        }
    }

    fn add(&mut self, key: Option<(String, usize)>, start: usize, data: NodeData, opens: bool) {
        let id = self.nodes.len() as u32;
        let (parent, step) = match self.open.last_mut() {
            None => (None, PathStep::Root),
            Some((parent, children)) => {
                let step = match key {
                    Some((key, start)) => PathStep::Member { key, start },
                    None => PathStep::Item(children.len()),
                };
                children.push(id);
                (Some(*parent), step)
            }
        };
        self.nodes.push(JsonNode { parent, step, start, end: self.at, data });
        if opens {
            self.open.push((id, Vec::new()));
        }
    }

    fn close(&mut self) -> Expected {
        self.at += 1;
        if let Some((id, children)) = self.open.pop() {
            let members = matches!(self.nodes[id as usize].data, NodeData::Object(_));
            let data =
                if members { NodeData::Object(self.winners(children)) } else { NodeData::List(children) };
            let node = &mut self.nodes[id as usize];
            node.end = self.at;
            node.data = data;
        }
        Expected::CommaOrEnd
    }

    /// As in JavaScript, the last of equal keys counts, in the position of the first.
    fn winners(&mut self, members: Vec<u32>) -> Vec<u32> {
        let mut first: HashMap<&str, usize> = HashMap::new();
        let mut winners: Vec<u32> = Vec::with_capacity(members.len());
        for id in members {
            let PathStep::Member { key, .. } = &self.nodes[id as usize].step else { continue };
            if let Some(&index) = first.get(key.as_str()) {
                winners[index] = id;
                self.duplicates.push(id);
            } else {
                first.insert(key, winners.len());
                winners.push(id);
            }
        }
        winners
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn error(&self, fault: SyntaxFault) -> SyntaxError {
        SyntaxError { at: self.at, fault }
    }

    fn unexpected(&self) -> SyntaxFault {
        self.text[self.at..].chars().next().map_or(SyntaxFault::CutOff, SyntaxFault::Unexpected)
    }

    fn comment_or(&self, fault: SyntaxFault) -> SyntaxFault {
        let rest = &self.text[self.at..];
        if rest.starts_with("//") || rest.starts_with("/*") || rest.starts_with('#') {
            SyntaxFault::Comment
        } else {
            fault
        }
    }

    fn word(&mut self, word: &str, data: NodeData) -> Result<NodeData, SyntaxError> {
        for expected in word.bytes() {
            match self.peek() {
                Some(byte) if byte == expected => self.at += 1,
                Some(_) => return Err(self.error(self.unexpected())),
                None => return Err(self.error(SyntaxFault::CutOff)),
            }
        }
        Ok(data)
    }

    fn number(&mut self) -> Result<f64, SyntaxError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
            if matches!(self.peek(), Some(b'0'..=b'9')) {
                return Err(self.error(SyntaxFault::Number));
            }
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(self.text[start..self.at].parse().unwrap_or(f64::NAN))
    }

    fn digits(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        match self.peek() {
            None if self.at == start => Err(self.error(SyntaxFault::CutOff)),
            Some(_) if self.at == start => Err(self.error(SyntaxFault::Number)),
            _ => Ok(()),
        }
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let run = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            out.push_str(&self.text[run..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => {
                    self.at += 1;
                    out.push(self.escape()?);
                }
                Some(b'\n' | b'\r') => return Err(self.error(SyntaxFault::LineBreakInText)),
                Some(_) => return Err(self.error(SyntaxFault::ControlCharacter)),
                None => return Err(self.error(SyntaxFault::CutOff)),
            }
        }
    }

    fn escape(&mut self) -> Result<char, SyntaxError> {
        let c = match self.peek() {
            Some(c @ (b'"' | b'\\' | b'/')) => char::from(c),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode_escape();
            }
            Some(_) => return Err(self.error(SyntaxFault::Escape)),
            None => return Err(self.error(SyntaxFault::CutOff)),
        };
        self.at += 1;
        Ok(c)
    }

    fn unicode_escape(&mut self) -> Result<char, SyntaxError> {
        let first = self.four_hex_digits()?;
        if (0xD800..0xDC00).contains(&first) && self.text[self.at..].starts_with("\\u") {
            let before = self.at;
            self.at += 2;
            let second = self.four_hex_digits()?;
            if (0xDC00..0xE000).contains(&second) {
                let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            // Not the other half of a pair: a separate character.
            self.at = before;
        }
        Ok(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn four_hex_digits(&mut self) -> Result<u32, SyntaxError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = match self.peek() {
                Some(byte) => char::from(byte).to_digit(16).ok_or_else(|| self.error(SyntaxFault::Escape))?,
                None => return Err(self.error(SyntaxFault::CutOff)),
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }
}
