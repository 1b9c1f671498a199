//! A name and its value, in any notation: `NAME=value`, `"name": "value"`, `--name value`, `<name>value</name>`,
//! `"name", "value"`, `name%3Dvalue`, with colors, escapes and blanks in between.

use crate::mask::Secret;
use crate::mask::bytes::{
    color_end, color_start, is_blank, is_name_byte, is_quote, line_end, next_line, run, run_up_to,
    starts_with_ignore_case, word_start,
};
use crate::mask::judge::{
    Judged, Style, is_path, is_random, is_resource, is_secret, is_wordy, stands_for_a_value,
};
use crate::mask::names::{Kind, kind_of};
use crate::mask::shapes::{Alphabet, SCHEMES};
use std::ops::Range;

/// How much of a value is examined; the rest is masked with it.
const MAX_JUDGED_BYTES: usize = 96;
/// A quoted value ends within this many bytes, or is treated as unquoted.
const LONGEST_QUOTED: usize = 4096;
/// Blanks, quotes, escapes between a name and its value.
const WIDEST_GAP: usize = 48;
const LONGEST_NAME: usize = 80;
const LONGEST_ARGUMENT: usize = 200;

/// A name and its position in the text.
pub struct NameAt {
    pub span: Range<usize>,
    pub quoted: bool,
    /// There are blanks between it and what follows.
    pub spaced: bool,
}

/// The name that ends before `end`, ignoring quotes and colors.
pub fn name_before(bytes: &[u8], end: usize) -> Option<NameAt> {
    let (mut at, mut quoted, mut spaced) = (end, false, false);
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
    let length = bytes[from..at].iter().rev().take_while(|byte| is_name_byte(**byte)).count();
    if length == 0 || length == LONGEST_NAME {
        return None;
    }
    let start = word_start(bytes, at - length, at);
    Some(NameAt { span: start..at, quoted, spaced })
}

/// A value and its position in the text.
pub struct ValueAt {
    pub span: Range<usize>,
    pub quoted: bool,
}

impl ValueAt {
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
            let triple = slashes == 0 && bytes[at + 1..].starts_with(&[quote, quote]);
            let start = at + slashes + if triple { 3 } else { 1 };
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
            let end = run_up_to(bytes, at + 1, MAX_JUDGED_BYTES, |byte| !matches!(byte, b'}' | b'{' | b'\n'));
            let closed = bytes.get(at + 1 + end) == Some(&b'}');
            let odd = bytes[at + 1..at + 1 + end]
                .iter()
                .any(|byte| matches!(byte, b';' | b'=' | b'!' | b'@' | b'#'));
            // An object of JSON has quotes around its names.
            let object = bytes[at + 1..at + 1 + end].trim_ascii_start().starts_with(b"\"");
            return (closed && odd && !object && end >= 6)
                .then_some(ValueAt { span: at + 1..at + 1 + end, quoted: true });
        }
        _ if slashes > 0 => return None,
        _ => {}
    }
    let end = plain_end(bytes, at, bytes.len().min(at + MAX_JUDGED_BYTES));
    Some(ValueAt { span: at..end, quoted: false })
}

/// What may precede a value that is a list's only one or has its type in YAML: `["…"]`, `[Bearer …]`, `!!str …`.
fn before_value(rest: &[u8]) -> usize {
    match rest {
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
            return Some(if slashes == 0 { found } else { found - before });
        }
        at = found + 1;
    }
}

