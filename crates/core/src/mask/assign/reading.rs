//! Where a name ends and where a value begins and ends, in any notation.

use crate::mask::assign::{LONGEST_NAME, LONGEST_QUOTED, MAX_JUDGED_BYTES, WIDEST_GAP, owns_line};
use crate::mask::bytes::{
    color_end, color_start, is_blank, is_name_byte, is_quote, next_line, run, run_up_to,
    starts_with_ignore_case, word_start,
};
use crate::mask::judge::Judged;
use std::ops::Range;

/// A name and its position in the text.
pub struct NameAt {
    pub span: Range<usize>,
    pub quoted: bool,
    /// There are blanks between it and what follows.
    pub spaced: bool,
}

/// The name that ends before `end`, ignoring quotes and colors.
pub fn name_before(bytes: &[u8], end: usize) -> Option<NameAt> {
    let (mut at, mut quoted, mut spaced) = (prompted(bytes, end), false, false);
    while at > 0 && end - at < WIDEST_GAP {
        if let Some(start) = color_start(bytes, at) {
            at = start;
            continue;
        }
        match bytes[at - 1] {
            b' ' | b'\t' => spaced = true,
            b'"' | b'\'' | b'`' => quoted = true,
            b'2' | b'7' if at > 2 && matches!(&bytes[at - 3..at], b"%22" | b"%27") => {
                (quoted, at) = (true, at - 3);
                continue;
            }
            b']' if array(bytes, at) < at => {
                at = array(bytes, at);
                continue;
            }
            b'\\' | b']' | b'?' | b'!' | b':' => {}
            // A tab as JSON writes it.
            b't' if at > 1 && bytes[at - 2] == b'\\' => {
                (spaced, at) = (true, at - 2);
                continue;
            }
            _ => break,
        }
        at -= 1;
    }
    let from = at.saturating_sub(LONGEST_NAME);
    let mut first = at;
    while let Some(before) = (first > from).then(|| first - 1) {
        first = match bytes[before] {
            byte if is_name_byte(byte) => before,
            // A letter outside of ASCII, as in `contraseña`; quotes and arrows have three bytes.
            0x80..=0xbf if before > from && matches!(bytes[before - 1], 0xc3..=0xdf) => before - 1,
            _ => break,
        };
    }
    if first == at || at - first >= LONGEST_NAME {
        return None;
    }
    let start = word_start(bytes, first, at);
    let phrase = bytes[start..at].eq_ignore_ascii_case(b"passe")
        && starts_with_ignore_case(&bytes[start.saturating_sub(FRENCH.len())..start], FRENCH);
    Some(NameAt { span: if phrase { start - FRENCH.len() } else { start }..at, quoted, spaced })
}

/// The name that ends at `end` with a part of it in color, as `grep` shows what it has found: without the color codes.
pub fn highlighted(bytes: &[u8], end: usize) -> Option<Vec<u8>> {
    let (mut at, mut name, mut colors) = (end, Vec::new(), 0);
    while at > 0 && name.len() < LONGEST_NAME && colors < 8 {
        if let Some(start) = color_start(bytes, at) {
            (at, colors) = (start, colors + 1);
        } else if is_name_byte(bytes[at - 1]) {
            at -= 1;
            name.push(bytes[at]);
        } else {
            break;
        }
    }
    name.reverse();
    (colors > 0).then_some(name)
}

/// Where `Secret Access Key [None]` ends before its bracket; `end` itself if there is none.
pub fn prompted(bytes: &[u8], end: usize) -> usize {
    let Some(lead) = bytes[..end].strip_suffix(b"]") else { return end };
    let length =
        lead.iter().rev().take(24).take_while(|byte| !matches!(byte, b'[' | b'\n' | b'"' | b'\'')).count();
    let open = lead.len() - length;
    if bytes[..open].ends_with(b" [") { open - 2 } else { end }
}

