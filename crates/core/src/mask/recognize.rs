//! Secrets of one kind each, recognized where the scan has found a beginning.

use crate::mask::Secret;
use crate::mask::assign::{ValueAt, argument, name_before, value_from};
use crate::mask::bytes::{
    begins_word, is_blank, is_quote, line_end, next_line, run, run_up_to, starts_with_ignore_case,
};
use crate::mask::commands::{CALLS, Form, PHRASES, PIPED, Piped, Pipes, SecretOption, prints};
use crate::mask::judge::{Style, is_random, is_secret, is_wallet, is_wordy, stands_for_a_value};
use crate::mask::names::{Kind, kind_of};
use crate::mask::scan::LONGEST_LINE;
use crate::mask::shapes::{Alphabet, Place, Shape};
use std::ops::Range;

/// The secret among the words after a program's name, which ends at `from`.
pub(super) fn among_words(bytes: &[u8], from: usize, row: &SecretOption) -> Option<Secret> {
    let end = line_end(bytes, from, 512);
    let mut announced = row.option.is_empty();
    let (mut count, mut at, mut last) = (0u8, from, None);
    while at < end {
        at += run(&bytes[..end], at, is_blank);
        // `\\\\host\\share` is a word like any other.
        let share = (bytes.get(at) == Some(&b'\\')).then_some(ValueAt { span: at..at + 1, quoted: true });
        let value = share.or_else(|| value_from(bytes, at));
        let Some(mut value) = value.filter(|value| !value.span.is_empty() && value.span.start < end) else {
            break;
        };
        if !value.quoted {
            let more = |byte: u8| byte > b' ' && !is_quote(byte) && byte != b'\\';
            value.span.end = value.span.start + run_up_to(bytes, value.span.start, 128, more);
        }
        let word = &bytes[value.span.clone()];
        if matches!(word, b"|" | b"||" | b"&&" | b";" | b">") {
            break;
        }
        announced |= announces(word, row.option);
        at = value.span.end.max(at) + usize::from(value.quoted);
        at += run(&bytes[..end], at, |byte| byte > b' ');
        match row.form {
            Form::Within => {
                if let Some(rest) = word.strip_prefix(row.option.as_bytes()) {
                    let start = value.span.end - rest.len();
                    return password(bytes, value_from(bytes, start)?);
                }
            }
            _ if matches!(word, [b'-' | b'+', ..]) || starts_with_ignore_case(word, "/user:") => {}
            Form::AfterSlash => {
                let slash = memchr::memchr(b'/', word)?;
                let host = memchr::memrchr(b'@', word).unwrap_or(word.len());
                value.span = value.span.start + slash + 1..value.span.start + host.max(slash + 1);
                return if slash > 0 { password(bytes, value) } else { None };
            }
            _ => {
                count = count.saturating_add(1);
                if row.form == Form::Word(count) {
                    return if announced { password(bytes, value) } else { None };
                }
                last = Some(value).filter(|_| count > 1);
            }
        }
    }
    let random = |value: &ValueAt| is_random(&bytes[value.span.clone()]);
    let last = last.filter(|value| row.form == Form::LastWord && announced && random(value));
    password(bytes, last?)
}

/// Whether the word is the option, has its letter among others (`-bB`), or is what it begins (`http-basic.acme.com`).
fn announces(word: &[u8], option: &str) -> bool {
    match (word, option.as_bytes()) {
        ([b'-', letters @ ..], [b'-', letter]) => letters.contains(letter) && !letters.contains(&b'-'),
        (word, option) => word.strip_prefix(option).is_some_and(|rest| matches!(rest, [] | [b'.', ..])),
    }
}

/// What the program at `at` prints, if that is a secret: the next line, alone.
pub(super) fn printed(bytes: &[u8], at: usize, row: &SecretOption) -> Option<Secret> {
    let lead = bytes[..at].iter().rev().find(|byte| !is_blank(**byte));
    if !matches!(lead, None | Some(b'\n' | b'$' | b'#' | b'%' | b'>' | b'|' | b';' | b'&' | b'(')) {
        return None;
    }
    let from = at + row.program.len();
    let end = line_end(bytes, from, 512);
    let next = next_line(bytes, end);
    (next > end && prints(row, &bytes[from..end])).then(|| alone(bytes, next))?
}

/// The line that begins at `start`, if it is nothing but a secret.
pub(super) fn alone(bytes: &[u8], start: usize) -> Option<Secret> {
    let length =
        run_up_to(bytes, start, 4096, |byte| byte > b' ' && byte < 0x7f && !is_quote(byte) && byte != b'\\');
    let ended = matches!(bytes.get(start + length), None | Some(b'\n' | b'\r' | b'"'))
        || next_line(bytes, start + length) > start + length;
    let value = ValueAt { span: start..start + length, quoted: true };
    if ended && length >= 6 { password(bytes, value) } else { None }
}

