//! Finds the places that may hold a secret. A table of byte pairs skips ordinary text; where it stops, slower checks
//! follow. Every look back or ahead is bounded, so no text takes more than its length times a constant.

use crate::mask::assign::{self, Found, NameAt, name_before, value_from};
use crate::mask::bytes::{
    begins_word, is_blank, is_name_byte, is_quote, line_end, run, run_up_to, starts_with_ignore_case,
};
use crate::mask::commands::{COMMANDS, Form, PHRASES};
use crate::mask::judge::{Style, is_random, is_secret, is_wordy, stands_for_a_value};
use crate::mask::names::{Kind, kind_of, may_end_before_blank, may_matter};
use crate::mask::shapes::{Alphabet, MIDDLES, Middle, Place, SHAPES, Shape};
use crate::mask::{Secret, address, pem};
use std::ops::Range;

/// A word from the tables may begin here, if its third letter fits too.
const WORD: u8 = 1;
/// A sign that is significant anywhere.
const SIGN: u8 = 2;
/// A separator between a name and its value.
const SEPARATOR: u8 = 4;
/// A name may end here, with its value after a blank or a `>`.
const NAME_END: u8 = 8;

/// For each pair of bytes, what may begin at the first: this skips ordinary text at memory speed.
static STARTS: [[u8; 256]; 256] = starts();
/// The same for the first four bytes of a word, as one bit for each of their hashes. Hashes can collide.
static FOURS: [u64; SUMS / 64] = fours();
const SUM_BITS: u32 = 18;
const SUMS: usize = 1 << SUM_BITS;

const fn sum(four: u32) -> usize {
    (four.wrapping_mul(0x9e37_79b1) >> (32 - SUM_BITS)) as usize
}

/// Beginnings of secrets that are in no other table.
const OTHERS: &[(&[u8], Other)] = &[
    (b"eyJ", Other::Jwt),
    (b"Bearer ", Other::Bearer),
    (b"bearer ", Other::Bearer),
    (b"BEARER ", Other::Bearer),
    (b"Private-", Other::Putty),
    (b"MII", Other::KeyBody),
    (b"MIG", Other::KeyBody),
    (b"MHcC", Other::KeyBody),
    (b"MC4C", Other::KeyBody),
    (b"b3Bl", Other::KeyBody),
    (b"TRUE\t", Other::CookieJar),
    (b"FALSE\t", Other::CookieJar),
    (b"SK", Other::Twilio),
    // The base64 of a number's first digit.
    (b"MT", Other::Discord),
    (b"Mj", Other::Discord),
    (b"Mz", Other::Discord),
    (b"ND", Other::Discord),
    (b"NT", Other::Discord),
    (b"Nj", Other::Discord),
    (b"Nz", Other::Discord),
    (b"OD", Other::Discord),
    (b"OT", Other::Discord),
];

#[derive(Clone, Copy)]
enum Other {
    Jwt,
    Bearer,
    Putty,
    KeyBody,
    CookieJar,
    Twilio,
    Discord,
}

/// How one entry of the tables begins.
#[derive(Clone, Copy)]
struct Start {
    /// The first four bytes, and which of them count.
    head: u32,
    mask: u32,
    what: Begins,
}

#[derive(Clone, Copy)]
enum Begins {
    Shape(usize),
    /// The first row of a program.
    Program(usize),
    Phrase,
    Other(Other),
}

const fn start(word: &[u8], what: Begins) -> Start {
    let (mut head, mut mask, mut i) = (0, 0, 0);
    while i < 4 {
        head <<= 8;
        mask <<= 8;
        if i < word.len() {
            head |= word[i] as u32;
            mask |= 0xff;
        }
        i += 1;
    }
    Start { head, mask, what }
}

const COUNT: usize = SHAPES.len() + COMMANDS.len() + 2 * PHRASES.len() + OTHERS.len();

/// Everything that begins with a word, grouped by first byte; within a group in the order of the tables.
static BEGINNINGS: ([Start; COUNT], [usize; 257]) = FOUND;
const FOUND: ([Start; COUNT], [usize; 257]) = beginnings();

