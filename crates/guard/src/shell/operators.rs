//! Assignments and redirections of a simple command.

use crate::shell::parser::{Parser, name_length};
use crate::shell::*;

impl Parser<'_> {
    /// `name=value`, `name+=value`, `name[i]=value`, `name=(…)`. After `declare` only arrays are read here; the rest
    /// are words, because options and names are mixed with them.
    pub(super) fn assignment(&mut self, only_array: bool) -> Option<Assign> {
        let before = self.at;
        let name_length = name_length(&self.bytes[self.at..]);
        if name_length == 0 {
            return None;
        }
        let name = self.text[self.at..self.at + name_length].to_owned();
        self.at += name_length;
        let mut index = None;
        if self.peek() == Some(b'[') {
            let close = memchr::memchr2(b']', b'\n', &self.bytes[self.at..])
                .filter(|at| self.bytes[self.at + at] == b']')
                .filter(|at| matches!(self.bytes.get(self.at + at + 1), Some(b'=' | b'+')));
            let Some(close) = close else {
                self.at = before;
                return None;
            };
            let inside = self.text[self.at + 1..self.at + close].to_owned();
            index = Some(self.sub_word(&inside));
            self.at += close + 1;
        }
        let append = self.peek() == Some(b'+') && self.byte(1) == Some(b'=');
        if append {
            self.at += 1;
        }
        if self.peek() != Some(b'=') || (only_array && self.byte(1) != Some(b'(')) {
            self.at = before;
            return None;
        }
        self.at += 1;
        let value = if self.peek() == Some(b'(') {
            self.at += 1;
            Assigned::Array(self.array_values())
        } else {
            Assigned::One(self.value())
        };
        Some(Assign { name, index, append, value })
    }

    /// The word after `=`; it may be empty.
    fn value(&mut self) -> Word {
        match self.peek() {
            None | Some(b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b')' | b'<' | b'>')
                if !self.starts("<(") && !self.starts(">(") =>
            {
                Word::default()
            }
            _ => self.word(),
        }
    }

    fn array_values(&mut self) -> Vec<Word> {
        let mut values = Vec::new();
        loop {
            self.skip_lines();
            match self.peek() {
                None => {
                    self.problem(Problem::OpenBlock(")"));
                    return values;
                }
                Some(b')') => {
                    self.at += 1;
                    return values;
                }
                Some(b'[') => {
                    // `[key]=value`: the key gives the position, but the value is what counts.
                    let rest = &self.bytes[self.at..];
                    let end = memchr::memmem::find(&rest[..rest.len().min(256)], b"]=");
                    if let Some(end) = end {
                        self.at += end + 2;
                        values.push(self.value());
                        continue;
                    }
                }
                _ => {}
            }
            let start = self.at;
            values.push(self.word());
            if self.at == start {
                self.skip_unexpected();
            }
        }
    }

    pub(super) fn redirect(&mut self) -> Option<Redirect> {
        self.skip_blanks();
        let before = self.at;
        let mut fd = None;
        let digits = self.bytes[self.at..].iter().take(9).take_while(|b| b.is_ascii_digit()).count();
        if digits > 0 {
            fd = self.text[self.at..self.at + digits].parse().ok();
            self.at += digits;
        } else if self.byte(0) == Some(b'{') {
            // `{name}> file`
            let name = name_length(&self.bytes[self.at + 1..]);
            if name > 0
                && self.byte(name + 1) == Some(b'}')
                && matches!(self.byte(name + 2), Some(b'<' | b'>'))
            {
                self.at += name + 2;
                fd = Some(10);
            }
        }
        let Some((length, op)) = self.redirect_op() else {
            self.at = before;
            return None;
        };
        let operator = self.text[self.at..self.at + length].to_owned();
        self.at += length;
        self.skip_blanks();
        if matches!(operator.as_str(), "<<" | "<<-") {
            return Some(self.heredoc_start(fd, operator == "<<-"));
        }
        let start = self.at;
        let target = self.word();
        if self.at == start {
            self.problem(Problem::Unexpected(operator.clone()));
        }
        let mut op = op;
        if matches!(operator.as_str(), ">&" | "<&") {
            let is_fd = target
                .literal()
                .is_some_and(|t| t == "-" || t.trim_end_matches('-').bytes().all(|b| b.is_ascii_digit()));
            let expands = matches!(target.parts.first(), Some(Part::Parameter(_)));
            if !is_fd && !expands && operator == ">&" {
                op = RedirectOp::Write;
            }
        }
        Some(Redirect { fd, op, target: RedirectTarget::Word(target) })
    }

    fn redirect_op(&mut self) -> Option<(usize, RedirectOp)> {
        use RedirectOp::*;
        const OPERATORS: [(&str, RedirectOp); 13] = [
            ("&>>", Append),
            ("&>", Write),
            ("<<<", Text),
            ("<<-", Text),
            ("<<", Text),
            ("<&", Duplicate),
            ("<>", ReadWrite),
            (">>", Append),
            (">&", Duplicate),
            (">|", Write),
            (">!", Write),
            ("<", Read),
            (">", Write),
        ];
        // `<(` and `>(` are words.
        if self.starts("<(") || self.starts(">(") {
            return None;
        }
        let &(text, op) = OPERATORS.iter().find(|(text, _)| self.starts(text))?;
        // `>!` is a clobbering redirection in zsh and csh; elsewhere it is `>` and a name that starts with `!`.
        if text == ">!" && !matches!(self.byte(2), Some(b' ' | b'\t')) {
            return Some((1, Write));
        }
        Some((text.len(), op))
    }
}
