//! Words: quotes, escapes, and what a dollar sign starts.

use crate::shell::parser::{Parser, Stop, name_length};
use crate::shell::*;

/// Ends a run of plain letters.
fn is_special(byte: u8, in_test: bool) -> bool {
    match byte {
        b' ' | b'\t' | b'\n' | b'\'' | b'"' | b'`' | b'$' | b'\\' | 0xF4 => true,
        b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' => !in_test,
        _ => false,
    }
}

/// The first character that stands for unknown text; those below it are active globs.
const FIRST_HOLE: char = '\u{100100}';

impl<'a> Parser<'a> {
    pub(super) fn word(&mut self) -> Word {
        self.word_in(false)
    }

    /// As in `[[ … ]]`, where only blanks end a word.
    pub(super) fn test_word(&mut self) -> Word {
        self.word_in(true)
    }

    fn word_in(&mut self, in_test: bool) -> Word {
        let mut parts: Vec<Part> = Vec::new();
        let word_start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' => break,
                b'<' | b'>' if self.byte(1) == Some(b'(') => parts.push(self.process()),
                b'(' if !in_test && self.after_extended_glob(word_start) => self.extended_glob(&mut parts),
                b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')' if !in_test => break,
                b'\'' => parts.push(self.single()),
                b'"' => parts.push(self.double()),
                b'`' => parts.push(self.backtick(false)),
                b'$' => {
                    let part = self.dollar(false);
                    push(&mut parts, part);
                }
                b'\\' => {
                    self.at += 1;
                    match self.text[self.at..].chars().next() {
                        Some(c) => {
                            self.at += c.len_utf8();
                            self.look_at(c.encode_utf8(&mut [0; 4]), Some('\\'), false);
                            parts.push(Part::Quoted(c.to_string()));
                        }
                        // The shell would wait for more after a lone backslash at the end.
                        None => self.problem(Problem::OpenQuote),
                    }
                }
                0xF4 => {
                    let part = self.reserved_char();
                    push(&mut parts, part);
                }
                _ => {
                    let run = self.run(|byte| is_special(byte, in_test));
                    let before = self.text[..self.at - run.len()].chars().next_back();
                    self.look_at(run, before, false);
                    push(&mut parts, Part::Bare(run.to_owned()));
                }
            }
        }
        Word { parts }
    }

    /// Consumes letters up to the first that `ends`; at least one.
    pub(super) fn run(&mut self, ends: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        let rest = &self.bytes[start + 1..];
        self.at = start + 1 + rest.iter().position(|b| ends(*b)).unwrap_or(rest.len());
        // Stops are ASCII or a leading byte, so this cannot be inside a character.
        while !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
        &self.text[start..self.at]
    }

    pub(super) fn reserved_char(&mut self) -> Part {
        let c = self.text[self.at..].chars().next().unwrap_or(' ');
        self.at += c.len_utf8();
        if c >= FIRST_HOLE { Part::Hole(c) } else { Part::Bare(c.to_string()) }
    }

    pub(super) fn single(&mut self) -> Part {
        self.at += 1;
        let rest = &self.bytes[self.at..];
        let length = memchr::memchr(b'\'', rest).unwrap_or_else(|| {
            self.problem(Problem::OpenQuote);
            rest.len()
        });
        let text = &self.text[self.at..self.at + length];
        self.at = (self.at + length + 1).min(self.bytes.len());
        self.look_at(text, None, true);
        if text.as_bytes().contains(&0xF4) {
            return Part::Double(holes_of(text));
        }
        Part::Quoted(text.to_owned())
    }

    pub(super) fn double(&mut self) -> Part {
        self.at += 1;
        Part::Double(self.expandable(Some(b'"')))
    }

    /// A heredoc's body: everything expands, quotes are plain letters.
    pub(super) fn expandable_text(&mut self) -> Vec<Part> {
        self.expandable(None)
    }

    fn expandable(&mut self, end: Option<u8>) -> Vec<Part> {
        let mut parts = Vec::new();
        loop {
            match self.peek() {
                None => {
                    if end.is_some() {
                        self.problem(Problem::OpenQuote);
                    }
                    return parts;
                }
                Some(byte) if Some(byte) == end => {
                    self.at += 1;
                    return parts;
                }
                Some(b'$') => {
                    let part = self.dollar(true);
                    push(&mut parts, part);
                }
                Some(b'`') => parts.push(self.backtick(end.is_some())),
                Some(b'\\') => {
                    let escapes = match self.byte(1) {
                        Some(b'$' | b'`' | b'\\') => true,
                        next => next.is_some() && next == end,
                    };
                    let from = self.at + usize::from(escapes);
                    let to = (from + 1).min(self.bytes.len());
                    self.at = to;
                    push(&mut parts, Part::Quoted(self.text[from..to].to_owned()));
                }
                Some(0xF4) => {
                    let part = match self.reserved_char() {
                        Part::Bare(text) => Part::Quoted(text),
                        hole => hole,
                    };
                    push(&mut parts, part);
                }
                Some(_) => {
                    let run =
                        self.run(|byte| matches!(byte, b'$' | b'`' | b'\\' | 0xF4) || Some(byte) == end);
                    self.look_at(run, None, true);
                    push(&mut parts, Part::Quoted(run.to_owned()));
                }
            }
        }
    }

    pub(super) fn backtick(&mut self, in_double: bool) -> Part {
        self.at += 1;
        let mut text = String::new();
        let mut from = self.at;
        loop {
            let rest = &self.bytes[self.at..];
            let Some(step) = memchr::memchr2(b'`', b'\\', rest) else {
                text.push_str(&self.text[from..]);
                self.at = self.bytes.len();
                self.problem(Problem::OpenExpansion);
                break;
            };
            self.at += step;
            if self.bytes[self.at] == b'`' {
                text.push_str(&self.text[from..self.at]);
                self.at += 1;
                break;
            }
            let unescapes = match self.byte(1) {
                Some(b'`' | b'$' | b'\\') => true,
                Some(b'"') => in_double,
                _ => false,
            };
            if unescapes {
                text.push_str(&self.text[from..self.at]);
                from = self.at + 1;
            }
            self.at = (self.at + 2).min(self.bytes.len());
            while !self.text.is_char_boundary(self.at) {
                self.at += 1;
            }
        }
        Part::Command(Rc::new(self.nested(&text, |r| r.list(Stop::End))))
    }

    /// Reads another text (an unescaped part of this one) one level deeper.
    fn nested<T: Default>(&mut self, text: &str, f: impl FnOnce(&mut Parser<'_>) -> T) -> T {
        if self.depth >= self.max_depth {
            self.problem(Problem::TooDeep);
            return T::default();
        }
        let mut inner = Parser::new(text, self.max_depth);
        inner.depth = self.depth + 1;
        inner.wasted = self.wasted;
        let result = f(&mut inner);
        inner.finish_heredocs();
        self.wasted = inner.wasted;
        for problem in inner.problems {
            self.problem(problem);
        }
        result
    }

    pub(super) fn sub_word(&mut self, text: &str) -> Word {
        self.nested(text, |r| Word { parts: r.expandable_text() })
    }

    pub(super) fn process(&mut self) -> Part {
        let reads = self.byte(0) == Some(b'<');
        self.at += 2;
        Part::Process(reads, Rc::new(self.bracketed_list()))
    }

    fn bracketed_list(&mut self) -> Script {
        self.deeper(|r| {
            let script = r.list(Stop::Paren);
            if !r.eat(")") {
                r.problem(Problem::OpenExpansion);
            }
            script
        })
    }

    /// `@(`, `?(`, `*(`, `+(`, `!(` inside a word.
    fn after_extended_glob(&self, word_start: usize) -> bool {
        self.at > word_start && matches!(self.bytes[self.at - 1], b'@' | b'?' | b'*' | b'+' | b'!')
    }

    /// The pattern counts as "anything"; commands inside it are kept.
    fn extended_glob(&mut self, parts: &mut Vec<Part>) {
        self.at += 1;
        let inner = self.deeper(|r| r.arithmetic(")"));
        match inner {
            Some(inner) => parts.extend(inner),
            None => self.problem(Problem::OpenExpansion),
        }
        push(parts, Part::Bare("*".into()));
    }

    /// Everything up to `close` with balanced brackets; only what expands is kept. `None` if a bracket shows that this
    /// is not arithmetic. A text that ends before `close` is unreadable either way.
    pub(super) fn arithmetic(&mut self, close: &str) -> Option<Vec<Part>> {
        let mut parts = Vec::new();
        let mut open = 0usize;
        loop {
            let Some(byte) = self.peek() else {
                self.problem(Problem::OpenExpansion);
                return Some(parts);
            };
            match byte {
                byte if open == 0 && byte == close.as_bytes()[0] => {
                    return self.eat(close).then_some(parts);
                }
                b'(' => {
                    open += 1;
                    self.at += 1;
                }
                b')' => {
                    open = open.checked_sub(1)?;
                    self.at += 1;
                }
                b'\'' => parts.push(self.single()),
                b'"' => parts.push(self.double()),
                b'`' => parts.push(self.backtick(false)),
                b'$' => {
                    let part = self.dollar(true);
                    push(&mut parts, part);
                }
                b'\\' => {
                    self.at += 1;
                    self.at += self.text[self.at..].chars().next().map_or(0, char::len_utf8);
                }
                0xF4 => {
                    let part = self.reserved_char();
                    push(&mut parts, part);
                }
                _ => {
                    self.run(|b| matches!(b, b'(' | b')' | b']' | b'\'' | b'"' | b'`' | b'$' | b'\\' | 0xF4));
                }
            }
        }
    }

    pub(super) fn dollar(&mut self, in_double: bool) -> Part {
        let Some(next) = self.byte(1) else {
            self.at += 1;
            return Part::Quoted("$".into());
        };
        match next {
            b'(' => {
                if self.byte(2) == Some(b'(') {
                    let arithmetic = self.attempt(|r| {
                        r.at += 3;
                        r.deeper(|r| r.arithmetic("))"))
                    });
                    if let Some(parts) = arithmetic {
                        return Part::Arithmetic(parts);
                    }
                }
                self.step(2);
                Part::Command(Rc::new(self.bracketed_list()))
            }
            b'{' => {
                self.at += 2;
                self.deeper(|r| Some(r.braced_parameter(in_double))).unwrap_or(Part::Quoted(String::new()))
            }
            b'[' => {
                self.at += 2;
                match self.deeper(|r| r.arithmetic("]")) {
                    Some(parts) => Part::Arithmetic(parts),
                    None => {
                        self.problem(Problem::OpenExpansion);
                        Part::Arithmetic(Vec::new())
                    }
                }
            }
            b'\'' if !in_double => {
                self.at += 2;
                self.ansi_c()
            }
            b'"' if !in_double => {
                self.at += 1;
                self.double()
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                self.at += 1;
                let length = name_length(&self.bytes[self.at..]);
                let name = self.text[self.at..self.at + length].to_owned();
                self.at += length;
                simple_parameter(name)
            }
            b'0'..=b'9' | b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!' => {
                self.at += 2;
                simple_parameter(char::from(next).to_string())
            }
            _ => {
                self.at += 1;
                Part::Quoted("$".into())
            }
        }
    }
}

fn simple_parameter(name: String) -> Part {
    Part::Parameter(Box::new(Parameter {
        name,
        index: None,
        length: false,
        indirect: false,
        change: Change::None,
    }))
}

/// Quoted text with unknown text in it.
fn holes_of(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    for c in text.chars() {
        let part = if c >= FIRST_HOLE { Part::Hole(c) } else { Part::Quoted(c.to_string()) };
        push(&mut parts, part);
    }
    parts
}

/// Appends, joining text with text of the same kind.
pub(super) fn push(parts: &mut Vec<Part>, part: Part) {
    match (parts.last_mut(), part) {
        (Some(Part::Bare(last)), Part::Bare(text)) | (Some(Part::Quoted(last)), Part::Quoted(text)) => {
            last.push_str(&text);
        }
        (_, part) => parts.push(part),
    }
}