const fn beginnings() -> ([Start; COUNT], [usize; 257]) {
    const NONE: Start = Start { head: 0, mask: 0, what: Begins::Phrase };
    let mut all = [NONE; COUNT];
    let mut n = 0;
    let mut i = 0;
    while i < SHAPES.len() {
        all[n] = start(SHAPES[i].prefix.as_bytes(), Begins::Shape(i));
        (n, i) = (n + 1, i + 1);
    }
    let mut i = 0;
    while i < COMMANDS.len() {
        let name = COMMANDS[i].program.as_bytes();
        // A program's name is a word: the blank after a short one counts.
        let blank = [
            name[0],
            name[1],
            if name.len() > 2 { name[2] } else { b' ' },
            if name.len() > 3 { name[3] } else { b' ' },
        ];
        all[n] = start(if name.len() == 2 { blank.split_at(3).0 } else { &blank }, Begins::Program(i));
        (n, i) = (n + 1, i + 1);
    }
    let mut i = 0;
    while i < PHRASES.len() {
        let words = PHRASES[i].words.as_bytes();
        let small =
            [words[0].to_ascii_lowercase(), words[1].to_ascii_lowercase(), words[2].to_ascii_lowercase()];
        all[n] = start(words, Begins::Phrase);
        all[n + 1] = start(&small, Begins::Phrase);
        (n, i) = (n + 2, i + 1);
    }
    let mut i = 0;
    while i < OTHERS.len() {
        all[n] = start(OTHERS[i].0, Begins::Other(OTHERS[i].1));
        (n, i) = (n + 1, i + 1);
    }
    let mut sorted = [NONE; COUNT];
    let mut offsets = [0; 257];
    let (mut filled, mut byte) = (0, 0);
    while byte < 256 {
        offsets[byte] = filled;
        let mut i = 0;
        while i < COUNT {
            if (all[i].head >> 24) as usize == byte {
                sorted[filled] = all[i];
                filled += 1;
            }
            i += 1;
        }
        byte += 1;
    }
    offsets[256] = filled;
    (sorted, offsets)
}

const fn starts() -> [[u8; 256]; 256] {
    let mut table = [[0; 256]; 256];
    let mut i = 0;
    while i < COUNT {
        let [a, b, ..] = FOUND.0[i].head.to_be_bytes();
        table[a as usize][b as usize] |= WORD;
        i += 1;
    }
    let mut i = 0;
    while i < MIDDLES.len() {
        let marker = MIDDLES[i].marker.as_bytes();
        table[marker[0] as usize][marker[1] as usize] |= SIGN;
        i += 1;
    }
    let mut i = 0;
    while i < COMMANDS.len() {
        let option = COMMANDS[i].option.as_bytes();
        if option[0] == b'-' {
            table[b'-' as usize][option[1] as usize] |= SIGN;
        }
        i += 1;
    }
    table[b'[' as usize][b'm' as usize] |= SIGN; // what was masked before
    table[b'-' as usize][b'-' as usize] |= SIGN; // -----BEGIN
    table[b'@' as usize][b't' as usize] |= SIGN; // user:password@tcp(
    table[b'@' as usize][b'u' as usize] |= SIGN;
    table[b'%' as usize][b'3' as usize] |= SEPARATOR;
    table[b'"' as usize][b',' as usize] |= SEPARATOR;
    table[b'\'' as usize][b',' as usize] |= SEPARATOR;
    let mut b = 0;
    while b < 256 {
        table[b'=' as usize][b] |= SEPARATOR;
        table[b':' as usize][b] |= SEPARATOR;
        b += 1;
    }
    // The last two letters of names that precede a blank: rarer than a blank after the last one.
    let ends = b"rdwdssenetey";
    let mut i = 0;
    while i < ends.len() {
        let (a, b) = (ends[i], ends[i + 1]);
        table[a as usize][b as usize] |= NAME_END;
        table[a.to_ascii_uppercase() as usize][b.to_ascii_uppercase() as usize] |= NAME_END;
        i += 2;
    }
    table
}

const fn fours() -> [u64; SUMS / 64] {
    let mut bits = [0; SUMS / 64];
    let mut i = 0;
    while i < COUNT {
        let Start { head, mask, .. } = FOUND.0[i];
        // Only hex and the base64 of a number have such a short head.
        let mut c = if mask & 0xff00 == 0 { b'0' } else { 127 };
        while c < if mask & 0xff00 == 0 { b'z' } else { 128 } {
            let mut d = b' ';
            while d < 128 {
                let number = matches!(c, b'A' | b'E' | b'I' | b'M' | b'Q' | b'U' | b'Y' | b'c' | b'g' | b'k');
                let fits = c == 127 || ((number || c.is_ascii_hexdigit()) && d.is_ascii_alphanumeric());
                let third = if mask & 0xff00 == 0 { (c as u32) << 8 } else { 0 };
                let fourth = if mask & 0xff == 0 { d as u32 } else { 0 };
                if fits {
                    let sum = sum(head | third | fourth);
                    bits[sum / 64] |= 1 << (sum % 64);
                }
                // What a row fixes needs only one pass.
                d = if mask & 0xff == 0 { d + 1 } else { 128 };
            }
            c += 1;
        }
        i += 1;
    }
    bits
}