fn password(bytes: &[u8], value: ValueAt) -> Option<Secret> {
    let likely = is_secret(Kind::Password, Style::Env, &value.judged(bytes));
    if likely { Secret::new("password", value.span) } else { None }
}

pub(super) fn prefixed(bytes: &[u8], at: usize, shape: &Shape) -> Option<Secret> {
    // Its first letters are known to be there; its last one tells most others apart.
    let prefix = shape.prefix.as_bytes();
    if bytes.get(at + prefix.len() - 1) != prefix.last()
        || !bytes[at..].starts_with(prefix)
        || (shape.place == Place::Word && !begins_word(bytes, at))
    {
        return None;
    }
    let start = at + shape.prefix.len();
    // Hashes contain the sign they begin with: none begins inside another.
    let inside =
        |before: usize| matches!(bytes[before], b'$' | b'/' | b'.') || bytes[before].is_ascii_alphanumeric();
    if shape.alphabet == Alphabet::Crypt && at.checked_sub(1).is_some_and(inside) {
        return None;
    }
    let (least, most) = shape.length();
    // Judged by its beginning: what is not a key must not be read to its end at each of its letters.
    let enough = if most == usize::MAX { least + 64 } else { most + 1 };
    let judged = run_up_to(bytes, start, enough, |byte| shape.alphabet.has(byte));
    if judged < least || judged > most {
        return None;
    }
    // Base64 may contain any prefix that is made of letters only.
    let base64 =
        |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(|byte| matches!(byte, b'+' | b'/'));
    if shape.place == Place::Word
        && shape.prefix.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && (base64(at.checked_sub(1)) || base64(Some(start + judged)))
    {
        return None;
    }
    let secret = &bytes[start..start + judged];
    // Real keys are random: words joined by dashes, or one letter repeated, are examples in a text.
    // One in thirty of AWS's has letters only.
    let capitals = shape.name == "aws-key-id" && memchr::memmem::find(secret, b"EXAMPLE").is_none();
    let random = secret.iter().any(u8::is_ascii_digit) || mixed_case(secret) || capitals;
    let example = secret.windows(8).any(|window| window.iter().all(|byte| matches!(byte, b'x' | b'X')));
    if !random || example {
        return None;
    }
    let mut end = start + run(bytes, start, |byte| shape.alphabet.has(byte));
    if shape.name == "aws-key-id" {
        end += secret_beside_id(&bytes[end..]);
    }
    // Punctuation that ends a sentence or an address is not part of the key.
    while matches!(bytes[end - 1], b'.' | b'/' | b',')
        && end > start + least
        && shape.alphabet != Alphabet::Base64
    {
        end -= 1;
    }
    let span = if shape.place == Place::Address { start..end } else { at..end };
    Secret::new(shape.name, span)
}

/// `AKIA…,SECRET`, `("AKIA…", "SECRET")`: the secret is in the next column, or the next argument.
pub(super) fn secret_beside_id(rest: &[u8]) -> usize {
    let between = |byte| matches!(byte, b',' | b'\t' | b' ' | b':' | b'|' | b';' | b'\\') || is_quote(byte);
    let gap = run_up_to(rest, 0, 8, between);
    let length = run_up_to(rest, gap, 64, |byte| Alphabet::Base64.has(byte));
    if gap > 0 && length == 40 && is_random(&rest[gap..gap + 40]) { gap + 40 } else { 0 }
}

/// The base64 of a number, six letters, and a signature.
pub(super) fn discord(bytes: &[u8], at: usize) -> Option<Secret> {
    if !matches!(bytes[at], b'M' | b'N' | b'O') {
        return None;
    }
    let part = |from: usize, most: usize| run_up_to(bytes, from, most, |byte| Alphabet::Word.has(byte));
    let first = part(at, 30);
    let second = part(at + first + 1, 8);
    let third = part(at + first + second + 2, 64);
    let dot = |at: usize| bytes.get(at) == Some(&b'.');
    let fits =
        (22..=28).contains(&first) && dot(at + first) && second == 6 && dot(at + first + 7) && third >= 26;
    if fits { Secret::new("discord-token", at..at + first + 8 + third) } else { None }
}

