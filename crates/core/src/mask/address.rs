//! Passwords in addresses: `scheme://user:password@host`, and the variants that drivers use.

use crate::mask::Secret;
use crate::mask::bytes::run_up_to;
use crate::mask::judge::{is_random, is_wordy, stands_for_a_value};
use crate::mask::shapes::Alphabet;

/// No real address with a password is longer than this, up to its host.
const LONGEST_AUTHORITY: usize = 256;

fn is_address_byte(byte: u8) -> bool {
    byte > b' ' && !matches!(byte, b'"' | b'\'' | b'`' | b'<' | b'>' | b'\\' | b'|')
}

/// At the `:` of `://`, or of `:\/\/` as some JSON has it.
pub fn password(bytes: &[u8], at: usize) -> Option<Secret> {
    let escapes = |from: usize| from + run_up_to(bytes, from, 8, |byte| byte == b'\\');
    let first = escapes(at + 1);
    let second = escapes(first + 1);
    let slash = |at: usize| bytes.get(at) == Some(&b'/');
    if !slash(first) || !slash(second) || at == 0 || !bytes[at - 1].is_ascii_alphanumeric() {
        return None;
    }
    let start = second + 1;
    let length = run_up_to(bytes, start, LONGEST_AUTHORITY, is_address_byte);
    let whole = &bytes[start..start + length];
    let authority = &whole[..authority_length(whole)];
    if authority.starts_with(b"[masked:") {
        return None;
    }
    let (colon, host) = match memchr::memrchr(b'@', authority) {
        Some(host) => match memchr::memchr(b':', &authority[..host]) {
            Some(colon) => (colon, host),
            None => return lone_user(bytes, start..start + host),
        },
        // A password may contain a character that would end the authority. `host:8080/a@b` has a port there.
        None => {
            let colon = memchr::memchr(b':', authority)?;
            let port = authority[colon + 1..].iter().all(u8::is_ascii_digit);
            let host = memchr::memrchr(b'@', whole)?;
            let path = whole[colon + 1..host].contains(&b'@') || whole[host - 1] == b'/';
            if port || path || !whole.get(host + 1)?.is_ascii_alphanumeric() {
                return None;
            }
            (colon, host)
        }
    };
    // `https://<token>:x-oauth-basic@host`: the password says that the user is the secret.
    if is_token(&authority[..colon.min(authority.len())]) {
        return Secret::new("password", start..start + host);
    }
    accepted(bytes, start + colon + 1..start + host)
}

/// Where the host of an address ends. People write `#` into passwords as it is: where an `@` follows, the host comes later,
/// unless a port stands before it.
fn authority_length(whole: &[u8]) -> usize {
    let end = whole.iter().position(|byte| matches!(byte, b'/' | b'?')).unwrap_or(whole.len());
    let Some(hash) = memchr::memchr(b'#', &whole[..end]) else { return end };
    let colon = memchr::memchr(b':', &whole[..hash]);
    let port = colon.is_none_or(|colon| whole[colon + 1..hash].iter().all(u8::is_ascii_digit));
    if port || !whole[hash..end].contains(&b'@') { hash } else { end }
}

/// `https://<token>@host`: a person's name is short and is not full of digits.
fn lone_user(bytes: &[u8], span: std::ops::Range<usize>) -> Option<Secret> {
    if is_token(&bytes[span.clone()]) { Secret::new("password", span) } else { None }
}

fn is_token(user: &[u8]) -> bool {
    user.len() >= 20 && !is_wordy(user) && is_random(user) && !stands_for_a_value(user)
}

/// `password`, `pass` and the like are what documentation uses there.
fn accepted(bytes: &[u8], span: std::ops::Range<usize>) -> Option<Secret> {
    let password = &bytes[span.clone()];
    let example = ["password", "pass", "passwd", "pwd", "secret", "pw", "token"]
        .iter()
        .any(|word| password.eq_ignore_ascii_case(word.as_bytes()));
    // `[Square]Root2` is one, and `[password]` is not.
    let bracketed = || {
        let word = run_up_to(password, 1, 40, |byte| byte.is_ascii_alphabetic());
        matches!(password[1 + word..], [b']', next, ..] if password[0] == b'[' && next.is_ascii_alphanumeric())
    };
    if password.is_empty()
        || example
        || (stands_for_a_value(password) && !bracketed())
        || password.contains(&b'{')
    {
        return None;
    }
    Secret::new("password", span)
}

