//! A name and its value, in any notation: `NAME=value`, `"name": "value"`, `--name value`, `<name>value</name>`,
//! `"name", "value"`, `name%3Dvalue`, with colors, escapes and blanks in between.

mod around;
mod headers;
pub mod reading;

pub use crate::mask::assign::around::two_words;
use crate::mask::assign::around::{declared, generated, of_user, parent, sibling, spoken, typed};
pub use crate::mask::assign::headers::{authorization, cookie};
pub use crate::mask::assign::reading::{
    NameAt, ValueAt, array, name_before, prompted, value_from, words_and_number,
};
use crate::mask::assign::reading::{highlighted, plain_end, whole};
use crate::mask::bytes::{is_blank, is_name_byte, line_end, next_line, run_up_to, starts_with_ignore_case};
use crate::mask::judge::{Style, is_chosen, is_path, is_random, is_secret, is_wordy, stands_for_a_value};
use crate::mask::names::{Kind, kind_of};
use crate::mask::shapes::Alphabet;
use crate::mask::{Secret, tell};
use std::ops::Range;

/// How much of a value is examined; the rest is masked with it.
const MAX_JUDGED_BYTES: usize = 96;
/// A quoted value ends within this many bytes, or is treated as unquoted.
const LONGEST_QUOTED: usize = 4096;
/// Blanks, quotes, escapes between a name and its value.
const WIDEST_GAP: usize = 48;
const LONGEST_NAME: usize = 80;
const LONGEST_ARGUMENT: usize = 200;

/// What may precede the name of a setting on its line.
const OWNERS: &[&[u8]] = &[
    b"",
    b":",
    b"-",
    b"*",
    b">",
    b"export",
    b"declare -x",
    b"ENV",
    b"ARG",
    b"set",
    b"set -x",
    b"set -gx",
    b"set -Ux",
    b"setenv",
    b"local",
    b"readonly",
];

/// Whether the name begins its line, apart from `export` and a list's dash.
pub fn owns_line(bytes: &[u8], name: usize) -> bool {
    let from = name.saturating_sub(24);
    let before = &bytes[from..name];
    let line = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let escaped = memchr::memmem::rfind(&before[line..], b"\\n").map_or(0, |at| at + 2);
    let whole = line + escaped > 0 || from == 0;
    let lead = before[line + escaped..].trim_ascii();
    // The beginning of a text in JSON.
    let begins = memchr::memmem::rfind(lead, b"\":\"").map(|at| at + 3);
    let (whole, lead) = (whole || begins.is_some(), &lead[begins.unwrap_or(0)..]);
    whole && OWNERS.contains(&lead)
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
            || (bytes[..span.start].ends_with(b"]") && prompted(bytes, span.start) == span.start))
    {
        return None;
    }
    let in_color = || kind_of(&highlighted(bytes, name.span.end)?);
    let kind = match kind_of(text).or_else(in_color) {
        Some(kind) => kind,
        None if text.eq_ignore_ascii_case(b"value") => {
            sibling(bytes, name.span.start, &["name", "key", "variable"])
                .or_else(|| parent(bytes, name.span.start))
                .or_else(|| spoken(bytes, name.span.start))
                .or_else(|| declared(bytes, name.span.start))?
        }
        None if text == b"result" && name.quoted => generated(bytes, span.end)?,
        // The private keys of wallets.
        None if text == b"accounts" => {
            let value = value_from(bytes, span.end).filter(|value| value.quoted)?;
            let key = bytes[value.span.clone()].strip_prefix(b"0x").unwrap_or_default();
            (key.len() == 64 && key.iter().all(u8::is_ascii_hexdigit)).then_some(Kind::Secret)?
        }
        None if text.eq_ignore_ascii_case(b"default") => sibling(bytes, name.span.start, &["variable"])?,
        None if text.eq_ignore_ascii_case(b"key") => {
            let spoken = two_words(bytes, name.span.start).or_else(|| of_user(bytes, name.span.start));
            let of_object = || parent(bytes, name.span.start).map(|_| Kind::Secret);
            let setting = separator == b'=' && owns_line(bytes, name.span.start);
            // A hash is the key of many a cache.
            let crypt =
                memchr::memmem::find(&bytes[name.span.start.saturating_sub(24)..name.span.start], b"crypt");
            let odd = |value: &ValueAt| {
                crypt.is_some() || !bytes[value.span.clone()].iter().all(u8::is_ascii_hexdigit)
            };
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
        _ if bare_pass && text != b"PASS" && tell::of_user(bytes, name.span.start) => Style::Told,
        _ if bare_pass && text != b"PASS" && tell::below_user(bytes, name.span.start) => Style::Line,
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
            let chosen = kind == Kind::Secret && (is_of_session(bytes, name) || is_of_user(bytes, name));
            let kind = if chosen { Kind::Password } else { kind };
            let machine = matches!(kind, Kind::Secret | Kind::Key);
            let listed = || machine.then(|| listed_value(bytes, from)).flatten();
            let mut value = value_from(bytes, from).or_else(|| block(bytes, from)).or_else(listed)?;
            if !value.quoted && bytes[value.span.start..].starts_with(b"base64:") {
                value.span.start += 7;
            }
            if matches!(bytes.get(value.span.start), Some(b'|' | b'>')) && value.span.is_empty() {
                value = block(bytes, from)?;
            }
            if value.span.is_empty() && !value.quoted {
                value = listed()?;
            }
            let schemed = value.quoted
                && ["basic ", "bearer ", "token "]
                    .iter()
                    .any(|scheme| starts_with_ignore_case(&bytes[value.span.start..], scheme));
            if kind == Kind::Secret && schemed {
                return authorization(bytes, from).map(Found::Secret);
            }
            if !value.quoted && kind == Kind::Password && matches!(style, Style::Line | Style::Env) {
                value = reading::unusual(bytes, name, value);
            }
            let judged = value.judged(bytes);
            // A mask right after it was part of the value: what is left of the value was judged with it.
            let cut = bytes[value.span.end..].starts_with(b"[masked:");
            let chosen = || {
                kind == Kind::Secret && style == Style::Env && is_of_app(bytes, name) && is_chosen(&judged)
            };
            let likely = !cut && (is_secret(kind, style, &judged) || chosen());
            likely.then(|| Secret::new("secret", whole(bytes, &value, name.span.start)))?.map(Found::Secret)
        }
    }
}

