//! Secrets are masked before an event is stored: provider keys, JWTs, private keys, URLs with passwords,
//! `Authorization` values, variables that say they hold one. Pure, one pass, no regular expressions: it reads
//! every byte of every event.

pub mod json;
pub mod paranoid;
mod shapes;

use serde_json::Value;
use shapes::{Alphabet, HEADERS, SCHEMES, SHAPES, Shape, VARIABLE_ENDS};
use std::borrow::Cow;
use std::ops::Range;

/// Masks every text of a JSON value in place, keys included. `true` if something was masked.
pub fn value(value: &mut Value) -> bool {
    match value {
        Value::String(string) => match text(string) {
            Cow::Owned(masked) => {
                *string = masked;
                true
            }
            Cow::Borrowed(_) => false,
        },
        Value::Array(items) => items.iter_mut().fold(false, |any, item| self::value(item) | any),
        Value::Object(map) => {
            let mut any = false;
            if map.keys().any(|key| matches!(text(key), Cow::Owned(_))) {
                any = true;
                *map = std::mem::take(map).into_iter().map(|(key, v)| (text(&key).into_owned(), v)).collect();
            }
            for item in map.values_mut() {
                any |= self::value(item);
            }
            any
        }
        _ => false,
    }
}

/// `text` with each secret replaced by `[masked:what]`.
pub fn text(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let mut copied = 0;
    let mut i = 0;
    while let Some(start) = next_candidate(bytes, i) {
        match secret_at(bytes, start) {
            // A secret starts and ends at ASCII characters, so these are character boundaries.
            Some(Secret { name, span }) if span.start >= copied => {
                out.push_str(&text[copied..span.start]);
                out.push_str("[masked:");
                out.push_str(name);
                out.push(']');
                copied = span.end;
                i = span.end.max(start + 1);
            }
            _ => i = start + 1,
        }
    }
    if copied == 0 && out.is_empty() {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

struct Secret {
    name: &'static str,
    span: Range<usize>,
}

impl Secret {
    fn new(name: &'static str, span: Range<usize>) -> Option<Secret> {
        Some(Secret { name, span })
    }
}

/// Something may begin here, if a word does.
const WORD: u8 = 1;
/// A key's dashes or the slashes of an address, wherever they stand.
const SIGN: u8 = 2;
/// A name ends here, and what follows may be its value.
const NAME_END: u8 = 4;

/// For each pair of bytes, what may be at the first: what lets ordinary text pass at memory speed.
static STARTS: [[u8; 256]; 256] = starts();
/// The same for the first three letters of a word, as one bit for each of their sums. Sums can agree by chance.
static THREES: [u64; SUMS / 64] = threes();
const SUMS: usize = 1 << 13;

const fn sum(a: u8, b: u8, c: u8) -> usize {
    ((a as usize) * 961 + (b as usize) * 31 + c as usize) % SUMS
}

/// Calls `$mark!(first, second, third)` for every way that a secret or a header can begin.
macro_rules! each_start {
    ($mark:ident) => {{
        let mut i = 0;
        while i < SHAPES.len() {
            let prefix = SHAPES[i].prefix.as_bytes();
            $mark!(prefix[0], prefix[1], prefix[2]);
            i += 1;
        }
        let mut i = 0;
        while i < HEADERS.len() {
            let name = HEADERS[i].as_bytes();
            let (a, b, c) = (name[0], name[1], name[2]);
            let (x, y, z) = (a.to_ascii_uppercase(), b.to_ascii_uppercase(), c.to_ascii_uppercase());
            $mark!(a, b, c);
            $mark!(a, b, z);
            $mark!(x, b, c);
            $mark!(x, b, z);
            $mark!(x, y, c);
            $mark!(x, y, z);
            i += 1;
        }
        $mark!(b'e', b'y', b'J'); // a JWT
        $mark!(b'B', b'e', b'a'); // Bearer
        $mark!(b'b', b'e', b'a');
    }};
}

const fn starts() -> [[u8; 256]; 256] {
    let mut table = [[0; 256]; 256];
    macro_rules! mark {
        ($a:expr, $b:expr, $c:expr) => {
            let _ = $c;
            table[$a as usize][$b as usize] |= WORD
        };
    }
    each_start!(mark);
    table[b'-' as usize][b'-' as usize] |= SIGN; // -----BEGIN
    table[b':' as usize][b'/' as usize] |= SIGN; // ://user:password@
    // NAME_TOKEN=value: found from the end of the name, so that no word has to be read twice.
    let values = b"=:\"'";
    let mut i = 0;
    while i < NAME_ENDS.len() {
        let mut j = 0;
        while j < values.len() {
            table[NAME_ENDS[i].1 as usize][values[j] as usize] |= NAME_END;
            table[NAME_ENDS[i].1.to_ascii_lowercase() as usize][values[j] as usize] |= NAME_END;
            j += 1;
        }
        i += 1;
    }
    table
}

const fn threes() -> [u64; SUMS / 64] {
    let mut bits = [0; SUMS / 64];
    macro_rules! mark {
        ($a:expr, $b:expr, $c:expr) => {
            bits[sum($a, $b, $c) / 64] |= 1 << (sum($a, $b, $c) % 64)
        };
    }
    each_start!(mark);
    bits
}

/// The last two letters of each of [`VARIABLE_ENDS`].
const NAME_ENDS: [(u8, u8); 6] =
    [(b'E', b'N'), (b'E', b'T'), (b'R', b'D'), (b'W', b'D'), (b'E', b'Y'), (b'L', b'S')];

fn next_candidate(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let pairs = bytes.get(at..)?.windows(2);
        at += pairs.into_iter().position(|pair| STARTS[pair[0] as usize][pair[1] as usize] != 0)?;
        if may_be(bytes, at) {
            return Some(at);
        }
        at += 1;
    }
}

/// A second, closer look at a pair that [`STARTS`] knows.
#[inline]
fn may_be(bytes: &[u8], at: usize) -> bool {
    let (first, second) = (bytes[at], bytes[at + 1]);
    let what = STARTS[first as usize][second as usize];
    if what & SIGN != 0 {
        return bytes.get(at + 2) == Some(&if first == b'-' { b'-' } else { b'/' });
    }
    if what & NAME_END != 0 && at > 0 {
        let end = (bytes[at - 1].to_ascii_uppercase(), first.to_ascii_uppercase());
        return NAME_ENDS.contains(&end);
    }
    let Some(&third) = bytes.get(at + 2) else { return false };
    let sum = sum(first, second, third);
    what & WORD != 0 && THREES[sum / 64] >> (sum % 64) & 1 == 1 && begins_word(bytes, at)
}

fn begins_word(bytes: &[u8], at: usize) -> bool {
    let inside = at > 0 && (bytes[at - 1].is_ascii_alphanumeric() || bytes[at - 1] == b'_');
    // `\nghp_…` in JSON inside of JSON: the `n` belongs to the escape, not to the word.
    !inside || (at > 1 && bytes[at - 2] == b'\\')
}

fn secret_at(bytes: &[u8], at: usize) -> Option<Secret> {
    match bytes[at] {
        b':' => return url_password(bytes, at),
        b'-' => return private_key(bytes, at),
        _ => {}
    }
    if let Some(secret) = variable(bytes, at) {
        return Some(secret);
    }
    if !begins_word(bytes, at) {
        return None;
    }
    let head = [bytes[at], bytes[at + 1], *bytes.get(at + 2)?];
    let shapes = HEADS.iter().zip(SHAPES).filter(|(known, _)| **known == head).map(|(_, shape)| shape);
    shapes
        .filter(|shape| bytes[at..].starts_with(shape.prefix.as_bytes()))
        .find_map(|shape| prefixed(bytes, at, shape))
        .or_else(|| jwt(bytes, at))
        .or_else(|| header(bytes, at))
        .or_else(|| bearer(bytes, at))
}

/// The first three letters of each of [`SHAPES`], close together: words like `line` come this far often.
static HEADS: [[u8; 3]; SHAPES.len()] = {
    let mut heads = [[0; 3]; SHAPES.len()];
    let mut i = 0;
    while i < SHAPES.len() {
        let prefix = SHAPES[i].prefix.as_bytes();
        heads[i] = [prefix[0], prefix[1], prefix[2]];
        i += 1;
    }
    heads
};

fn prefixed(bytes: &[u8], at: usize, shape: &Shape) -> Option<Secret> {
    let start = at + shape.prefix.len();
    let length = run(bytes, start, |byte| shape.alphabet.has(byte));
    let (least, most) = shape.length;
    let secret = &bytes[start..start + length];
    // Real keys are random: words joined by dashes, or one letter repeated, are examples in a text.
    let random = secret.iter().any(u8::is_ascii_digit) || mixed_case(secret);
    (length >= least && length <= most && random)
        .then(|| Secret { name: shape.name, span: at..start + length })
}

/// Three base64url parts, the first two of which are JSON objects (`eyJ` is `{"`).
fn jwt(bytes: &[u8], at: usize) -> Option<Secret> {
    if !bytes[at..].starts_with(b"eyJ") {
        return None;
    }
    let part = |from: usize| run(bytes, from, |byte| Alphabet::Word.has(byte));
    let first = part(at);
    let second_at = at + first + 1;
    if first < 10 || bytes.get(at + first) != Some(&b'.') || !bytes.get(second_at..)?.starts_with(b"eyJ") {
        return None;
    }
    let second = part(second_at);
    let third_at = second_at + second + 1;
    if second < 10 || bytes.get(second_at + second) != Some(&b'.') {
        return None;
    }
    Secret::new("jwt", at..third_at + part(third_at))
}

/// From `-----BEGIN … PRIVATE KEY-----` to its end line, or to the end of the text if that is missing.
fn private_key(bytes: &[u8], at: usize) -> Option<Secret> {
    let rest = &bytes[at..];
    let label = rest.strip_prefix(b"-----BEGIN ")?;
    let label_end = memchr::memmem::find(&label[..label.len().min(64)], b"-----")?;
    if !contains(&label[..label_end], b"PRIVATE KEY") {
        return None;
    }
    let end = memchr::memmem::find(rest, b"-----END ")
        .and_then(|end| {
            let after = end + b"-----END ".len();
            memchr::memmem::find(&rest[after..], b"-----").map(|dashes| after + dashes + 5)
        })
        .unwrap_or(rest.len());
    Secret::new("private-key", at..at + end)
}

/// `scheme://user:password@host`: the password.
fn url_password(bytes: &[u8], at: usize) -> Option<Secret> {
    if !bytes[at..].starts_with(b"://") || at == 0 || !bytes[at - 1].is_ascii_alphanumeric() {
        return None;
    }
    let start = at + 3;
    let length = run(bytes, start, |byte| {
        byte > b' ' && !matches!(byte, b'/' | b'?' | b'#' | b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\')
    });
    let authority = &bytes[start..start + length];
    let host = memchr::memrchr(b'@', authority)?;
    let colon = memchr::memchr(b':', &authority[..host])?;
    let password = &authority[colon + 1..host];
    (!password.is_empty() && !placeholder(password))
        .then(|| Secret { name: "password", span: start + colon + 1..start + host })
}

/// `Authorization: Bearer …`, also as JSON or as an assignment.
fn header(bytes: &[u8], at: usize) -> Option<Secret> {
    let blanks_and_quotes = |from| run(bytes, from, |byte| matches!(byte, b'"' | b'\'' | b'\\' | b' '));
    let first = bytes[at].to_ascii_lowercase();
    let names = HEADERS.iter().filter(|name| name.as_bytes()[0] == first);
    let name = names.into_iter().find(|name| starts_with_ignore_case(&bytes[at..], name))?;
    let mut i = at + name.len();
    i += blanks_and_quotes(i);
    if !matches!(bytes.get(i), Some(b':' | b'=')) {
        return None;
    }
    i += 1;
    i += blanks_and_quotes(i);
    let scheme = SCHEMES
        .iter()
        .find(|scheme| starts_with_ignore_case(&bytes[i..], scheme))
        .map(|scheme| scheme.len() + run(bytes, i + scheme.len(), |byte| byte == b' '));
    i += scheme.unwrap_or(0);
    let length = run(bytes, i, is_value_byte);
    let secret = &bytes[i..i + length];
    // Without a scheme it may be prose: "Authorization: required".
    let likely = scheme.is_some() || length >= 16 || secret.iter().any(u8::is_ascii_digit);
    (length >= 6 && likely && !placeholder(secret))
        .then(|| Secret { name: "authorization", span: i..i + length })
}

/// `Bearer` and something too random to be a word, wherever it stands.
fn bearer(bytes: &[u8], at: usize) -> Option<Secret> {
    if !starts_with_ignore_case(&bytes[at..], "bearer ") {
        return None;
    }
    let start = at + "bearer ".len();
    let length =
        run(bytes, start, |byte| Alphabet::Dotted.has(byte) || Alphabet::Base64.has(byte) || byte == b'~');
    let secret = &bytes[start..start + length];
    (length >= 16 && secret.iter().any(u8::is_ascii_digit))
        .then(|| Secret { name: "authorization", span: start..start + length })
}

/// `GITHUB_TOKEN=…`, `"api_key": "…"`, `AccountKey=…`: `at` is the last letter of the name.
fn variable(bytes: &[u8], at: usize) -> Option<Secret> {
    let mut i = at + 1;
    if !matches!(bytes.get(i), Some(b'=' | b':' | b'"' | b'\'')) {
        return None;
    }
    let name_start = bytes[..=at]
        .iter()
        .rposition(|&b| !b.is_ascii_alphanumeric() && b != b'_' && b != b'-')
        .map_or(0, |p| p + 1);
    let name = &bytes[name_start..=at];
    VARIABLE_ENDS.iter().find(|end| ends_with_word(name, end))?;
    let quoted_name = matches!(bytes[i], b'"' | b'\'');
    i += usize::from(quoted_name);
    let separator = *bytes.get(i)?;
    if !(separator == b'=' || (separator == b':' && quoted_name)) {
        return None;
    }
    i += 1;
    // `a == b` compares; nothing is assigned.
    if bytes.get(i) == Some(&b'=') {
        return None;
    }
    i += run(bytes, i, |byte| byte == b' ' && quoted_name);
    i += run(bytes, i, |byte| matches!(byte, b'"' | b'\'' | b'\\'));
    let length = run(bytes, i, |byte| {
        is_value_byte(byte) && !matches!(byte, b'&' | b'(' | b')' | b'{' | b'}' | b'[' | b']')
    });
    let secret = &bytes[i..i + length];
    let likely = length >= 8 && (secret.iter().any(u8::is_ascii_digit) || mixed_case(secret) || length >= 24);
    (likely && !placeholder(secret) && !looks_like_code(secret))
        .then(|| Secret { name: "secret", span: i..i + length })
}

/// `name` is `end`, or `…_end`, in any case; `TOKENS` and `tokenizer` are not.
fn ends_with_word(name: &[u8], end: &str) -> bool {
    let Some(start) = name.len().checked_sub(end.len()) else { return false };
    let tail = &name[start..];
    let same =
        tail.iter().zip(end.bytes()).all(|(&a, b)| a.to_ascii_uppercase() == b || (a == b'-' && b == b'_'));
    // camelCase counts as a boundary too: `accessToken`, `clientSecret`.
    same && (start == 0 || matches!(name[start - 1], b'_' | b'-') || tail[0].is_ascii_uppercase())
}

/// What stands for a value without being one: `$TOKEN`, `<token>`, `{{ token }}`, `***`, our own mask.
fn placeholder(secret: &[u8]) -> bool {
    matches!(secret[0], b'$' | b'<' | b'{' | b'%' | b'*' | b'[')
        || secret.iter().all(|&byte| byte == secret[0])
        || starts_with_ignore_case(secret, "your")
        || starts_with_ignore_case(secret, "example")
        || starts_with_ignore_case(secret, "process.env")
        || starts_with_ignore_case(secret, "os.environ")
}

/// A path or an expression rather than a value: `/run/secrets/x`, `settings.token`, `self.secret`.
fn looks_like_code(secret: &[u8]) -> bool {
    secret[0] == b'/'
        || secret[0] == b'.'
        || secret[0] == b'~'
        || (secret.contains(&b'.')
            && secret.iter().all(|&b| b.is_ascii_lowercase() || matches!(b, b'.' | b'_')))
}

fn is_value_byte(byte: u8) -> bool {
    byte > b' '
        && byte < 0x7f
        && !matches!(byte, b'"' | b'\'' | b'`' | b',' | b';' | b'\\' | b'<' | b'>' | b'|')
}

fn mixed_case(secret: &[u8]) -> bool {
    let changes = secret.windows(2).filter(|pair| {
        pair[0].is_ascii_alphabetic()
            && pair[1].is_ascii_alphabetic()
            && pair[0].is_ascii_uppercase() != pair[1].is_ascii_uppercase()
    });
    changes.count() >= 4
}

fn run(bytes: &[u8], from: usize, accept: impl Fn(u8) -> bool) -> usize {
    bytes.get(from..).map_or(0, |rest| rest.iter().position(|&byte| !accept(byte)).unwrap_or(rest.len()))
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    memchr::memmem::find(haystack, needle).is_some()
}

fn starts_with_ignore_case(bytes: &[u8], word: &str) -> bool {
    bytes.len() >= word.len() && bytes[..word.len()].eq_ignore_ascii_case(word.as_bytes())
}

#[cfg(test)]
mod tests;
