//! What stands around a name and says what its value is: the object it is in, its neighbor, its type, the word before it.

use crate::mask::assign::LONGEST_NAME;
use crate::mask::assign::reading::{name_before, value_from};
use crate::mask::bytes::{color_start, is_blank, is_name_byte, word_start};
use crate::mask::names::{Kind, kind_of};

/// `"db_password": {"sensitive": true, "value": …`, with `at` at `value`: what the name of the object says.
pub fn parent(bytes: &[u8], at: usize) -> Option<Kind> {
    let from = at.saturating_sub(2 * LONGEST_NAME);
    let open =
        from + memchr::memrchr2(b'{', b'}', &bytes[from..at]).filter(|found| bytes[from + found] == b'{')?;
    let blanks = bytes[..open].iter().rev().take(4).take_while(|byte| is_blank(**byte)).count();
    let separator = (open - blanks).checked_sub(1).filter(|before| matches!(bytes[*before], b':' | b'='))?;
    let name = name_before(bytes, separator)?;
    kind_of(&bytes[name.span]).filter(|kind| !matches!(kind, Kind::Authorization | Kind::Cookie))
}

/// `"Type": "SecureString", "Value": …`, with `at` at the last name: a parameter of AWS. `"keyName": "key1", …, "value": …`:
/// a key of Azure.
pub fn declared(bytes: &[u8], at: usize) -> Option<Kind> {
    let lead = &bytes[at.saturating_sub(LONGEST_NAME)..at];
    let has = |word: &str| memchr::memmem::find(lead, word.as_bytes()).is_some();
    if has("SecureString") {
        return Some(Kind::Secret);
    }
    has("\"keyName").then_some(Kind::Key)
}

/// `"username": "me", "key": …`, with `at` at the last name.
pub fn of_user(bytes: &[u8], at: usize) -> Option<Kind> {
    let lead = &bytes[at.saturating_sub(LONGEST_NAME)..at];
    let user =
        ["\"username", "\"Username"].iter().any(|word| memchr::memmem::find(lead, word.as_bytes()).is_some());
    user.then_some(Kind::Key)
}

/// A `result` of Terraform's `random_password`, which begins at or after `from`: the next fields say how it was made.
pub fn generated(bytes: &[u8], from: usize) -> Option<Kind> {
    let value = value_from(bytes, from).filter(|value| value.quoted)?;
    let rest = &bytes[value.span.end..bytes.len().min(value.span.end + 64)];
    memchr::memmem::find(rest, b"\"special").is_some().then_some(Kind::Password)
}

/// `Secret value: …`, with `at` at the second word: what the first says.
pub fn spoken(bytes: &[u8], at: usize) -> Option<Kind> {
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
        "signer",
        "deployer",
        "wallet",
    ];
    let before = bytes[..at].strip_suffix(b" ").or_else(|| bytes[..at].strip_suffix(b"."))?;
    let first =
        before.len() - before.iter().rev().take(16).take_while(|byte| byte.is_ascii_alphabetic()).count();
    let first = word_start(before, first, before.len());
    FIRST.iter().any(|word| before[first..].eq_ignore_ascii_case(word.as_bytes())).then_some(Kind::Secret)
}

/// `name: DB_PASSWORD` followed by `value:` at `at`: what the neighboring name says.
pub fn sibling(bytes: &[u8], at: usize, labels: &[&str]) -> Option<Kind> {
    // With the signs of a patch.
    let gap = |byte: &u8| {
        matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'"' | b'\'' | b'\\' | b',' | b'{' | b'-' | b'+')
    };
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
    let start = back(end, &|byte| is_name_byte(*byte) || *byte == b'.');
    let name = bytes[start..end].rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    let kind = kind_of(name)?;
    let label_end = back(start, &|byte| gap(byte) || matches!(byte, b':' | b'='));
    let label_start = back(label_end, &|byte| is_name_byte(*byte));
    let label = &bytes[label_start..label_end];
    let known = labels.iter().any(|known| label.eq_ignore_ascii_case(known.as_bytes()));
    (known && label_end < start && !matches!(kind, Kind::Authorization | Kind::Cookie)).then_some(kind)
}

/// `password: str = `, with `at` at the type: what the name before it says.
pub fn typed(bytes: &[u8], at: usize) -> Option<Kind> {
    let from = at.saturating_sub(24);
    let colon = from + bytes[from..at].iter().rposition(|byte| *byte == b':')?;
    let between = &bytes[colon + 1..at];
    let is_type = between
        .iter()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'&' | b'\'' | b'<' | b'_' | b'|'));
    let name = name_before(bytes, colon)?;
    (is_type && !name.quoted)
        .then(|| kind_of(&bytes[name.span]))?
        .filter(|kind| matches!(kind, Kind::Password | Kind::Secret | Kind::Key))
}