/// `session({ secret: 'keyboard cat' })`: people make these up.
fn is_of_session(bytes: &[u8], name: &NameAt) -> bool {
    const CALLS: &[&[u8]] = &[b"session(", b"Session(", b"jwt(", b"cookieParser("];
    let lead = &bytes[name.span.start.saturating_sub(LONGEST_NAME)..name.span.start];
    let call = memchr::memrchr(b'(', lead).map(|open| &lead[..=open]);
    bytes[name.span.clone()].eq_ignore_ascii_case(b"secret")
        && call.is_some_and(|call| CALLS.iter().any(|known| call.ends_with(known)))
}

/// `"Username": "me", "Secret": …`: what Docker's helpers for credentials read and print.
fn is_of_user(bytes: &[u8], name: &NameAt) -> bool {
    name.quoted
        && bytes[name.span.clone()].eq_ignore_ascii_case(b"secret")
        && of_user(bytes, name.span.start).is_some()
}

/// `JWT_SECRET=…`: what an application signs with, which its developer had to think of.
fn is_of_app(bytes: &[u8], name: &NameAt) -> bool {
    const SECRETS: &[&str] = &[
        "JWT_SECRET",
        "SESSION_SECRET",
        "COOKIE_SECRET",
        "AUTH_SECRET",
        "APP_SECRET",
        "SECRET_KEY",
        "SECRET_KEY_BASE",
        "ENCRYPTION_KEY",
        "SIGNING_KEY",
        "TOKEN_SECRET",
        "CSRF_SECRET",
    ];
    SECRETS.iter().any(|end| bytes[name.span.clone()].ends_with(end.as_bytes()))
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

/// The first one of YAML's list whose name ends before `from`: `Authorization:`, and `- Basic …` on the line below.
fn first_of_list(bytes: &[u8], from: usize) -> Option<usize> {
    let end = from + run_up_to(bytes, from, 4, is_blank);
    let line = next_line(bytes, end);
    let dash = line + run_up_to(bytes, line, WIDEST_GAP, |byte| byte == b' ');
    (line > end && bytes[dash.min(bytes.len())..].starts_with(b"- ")).then_some(dash + 2)
}

/// The value of a header such as `X-Api-Key` in such a list: random, and alone on its line.
fn listed_value(bytes: &[u8], from: usize) -> Option<ValueAt> {
    let value = value_from(bytes, first_of_list(bytes, from)?)?;
    let text = &bytes[value.span.clone()];
    let slashes = run_up_to(bytes, value.span.end, 16, |byte| byte == b'\\');
    let end = value.span.end + if value.quoted { slashes + 1 } else { 0 };
    let alone = end >= bytes.len() || next_line(bytes, end) > end || bytes[end] == b'"';
    (alone && text.len() >= 16 && is_random(text)).then_some(value)
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
    let mut at = next_line(bytes, from);
    for _ in 1..number {
        at = next_line(bytes, at);
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
    // On a line of its own.
    let blanks = |at: usize| at + run_up_to(bytes, at, WIDEST_GAP, is_blank);
    at = blanks(next_line(bytes, blanks(at)));
    // `[]byte("…")`, `Encoding.UTF8.GetBytes("…")`
    let wrapper =
        run_up_to(bytes, at, 32, |byte| is_name_byte(byte) || matches!(byte, b'.' | b'[' | b']' | b':'));
    at += if bytes.get(at + wrapper) == Some(&b'(') { wrapper + 1 } else { 0 };
    let value = value_from(bytes, at).filter(|value| value.quoted)?;
    // The only argument may be anything, such as an address.
    let only = number == 1;
    let kind = if only { Kind::Secret } else { Kind::Password };
    let judged = value.judged(bytes);
    let likely = !(only && judged.bytes.contains(&b'@')) && is_secret(kind, style, &judged);
    if likely { Secret::new("password", value.span) } else { None }
}
