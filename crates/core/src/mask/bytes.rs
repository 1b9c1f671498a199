//! Small helpers to step through text as tools print it: colors, escapes, quotes.

pub fn run(bytes: &[u8], from: usize, mut accept: impl FnMut(u8) -> bool) -> usize {
    bytes.get(from..).map_or(0, |rest| rest.iter().position(|&byte| !accept(byte)).unwrap_or(rest.len()))
}

/// Like [`run`], but looks at `most` bytes at most: callers that try every byte of a text must not read it all each time.
pub fn run_up_to(bytes: &[u8], from: usize, most: usize, accept: impl FnMut(u8) -> bool) -> usize {
    run(&bytes[..bytes.len().min(from.saturating_add(most))], from, accept)
}

pub fn starts_with_ignore_case(bytes: &[u8], word: &str) -> bool {
    bytes.len() >= word.len() && bytes[..word.len()].eq_ignore_ascii_case(word.as_bytes())
}

/// The words of a list, with `|` between them: an array of them would take five times the space in the program.
pub fn listed(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.split('|')
}

pub fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

pub fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'' | b'`')
}

pub fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// The spellings of the escape that begins a color code, by programs and by whatever prints their output.
const ESCAPES: &[&[u8]] = &[b"\x1b", b"\\u001b", b"\\u001B", b"\\x1b", b"\\x1B", b"\\033", b"\\e", b"^["];

/// The end of the color code at `at`, if there is one.
pub fn color_end(bytes: &[u8], at: usize) -> Option<usize> {
    let rest = bytes.get(at..)?;
    let slashes = run_up_to(rest, 0, 8, |byte| byte == b'\\').saturating_sub(1);
    let escape = ESCAPES.iter().find(|escape| rest[slashes..].starts_with(escape))?;
    let from = at + slashes + escape.len();
    if bytes.get(from) != Some(&b'[') {
        return None;
    }
    let end = from + 1 + run_up_to(bytes, from + 1, 16, |byte| byte.is_ascii_digit() || byte == b';');
    matches!(bytes.get(end), Some(b'm' | b'K')).then_some(end + 1)
}

/// The start of the color code that ends before `end`, if there is one.
pub fn color_start(bytes: &[u8], end: usize) -> Option<usize> {
    if end < 3 || !matches!(bytes[end - 1], b'm' | b'K') {
        return None;
    }
    let mut at = end - 1;
    while at > 0 && end - at < 16 && (bytes[at - 1].is_ascii_digit() || bytes[at - 1] == b';') {
        at -= 1;
    }
    if at == 0 || bytes[at - 1] != b'[' {
        return None;
    }
    let before = &bytes[..at - 1];
    let escape = ESCAPES.iter().find(|escape| before.ends_with(escape))?;
    let start = before.len() - escape.len();
    let slashes = bytes[..start].iter().rev().take(8).take_while(|byte| **byte == b'\\').count();
    Some(start - slashes)
}

/// Where a word that ends at `end` begins, if `start` is as far back as its letters go: an escape or a code before
/// it is not part of it (`\ntoken`, `%26token`, `\u0022token`, `[32mtoken`).
pub fn word_start(bytes: &[u8], start: usize, end: usize) -> usize {
    let word = &bytes[start..end];
    let before = |back: usize| start.checked_sub(back).map(|at| bytes[at]);
    let hex = |count: usize| word.len() > count && word[..count].iter().all(u8::is_ascii_hexdigit);
    match before(1) {
        Some(b'%') if hex(2) => start + 2,
        Some(b'\\') if word.len() > 5 && word[0] == b'u' && word[1..5].iter().all(u8::is_ascii_hexdigit) => {
            start + 5
        }
        Some(b'\\') if word.len() > 1 && matches!(word[0], b'n' | b't' | b'r') => start + 1,
        Some(b'[' | b';') => {
            let digits = run(word, 0, |byte| byte.is_ascii_digit());
            if digits > 0 && word.get(digits) == Some(&b'm') && word.len() > digits + 1 {
                start + digits + 1
            } else {
                start
            }
        }
        _ => start,
    }
}

/// Whether a word begins at `at`. A letter before it may belong to an escape or a color.
pub fn begins_word(bytes: &[u8], at: usize) -> bool {
    let inside = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if at == 0 || !inside(bytes[at - 1]) {
        return true;
    }
    let back = bytes[..at].iter().rev().take(8).take_while(|byte| inside(**byte)).count();
    word_start(bytes, at - back, at + 1) == at
}

/// The end of the line (a line feed, or its escape in JSON), or `most` bytes further if there is none.
pub fn line_end(bytes: &[u8], from: usize, most: usize) -> usize {
    let bytes = &bytes[..bytes.len().min(from.saturating_add(most))];
    let mut at = from;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr3(b'\n', b'\r', b'\\', rest)) {
        at += found;
        match bytes[at] {
            b'\\' if !matches!(bytes.get(at + 1), Some(b'n' | b'r')) => at += 1,
            _ => return at,
        }
    }
    bytes.len()
}

/// The position after the line end at `at`, in any spelling; `at` itself if there is none.
pub fn next_line(bytes: &[u8], mut at: usize) -> usize {
    loop {
        match bytes.get(at..) {
            Some([b'\n' | b'\r', ..]) => at += 1,
            Some([b'\\', b'n' | b'r', ..]) => at += 2,
            Some([b'\\', b'\\', b'n' | b'r', ..]) => at += 3,
            _ => return at,
        }
    }
}