/// The end of a value without quotes.
fn plain_end(bytes: &[u8], from: usize, limit: usize) -> usize {
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
fn whole(bytes: &[u8], value: &ValueAt, name: usize) -> Range<usize> {
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

/// Whether the name begins its line, apart from `export` and a list's dash.
pub fn owns_line(bytes: &[u8], name: usize) -> bool {
    let from = name.saturating_sub(24);
    let before = &bytes[from..name];
    let line = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let escaped = memchr::memmem::rfind(&before[line..], b"\\n").map_or(0, |at| at + 2);
    let whole = line + escaped > 0 || from == 0;
    let lead = before[line + escaped..].trim_ascii();
    whole && matches!(lead, b"" | b"-" | b"export" | b"declare -x" | b"ENV")
}

/// The secret after the separator `span`, if the name before it announces one.
pub fn assigned(bytes: &[u8], span: Range<usize>) -> Option<Found> {
    let name = name_before(bytes, span.start)?;
    let separator = bytes[span.start];
    let text = &bytes[name.span.clone()];
    // `${PASSWORD:?must be set}`, the name of a secret in Amazon's notation, `input[type="password"]:focus`.
    if separator == b':'
        && (bytes.get(span.end) == Some(&b'?')
            || is_resource_name(bytes, name.span.start)
            || bytes[..span.start].ends_with(b"]"))
    {
        return None;
    }
    let kind = match kind_of(text) {
        Some(kind) => kind,
        None if text.eq_ignore_ascii_case(b"value") => {
            sibling(bytes, name.span.start, &["name", "key", "variable"])
                .or_else(|| parent(bytes, name.span.start))
                .or_else(|| spoken(bytes, name.span.start))
                .or_else(|| declared(bytes, name.span.start))?
        }
        None if text == b"result" && name.quoted => generated(bytes, span.end)?,
        None if text.eq_ignore_ascii_case(b"default") => sibling(bytes, name.span.start, &["variable"])?,
        None if text.eq_ignore_ascii_case(b"key") => {
            let spoken = two_words(bytes, name.span.start).or_else(|| of_user(bytes, name.span.start));
            let of_object = || parent(bytes, name.span.start).map(|_| Kind::Secret);
            let setting = separator == b'=' && owns_line(bytes, name.span.start);
            // A hash is the key of many a cache.
            let odd = |value: &ValueAt| !bytes[value.span.clone()].iter().all(u8::is_ascii_hexdigit);
            let value = || value_from(bytes, span.end).filter(odd);
            let likely = || separator != b',' && value().is_some_and(|value| setting || value.quoted);
            spoken.or_else(of_object).or_else(|| likely().then_some(Kind::QuietKey))?
        }
        // `Unseal Key 1: …`
        None if text.len() <= 2 && text.iter().all(u8::is_ascii_digit) => {
            let words = name_before(bytes, name.span.start)?;
            let key = bytes[words.span.clone()].eq_ignore_ascii_case(b"key");
            key.then(|| two_words(bytes, words.span.start)).flatten()?
        }
        None if separator == b'=' => typed(bytes, name.span.start)?,
        None => return None,
    };
    // The result of a test, unless the value itself says otherwise.
    let bare_pass = text.eq_ignore_ascii_case(b"pass")
        && separator == b':'
        && !name.quoted
        && bytes.get(span.end).copied().is_none_or(is_blank);
    let style = match separator {
        b',' => Style::Beside,
        _ if bare_pass => Style::Beside,
        b'=' if !name.spaced && !bytes.get(span.end).copied().is_some_and(is_blank) => Style::Env,
        b'%' => Style::Env,
        b'>' => Style::Data,
        _ if name.quoted => Style::Data,
        _ => Style::Line,
    };
    if let Some(secret) = (kind == Kind::Secret).then(|| pair(bytes, span.end)).flatten() {
        return Some(Found::Secret(secret));
    }
    found(bytes, kind, style, &name, span.end)
}

/// `Your new password:` and, alone on the line below, the secret; the `:` is at `at`.
pub fn below(bytes: &[u8], at: usize) -> Option<Secret> {
    const TELLING: &[&str] = &["password", "passphrase", "token", "secret", "api key", "access key"];
    let line = next_line(bytes, at + 1);
    let start = line + run_up_to(bytes, line, 16, is_blank);
    let length = run_up_to(bytes, start, LONGEST_QUOTED, |byte| Alphabet::Encoded.has(byte) || byte == b'.');
    let value = &bytes[start..start + length.min(MAX_JUDGED_BYTES)];
    let alone = matches!(bytes.get(start + length), None | Some(b'\n' | b'\r' | b'"'))
        || next_line(bytes, start + length) > start + length;
    if line == at + 1 || !alone || length < 12 || !is_random(value) || is_wordy(value) || is_path(value) {
        return None;
    }
    let from = at.saturating_sub(160);
    let lead = &bytes[from..at];
    let begins = lead.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let says = |word: &&str| {
        lead[begins..].windows(word.len()).any(|window| window.eq_ignore_ascii_case(word.as_bytes()))
    };
    let likely = TELLING.iter().any(says) && !stands_for_a_value(value);
    if likely { Secret::new("secret", start..start + length) } else { None }
}

/// The result for a name and the position of its value.
pub enum Found {
    Secret(Secret),
    /// A list of cookies, each with its own name.
    Cookies(Range<usize>),
}

pub fn found(bytes: &[u8], kind: Kind, style: Style, name: &NameAt, from: usize) -> Option<Found> {
    match kind {
        Kind::Authorization => authorization(bytes, from).map(Found::Secret),
        Kind::Cookie => {
            let value = value_from(bytes, from)?;
            let start = value.span.start;
            if value.quoted {
                return Some(Found::Cookies(value.span));
            }
            let line = line_end(bytes, start, LONGEST_QUOTED);
            let end = memchr::memchr2(b'"', b'\'', &bytes[start..line]).map_or(line, |quote| start + quote);
            Some(Found::Cookies(start..end))
        }
        Kind::Password | Kind::Secret | Kind::Key | Kind::QuietKey | Kind::Seed => {
            let mut value = value_from(bytes, from).or_else(|| block(bytes, from))?;
            if !value.quoted && bytes[value.span.start..].starts_with(b"base64:") {
                value.span.start += 7;
            }
            if matches!(bytes.get(value.span.start), Some(b'|' | b'>')) && value.span.is_empty() {
                value = block(bytes, from)?;
            }
            let judged = value.judged(bytes);
            // A mask right after it was part of the value: what is left of the value was judged with it.
            let cut = bytes[value.span.end..].starts_with(b"[masked:");
            let likely = !cut && is_secret(kind, style, &judged);
            likely.then(|| Secret::new("secret", whole(bytes, &value, name.span.start)))?.map(Found::Secret)
        }
    }
}

/// YAML's `name: |` and the line below it.
fn block(bytes: &[u8], from: usize) -> Option<ValueAt> {
    let mut at = from + run_up_to(bytes, from, 4, is_blank);
    if !matches!(bytes.get(at), Some(b'|' | b'>')) {
        return None;
    }
    at += 1;
    at += run_up_to(bytes, at, 2, |byte| matches!(byte, b'-' | b'+'));
    let line = next_line(bytes, at);
    let start = line + run_up_to(bytes, line, WIDEST_GAP, is_blank);
    (line > at && start > line).then(|| ValueAt {
        span: start..plain_end(bytes, start, bytes.len().min(start + MAX_JUDGED_BYTES)),
        quoted: false,
    })
}

fn is_resource_name(bytes: &[u8], at: usize) -> bool {
    let back =
        bytes[..at].iter().rev().take(LONGEST_NAME).take_while(|byte| is_name_byte(**byte) || **byte == b':');
    bytes[at - back.count()..at].starts_with(b"arn:")
}

/// `auth=("user", "…")`, also with the name of a function before it: the second string.
fn pair(bytes: &[u8], from: usize) -> Option<Secret> {
    let start = from + run_up_to(bytes, from, 4, is_blank);
    let open = start + run_up_to(bytes, start, 40, |byte| is_name_byte(byte) || byte == b'.');
    if bytes.get(open) != Some(&b'(') {
        return None;
    }
    value_from(bytes, open + 1).filter(|user| user.quoted)?;
    argument(bytes, open + 1, 2, Style::Data)
}

/// The argument with this number, if it is a string and a password. The first ones begin at `from`.
pub fn argument(bytes: &[u8], from: usize, number: usize, style: Style) -> Option<Secret> {
    let mut at = from;
    for _ in 1..number {
        let mut depth = 0;
        let length = run_up_to(bytes, at, LONGEST_ARGUMENT, |byte| {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => depth -= 1,
                _ => {}
            }
            depth > 0 || (depth == 0 && !matches!(byte, b',' | b'\n'))
        });
        at += length + 1;
        if bytes.get(at - 1) != Some(&b',') {
            return None;
        }
    }
    let value = value_from(bytes, at).filter(|value| value.quoted)?;
    let likely = is_secret(Kind::Password, style, &value.judged(bytes));
    if likely { Secret::new("password", value.span) } else { None }
}

/// `"db_password": {"sensitive": true, "value": …`, with `at` at `value`: what the name of the object says.
fn parent(bytes: &[u8], at: usize) -> Option<Kind> {
    let from = at.saturating_sub(2 * LONGEST_NAME);
    let open =
        from + memchr::memrchr2(b'{', b'}', &bytes[from..at]).filter(|found| bytes[from + found] == b'{')?;
    let blanks = bytes[..open].iter().rev().take(4).take_while(|byte| is_blank(**byte)).count();
    let separator = (open - blanks).checked_sub(1).filter(|before| matches!(bytes[*before], b':' | b'='))?;
    let name = name_before(bytes, separator)?;
    kind_of(&bytes[name.span]).filter(|kind| !matches!(kind, Kind::Authorization | Kind::Cookie))
}

/// `"Type": "SecureString", "Value": …`, with `at` at the last name: a parameter of AWS.
fn declared(bytes: &[u8], at: usize) -> Option<Kind> {
    let lead = &bytes[at.saturating_sub(LONGEST_NAME)..at];
    memchr::memmem::find(lead, b"SecureString").is_some().then_some(Kind::Secret)
}

/// `"username": "me", "key": …`, with `at` at the last name.
fn of_user(bytes: &[u8], at: usize) -> Option<Kind> {
    let lead = &bytes[at.saturating_sub(LONGEST_NAME)..at];
    memchr::memmem::find(lead, b"\"username").is_some().then_some(Kind::Key)
}

/// A `result` of Terraform's `random_password`, which begins at or after `from`: the next fields say how it was made.
fn generated(bytes: &[u8], from: usize) -> Option<Kind> {
    let value = value_from(bytes, from).filter(|value| value.quoted)?;
    let rest = &bytes[value.span.end..bytes.len().min(value.span.end + 64)];
    memchr::memmem::find(rest, b"\"special").is_some().then_some(Kind::Password)
}

/// `Secret value: …`, with `at` at the second word: what the first says.
fn spoken(bytes: &[u8], at: usize) -> Option<Kind> {
    let name = name_before(bytes, at).filter(|name| name.span.end + 1 == at && name.spaced)?;
    kind_of(&bytes[name.span]).filter(|kind| !matches!(kind, Kind::Authorization | Kind::Cookie))
}

/// Whether the two words before `at` are like `API key` or `master.key`; `at` is at the second word.
pub fn two_words(bytes: &[u8], at: usize) -> Option<Kind> {
    const FIRST: &[&str] = &[
        "api",
        "access",
        "secret",
        "private",
        "signing",
        "encryption",
        "account",
        "master",
        "license",
        "recovery",
        "unseal",
    ];
    let before = bytes[..at].strip_suffix(b" ").or_else(|| bytes[..at].strip_suffix(b"."))?;
    let first =
        before.len() - before.iter().rev().take(16).take_while(|byte| byte.is_ascii_alphabetic()).count();
    let first = word_start(before, first, before.len());
    FIRST.iter().any(|word| before[first..].eq_ignore_ascii_case(word.as_bytes())).then_some(Kind::Secret)
}

/// `name: DB_PASSWORD` followed by `value:` at `at`: what the neighboring name says.
fn sibling(bytes: &[u8], at: usize, labels: &[&str]) -> Option<Kind> {
    let gap = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b'\\' | b',' | b'{');
    let back = |mut end: usize, accept: &dyn Fn(&u8) -> bool| loop {
        let length =
            bytes[end.saturating_sub(LONGEST_NAME)..end].iter().rev().take_while(|byte| accept(byte));
        end -= length.count();
        // Colors do not count.
        match color_start(bytes, end) {
            Some(start) => end = start,
            None => break end,
        }
    };
    let mut end = back(at, &gap);
    // `\n` as JSON writes it.
    if end > 1 && bytes[end - 1] == b'n' && bytes.get(end) != Some(&b'n') && bytes[end - 2] == b'\\' {
        end = back(end - 1, &gap);
    }
    let start = back(end, &|byte| is_name_byte(*byte));
    let kind = kind_of(&bytes[start..end])?;
    let label_end = back(start, &|byte| gap(byte) || matches!(byte, b':' | b'='));
    let label_start = back(label_end, &|byte| is_name_byte(*byte));
    let label = &bytes[label_start..label_end];
    let known = labels.iter().any(|known| label.eq_ignore_ascii_case(known.as_bytes()));
    (known && label_end < start && !matches!(kind, Kind::Authorization | Kind::Cookie)).then_some(kind)
}