/// `scheme%3A%2F%2Fuser%3Apassword%40host`: at the first `%`.
pub fn encoded(bytes: &[u8], at: usize) -> Option<Secret> {
    let rest = &bytes[at..];
    if rest.len() < 9 || !rest[..9].eq_ignore_ascii_case(b"%3A%2F%2F") {
        return None;
    }
    let start = at + 9;
    let length =
        run_up_to(bytes, start, LONGEST_AUTHORITY, |byte| Alphabet::Dotted.has(byte) || byte == b'%');
    let authority = bytes[start..start + length].to_ascii_uppercase();
    let colon = memchr::memmem::find(&authority, b"%3A")?;
    let host = memchr::memmem::find(&authority[colon..], b"%40")? + colon;
    accepted(bytes, start + colon + 3..start + host)
}

/// `user:password@tcp(host)`, `user/password@//host`: at the `@`.
pub fn driver(bytes: &[u8], at: usize) -> Option<Secret> {
    let rest = &bytes[at + 1..];
    if rest.starts_with(b"//") {
        let back = bytes[..at].iter().rev().take(64).take_while(|byte| is_address_byte(**byte)).count();
        let slash = at - back + memchr::memchr(b'/', &bytes[at - back..at])?;
        let user = &bytes[at - back..slash];
        let named = !user.is_empty() && user.iter().all(|byte| Alphabet::Word.has(*byte));
        return if named { accepted(bytes, slash + 1..at) } else { None };
    }
    if !["tcp(", "unix(", "tcp6("].iter().any(|net| rest.starts_with(net.as_bytes())) {
        return None;
    }
    let from = at.saturating_sub(LONGEST_AUTHORITY);
    let start =
        bytes[from..at].iter().rposition(|byte| !is_address_byte(*byte)).map_or(from, |gap| from + gap + 1);
    let colon = memchr::memchr(b':', &bytes[start..at])?;
    accepted(bytes, start + colon + 1..at)
}

/// `jdbc:oracle:thin:user/password@host`: at the last colon.
pub fn oracle(bytes: &[u8], at: usize) -> Option<Secret> {
    if !bytes[..at].ends_with(b":thin") {
        return None;
    }
    let start = at + 1;
    let length = run_up_to(bytes, start, 128, is_address_byte);
    let whole = &bytes[start..start + length];
    let host = memchr::memchr(b'@', whole)?;
    let slash = memchr::memchr(b'/', &whole[..host])?;
    accepted(bytes, start + slash + 1..start + host)
}

/// `host:5432:database:user:password` or `*:*:database:user:password`, a line of a .pgpass: at the first colon.
pub fn pgpass(bytes: &[u8], at: usize) -> Option<Secret> {
    let known = bytes[at..].strip_prefix(b":5432:");
    // With any port, the host must be the first field: resource names have stars between colons too.
    let host = bytes[..at]
        .iter()
        .rev()
        .take(64)
        .take_while(|byte| is_address_byte(**byte) && **byte != b':')
        .count();
    let first = at.checked_sub(host + 1).is_none_or(|before| bytes[before] != b':');
    let rest = known.or_else(|| bytes[at..].strip_prefix(b":*:").filter(|_| first && host > 0))?;
    let lead = bytes.len() - at - rest.len();
    let field = |from: usize| from + run_up_to(rest, from, 64, |byte| is_address_byte(byte) && byte != b':');
    let database = field(0);
    let user = field(database + 1);
    let start = user + 1;
    if rest.get(database) != Some(&b':') || rest.get(user) != Some(&b':') {
        return None;
    }
    let end = start + run_up_to(rest, start, LONGEST_AUTHORITY, is_address_byte);
    accepted(bytes, at + lead + start..at + lead + end)
}