/// `SK…` is a key. `AC…` is the name of an account, and the string beside it is the key.
pub(super) fn twilio(bytes: &[u8], at: usize) -> Option<Secret> {
    let hex = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
    let is_hex = |from: usize| {
        run_up_to(bytes, from, 40, hex) == 32
            && !bytes.get(from + 32).copied().is_some_and(|byte| byte.is_ascii_alphanumeric())
    };
    if !is_hex(at + 2) {
        return None;
    }
    if bytes[at] == b'S' {
        return Secret::new("twilio-key", at..at + 34);
    }
    let start = at + 34 + run_up_to(bytes, at + 34, 16, |byte| !byte.is_ascii_alphanumeric());
    if start > at + 34 && is_hex(start) { Secret::new("twilio-key", start..start + 32) } else { None }
}

/// `Bearer` and something too random to be a word, in any context.
pub(super) fn bearer(bytes: &[u8], at: usize) -> Option<Secret> {
    if !starts_with_ignore_case(&bytes[at..], "bearer ") {
        return None;
    }
    let start = at + "bearer ".len();
    let length = run(bytes, start, |byte| Alphabet::Dotted.has(byte) || Alphabet::Base64.has(byte));
    let secret = &bytes[start..start + length.min(256)];
    let random = secret.iter().any(u8::is_ascii_digit) || is_random(secret);
    if length >= 16 && random && !is_wordy(secret) && !stands_for_a_value(secret) {
        return Secret::new("authorization", start..start + length);
    }
    None
}

/// `Basic` and the base64 of `user:password`, in any context.
pub(super) fn basic(bytes: &[u8], at: usize) -> Option<Secret> {
    if !starts_with_ignore_case(&bytes[at..], "basic ") {
        return None;
    }
    let start = at + "basic ".len();
    let length = run_up_to(bytes, start, 512, |byte| Alphabet::Base64.has(byte));
    let decoded = decoded(&bytes[start..start + length]);
    let is_login = decoded.contains(&b':') && decoded.iter().all(|byte| (b' '..=b'~').contains(byte));
    if length >= 8 && is_login { Secret::new("authorization", start..start + length) } else { None }
}

