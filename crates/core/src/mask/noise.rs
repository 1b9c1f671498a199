//! `acme_…`, `acme-…`: a short name and noise, which is how services write their keys, also those without a row in the
//! tables.

use crate::mask::Secret;
use crate::mask::bytes::{run, run_up_to, starts_with_ignore_case, word_start};
use crate::mask::judge::is_wordy;
use crate::mask::shapes::Alphabet;

/// Parts of a name that say that what follows is a secret, even if it looks like a hash; also services whose keys do.
const TELLING: &[&str] = &[
    "aio", "apikey", "bedrock", "e2b", "live", "pat", "pw", "rootly", "s4t2af", "s4t2ud", "sec", "secret",
    "signkey", "sk", "slk", "tkn", "token",
];
/// How names of what is public begin: numbers, hashes, keys for browsers.
const PUBLIC: &[&str] = &[
    "chatcmpl",
    "chunk",
    "cs",
    "cursor",
    "etag",
    "fc",
    "file",
    "md5",
    "msg",
    "nonce",
    "page",
    "phc",
    "pk_live",
    "pk_test",
    "pub",
    "public",
    "publishable",
    "req",
    "resp",
    "rs",
    "sb_publishable",
    "sha1",
    "sha256",
    "sha384",
    "sha512",
];
const LONGEST_NAME: usize = 24;
const SHORTEST_NOISE: usize = 32;
/// After a telling name, if it does not look like a hash.
const SHORTEST_TOLD: usize = 20;
/// Two groups of eight after one of 32: the only keys of this kind without a name.
const MAILGUN: usize = 17;
/// After a name of six letters, with `_mmk` at the end.
const MAXMIND: usize = 33;
/// Any stretch of this many bytes contains a whole block, wherever the blocks begin.
const SHORTEST: usize = 2 * BLOCK - 1;
const BLOCK: usize = 16;

/// Finds the signs that noise may follow. Words are shorter than a block, so one look at each block skips nearly all of a
/// text.
#[derive(Default)]
pub struct Joints {
    /// The next sign; 0 if it is not known.
    next: usize,
    /// Where the letters around it end.
    end: usize,
}

impl Joints {
    /// The first sign at or after `from`, or `usize::MAX`.
    pub fn next(&mut self, bytes: &[u8], from: usize) -> usize {
        if self.next < from || self.next == 0 {
            self.next = self.find(bytes, from.max(1));
        }
        self.next
    }

    /// The text now begins at `at`.
    pub fn restart_at(&mut self, at: usize) {
        self.end = self.end.saturating_sub(at);
        if self.next != usize::MAX {
            self.next = self.next.saturating_sub(at);
        }
    }

    /// Apart from the loop that asks for it, which has to be small.
    #[inline(never)]
    fn find(&mut self, bytes: &[u8], mut from: usize) -> usize {
        loop {
            while let Some(skipped) = bytes.get(from..self.end).and_then(next_sign) {
                from += skipped;
                if may_be_noise(&bytes[from + 1..]) {
                    return from;
                }
                from += 1;
            }
            from = from.max(self.end);
            let rest = bytes.get(from..).unwrap_or_default();
            let Some(block) =
                rest.as_chunks().0.iter().position(|block| !has_gap(block) && block.iter().all(is_letter))
            else {
                return usize::MAX;
            };
            let inside = from + block * BLOCK;
            let known = inside + BLOCK;
            self.end = known + run(bytes, known, |byte| is_letter(&byte));
            let back = bytes[..inside].iter().rev().take(BLOCK).take_while(|byte| is_letter(byte)).count();
            from = if back + self.end - inside < SHORTEST { self.end } else { from.max(inside - back) };
        }
    }
}

/// The first `_` or `-`, looked for in eight bytes at a time.
fn next_sign(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 0xff;
    let (eights, rest) = bytes.as_chunks::<8>();
    // The lowest byte that is marked is right; what is above it may be a carry.
    let marks = |eight: u64, sign: u8| {
        let other = eight ^ (ONES * u64::from(sign));
        other.wrapping_sub(ONES) & !other & (ONES << 7)
    };
    for (number, eight) in eights.iter().enumerate() {
        let eight = u64::from_le_bytes(*eight);
        let marks = marks(eight, b'_') | marks(eight, b'-');
        if marks != 0 {
            return Some(8 * number + marks.trailing_zeros() as usize / 8);
        }
    }
    let sign = |byte: &u8| matches!(byte, b'_' | b'-');
    rest.iter().position(sign).map(|at| bytes.len() - rest.len() + at)
}

/// Whether a blank, a quote, a bracket or another sign below `-` is in the block: nearly always, and told without a branch.
fn has_gap(block: &[u8; BLOCK]) -> bool {
    const ONES: u64 = u64::MAX / 0xff;
    let (halves, _) = block.as_chunks::<8>();
    let below = |half: &[u8; 8]| {
        let half = u64::from_ne_bytes(*half);
        half.wrapping_sub(ONES * b'-' as u64) & !half
    };
    (below(&halves[0]) | below(&halves[1])) & (ONES << 7) != 0
}

fn is_letter(byte: &u8) -> bool {
    const LETTERS: [bool; 256] = {
        let mut letters = [false; 256];
        let mut byte = 0;
        while byte < 256 {
            letters[byte] = Alphabet::Word.has(byte as u8);
            byte += 1;
        }
        letters
    };
    LETTERS[usize::from(*byte)]
}