/// Where `password[]` or `password[32]`, an array of C, ends before its brackets; `end` itself if there are none.
pub fn array(bytes: &[u8], end: usize) -> usize {
    let Some(lead) = bytes[..end].strip_suffix(b"]") else { return end };
    let digits = lead.iter().rev().take(5).take_while(|byte| byte.is_ascii_digit()).count();
    let name = lead[..lead.len() - digits].strip_suffix(b"[").unwrap_or_default();
    if name.last().copied().is_some_and(is_name_byte) { name.len() } else { end }
}

/// The only name of several words that is not told by its last one.
const FRENCH: &str = "mot de ";

/// A value and its position in the text.
pub struct ValueAt {
    pub span: Range<usize>,
    pub quoted: bool,
}

impl ValueAt {
    /// Where all of it is: a long one is judged by its beginning.
    pub fn whole(&self, bytes: &[u8]) -> Range<usize> {
        if self.quoted {
            return self.span.clone();
        }
        self.span.start..plain_end(bytes, self.span.start, bytes.len()).max(self.span.end)
    }

    pub fn judged<'a>(&self, bytes: &'a [u8]) -> Judged<'a> {
        let end = self.span.end.min(self.span.start + MAX_JUDGED_BYTES);
        Judged {
            bytes: &bytes[self.span.start..end],
            quoted: self.quoted,
            next: bytes.get(end).copied().unwrap_or(b'\n'),
        }
    }
}

/// The value that begins at or after `from`.
pub fn value_from(bytes: &[u8], from: usize) -> Option<ValueAt> {
    let mut at = from;
    loop {
        if at - from > WIDEST_GAP {
            return None;
        }
        match color_end(bytes, at) {
            Some(end) => at = end,
            None if is_blank(*bytes.get(at)?) => at += 1,
            None if bytes[at..].starts_with(b"\\t") => at += 2,
            None => break,
        }
    }
    at += before_value(&bytes[at..]);
    // Prefixes that code puts before a string: r"…", b"…", f"…".
    if matches!(bytes.get(at)?, b'r' | b'b' | b'f' | b'u' | b'N' | b'@')
        && bytes.get(at + 1).copied().is_some_and(is_quote)
    {
        at += 1;
    }
    let slashes = run_up_to(bytes, at, 16, |byte| byte == b'\\');
    match bytes.get(at + slashes) {
        Some(&quote) if is_quote(quote) => {
            // `"""…"""`
            let one = &bytes[at..at + slashes + 1];
            let rest = &bytes[at + one.len()..];
            let triple = rest.strip_prefix(one).is_some_and(|rest| rest.starts_with(one));
            let start = at + one.len() * if triple { 3 } else { 1 };
            // A color inside the quotes.
            let start = color_end(bytes, start).unwrap_or(start);
            if let Some(end) = closing(bytes, start, quote, slashes) {
                return Some(ValueAt { span: start..end, quoted: true });
            }
            at = start;
        }
        _ if bytes[at..].starts_with(b"%22") => at += 3,
        // ODBC puts values with special characters in braces.
        Some(b'{') if slashes == 0 => {
            let part =
                |from| run_up_to(bytes, from, MAX_JUDGED_BYTES, |byte| !matches!(byte, b'}' | b'{' | b'\n'));
            let mut end = part(at + 1);
            // A brace in it is doubled.
            if bytes[at + 1 + end..].starts_with(b"}}") {
                end += 2 + part(at + 3 + end);
            }
            let closed = bytes.get(at + 1 + end) == Some(&b'}');
            let odd = bytes[at + 1..at + 1 + end]
                .iter()
                .any(|byte| matches!(byte, b';' | b'=' | b'!' | b'@' | b'#'));
            // An object of JSON has quotes around its names.
            let object = bytes[at + 1..at + 1 + end].trim_ascii_start();
            let object = matches!(object, [b'"' | b'\\', ..]);
            return (closed && odd && !object && end >= 6)
                .then_some(ValueAt { span: at + 1..at + 1 + end, quoted: true });
        }
        _ if slashes > 0 => return None,
        _ => {}
    }
    let end = plain_end(bytes, at, bytes.len().min(at + MAX_JUDGED_BYTES));
    Some(ValueAt { span: at..end, quoted: false })
}

