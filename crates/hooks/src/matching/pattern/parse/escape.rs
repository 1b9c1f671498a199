//! Escapes, classes and group names.

use super::super::Node;
use super::super::class::{self, Set, Span};
use super::{Parsed, Parser, ascii, fault};

impl Parser<'_> {
    /// A group's name after `<`, `>` included.
    pub(crate) fn name(&mut self) -> Parsed<String> {
        let from = self.at;
        let mut name = String::new();
        loop {
            let Some(c) = self.name_character() else { return fault(from, "this is not a group name") };
            // JavaScript asks for ID_Start and ID_Continue. The properties that Rust has differ from them for a few
            // marks and numbers, which is not worth tables.
            let fits = match c {
                '>' if !name.is_empty() => return Ok(name),
                '$' | '_' => true,
                '\u{200C}' | '\u{200D}' => !name.is_empty(),
                _ if name.is_empty() => c.is_alphabetic(),
                _ => c.is_alphanumeric(),
            };
            if !fits {
                return fault(from, "this is not a group name");
            }
            name.push(c);
        }
    }

    fn name_character(&mut self) -> Option<char> {
        let first = self.name_unit()?;
        let at = self.at;
        if let 0xD800..0xDC00 = first
            && let Some(second @ 0xDC00..0xE000) = self.name_unit()
        {
            return char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00));
        }
        self.at = at;
        char::from_u32(first)
    }

    /// A unit of a name, or the character of `\u{…}`.
    fn name_unit(&mut self) -> Option<u32> {
        if !self.eat(b'\\') {
            return self.take().map(u32::from);
        }
        if !self.eat(b'u') {
            return None;
        }
        if !self.eat(b'{') {
            return self.hex(4);
        }
        let mut value = self.digit(16)?;
        while let Some(digit) = self.digit(16) {
            value = value.saturating_mul(16).saturating_add(digit);
        }
        self.eat(b'}').then_some(value)
    }

    /// Exactly this many hexadecimal digits.
    fn hex(&mut self, digits: usize) -> Option<u32> {
        let from = self.at;
        let value = (0..digits).try_fold(0, |value, _| Some(value * 16 + self.digit(16)?));
        if value.is_none() {
            self.at = from;
        }
        value
    }

    /// What `\` stands for outside of classes.
    pub(crate) fn escape(&mut self, at: usize) -> Parsed<Node> {
        let ignore_case = self.flags.ignore_case;
        if let Some(spans) = self.peek().and_then(class::named) {
            self.at += 1;
            return Ok(Node::Set(Set::new(spans, false, ignore_case)));
        }
        if self.has_names && self.eat(b'k') {
            if !self.eat(b'<') {
                return fault(at, "a group name in <> must follow \\k");
            }
            let name = self.name()?;
            self.named.push((self.nodes.len(), name, at));
            return Ok(Node::Again { groups: Vec::new(), ignore_case });
        }
        let from = self.at;
        match self.number() {
            Some(number @ 1..) if number as usize <= self.all_groups => {
                return Ok(Node::Again { groups: vec![number as usize], ignore_case });
            }
            _ => self.at = from,
        }
        let unit = self.escaped(at, false)?;
        Ok(self.unit(unit))
    }

    /// The unit that `\` stands for. An escape that JavaScript does not know means the character itself.
    fn escaped(&mut self, at: usize, in_class: bool) -> Parsed<u16> {
        let Some(unit) = self.take() else { return fault(at, "nothing follows this \\") };
        let sign = ascii(unit);
        Ok(match sign {
            b't' => 0x09,
            b'n' => 0x0A,
            b'v' => 0x0B,
            b'f' => 0x0C,
            b'r' => 0x0D,
            b'b' if in_class => 0x08,
            b'c' => self.control(in_class),
            b'x' => self.hex(2).map_or(unit, |value| value as u16),
            b'u' => self.hex(4).map_or(unit, |value| value as u16),
            b'0'..=b'7' => self.octal(sign - b'0'),
            b'k' if self.has_names => return fault(at, "a group name in <> must follow \\k"),
            _ => unit,
        })
    }

    /// `\cJ`. Without a letter the backslash stands for itself, and so does the c.
    fn control(&mut self, in_class: bool) -> u16 {
        match self.peek().map_or(0, ascii) {
            sign if sign.is_ascii_alphabetic() || in_class && (sign.is_ascii_digit() || sign == b'_') => {
                self.at += 1;
                u16::from(sign % 32)
            }
            _ => {
                self.at -= 1;
                u16::from(b'\\')
            }
        }
    }

    /// One to three octal digits, up to `\377`.
    fn octal(&mut self, first: u8) -> u16 {
        let mut value = u32::from(first);
        for _ in 0..2 {
            if value < 0o40
                && let Some(digit) = self.digit(8)
            {
                value = value * 8 + digit;
            }
        }
        value as u16
    }

    /// The class after `[`, which is just before `at`.
    pub(crate) fn class(&mut self, at: usize) -> Parsed<Node> {
        let negated = self.eat(b'^');
        let mut spans = Vec::new();
        while !self.eat(b']') {
            let from = self.at;
            let mut first = self.class_atom(at)?;
            let rest = &self.units[self.at..];
            if rest.first() != Some(&b'-'.into()) || rest.get(1) == Some(&b']'.into()) {
                spans.append(&mut first);
                continue;
            }
            self.at += 1;
            let mut last = self.class_atom(at)?;
            match (first.as_slice(), last.as_slice()) {
                ([(a, same)], [(b, alike)]) if a == same && b == alike => {
                    if a > b {
                        return fault(from, "this range is out of order");
                    }
                    spans.push((*a, *b));
                }
                // `\w` is not the end of a range, so the dash stands for itself.
                _ => {
                    spans.append(&mut first);
                    spans.append(&mut last);
                    spans.push((b'-'.into(), b'-'.into()));
                }
            }
        }
        Ok(Node::Set(Set::new(spans, negated, self.flags.ignore_case)))
    }

    fn class_atom(&mut self, class_at: usize) -> Parsed<Vec<Span>> {
        let at = self.at;
        let Some(mut unit) = self.take() else { return fault(class_at, "this class is never closed") };
        if ascii(unit) == b'\\' {
            if let Some(spans) = self.peek().and_then(class::named) {
                self.at += 1;
                return Ok(spans);
            }
            unit = self.escaped(at, true)?;
        }
        Ok(vec![(unit, unit)])
    }
}