/// A line of YAML whose value is a key in base64.
const LONGEST_LINE: usize = 64 << 10;

/// A region where every value counts, whatever its name.
enum Stretch {
    Cookies(Range<usize>),
    /// The `data` of a Kubernetes secret.
    Kubernetes(Range<usize>),
}

impl Stretch {
    fn span(&self) -> &Range<usize> {
        let (Stretch::Cookies(span) | Stretch::Kubernetes(span)) = self;
        span
    }
}

/// All positions count from the end of the last mask: nothing looks back beyond it, so the rules see the same text
/// whether a secret or its mask is there, and masking is idempotent.
pub struct Scan<'a> {
    /// The text after the last mask.
    bytes: &'a [u8],
    /// Where `bytes` begins in the whole text.
    base: usize,
    at: usize,
    /// A secret that is already known.
    known: Option<Range<usize>>,
    stretch: Option<Stretch>,
    /// The last program that takes secrets: its first row in [`COMMANDS`], and where its name ends.
    command: Option<(usize, usize)>,
    /// Whether the text is about a Kubernetes secret; determined when needed.
    kubernetes: Option<bool>,
    /// No JWT begins before this.
    not_a_jwt: usize,
}

impl<'a> Scan<'a> {
    pub fn new(bytes: &'a [u8]) -> Scan<'a> {
        Scan {
            bytes,
            base: 0,
            at: 0,
            known: None,
            stretch: None,
            command: None,
            kubernetes: None,
            not_a_jwt: 0,
        }
    }

    /// A text that is a list of cookies.
    pub fn of_cookies(bytes: &'a [u8]) -> Scan<'a> {
        Scan { stretch: Some(Stretch::Cookies(0..bytes.len())), ..Scan::new(bytes) }
    }

    /// A text that holds the secret of an `Authorization` at `known`.
    pub fn with_authorization(bytes: &'a [u8], known: Range<usize>) -> Scan<'a> {
        Scan { known: Some(known), ..Scan::new(bytes) }
    }

    /// Continues after `at`, and never looks back beyond it.
    fn restart_at(&mut self, at: usize) {
        self.bytes = &self.bytes[at..];
        self.base += at;
        self.at = 0;
        self.not_a_jwt = self.not_a_jwt.saturating_sub(at);
        // A program's name before this point still counts for what follows.
        self.command = self.command.map(|(row, end)| (row, end.saturating_sub(at)));
        if let Some(stretch) = &mut self.stretch {
            let (Stretch::Cookies(span) | Stretch::Kubernetes(span)) = stretch;
            *span = span.start.saturating_sub(at)..span.end.saturating_sub(at);
        }
    }

    /// The next secret, by its position in the whole text.
    pub fn next_secret(&mut self) -> Option<Secret> {
        if let Some(known) = self.known.take() {
            self.restart_at(known.end);
            return Secret::new("authorization", known);
        }
        loop {
            let (at, what) = self.next_candidate()?;
            if let Some(end) = mask_length(&self.bytes[at..]) {
                self.restart_at(at + end);
                continue;
            }
            // What contains a mask was already checked when the secret was still in it.
            let found = self.secret_at(at, what);
            let new = found.filter(|secret| {
                memchr::memmem::find(&self.bytes[secret.span.clone()], b"[masked:").is_none()
            });
            let Some(Secret { name, span }) = new else {
                self.at = at + 1;
                continue;
            };
            let base = self.base;
            self.restart_at(span.end);
            return Secret::new(name, base + span.start..base + span.end);
        }
    }

    fn next_candidate(&self) -> Option<(usize, u8)> {
        let mut at = self.at;
        loop {
            let pairs = self.bytes.get(at..)?.windows(2);
            at += pairs.into_iter().position(|pair| STARTS[pair[0] as usize][pair[1] as usize] != 0)?;
            let what = self.second_check(at, STARTS[self.bytes[at] as usize][self.bytes[at + 1] as usize]);
            if what != 0 {
                return Some((at, what));
            }
            at += 1;
        }
    }

    /// What may be at `at` after a second check that is still cheap.
    #[inline(always)]
    fn second_check(&self, at: usize, mut what: u8) -> u8 {
        let bytes = self.bytes;
        if what & WORD != 0 {
            let four = bytes
                .get(at..at + 4)
                .map_or(0, |four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]));
            let sum = sum(four);
            if FOURS[sum / 64] >> (sum % 64) & 1 == 0 {
                what &= !WORD;
            }
        }
        if what & NAME_END != 0 {
            let ended = matches!(bytes.get(at + 2), Some(b' ' | b'\t' | b'>'));
            if !ended
                || at < 2
                || !may_end_before_blank([bytes[at - 2], bytes[at - 1], bytes[at], bytes[at + 1]])
            {
                what &= !NAME_END;
            }
        }
        if what & SEPARATOR != 0 && self.stretch.is_none() && !self.may_separate(at) {
            what &= !SEPARATOR;
        }
        what
    }

    /// Whether the text before the separator at `at` could be a name that matters.
    fn may_separate(&self, at: usize) -> bool {
        let bytes = self.bytes;
        // The signs of an address and of a bot's token.
        if bytes[at] == b':' && matches!(bytes[at + 1], b'/' | b'\\' | b'A' | b'5') {
            return true;
        }
        if bytes[at] == b'%' && bytes.get(at + 3) == Some(&b'%') {
            return true;
        }
        let mut end = at;
        while end > 0
            && at - end < 16
            && matches!(
                bytes[end - 1],
                b'"' | b'\'' | b' ' | b'\\' | b']' | b'?' | b'`' | b':' | b'!' | b'\t'
            )
        {
            end -= 1;
        }
        if end < 2 {
            return false;
        }
        // The end of a color; a typed name, as in `password: str = "…"`.
        let colored = matches!(bytes[end - 1], b'm' | b'K') && matches!(bytes[end - 2], b'0'..=b'9' | b'[');
        let typed = bytes[at] == b'=' && at > end && bytes[at + 1] == b' ' && may_open(&bytes[at + 2..]);
        colored || typed || may_matter(bytes, end)
    }

    fn secret_at(&mut self, at: usize, what: u8) -> Option<Secret> {
        let mut secret = None;
        if what & SIGN != 0 {
            secret = self.at_sign(at);
        }
        if secret.is_none() && what & SEPARATOR != 0 {
            secret = self.at_separator(at);
        }
        if secret.is_none() && what & NAME_END != 0 {
            secret = self.at_name_end(at);
        }
        if secret.is_none() && what & WORD != 0 {
            secret = self.at_word(at);
        }
        secret
    }

    fn at_sign(&mut self, at: usize) -> Option<Secret> {
        let bytes = self.bytes;
        let middle = MIDDLES.iter().filter(|row| bytes[at..].starts_with(row.marker.as_bytes()));
        if let Some(secret) = middle.into_iter().find_map(|row| self.middle(at, row)) {
            return Some(secret);
        }
        match bytes[at] {
            b'@' => address::driver(bytes, at),
            b'-' => pem::at_dashes(bytes, at).or_else(|| self.option(at)).or_else(|| self.long_option(at)),
            _ => None,
        }
    }

    fn middle(&self, at: usize, row: &Middle) -> Option<Secret> {
        // Azure's marker follows a digit, which rules out nearly everything else.
        if row.marker == "Q~" && !at.checked_sub(1).is_some_and(|before| self.bytes[before].is_ascii_digit())
        {
            return None;
        }
        let (before, least, most) = row.before;
        let back = self.bytes[..at].iter().rev().take(most + 1).take_while(|byte| before.has(**byte)).count();
        let (after, after_least, after_most) = row.after;
        let start = at + row.marker.len();
        let ahead =
            run_up_to(self.bytes, start, after_most.saturating_add(1).min(512), |byte| after.has(byte));
        // One character too many before it is another number; `[…]8Q~` may follow anything.
        let fits = back >= least
            && (back <= most || before == Alphabet::Dotted)
            && ahead >= after_least
            && ahead <= after_most;
        if !fits {
            return None;
        }
        let ahead = run(self.bytes, start, |byte| after.has(byte));
        Secret::new(row.name, at - back.min(most)..start + ahead)
    }

    fn at_separator(&mut self, at: usize) -> Option<Secret> {
        let bytes = self.bytes;
        if let Some(stretch) = &self.stretch {
            if at >= stretch.span().end {
                self.stretch = None;
            } else if at >= stretch.span().start {
                let found = match stretch {
                    Stretch::Cookies(list) if bytes[at] == b'=' => assign::cookie(bytes, at, list),
                    Stretch::Kubernetes(data) if bytes[at] == b':' => kubernetes_value(bytes, at, data),
                    _ => None,
                };
                if found.is_some() {
                    return found;
                }
            }
        }
        let next = bytes[at + 1];
        let before = at.checked_sub(1).map_or(b' ', |before| bytes[before]);
        let separator = match bytes[at] {
            b'=' if matches!(next, b'=' | b'~') || b"=!<>+*/%^~|&-".contains(&before) => return None,
            b'=' if next == b'>' => at..at + 2,
            b':' if next == b':' || before == b':' || next == b'=' => return None,
            b':' => {
                if let Some(secret) = address::password(bytes, at)
                    .or_else(|| address::oracle(bytes, at))
                    .or_else(|| address::pgpass(bytes, at))
                {
                    return Some(secret);
                }
                if bytes[at + 1..].starts_with(b"//") {
                    return None;
                }
                at..at + 1
            }
            b'%' => {
                if let Some(secret) = address::encoded(bytes, at) {
                    return Some(secret);
                }
                if !matches!(bytes.get(at + 2), Some(b'D' | b'd' | b'A' | b'a')) {
                    return None;
                }
                at..at + 3
            }
            // `"name", "value"`
            b'"' | b'\'' => {
                let start = at + 2 + run_up_to(bytes, at + 2, 16, is_blank);
                let quote = start + run_up_to(bytes, start, 4, |byte| byte == b'\\');
                if !bytes.get(quote).copied().is_some_and(is_quote) {
                    return None;
                }
                at + 1..at + 2
            }
            _ => at..at + 1,
        };
        if self.stretch.is_none() && self.opens_kubernetes_data(at) {
            return None;
        }
        match assign::assigned(bytes, separator)? {
            Found::Secret(secret) => Some(secret),
            Found::Cookies(span) => {
                self.stretch.get_or_insert(Stretch::Cookies(span));
                None
            }
        }
    }

    /// `data:` in a text about a Kubernetes secret.
    fn opens_kubernetes_data(&mut self, at: usize) -> bool {
        let bytes = self.bytes;
        if bytes[at] != b':' {
            return false;
        }
        let Some(name) = name_before(bytes, at) else { return false };
        let text = &bytes[name.span];
        if text != b"data" && text != b"stringData" {
            return false;
        }
        let known = match self.kubernetes {
            Some(known) => known,
            None => *self.kubernetes.insert(is_about_a_kubernetes_secret(bytes)),
        };
        if !known {
            return false;
        }
        let after = at + 1 + run_up_to(bytes, at + 1, 16, |byte| is_blank(byte) || byte == b'\n');
        let end = match bytes.get(after) {
            Some(b'{') => after + run_up_to(bytes, after, 64 << 10, |byte| byte != b'}'),
            _ => indented_end(bytes, line_end(bytes, at, LONGEST_LINE)),
        };
        self.stretch = Some(Stretch::Kubernetes(at + 1..end));
        true
    }

    /// The last two letters of a name are at `at`, and a blank or `>` follows.
    fn at_name_end(&mut self, at: usize) -> Option<Secret> {
        let bytes = self.bytes;
        let after = at + 2;
        let name = name_before(bytes, after)?;
        let kind = kind_of(&bytes[name.span.clone()])?;
        if matches!(kind, Kind::Authorization | Kind::Cookie) {
            return None;
        }
        if bytes[after] == b'>' {
            let opened = name.span.start.checked_sub(1).is_some_and(|before| bytes[before] == b'<');
            let length = run_up_to(bytes, after + 1, 512, |byte| byte != b'<' && byte != b'\n');
            let closed = bytes[after + 1 + length..].starts_with(b"</");
            let value = assign::ValueAt { span: after + 1..after + 1 + length, quoted: true };
            return if opened && closed && is_secret(kind, Style::Data, &value.judged(bytes)) {
                Secret::new("secret", value.span)
            } else {
                None
            };
        }
        let style = self.beside(&name, after)?;
        match assign::found(bytes, kind, style, &name, after)? {
            Found::Secret(secret) => Some(secret),
            Found::Cookies(_) => None,
        }
    }

    /// `--name value`; with `=` it is a name like any other.
    fn long_option(&mut self, at: usize) -> Option<Secret> {
        let bytes = self.bytes;
        if bytes[at + 1] != b'-' || at.checked_sub(1).is_some_and(|before| bytes[before] == b'-') {
            return None;
        }
        let length = run_up_to(bytes, at, 64, is_name_byte);
        let span = at..at + length;
        if !bytes.get(span.end).copied().is_some_and(is_blank) {
            return None;
        }
        let kind = kind_of(&bytes[span.clone()])?;
        let name = NameAt { span, quoted: false, spaced: false };
        self.beside(&name, name.span.end)?;
        match assign::found(bytes, kind, Style::Env, &name, name.span.end)? {
            Found::Secret(secret) => Some(secret),
            Found::Cookies(_) => None,
        }
    }

    /// How significant `name value` is, by its surroundings.
    fn beside(&self, name: &NameAt, after: usize) -> Option<Style> {
        let bytes = self.bytes;
        let value = value_from(bytes, after)?;
        if matches!(bytes[value.span.start.min(bytes.len() - 1)], b'-' | b'=' | b':') && !value.quoted {
            return None;
        }
        let option = bytes[name.span.start] == b'-';
        let sql = value.quoted && bytes[value.span.start - 1] == b'\'';
        // A .netrc: `login me password …`
        let from = name.span.start.saturating_sub(96);
        let lead = &bytes[from..name.span.start];
        let netrc = memchr::memmem::find(lead, b"login ").is_some();
        Some(if option || sql || netrc { Style::Env } else { Style::Beside })
    }

    fn at_word(&mut self, at: usize) -> Option<Secret> {
        let bytes = self.bytes;
        let mut four = [0; 4];
        let length = (bytes.len() - at).min(4);
        four[..length].copy_from_slice(&bytes[at..at + length]);
        let head = u32::from_be_bytes(four);
        let (starts, offsets) = &BEGINNINGS;
        let first = usize::from(bytes[at]);
        starts[offsets[first]..offsets[first + 1]]
            .iter()
            .filter(|start| head & start.mask == start.head)
            .find_map(|start| match start.what {
                Begins::Shape(row) => prefixed(bytes, at, &SHAPES[row]),
                Begins::Other(Other::Jwt) => self.jwt(at),
                _ if !begins_word(bytes, at) => None,
                Begins::Program(row) => self.program(at, row),
                Begins::Phrase => phrase(bytes, at),
                Begins::Other(Other::Bearer) => bearer(bytes, at),
                Begins::Other(Other::Putty) => pem::putty(bytes, at),
                Begins::Other(Other::KeyBody) => pem::body(bytes, at),
                Begins::Other(Other::CookieJar) => cookie_jar(bytes, at),
                Begins::Other(Other::Twilio) => twilio(bytes, at),
                Begins::Other(Other::Discord) => discord(bytes, at),
            })
    }

    /// Three base64url parts, the first two of which are JSON objects (`eyJ` is `{"`).
    fn jwt(&mut self, at: usize) -> Option<Secret> {
        let bytes = self.bytes;
        if at < self.not_a_jwt || !bytes[at..].starts_with(b"eyJ") {
            return None;
        }
        let part = |from: usize| from + run(bytes, from, |byte| Alphabet::Word.has(byte));
        let first = part(at);
        let second = if bytes.get(first) == Some(&b'.') { part(first + 1) } else { first };
        let object = bytes[first..].starts_with(b".eyJ");
        if first - at < 10 || !object || second - first < 10 || bytes.get(second) != Some(&b'.') {
            self.not_a_jwt = first;
            return None;
        }
        Secret::new("jwt", at..part(second + 1))
    }

    /// Remembers a program that takes secrets.
    fn program(&mut self, at: usize, first: usize) -> Option<Secret> {
        let bytes = self.bytes;
        let program = COMMANDS[first].program;
        let end = at + program.len();
        let named =
            bytes[at..].starts_with(program.as_bytes()) && bytes.get(end).copied().is_some_and(is_blank);
        if !named || (first > 0 && COMMANDS[first - 1].program == program) {
            return None;
        }
        self.command = Some((first, end));
        let mut third = rows(first).filter(|row| row.form == Form::ThirdWord);
        third.find_map(|row| third_word(bytes, end, row.option))
    }

    /// An option of the last program.
    fn option(&mut self, at: usize) -> Option<Secret> {
        let bytes = self.bytes;
        let (first, program) = self.command?;
        if !is_blank(bytes[at.checked_sub(1)?]) || at - program > 2048 {
            return None;
        }
        let between = &bytes[program..at];
        let other_line =
            memchr::memrchr(b'\n', between).is_some_and(|at| at == 0 || between[at - 1] != b'\\');
        if other_line || between.windows(2).any(|pair| matches!(pair, b" |" | b" ;" | b"&&" | b"; ")) {
            self.command = None;
            return None;
        }
        let row = |row: &crate::mask::commands::Command| {
            let with = row.with.is_empty() || memchr::memmem::find(between, row.with.as_bytes()).is_some();
            (with && bytes[at..].starts_with(row.option.as_bytes())).then_some(())?;
            let after = at + row.option.len();
            let apart = bytes.get(after).copied().is_some_and(|byte| is_blank(byte) || byte == b'=');
            if apart == (row.form == Form::Glued) {
                return None;
            }
            let mut value = value_from(bytes, after + usize::from(bytes[after] == b'='))?;
            let inner = &bytes[value.span.clone()];
            match row.form {
                Form::Cookies => {
                    let whole =
                        run_up_to(bytes, value.span.start, 4096, |byte| byte > b' ' && !is_quote(byte));
                    let end = if value.quoted { value.span.end } else { value.span.start + whole };
                    return Some(Err(value.span.start..end));
                }
                Form::AfterColon => value.span.start += memchr::memchr(b':', inner)? + 1,
                Form::AfterPercent => value.span.start += memchr::memchr(b'%', inner)? + 1,
                Form::Glued | Form::Next | Form::ThirdWord => {}
            }
            if !value.quoted {
                let more = run_up_to(bytes, value.span.end, 128, |byte| {
                    byte > b' ' && !is_quote(byte) && !matches!(byte, b'\\' | b'|' | b';' | b')')
                });
                value.span.end += more;
            }
            let judged = value.judged(bytes);
            is_secret(Kind::Password, Style::Env, &judged).then_some(Ok(value.span))
        };
        match rows(first).find_map(row)? {
            Ok(span) => Secret::new("password", span),
            Err(cookies) => {
                self.stretch.get_or_insert(Stretch::Cookies(cookies));
                None
            }
        }
    }
}

/// The length of the mask at the start of `rest`, if there is one.
fn mask_length(rest: &[u8]) -> Option<usize> {
    let name = rest.strip_prefix(b"[masked:")?;
    let length = run_up_to(name, 0, 32, |byte| byte.is_ascii_lowercase() || byte == b'-');
    (name.get(length) == Some(&b']')).then_some(8 + length + 1)
}

/// Whether a quote opens here, escaped or not.
fn may_open(rest: &[u8]) -> bool {
    matches!(rest, [b'"' | b'\'', ..] | [b'\\', ..])
}

/// The rows of the program whose first row this is.
fn rows(first: usize) -> impl Iterator<Item = &'static crate::mask::commands::Command> {
    let program = COMMANDS[first].program;
    COMMANDS[first..].iter().take_while(move |row| row.program == program)
}