/// Names in code rarely go on for so long, with a digit among their letters. The groups of UUIDs and dates are shorter.
fn may_be_noise(rest: &[u8]) -> bool {
    rest.len() >= MAILGUN
        && !rest[..5].iter().any(|byte| matches!(byte, b'_' | b'-'))
        && rest[..MAILGUN].iter().all(is_letter)
        && rest[..rest.len().min(SHORTEST_NOISE)].iter().any(u8::is_ascii_digit)
}

/// At the sign between name and noise.
pub fn named(bytes: &[u8], at: usize) -> Option<Secret> {
    let letters = bytes[..at].iter().rev().take(LONGEST_NAME + 16).take_while(|byte| is_letter(byte)).count();
    let start = word_start(bytes, at - letters, at);
    let name = &bytes[start..at];
    let length = run_up_to(bytes, at + 1, 256, |byte| is_letter(&byte));
    let end = at + 1 + length;
    let noise = &bytes[at + 1..end];
    let is_hex = |part: &[u8]| part.iter().all(u8::is_ascii_hexdigit);
    if name.len() == 32 && is_hex(name) && length == MAILGUN && noise[8] == b'-' {
        let key = is_hex(&noise[..8]) && is_hex(&noise[9..]);
        return if key { Secret::new("mailgun-key", start..end) } else { None };
    }
    if name.len() == 6 && length == MAXMIND && noise.ends_with(b"_mmk") {
        return Secret::new("maxmind-key", start..end);
    }
    let telling = name
        .split(|byte| matches!(byte, b'_' | b'-'))
        .any(|part| TELLING.iter().any(|word| part.eq_ignore_ascii_case(word.as_bytes())));
    let hash = noise.iter().all(|byte| Alphabet::Uuid.has(*byte));
    let least = if telling && !hash { SHORTEST_TOLD } else { SHORTEST_NOISE };
    // `linux-cargo-…`: the noise begins after the next sign, if at all.
    let first = noise.split(|byte| matches!(byte, b'_' | b'-')).next().unwrap_or_default();
    let likely = end - start >= SHORTEST
        && length >= least
        && (telling || !hash)
        && is_short_name(name)
        && !is_public(name)
        && !is_wordy(first)
        && is_noise(noise)
        && !is_part(bytes, start, end)
        // The manuals of AWS.
        && memchr::memmem::find(noise, b"EXAMPLE").is_none();
    let padding = run_up_to(bytes, end, 2, |byte| byte == b'=');
    if likely { Secret::new("token", start..end + padding) } else { None }
}

/// A path, a member, base64, a file's name, a call: something longer, of which this is a part.
fn is_part(bytes: &[u8], start: usize, end: usize) -> bool {
    let before = start.checked_sub(1).map_or(b' ', |before| bytes[before]);
    let after = &bytes[end..];
    // `sha256=…` in a list of files.
    let from = start.saturating_sub(8);
    let lead = bytes[from..start].strip_suffix(b"=").or_else(|| bytes[from..start].strip_suffix(b":"));
    let hash = lead.is_some_and(|lead| {
        [&b"sha256"[..], b"sha512", b"sha1", b"md5"].iter().any(|word| lead.ends_with(word))
    });
    hash || matches!(before, b'/' | b'.' | b'+' | b'@' | b'#' | b'%')
        || matches!(after, [b'/' | b'+' | b'(' | b'@' | b'%', ..])
        || matches!(after, [b'.' | b':' | b'=', next, ..] if next.is_ascii_alphanumeric() || *next == b':')
}

fn is_public(name: &[u8]) -> bool {
    PUBLIC.iter().any(|word| {
        starts_with_ignore_case(name, word) && matches!(name.get(word.len()), None | Some(b'_' | b'-'))
    })
}

/// Up to three words, each in small letters or in capitals.
fn is_short_name(name: &[u8]) -> bool {
    let same_case = |part: &[u8]| {
        let capitals = part.iter().filter(|byte| byte.is_ascii_uppercase()).count();
        let small = part.iter().filter(|byte| byte.is_ascii_lowercase()).count();
        !part.is_empty() && (capitals == 0 || small == 0)
    };
    let mut parts = name.split(|byte| matches!(byte, b'_' | b'-'));
    (2..=LONGEST_NAME).contains(&name.len())
        && name[0].is_ascii_alphabetic()
        && parts.clone().count() <= 3
        && parts.all(same_case)
}

/// Letters, capitals and digits change more often than in any name.
pub fn is_noise(bytes: &[u8]) -> bool {
    let class = |byte: u8| match byte {
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        b'0'..=b'9' => 3,
        _ => 0,
    };
    let (mut changes, mut numbers, mut before) = (0, 0, 0);
    for class in bytes.iter().map(|byte| class(*byte)).filter(|class| *class != 0) {
        changes += usize::from(class != before);
        numbers += usize::from(class != before && class == 3);
        before = class;
    }
    // `m16n8k16_row_col_f16_f32` has as many changes, and a sign after every few letters.
    let signs = bytes.iter().filter(|byte| matches!(byte, b'_' | b'-')).count();
    if signs * 8 > bytes.len() {
        return false;
    }
    let often = |parts: usize, of: usize| changes * of >= bytes.len() * parts;
    (numbers >= 1 && often(3, 5)) || (numbers >= 2 && often(1, 2)) || (numbers >= 4 && often(1, 4))
}