/// What base64 says, as far as it is base64.
fn decoded(text: &[u8]) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let (mut out, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for digit in text.iter().map_while(|byte| digit(*byte)) {
        bits = bits << 6 | u32::from(digit);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    out
}

/// `<key>Password</key> <string>SECRET</string>`, `<Password> <Value>SECRET</Value>`, at the tag before the secret.
pub(super) fn property(bytes: &[u8], at: usize) -> Option<Secret> {
    let list = bytes[at..].starts_with(b"<string>");
    if !list && !starts_with_ignore_case(&bytes[at..], "<value>") {
        return None;
    }
    let from = at.saturating_sub(128);
    let mut lead = bytes[from..at].trim_ascii_end();
    // Blanks as JSON writes them.
    while let Some(rest) = lead.strip_suffix(b"\\n").or_else(|| lead.strip_suffix(b"\\t")) {
        lead = rest.trim_ascii_end();
    }
    let name = if list {
        let key = lead.strip_suffix(b"</key>")?;
        &key[memchr::memrchr(b'>', key)? + 1..]
    } else {
        let tag = lead.strip_suffix(b">")?;
        &tag[memchr::memrchr(b'<', tag)? + 1..]
    };
    let start = at + if list { "<string>" } else { "<value>" }.len();
    let span = start..start + run_up_to(bytes, start, 512, |byte| !matches!(byte, b'<' | b'\n'));
    let value = ValueAt { span, quoted: true };
    let closed = bytes[value.span.end..].starts_with(b"</");
    let likely = closed && is_secret(kind_of(name)?, Style::Data, &value.judged(bytes));
    if likely { Secret::new("secret", value.span) } else { None }
}

/// `read -r DB_PASS <<< 'SECRET'`, `passwd --stdin root <<< SECRET`, at the signs.
pub(super) fn here_string(bytes: &[u8], at: usize) -> Option<Secret> {
    let from = at.saturating_sub(160);
    let line = memchr::memrchr2(b'\n', b'|', &bytes[from..at]).map_or(from, |found| from + found + 1);
    let reads = |row: &&Piped| {
        row.what == Pipes::Secret && memchr::memmem::find(&bytes[line..at], row.word.as_bytes()).is_some()
    };
    let named = || name_before(bytes, at).and_then(|name| kind_of(&bytes[name.span]));
    let kind = if PIPED.iter().any(|row| reads(&row)) { Kind::Password } else { named()? };
    let value = value_from(bytes, at + 3)?;
    let judged = value.judged(bytes);
    let likely = !judged.bytes.contains(&b' ') && is_secret(kind, Style::Env, &judged);
    if likely { Secret::new("secret", value.span) } else { None }
}

/// `Write down this mnemonic phrase:` and the words, on one of the next lines.
pub(super) fn seed(bytes: &[u8], at: usize) -> Option<Secret> {
    const WORDS: [&str; 3] = ["mnemonic", "seed phrase", "recovery phrase"];
    if !WORDS.iter().any(|words| starts_with_ignore_case(&bytes[at..], words)) {
        return None;
    }
    let mut start = at;
    for _ in 0..6 {
        start = match line_end(bytes, start, 512) {
            end if next_line(bytes, end) > end => next_line(bytes, end),
            _ => return None,
        };
        start += run_up_to(bytes, start, 16, is_blank);
        let length = run_up_to(bytes, start, 320, |byte| byte.is_ascii_lowercase() || byte == b' ');
        if is_wallet(&bytes[start..start + length]) {
            return Secret::new("secret", start..start + length);
        }
    }
    None
}

/// `TRUE\t1893456000\tname\tvalue`: a line of a cookie file.
pub(super) fn cookie_jar(bytes: &[u8], at: usize) -> Option<Secret> {
    let word = ["TRUE", "FALSE"].iter().find(|word| bytes[at..].starts_with(word.as_bytes()))?;
    // A tab as it is, or as JSON writes it.
    let after_tab = |at: usize| match bytes.get(at..)? {
        [b'\t', ..] => Some(at + 1),
        [b'\\', b't', ..] => Some(at + 2),
        _ => None,
    };
    let within = |byte: u8| byte > b' ' && byte < 0x7f && !matches!(byte, b'\\' | b'"');
    let expiry = after_tab(at + word.len())?;
    let digits = run_up_to(bytes, expiry, 20, |byte| byte.is_ascii_digit());
    let name = after_tab(expiry + digits)?;
    let start = after_tab(name + run_up_to(bytes, name, 80, within))?;
    let length = run_up_to(bytes, start, 4096, within);
    let value = bytes.get(start..start + length.min(256))?;
    let likely = digits > 0
        && length >= 8
        && !is_wordy(value)
        && !value.iter().all(u8::is_ascii_digit)
        && !stands_for_a_value(value);
    if likely { Secret::new("cookie", start..start + length) } else { None }
}

/// `login("user", "SECRET")`, `jwt.sign(claims, "SECRET")`
pub(super) fn call(bytes: &[u8], at: usize) -> Option<Secret> {
    let mut rows = CALLS.iter().filter(|row| bytes[at..].starts_with(row.words.as_bytes()));
    rows.find_map(|row| argument(bytes, at + row.words.len(), row.argument, row.style))
}

/// `expect "assword:"` and `send "SECRET\r"` on the next line, at `send`.
pub(super) fn sent(bytes: &[u8], at: usize) -> Option<Secret> {
    // With the quotes as they are, or as JSON writes them.
    const WORDS: [&str; 4] = ["send \"", "send -- \"", "send \\\"", "send -- \\\""];
    let known = WORDS.iter().any(|word| bytes[at..].starts_with(word.as_bytes()));
    memchr::memmem::find(&bytes[at.saturating_sub(64)..at], b"assword").filter(|_| known)?;
    let after = at + "send ".len();
    let mut value = value_from(bytes, after + if bytes[after..].starts_with(b"-- ") { 3 } else { 0 })?;
    let text = &bytes[value.span.clone()];
    value.span.end = value.span.start + memchr::memchr(b'\\', text).unwrap_or(text.len());
    password(bytes, value)
}

/// `echo SECRET | program --password-stdin`, with the word that says so at `at`; and what it prints, if that is as secret.
pub(super) fn piped(bytes: &[u8], at: usize) -> Option<(Secret, Option<Secret>)> {
    let row = PIPED.iter().find(|row| bytes[at..].starts_with(row.word.as_bytes()))?;
    let from = at.saturating_sub(256);
    let pipe = from + memchr::memrchr(b'|', &bytes[from..at])?;
    let lead = &bytes[from..pipe];
    let echo = |word: &str| memchr::memmem::rfind(lead, word.as_bytes()).map(|found| found + word.len());
    let mut start = from + echo("echo -n ").or_else(|| echo("echo ")).or_else(|| echo("printf "))?;
    if bytes[start..pipe].iter().any(|byte| matches!(byte, b'\n' | b'|')) {
        return None;
    }
    start += if bytes[start..].starts_with(b"'%s' ") { 5 } else { 0 };
    let mut value = value_from(bytes, start).filter(|value| value.span.end <= pipe)?;
    let colon = memchr::memchr(b':', &bytes[value.span.clone()]);
    let mut style = Style::Env;
    match row.what {
        Pipes::Secret => {}
        Pipes::AfterColon => value.span.start += colon? + 1,
        Pipes::Encoded => {
            let rest = line_end(bytes, at, 64);
            let decodes = bytes[at..rest].windows(2).any(|pair| matches!(pair, b"-d" | b"-D" | b"--d"));
            let blank = bytes[value.span.clone()].contains(&b' ');
            if decodes || blank {
                return None;
            }
            value.span.start += colon.map_or(0, |colon| colon + 1);
            // Without a user, only the value itself can tell.
            (style, value.quoted) =
                if colon.is_some() { (Style::Env, value.quoted) } else { (Style::Told, false) };
        }
    }
    if !is_secret(Kind::Password, style, &value.judged(bytes)) {
        return None;
    }
    let next = next_line(bytes, line_end(bytes, at, 64));
    let printed =
        || (row.what == Pipes::Encoded && next > at + row.word.len()).then(|| alone(bytes, next))?;
    Some((Secret::new("password", value.span)?, printed()))
}

pub(super) fn phrase(bytes: &[u8], at: usize) -> Option<Secret> {
    let mut phrases = PHRASES.iter().filter(|phrase| starts_with_ignore_case(&bytes[at..], phrase.words));
    phrases.find_map(|phrase| {
        let value = value_from(bytes, at + phrase.words.len())?;
        let style = if value.quoted { Style::Env } else { Style::Beside };
        if is_secret(Kind::Password, style, &value.judged(bytes)) {
            Secret::new("password", value.span)
        } else {
            None
        }
    })
}

/// Whether the text says `kind: Secret`, as YAML or JSON.
pub(super) fn is_about_a_kubernetes_secret(bytes: &[u8]) -> bool {
    memchr::memmem::find_iter(bytes, b"kind").any(|at| {
        let gap = run_up_to(bytes, at + 4, 16, |byte| matches!(byte, b'"' | b'\\' | b':' | b' '));
        let rest = bytes.get(at + 4 + gap..).unwrap_or_default();
        rest.starts_with(b"Secret") && !rest.get(6).copied().is_some_and(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Where the indented lines end that follow the line ending at `line`.
pub(super) fn indented_end(bytes: &[u8], line: usize) -> usize {
    let mut end = line;
    loop {
        let next = next_line(bytes, end);
        if next == end || !bytes.get(next).copied().is_some_and(is_blank) {
            return end;
        }
        end = line_end(bytes, next, LONGEST_LINE);
    }
}

/// A value in the data of a Kubernetes secret.
pub(super) fn kubernetes_value(bytes: &[u8], at: usize, data: &Range<usize>) -> Option<Secret> {
    // Without a blank it is no separator.
    let apart = |byte: u8| byte <= b' ' || is_quote(byte) || byte == b'\\';
    let value = value_from(bytes, at + 1).filter(|_| bytes.get(at + 1).copied().is_some_and(apart))?;
    let end = if value.quoted {
        value.span.end
    } else {
        value.span.start
            + run_up_to(bytes, value.span.start, 1 << 20, |byte| byte > b' ' && !matches!(byte, b'"' | b'\\'))
    };
    let text = &bytes[value.span.start..end.min(value.span.start + 64)];
    let likely = end <= data.end && text.len() >= 4 && !stands_for_a_value(text);
    if likely { Secret::new("secret", value.span.start..end) } else { None }
}

/// One of the private numbers of a key in JSON, or the whole of a shared one.
pub(super) fn jwk_value(bytes: &[u8], at: usize) -> Option<Secret> {
    const PRIVATE: &[&[u8]] = &[b"d", b"p", b"q", b"dp", b"dq", b"qi", b"k"];
    let name = name_before(bytes, at).filter(|name| PRIVATE.contains(&&bytes[name.span.clone()]))?;
    let value = value_from(bytes, at + 1).filter(|value| name.quoted && value.quoted)?;
    let text = &bytes[value.span.clone()];
    let likely = text.len() >= 20 && text.iter().all(|byte| Alphabet::Word.has(*byte)) && !is_wordy(text);
    if likely { Secret::new("private-key", value.span) } else { None }
}

pub(super) fn mixed_case(secret: &[u8]) -> bool {
    let changes = secret.windows(2).filter(|pair| {
        pair[0].is_ascii_alphabetic()
            && pair[1].is_ascii_alphabetic()
            && pair[0].is_ascii_uppercase() != pair[1].is_ascii_uppercase()
    });
    changes.count() >= 4
}