/// `program --options file user SECRET`, if `option` is among its words.
fn third_word(bytes: &[u8], from: usize, option: &str) -> Option<Secret> {
    let line = &bytes[from..line_end(bytes, from, 512)];
    let mut seen = option.is_empty();
    let mut words = 0;
    let mut at = 0;
    while at < line.len() {
        at += run(line, at, is_blank);
        let value = value_from(bytes, from + at)
            .filter(|value| !value.span.is_empty() && value.span.start < from + line.len())?;
        let word = &bytes[value.span.clone()];
        seen |= word == option.as_bytes();
        if !word.starts_with(b"-") {
            words += 1;
        }
        if words == 3 {
            let long = run_up_to(bytes, value.span.start, 128, |byte| {
                byte > b' ' && !is_quote(byte) && byte != b'\\'
            });
            let end = if value.quoted { value.span.end } else { value.span.start + long };
            return if seen && is_secret(Kind::Password, Style::Env, &value.judged(bytes)) {
                Secret::new("password", value.span.start..end)
            } else {
                None
            };
        }
        at = value.span.end - from + usize::from(value.quoted);
        at += run(line, at, |byte| byte > b' ');
    }
    None
}

fn prefixed(bytes: &[u8], at: usize, shape: &Shape) -> Option<Secret> {
    if !bytes[at..].starts_with(shape.prefix.as_bytes())
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
    let (least, most) = shape.length;
    // Judged by its beginning: what is not a key must not be read to its end at each of its letters.
    let enough = if most == usize::MAX { least + 64 } else { most + 1 };
    let judged = run_up_to(bytes, start, enough, |byte| shape.alphabet.has(byte));
    if judged < least || judged > most {
        return None;
    }
    let secret = &bytes[start..start + judged];
    // Real keys are random: words joined by dashes, or one letter repeated, are examples in a text.
    let random = secret.iter().any(u8::is_ascii_digit) || mixed_case(secret);
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

/// `AKIA…,SECRET`: in tables the secret is in the next column.
fn secret_beside_id(rest: &[u8]) -> usize {
    let gap = run_up_to(rest, 0, 8, |byte| matches!(byte, b',' | b'\t' | b' ' | b':' | b'|' | b';'));
    let length = run_up_to(rest, gap, 64, |byte| Alphabet::Base64.has(byte));
    if gap > 0 && length == 40 && is_random(&rest[gap..gap + 40]) { gap + 40 } else { 0 }
}

/// The base64 of a number, six letters, and a signature.
fn discord(bytes: &[u8], at: usize) -> Option<Secret> {
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

fn twilio(bytes: &[u8], at: usize) -> Option<Secret> {
    let hex = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f');
    let length = run_up_to(bytes, at + 2, 40, hex);
    let ends = !bytes.get(at + 34).copied().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if bytes[at..].starts_with(b"SK") && length == 32 && ends {
        Secret::new("twilio-key", at..at + 34)
    } else {
        None
    }
}

/// `Bearer` and something too random to be a word, in any context.
fn bearer(bytes: &[u8], at: usize) -> Option<Secret> {
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

/// `TRUE\t1893456000\tname\tvalue`: a line of a cookie file.
fn cookie_jar(bytes: &[u8], at: usize) -> Option<Secret> {
    let word = ["TRUE\t", "FALSE\t"].iter().find(|word| bytes[at..].starts_with(word.as_bytes()))?;
    let expiry = at + word.len();
    let digits = run_up_to(bytes, expiry, 20, |byte| byte.is_ascii_digit());
    let name = expiry + digits + 1;
    let name_length = run_up_to(bytes, name, 80, |byte| byte > b' ');
    let start = name + name_length + 1;
    let tabs = digits > 0 && bytes.get(name - 1) == Some(&b'\t') && bytes.get(start - 1) == Some(&b'\t');
    let length = run_up_to(bytes, start, 4096, |byte| byte > b' ' && byte < 0x7f);
    let value = bytes.get(start..start + length.min(256))?;
    let likely = tabs
        && length >= 8
        && !is_wordy(value)
        && !value.iter().all(u8::is_ascii_digit)
        && !stands_for_a_value(value);
    if likely { Secret::new("cookie", start..start + length) } else { None }
}

fn phrase(bytes: &[u8], at: usize) -> Option<Secret> {
    let mut phrases = PHRASES.iter().filter(|phrase| starts_with_ignore_case(&bytes[at..], phrase.words));
    phrases.find_map(|phrase| {
        let value = value_from(bytes, at + phrase.words.len()).filter(|value| value.quoted)?;
        if is_secret(Kind::Password, Style::Env, &value.judged(bytes)) {
            Secret::new("password", value.span)
        } else {
            None
        }
    })
}

/// Whether the text says `kind: Secret`, as YAML or JSON.
fn is_about_a_kubernetes_secret(bytes: &[u8]) -> bool {
    memchr::memmem::find_iter(bytes, b"kind").any(|at| {
        let gap = run_up_to(bytes, at + 4, 16, |byte| matches!(byte, b'"' | b'\\' | b':' | b' '));
        let rest = bytes.get(at + 4 + gap..).unwrap_or_default();
        rest.starts_with(b"Secret") && !rest.get(6).copied().is_some_and(|byte| byte.is_ascii_alphanumeric())
    })
}

/// Where the indented lines end that follow the line ending at `line`.
fn indented_end(bytes: &[u8], line: usize) -> usize {
    let mut end = line;
    loop {
        let next = crate::mask::bytes::next_line(bytes, end);
        if next == end || !bytes.get(next).copied().is_some_and(is_blank) {
            return end;
        }
        end = line_end(bytes, next, LONGEST_LINE);
    }
}

/// A value in the data of a Kubernetes secret.
fn kubernetes_value(bytes: &[u8], at: usize, data: &Range<usize>) -> Option<Secret> {
    let value = value_from(bytes, at + 1)?;
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

fn mixed_case(secret: &[u8]) -> bool {
    let changes = secret.windows(2).filter(|pair| {
        pair[0].is_ascii_alphabetic()
            && pair[1].is_ascii_alphabetic()
            && pair[0].is_ascii_uppercase() != pair[1].is_ascii_uppercase()
    });
    changes.count() >= 4
}
