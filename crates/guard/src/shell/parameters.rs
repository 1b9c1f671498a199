//! `${…}`: the name, and what is done to its value.

use crate::shell::parser::{Parser, Stop, name_length};
use crate::shell::words::push;
use crate::shell::*;

impl Parser<'_> {
    /// After `${`.
    pub(super) fn braced_parameter(&mut self, in_double: bool) -> Part {
        if matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'|')) {
            self.at += 1;
            let script = self.list(Stop::Brace);
            if !self.eat_reserved("}") && !self.eat("}") {
                self.problem(Problem::OpenExpansion);
            }
            return Part::Command(Rc::new(script));
        }
        let mut parameter = Parameter {
            name: String::new(),
            index: None,
            length: false,
            indirect: false,
            change: Change::None,
        };
        match self.peek() {
            Some(b'#') if self.byte(1) != Some(b'}') => {
                parameter.length = true;
                self.at += 1;
            }
            Some(b'!') if self.byte(1) != Some(b'}') => {
                parameter.indirect = true;
                self.at += 1;
            }
            // zsh: `${(flags)name}`
            Some(b'(') => {
                let rest = &self.bytes[self.at..];
                self.at += memchr::memchr2(b')', b'\n', rest).map_or(rest.len(), |at| at + 1);
                parameter.indirect = true;
            }
            _ => {}
        }
        self.peek();
        let mut length = name_length(&self.bytes[self.at..]);
        if length == 0 {
            length = self.bytes[self.at..].iter().take_while(|b| b.is_ascii_digit()).count();
        }
        if length == 0 && matches!(self.byte(0), Some(b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')) {
            length = 1;
        }
        parameter.name = self.text[self.at..self.at + length].to_owned();
        self.at += length;
        if self.peek() == Some(b'[') {
            self.at += 1;
            parameter.index = Some(self.operand(b']', in_double));
        }
        if parameter.name.is_empty() && self.peek() != Some(b'}') {
            parameter.change = Change::Other(self.operand(b'}', in_double));
            return Part::Parameter(Box::new(parameter));
        }
        parameter.change = self.change(in_double);
        Part::Parameter(Box::new(parameter))
    }

    fn change(&mut self, in_double: bool) -> Change {
        let Some(first) = self.peek() else {
            self.problem(Problem::OpenExpansion);
            return Change::None;
        };
        self.at += 1;
        let colon = first == b':';
        let op = if colon { self.peek().unwrap_or(b'}') } else { first };
        match op {
            b'}' if !colon => Change::None,
            b'-' | b'=' | b'+' | b'?' => {
                self.at += usize::from(colon);
                let word = self.operand(b'}', in_double);
                match op {
                    b'+' => Change::Alternative { colon, word },
                    b'?' => Change::Required,
                    _ => Change::Default { colon, assign: op == b'=', word },
                }
            }
            _ if colon => Change::Slice(self.operand(b'}', in_double)),
            b'#' | b'%' => {
                let longest = self.peek() == Some(op);
                self.at += usize::from(longest);
                let pattern = self.operand(b'}', in_double);
                if op == b'#' {
                    Change::Prefix { longest, pattern }
                } else {
                    Change::Suffix { longest, pattern }
                }
            }
            b'/' => {
                let how = match self.peek() {
                    Some(how @ (b'/' | b'#' | b'%')) => {
                        self.at += 1;
                        char::from(how)
                    }
                    _ => ' ',
                };
                let pattern = self.operand(b'/', in_double);
                // How the pattern ended tells whether a replacement follows.
                let with = if self.bytes.get(self.at - 1) == Some(&b'/') {
                    self.operand(b'}', in_double)
                } else {
                    Word::default()
                };
                Change::Replace { how, pattern, with }
            }
            b'^' | b',' => {
                let mut how = char::from(op).to_string();
                if self.peek() == Some(op) {
                    self.at += 1;
                    how.push(char::from(op));
                }
                self.operand(b'}', in_double);
                Change::Case(how)
            }
            _ => {
                self.at -= 1;
                Change::Other(self.operand(b'}', in_double))
            }
        }
    }

    /// The text after an operator, up to `end` (or the closing brace, for a pattern that `/` may end).
    fn operand(&mut self, end: u8, in_double: bool) -> Word {
        let mut parts = Vec::new();
        loop {
            match self.peek() {
                None => {
                    self.problem(Problem::OpenExpansion);
                    break;
                }
                Some(byte) if byte == end || (byte == b'}' && end == b'/') => {
                    self.at += 1;
                    break;
                }
                Some(b'\'') if !in_double => parts.push(self.single()),
                Some(b'"') => parts.push(self.double()),
                Some(b'`') => parts.push(self.backtick(in_double)),
                Some(b'$') => {
                    let part = self.dollar(in_double);
                    push(&mut parts, part);
                }
                Some(b'<' | b'>') if self.byte(1) == Some(b'(') && !in_double => parts.push(self.process()),
                Some(b'\\') => {
                    self.at += 1;
                    let c = self.text[self.at..].chars().next().unwrap_or('\\');
                    self.at = (self.at + c.len_utf8()).min(self.bytes.len());
                    parts.push(Part::Quoted(c.to_string()));
                }
                Some(0xF4) => {
                    let part = self.reserved_char();
                    push(&mut parts, part);
                }
                Some(_) => {
                    let run = self.run(|b| {
                        b == end
                            || matches!(b, b'\'' | b'"' | b'`' | b'$' | b'\\' | b'}' | b'<' | b'>' | 0xF4)
                    });
                    self.look_at(run, None, true);
                    push(&mut parts, Part::Bare(run.to_owned()));
                }
            }
        }
        Word { parts }
    }
}