/// `password: str = `, with `at` at the type: what the name before it says.
fn typed(bytes: &[u8], at: usize) -> Option<Kind> {
    let from = at.saturating_sub(24);
    let colon = from + bytes[from..at].iter().rposition(|byte| *byte == b':')?;
    let between = &bytes[colon + 1..at];
    let is_type = between
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'&' | b'\'' | b'<' | b'_' | b'|'));
    let name = name_before(bytes, colon)?;
    (is_type && !name.quoted)
        .then(|| kind_of(&bytes[name.span]))?
        .filter(|kind| *kind == Kind::Password || *kind == Kind::Secret)
}

/// The secret of an `Authorization` whose value begins at or after `from`.
pub fn authorization(bytes: &[u8], from: usize) -> Option<Secret> {
    let value = value_from(bytes, from)?;
    let start = value.span.start;
    let scheme = SCHEMES.iter().find_map(|scheme| {
        let after = start + scheme.len();
        let encoded = bytes.get(after..after + 3) == Some(b"%20");
        let blanks = if encoded { 3 } else { run_up_to(bytes, after, 8, is_blank) };
        (starts_with_ignore_case(&bytes[start..], scheme) && blanks > 0).then_some((scheme, after + blanks))
    });
    let scheme = scheme.or_else(|| unknown_scheme(bytes, start));
    let at = scheme.map_or(start, |(_, after)| after);
    let at = color_end(bytes, at).unwrap_or(at);
    let limit = if value.quoted { value.span.end } else { bytes.len().min(at + LONGEST_QUOTED) };
    let end = plain_end(bytes, at, limit).max(at);
    let token = &bytes[at..end.min(at + MAX_JUDGED_BYTES)];
    if token.is_empty() || stands_for_a_value(token) {
        return None;
    }
    // With parameters, all of them are masked.
    let parameters = scheme.is_some()
        && bytes[at..end].contains(&b'=')
        && matches!(bytes.get(end), Some(b',' | b'"' | b'\\'));
    if parameters {
        let end = line_end(bytes, at, LONGEST_QUOTED);
        let end = if value.quoted { value.span.end } else { end };
        return Secret::new("authorization", at..end);
    }
    let likely = match scheme {
        Some(_) => token.len() >= 6 && !is_wordy(token),
        None => token.len() >= 8 && !is_wordy(token) && (token.len() >= 16 || is_random(token)),
    };
    if likely {
        Secret::new(
            "authorization",
            at..plain_end(bytes, at, if value.quoted { value.span.end } else { bytes.len() }),
        )
    } else {
        None
    }
}