/// What may precede a value that is a list's only one, has its type in YAML or is cast: `["…"]`, `[Bearer …]`, `!!str …`,
/// `(const uint8_t *)"…"`.
fn before_value(rest: &[u8]) -> usize {
    match rest {
        [b'(', inner @ ..] => {
            let letter = |byte: u8| is_name_byte(byte) || matches!(byte, b' ' | b'*' | b':');
            let cast = run_up_to(inner, 0, 40, letter);
            let closed = cast > 0 && inner.get(cast) == Some(&b')');
            let blanks = run_up_to(inner, cast + 1, 4, is_blank);
            let slashes = run_up_to(inner, cast + 1 + blanks, 16, |byte| byte == b'\\');
            let quoted = inner.get(cast + 1 + blanks + slashes).copied().is_some_and(is_quote);
            if closed && quoted { cast + 2 + blanks } else { 0 }
        }
        [b'[', inner @ ..] => {
            let blanks = run_up_to(inner, 0, 4, is_blank);
            let slashes = run_up_to(inner, blanks, 16, |byte| byte == b'\\');
            let quoted = inner.get(blanks + slashes).copied().is_some_and(is_quote);
            let scheme = ["bearer ", "basic "].iter().any(|scheme| starts_with_ignore_case(inner, scheme));
            if quoted || scheme { 1 + blanks } else { 0 }
        }
        [b'!', b'!', tag @ ..] => {
            let word = run_up_to(tag, 0, 8, |byte| byte.is_ascii_lowercase());
            if tag.get(word) == Some(&b' ') { word + 3 } else { 0 }
        }
        _ => 0,
    }
}

/// Where the quote opened before `start` is closed, written with the same number of backslashes.
fn closing(bytes: &[u8], start: usize, quote: u8, slashes: usize) -> Option<usize> {
    let limit = &bytes[..bytes.len().min(start + LONGEST_QUOTED)];
    let mut at = start;
    loop {
        let found = at + memchr::memchr2(quote, b'\n', limit.get(at..)?)?;
        if limit[found] == b'\n' {
            return None;
        }
        let before = limit[start..found].iter().rev().take_while(|byte| **byte == b'\\').count();
        // Without escapes around it, an even number of backslashes is part of the text.
        if before == slashes || (slashes == 0 && before % 2 == 0) {
            let end = if slashes == 0 { found } else { found - before };
            return (!has_line_feed(&limit[start..end], slashes)).then_some(end);
        }
        at = found + 1;
    }
}

/// A password that code or a sentence would not be: `Yukon(Gold)88`, `Plum;Jam;4`, or `Tin Whistle 20`. `value`, if it is
/// not like that.
pub fn unusual(bytes: &[u8], name: &NameAt, value: ValueAt) -> ValueAt {
    let start = value.span.start;
    match words_and_number(bytes, start).or_else(|| signs(bytes, name, &value)) {
        Some(end) => ValueAt { span: start..end, quoted: true },
        None => value,
    }
}

/// `Tin Whistle 20`, and nothing else on its line: where it ends.
pub fn words_and_number(bytes: &[u8], start: usize) -> Option<usize> {
    let (mut at, mut words) = (start, 0);
    while bytes.get(at).is_some_and(u8::is_ascii_uppercase) {
        let word = run_up_to(bytes, at, 16, |byte| byte.is_ascii_alphabetic());
        let small = bytes[at + 1..at + word].iter().all(u8::is_ascii_lowercase);
        if word < 3 || !small || bytes.get(at + word) != Some(&b' ') {
            return None;
        }
        (at, words) = (at + word + 1, words + 1);
    }
    let end = at + run_up_to(bytes, at, 5, |byte| byte.is_ascii_digit());
    let slashes = run_up_to(bytes, end, 4, |byte| byte == b'\\');
    let ended = matches!(bytes.get(end + slashes), None | Some(b'"' | b'\'')) || next_line(bytes, end) > end;
    (words >= 2 && (1..=4).contains(&(end - at)) && ended).then_some(end)
}

