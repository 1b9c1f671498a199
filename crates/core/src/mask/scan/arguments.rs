//! Arguments of programs that take secrets.

use crate::mask::Secret;
use crate::mask::assign::{self, Found, NameAt, ValueAt, value_from, words_and_number};
use crate::mask::bytes::{is_blank, is_name_byte, is_quote, run_up_to};
use crate::mask::commands::{COMMANDS, Form, SecretOption};
use crate::mask::judge::{Style, is_random, is_secret};
use crate::mask::names::{Kind, kind_of};
use crate::mask::recognize::{among_words, printed};
use crate::mask::scan::{Scan, Stretch};

impl Scan<'_> {
    /// `--name value`; with `=` it is a name like any other.
    pub(super) fn long_option(&mut self, at: usize) -> Option<Secret> {
        let bytes = self.bytes;
        if bytes[at + 1] != b'-' || at.checked_sub(1).is_some_and(|before| bytes[before] == b'-') {
            return None;
        }
        let length = run_up_to(bytes, at, 64, is_name_byte);
        let span = at..at + length;
        if !bytes.get(span.end).copied().is_some_and(is_blank) {
            return None;
        }
        let kind = kind_of(&bytes[span.clone()])?;
        let name = NameAt { span, quoted: false, spaced: false };
        self.beside(&name, name.span.end)?;
        match assign::found(bytes, kind, Style::Env, &name, name.span.end)? {
            Found::Secret(secret) => Some(secret),
            Found::Cookies(_) => None,
        }
    }

    /// Remembers a program that takes secrets.
    pub(super) fn program(&mut self, at: usize, first: usize) -> Option<Secret> {
        let bytes = self.bytes;
        let program = COMMANDS[first].program;
        let end = at + program.len();
        // A blank, or the quote of a list of words.
        let apart = |byte: u8| is_blank(byte) || is_quote(byte) || byte == b'\\';
        let named = bytes[at..].starts_with(program.as_bytes()) && bytes.get(end).copied().is_some_and(apart);
        if !named || (first > 0 && COMMANDS[first - 1].program == program) {
            return None;
        }
        self.command = Some((first, end));
        rows(first).find_map(|row| match row.form {
            Form::Word(_) | Form::LastWord | Form::AfterSlash | Form::Within => among_words(bytes, end, row),
            Form::Printed | Form::PrintedByName => printed(bytes, at, row),
            _ => None,
        })
    }

    /// An option of the last program.
    pub(super) fn option(&mut self, at: usize) -> Option<Secret> {
        let bytes = self.bytes;
        let (first, program) = self.command?;
        let before = bytes[at.checked_sub(1)?];
        // What `echo` pipes into a program is masked when the program is known, and lies before it.
        let far = at.checked_sub(program).is_none_or(|length| length > 2048);
        if far || !(is_blank(before) || is_quote(before)) {
            return None;
        }
        let between = &bytes[program..at];
        let other_line =
            memchr::memrchr(b'\n', between).is_some_and(|at| at == 0 || between[at - 1] != b'\\');
        if other_line || between.windows(2).any(|pair| matches!(pair, b" |" | b" ;" | b"&&" | b"; ")) {
            self.command = None;
            return None;
        }
        let row = |row: &SecretOption| {
            let with = row.with.is_empty() || memchr::memmem::find(between, row.with.as_bytes()).is_some();
            // `-sSu` is `-s -S -u`.
            let cluster = run_up_to(bytes, at + 1, 8, |byte| byte.is_ascii_alphabetic());
            let last = row.option.len() == 2 && row.form == Form::AfterColon && cluster > 1;
            let last = last
                && bytes[at + cluster] == row.option.as_bytes()[1]
                && bytes.get(at + cluster + 1) == Some(&b' ');
            let after = match last {
                true => at + cluster + 1,
                false if bytes[at..].starts_with(row.option.as_bytes()) => at + row.option.len(),
                false => return None,
            };
            with.then_some(())?;
            let apart = bytes.get(after).copied().is_some_and(|byte| is_blank(byte) || byte == b'=');
            // `-u user:password` may be written without the blank.
            let either = row.form == Form::AfterColon && row.option.len() == 2;
            if !either && apart == (row.form == Form::Glued) {
                return None;
            }
            let equals = bytes.get(after) == Some(&b'=');
            let mut value = value_from(bytes, after + usize::from(equals))?;
            if row.form == Form::AfterComma && !value.quoted {
                value.span.end =
                    value.span.start + run_up_to(bytes, value.span.start, 256, |byte| byte > b' ');
            }
            let inner = &bytes[value.span.clone()];
            match row.form {
                Form::Cookies => {
                    let whole =
                        run_up_to(bytes, value.span.start, 4096, |byte| byte > b' ' && !is_quote(byte));
                    let end = if value.quoted { value.span.end } else { value.span.start + whole };
                    return Some(Err(value.span.start..end));
                }
                Form::AfterColon => {
                    let colon = memchr::memchr(b':', inner)?;
                    // `KEY:x`, `KEY:`: a key stands for the user, and the password for nothing.
                    let is_key = colon >= 10
                        && is_random(&inner[..colon])
                        && matches!(inner[colon..], [_] | [_, b'x' | b'X']);
                    value.span = match is_key {
                        true => value.span.start..value.span.start + colon,
                        false => value.span.start + colon + 1..value.span.end,
                    };
                    value.quoted |= is_key;
                }
                Form::AfterPercent => value.span.start += memchr::memchr(b'%', inner)? + 1,
                Form::AfterComma => value.span.start += memchr::memchr(b',', inner)? + 1,
                Form::Glued | Form::Next => {}
                _ => return None,
            }
            // `'-pTin Whistle 20'`
            let spaced = || words_and_number(bytes, value.span.start).filter(|_| is_quote(before));
            if let Some(end) = (row.form == Form::Glued).then(spaced).flatten() {
                value = ValueAt { span: value.span.start..end, quoted: true };
            }
            if !value.quoted {
                let more = run_up_to(bytes, value.span.end, 128, |byte| {
                    byte > b' ' && !is_quote(byte) && !matches!(byte, b'\\' | b'|' | b';' | b')')
                });
                value.span.end += more;
            }
            let judged = value.judged(bytes);
            is_secret(Kind::Password, Style::Env, &judged).then_some(Ok(value.span))
        };
        match rows(first).find_map(row)? {
            Ok(span) => Secret::new("password", span),
            Err(cookies) => {
                self.stretch.get_or_insert(Stretch::Cookies(cookies));
                None
            }
        }
    }
}

/// The rows of the program whose first row this is.
fn rows(first: usize) -> impl Iterator<Item = &'static SecretOption> {
    let program = COMMANDS[first].program;
    COMMANDS[first..].iter().take_while(move |row| row.program == program)
}
