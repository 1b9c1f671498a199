//! Private keys, whole or in part: a tool that reads a file from its second line shows neither its label nor its start.

use crate::mask::Secret;
use crate::mask::bytes::{is_blank, line_end, next_line, run_up_to};
use crate::mask::shapes::Alphabet;

/// No key in use is longer than this.
const LONGEST_KEY: usize = 16 << 10;
/// `     12→`, `12\t`: how tools number lines.
const LONGEST_NUMBERING: usize = 16;

/// At `-----BEGIN … PRIVATE KEY-----` or `-----END …`.
pub fn at_dashes(bytes: &[u8], at: usize) -> Option<Secret> {
    let rest = &bytes[at..bytes.len().min(at + LONGEST_KEY)];
    if let Some(label) = rest.strip_prefix(b"-----BEGIN ") {
        let label_end = private_label(label)?;
        let body = at + b"-----BEGIN ".len() + label_end;
        let end = memchr::memmem::find(rest, b"-----END ").and_then(|end| {
            let after = end + b"-----END ".len();
            memchr::memmem::find(&rest[after..rest.len().min(after + 64)], b"-----")
                .map(|dashes| at + after + dashes + 5)
        });
        let end = end.unwrap_or_else(|| body_end(bytes, body));
        // The first line alone is just a text about keys.
        return if end > body + 4 { Secret::new("private-key", at..end) } else { None };
    }
    let label = rest.strip_prefix(b"-----END ")?;
    let end = at + b"-----END ".len() + private_label(label)?;
    let start = body_start(bytes, at);
    if start < at { Secret::new("private-key", start..end) } else { None }
}

/// Where the dashes after `RSA PRIVATE KEY` end.
fn private_label(label: &[u8]) -> Option<usize> {
    let end = memchr::memmem::find(&label[..label.len().min(64)], b"-----")?;
    memchr::memmem::find(&label[..end], b"PRIVATE KEY").map(|_| end + 5)
}

/// The first line of a key's base64 without its label: RSA, PKCS#8, EC, Ed25519 and OpenSSH keys have known beginnings.
pub fn body(bytes: &[u8], at: usize) -> Option<Secret> {
    let rest = &bytes[at..];
    // Inside of other base64.
    if at.checked_sub(1).is_some_and(|before| matches!(bytes[before], b'/' | b'+')) {
        return None;
    }
    // DER: a sequence, its length, then the version 0 or 1 as an integer.
    let der = rest.len() > 12
        && rest.starts_with(b"MII")
        && &rest[6..8] == b"IB"
        && matches!(&rest[8..10], b"AA" | b"AD");
    let others: [&[u8]; 6] =
        [b"MHcCAQEE", b"MIGkAgEBBD", b"MC4CAQAw", b"MIGHAgEAMB", b"MIG2AgEAMB", b"b3BlbnNzaC1rZXktdjE"];
    if !der && !others.iter().any(|other| rest.starts_with(other)) {
        return None;
    }
    let end = body_end(bytes, at);
    if end - at >= 40 { Secret::new("private-key", at..end) } else { None }
}

/// The key after PuTTY's `Private-Lines: 8`.
pub fn putty(bytes: &[u8], at: usize) -> Option<Secret> {
    let rest = bytes[at..].strip_prefix(b"Private-Lines: ")?;
    let digits = run_up_to(rest, 0, 4, |byte| byte.is_ascii_digit());
    let start = next_line(bytes, at + b"Private-Lines: ".len() + digits);
    let end = body_end(bytes, start);
    if end >= start + 16 { Secret::new("private-key", start..end) } else { None }
}

/// Where the lines of base64 from `from` end, numbered or not, with the headers that keys may have.
fn body_end(bytes: &[u8], from: usize) -> usize {
    let (mut end, mut at) = (from, from);
    while at < bytes.len() && at - from < LONGEST_KEY {
        at = next_line(bytes, at);
        let line = at + numbering(bytes, at);
        let length = run_up_to(bytes, line, LONGEST_KEY, |byte| Alphabet::Base64.has(byte));
        let stop = line + length;
        if length > 0 && (stop == bytes.len() || next_line(bytes, stop) > stop || !is_blank(bytes[stop])) {
            end = stop;
        } else if ["Proc-Type:", "DEK-Info:", "Version:", "Comment:"]
            .iter()
            .any(|header| bytes[line..].starts_with(header.as_bytes()))
        {
            at = line_end(bytes, line, 128);
            continue;
        }
        let next = next_line(bytes, stop);
        if next == stop || length == 0 {
            break;
        }
        at = next;
    }
    end
}

/// Where the lines of base64 before `end` begin.
fn body_start(bytes: &[u8], end: usize) -> usize {
    let mut start = end;
    let mut at = end - back_numbering(bytes, end);
    loop {
        // The line end before this line, as a line feed or as JSON writes it.
        let before = at;
        while at > 0 && matches!(bytes[at - 1], b'\n' | b'\r') {
            at -= 1;
        }
        while at > 1 && matches!(bytes[at - 1], b'n' | b'r') && bytes[at - 2] == b'\\' {
            at -= 2;
            while at > 0 && bytes[at - 1] == b'\\' {
                at -= 1;
            }
        }
        if at == before || end - at > LONGEST_KEY {
            return start;
        }
        let stop = at;
        while at > 0
            && Alphabet::Base64.has(bytes[at - 1])
            && !(matches!(bytes[at - 1], b'n' | b't') && at > 1 && bytes[at - 2] == b'\\')
        {
            at -= 1;
        }
        if stop - at < 16 && !(stop > at && bytes[stop - 1] == b'=' || start == end) || stop == at {
            return start;
        }
        start = at;
        at -= back_numbering(bytes, at);
    }
}

fn numbering(bytes: &[u8], at: usize) -> usize {
    let blanks = run_up_to(bytes, at, LONGEST_NUMBERING, is_blank);
    let digits = run_up_to(bytes, at + blanks, 8, |byte| byte.is_ascii_digit());
    let rest = &bytes[at + blanks + digits..];
    let sign = match rest {
        [b'\t' | b'|' | b':', ..] => 1,
        [0xe2, 0x86, 0x92, ..] => 3, // →
        [b'\\', b't', ..] => 2,
        _ if digits > 0 => return blanks,
        _ => 0,
    };
    if digits == 0 { blanks } else { blanks + digits + sign + run_up_to(rest, sign, 4, is_blank) }
}

fn back_numbering(bytes: &[u8], end: usize) -> usize {
    let from = end.saturating_sub(LONGEST_NUMBERING + 12);
    let window = &bytes[from..end];
    let line = window.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).map_or(0, |at| at + 1);
    let escaped = window.windows(2).rposition(|pair| pair == b"\\n").map_or(0, |at| at + 2);
    let start = from + line.max(escaped);
    if start < end && start + numbering(bytes, start) == end { end - start } else { 0 }
}