/// `Yukon(Gold)88`, after a name that begins its line or a blank: where it ends.
fn signs(bytes: &[u8], name: &NameAt, value: &ValueAt) -> Option<usize> {
    let start = value.span.start;
    let length = run_up_to(bytes, start, 40, |byte| {
        byte.is_ascii_alphanumeric()
            || matches!(
                byte,
                b'(' | b')' | b'[' | b']' | b';' | b'&' | b'#' | b'!' | b'?' | b'*' | b'_' | b'-'
            )
    });
    let text = &bytes[start..start + length];
    let has = |class: fn(&u8) -> bool| text.iter().any(class);
    let next = bytes.get(start + length);
    let ended = next.is_none_or(|next| matches!(next, b' ' | b'"'))
        || next_line(bytes, start + length) > start + length;
    // A call, an index or a statement ends with its sign.
    let closed =
        text.windows(2).all(|pair| !matches!(pair[0], b')' | b']' | b';') || pair[1].is_ascii_alphanumeric());
    let fits = (8..40).contains(&length)
        && ended
        && closed
        && length > value.span.len()
        && text[0].is_ascii_alphanumeric()
        && !matches!(text[length - 1], b'(' | b')' | b'[' | b']' | b';' | b'&')
        && has(u8::is_ascii_uppercase)
        && has(u8::is_ascii_lowercase)
        && has(u8::is_ascii_digit);
    let apart =
        || owns_line(bytes, name.span.start) || bytes.get(name.span.end).copied().is_some_and(is_blank);
    (fits && apart()).then_some(start + length)
}

/// Whether it has a line feed, as JSON writes it where a quote has so many backslashes before it.
fn has_line_feed(text: &[u8], slashes: usize) -> bool {
    slashes > 0
        && memchr::memmem::find_iter(text, b"\\n").any(|at| {
            let before = text[..at].iter().rev().take_while(|byte| **byte == b'\\').count();
            before + 1 == slashes.div_ceil(2)
        })
}

/// The end of a value without quotes.
pub fn plain_end(bytes: &[u8], from: usize, limit: usize) -> usize {
    let mut at = from;
    while at < limit {
        match bytes[at] {
            0..=b' '
            | 0x7f
            | b'"'
            | b'\''
            | b'`'
            | b','
            | b';'
            | b'\\'
            | b'<'
            | b'>'
            | b'|'
            | b'('
            | b')'
            | b'{'
            | b'}'
            | b'['
            | b']' => break,
            b'&' if ends_at_ampersand(&bytes[at + 1..]) => break,
            b'%' if matches!(
                bytes.get(at + 1..at + 3),
                Some(b"26" | b"22" | b"27" | b"20" | b"3B" | b"2C")
            ) =>
            {
                break;
            }
            _ => at += 1,
        }
    }
    at
}

/// `&next=`, `&&`, `& `: another parameter or another command.
fn ends_at_ampersand(rest: &[u8]) -> bool {
    let name = run_up_to(rest, 0, 40, |byte| is_name_byte(byte) || byte == b'.');
    matches!(rest.get(name), None | Some(b'=' | b'&' | b' ' | b'"')) || rest.starts_with(b"amp;")
}

/// The full span of a value that was judged by its beginning.
pub fn whole(bytes: &[u8], value: &ValueAt, name: usize) -> Range<usize> {
    if value.quoted {
        return value.span.clone();
    }
    let mut end = plain_end(bytes, value.span.start, bytes.len());
    // On its own line, the value goes up to the end of the line, whatever characters it has.
    if end > value.span.start && owns_line(bytes, name) {
        let more = run(bytes, end, |byte| {
            byte > b' ' && byte != 0x7f && !is_quote(byte) && !matches!(byte, b'\\' | b';')
        });
        let trimmed = bytes[end..end + more].iter().rev().take_while(|byte| **byte == b',').count();
        end += more - trimmed;
    }
    value.span.start..end
}