/// A word before something random is a scheme, too.
fn unknown_scheme(bytes: &[u8], start: usize) -> Option<(&'static &'static str, usize)> {
    let word = run_up_to(bytes, start, 24, |byte| byte.is_ascii_alphabetic() || byte == b'-');
    let after = start + word + run_up_to(bytes, start + word, 2, is_blank);
    let token = &bytes[after..plain_end(bytes, after, bytes.len().min(after + MAX_JUDGED_BYTES))];
    let likely =
        word >= 2 && after > start + word && token.len() >= 16 && is_random(token) && !is_wordy(token);
    likely.then_some((&"", after))
}

/// One cookie, with the `=` at `at`, in a list of them that ends at `end`.
pub fn cookie(bytes: &[u8], at: usize, list: &Range<usize>) -> Option<Secret> {
    const ATTRIBUTES: &[&str] = &["path", "domain", "expires", "max-age", "samesite", "version", "priority"];
    let length = bytes[list.start.min(at)..at]
        .iter()
        .rev()
        .take(LONGEST_NAME)
        .take_while(|byte| !matches!(byte, b';' | b' ' | b'='))
        .count();
    let name = &bytes[at - length..at];
    if ATTRIBUTES.iter().any(|known| name.eq_ignore_ascii_case(known.as_bytes())) {
        return None;
    }
    let limit = &bytes[..list.end];
    let length =
        run(limit, at + 1, |byte| byte > b' ' && !matches!(byte, b';' | b'"' | b'\'' | b'\\' | 0x7f..));
    let value = &bytes[at + 1..at + 1 + length.min(MAX_JUDGED_BYTES)];
    let digits = value.iter().all(u8::is_ascii_digit);
    let words = is_wordy(value) || is_resource(value);
    let likely = value.len() >= 8 && !digits && !words && !stands_for_a_value(value);
    if likely { Secret::new("cookie", at + 1..at + 1 + length) } else { None }
}
