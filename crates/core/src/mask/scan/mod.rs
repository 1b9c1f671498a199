//! Finds the places that may hold a secret. A table of byte pairs skips ordinary text; where it stops, slower checks
//! follow. Every look back or ahead is bounded, so no text takes more than its length times a constant.

mod arguments;
mod names;

use crate::mask::assign::{array, prompted, value_from};
use crate::mask::beginnings::{
    Begins, HEADS, JOINT, NAME_END, Other, SEPARATOR, SIGN, STARTS, THREE, WORD, WORDS, beginning_with, sum,
};
use crate::mask::bytes::{begins_word, color_end, is_blank, next_line, run, run_up_to};
use crate::mask::judge::{Style, is_secret};
use crate::mask::names::{Kind, may_end_before_blank, may_matter};
use crate::mask::noise::{self, Joints};
use crate::mask::recognize::{
    basic, bearer, call, cookie_jar, discord, here_string, phrase, piped, prefixed, property, seed, sent,
    twilio,
};
use crate::mask::shapes::{Alphabet, MIDDLES, Middle, SHAPES};
use crate::mask::{Secret, address, lists, pem, table, tell};
use std::collections::VecDeque;
use std::ops::Range;

/// A line of YAML whose value is a key in base64.
pub(super) const LONGEST_LINE: usize = 64 << 10;

/// No rule ends what it reads before this many bytes, unless the secret ends there.
const SHORTEST_CUT: usize = 64;

/// A region where every value counts, whatever its name.
enum Stretch {
    Cookies(Range<usize>),
    /// The `data` of a Kubernetes secret.
    Kubernetes(Range<usize>),
    /// The fields of a key in JSON, after its `kty`.
    Jwk(Range<usize>),
}

impl Stretch {
    fn span(&self) -> &Range<usize> {
        let (Stretch::Cookies(span) | Stretch::Kubernetes(span) | Stretch::Jwk(span)) = self;
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
    /// Secrets that are already known, by their positions in the whole text.
    known: VecDeque<Secret>,
    stretch: Option<Stretch>,
    /// The last program that takes secrets: its first row in [`COMMANDS`], and where its name ends.
    command: Option<(usize, usize)>,
    /// Whether the text is about a Kubernetes secret; determined when needed.
    kubernetes: Option<bool>,
    /// No JWT begins before this.
    not_a_jwt: usize,
    /// The rows of the last INSERT end here.
    no_rows_before: usize,
    joints: Joints,
}

impl<'a> Scan<'a> {
    pub fn new(bytes: &'a [u8]) -> Scan<'a> {
        Scan {
            bytes,
            base: 0,
            at: 0,
            known: table::secrets(bytes),
            stretch: None,
            command: None,
            kubernetes: None,
            not_a_jwt: 0,
            no_rows_before: 0,
            joints: Joints::default(),
        }
    }

    /// A text that is a list of cookies.
    pub fn of_cookies(bytes: &'a [u8]) -> Scan<'a> {
        Scan { stretch: Some(Stretch::Cookies(0..bytes.len())), ..Scan::new(bytes) }
    }

    /// A text that holds the secret of an `Authorization` at `known`.
    pub fn with_authorization(bytes: &'a [u8], known: Range<usize>) -> Scan<'a> {
        let known = Secret::new("authorization", known).into_iter().collect();
        Scan { known, ..Scan::new(bytes) }
    }

    /// Continues after `at`, and never looks back beyond it.
    fn restart_at(&mut self, at: usize) {
        self.bytes = &self.bytes[at..];
        self.base += at;
        self.at = 0;
        self.not_a_jwt = self.not_a_jwt.saturating_sub(at);
        self.no_rows_before = self.no_rows_before.saturating_sub(at);
        self.joints.restart_at(at);
        // A program's name before this point still counts for what follows.
        self.command = self.command.map(|(row, end)| (row, end.saturating_sub(at)));
        if let Some(stretch) = &mut self.stretch {
            let (Stretch::Cookies(span) | Stretch::Kubernetes(span) | Stretch::Jwk(span)) = stretch;
            *span = span.start.saturating_sub(at)..span.end.saturating_sub(at);
        }
    }

    /// The next secret, by its position in the whole text.
    pub fn next_secret(&mut self) -> Option<Secret> {
        loop {
            // Right after a mask.
            if let Some(changed) = (self.at == 0 && self.base > 0).then(|| changed_to(self.bytes)).flatten() {
                return self.pass(changed);
            }
            // What another rule has found in part is masked already.
            while self.known.front().is_some_and(|known| known.span.start < self.base) {
                self.known.pop_front();
            }
            let candidate = self.next_candidate();
            let first = |known: &Secret| candidate.is_none_or(|(at, _)| known.span.start <= self.base + at);
            if self.known.front().is_some_and(first) {
                let Secret { name, span } = self.known.pop_front()?;
                return self.pass(Secret { name, span: span.start - self.base..span.end - self.base });
            }
            let (at, what) = candidate?;
            if let Some(end) = mask_length(&self.bytes[at..]) {
                self.restart_at(at + end);
                continue;
            }
            // What contains a mask was already checked when the secret was still in it.
            let found = self.secret_at(at, what);
            let new = found.filter(|secret| {
                memchr::memmem::find(&self.bytes[secret.span.clone()], b"[masked:").is_none()
            });
            match new {
                Some(secret) => return self.pass(secret),
                None => self.at = at + 1,
            }
        }
    }

    /// Continues after the secret, which is returned by its position in the whole text.
    fn pass(&mut self, Secret { name, mut span }: Secret) -> Option<Secret> {
        let base = self.base;
        // Where a rule reads only so far, the secret may go on.
        if span.len() >= SHORTEST_CUT {
            let letters = !self.bytes[span.clone()].is_ascii();
            let more = |byte: u8| byte.is_ascii_alphanumeric() || (letters && byte >= 0x80);
            span.end += run(self.bytes, span.end, more);
        }
        self.restart_at(span.end);
        Secret::new(name, base + span.start..base + span.end)
    }

    /// The next place that may hold a secret, if it is before the next one that is known.
    fn next_candidate(&mut self) -> Option<(usize, u8)> {
        let mut at = self.at;
        let joint = self.joints.next(self.bytes, at);
        // Only up to the pair that begins there, and to the four bytes before a known secret: each byte is read once.
        let known = self.known.front().map_or(usize::MAX, |known| known.span.start - self.base);
        let end = joint.saturating_add(2).min(known.saturating_add(3));
        let bytes = &self.bytes[..self.bytes.len().min(end)];
        // Asked for once, and not for every byte, whether they are there.
        let starts: &[u8; 1 << 16] = &STARTS;
        let found = |at: usize, what: u8| {
            let joint = if at == joint { JOINT } else { 0 };
            let what = self.with_words(at, what);
            let what = if what == 0 { joint } else { self.second_check(at, what) | joint };
            (what != 0).then_some((at, what))
        };
        // Most groups of seven pairs have none that may begin anything.
        while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
            let eight = u64::from_le_bytes(*eight);
            let what =
                |pair: usize| u64::from(starts[usize::from((eight >> (8 * pair)) as u16)]) << (8 * pair);
            let mut all = what(0) | what(1) | what(2) | what(3) | what(4) | what(5) | what(6);
            while all != 0 {
                let pair = all.trailing_zeros() as usize / 8;
                let what = self.with_words(at + pair, (all >> (8 * pair)) as u8);
                // A dash within a word, as in a UUID.
                let dash = what == SIGN && self.is_within_word(at + pair);
                if what != 0
                    && !dash
                    && let Some(found) = found(at + pair, what)
                {
                    return Some(found);
                }
                all &= !(0xff << (8 * pair));
            }
            at += 7;
        }
        let rest = bytes.get(at..).unwrap_or_default();
        let what = |pair: &[u8]| starts[usize::from(u16::from_le_bytes([pair[0], pair[1]]))];
        let pair = rest.windows(2).enumerate().find_map(|(pair, bytes)| found(at + pair, what(bytes)));
        pair.or_else(|| (joint < bytes.len()).then_some((joint, JOINT)))
    }

    /// What may be at `at` by its pair, without the words that their other bytes rule out: nearly all.
    #[inline(always)]
    fn with_words(&self, at: usize, mut what: u8) -> u8 {
        let mut words = what & WORD;
        while words != 0 {
            let back = words.trailing_zeros() as usize;
            words &= words - 1;
            let four = at.checked_sub(back).and_then(|at| self.bytes.get(at..)?.first_chunk());
            if !four.is_some_and(|four| begins_some_word(*four)) {
                what &= !WORDS[back];
            }
        }
        what
    }

    /// What may be at `at` after a second check that is still cheap.
    fn second_check(&self, at: usize, mut what: u8) -> u8 {
        let bytes = self.bytes;
        if what & SIGN != 0 && !self.may_be_sign(at) {
            what &= !SIGN;
        }
        if what & NAME_END != 0 {
            let ended = matches!(bytes.get(at + 2), Some(b' ' | b'\t' | b'>' | b'?'))
                || matches!(bytes.get(at + 2..at + 4), Some(b"\">" | b"\\\"" | b".."));
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
        if at == 0 {
            return false;
        }
        // The signs of an address and of a bot's token; the hashes of a Windows account, `name:500:…:…:::`; a line of its
        // own may follow.
        let next = bytes[at + 1];
        if bytes[at] == b':'
            && (matches!(next, b'/' | b'\\' | b'A' | b'5' | b'*' | b'\n')
                || (next == b':' && bytes.get(at + 2) == Some(&b':')))
        {
            return true;
        }
        if bytes[at] == b'%' && bytes.get(at + 3) == Some(&b'%') {
            return true;
        }
        // A name in quotes, as in JSON, or without any.
        let before = bytes[at - 1];
        let quoted = before == b'"' && bytes[at] == b':';
        let name = at - usize::from(quoted);
        if name > 1 && bytes[name - 1].is_ascii_alphanumeric() && bytes[at] != b'=' {
            return may_matter(bytes, name) || is_color(&bytes[..name]);
        }
        let mut end = at;
        // What a prompt says is set: `Secret Access Key [None]: `
        if bytes[at] == b':' && bytes[at - 1] == b']' {
            end = prompted(bytes, at);
        }
        // `char password[] = "…"`
        if bytes[at] == b'=' {
            let before = end - usize::from(bytes[end - 1] == b' ');
            let name = array(bytes, before);
            end = if name < before { name } else { end };
        }
        while end > 0
            && at - end < 16
            && matches!(
                bytes[end - 1],
                b'"' | b'\'' | b' ' | b'\\' | b']' | b'?' | b'`' | b':' | b'!' | b'\t'
            )
        {
            end -= 1;
        }
        // A tab as JSON writes it.
        if end >= 2 && bytes[end - 2] == b'\\' && bytes[end - 1] == b't' {
            end -= 2;
        }
        if end < 2 {
            return false;
        }
        // The end of a color; a typed name, as in `password: str = "…"`.
        let typed = bytes[at] == b'=' && at > end && bytes[at + 1] == b' ' && may_open(&bytes[at + 2..]);
        typed || may_matter(bytes, end) || is_color(&bytes[..end])
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
        for (back, word) in WORDS.into_iter().enumerate().rev() {
            if secret.is_none() && what & word != 0 {
                secret = self.at_word(at - back);
            }
        }
        if secret.is_none() && what & JOINT != 0 {
            secret = noise::named(self.bytes, at);
        }
        secret
    }

    fn at_sign(&mut self, at: usize) -> Option<Secret> {
        let bytes = self.bytes;
        // The markers that are shorter than a word.
        let mut middles = MIDDLES.iter().take_while(|row| row.marker.len() < 4);
        let first = |row: &&Middle| row.marker.as_bytes()[0] == bytes[at];
        if let Some(row) = middles.find(first)
            && let Some(secret) = self.middle(at, row)
        {
            return Some(secret);
        }
        match bytes[at] {
            b'@' => address::driver(bytes, at),
            b'/' => self.login(at),
            b'-' if bytes[at + 1] == b'-' => pem::at_dashes(bytes, at)
                .or_else(|| self.option(at))
                .or_else(|| self.long_option(at))
                .or_else(|| self.piped(at)),
            b'-' => self.option(at),
            _ => None,
        }
    }

    /// Whether the sign at `at` is a dash between letters, and not one that says more there.
    #[inline(always)]
    fn is_within_word(&self, at: usize) -> bool {
        let bytes = self.bytes;
        bytes[at] == b'-'
            && !matches!(bytes[at + 1], b'-' | b'u')
            && at.checked_sub(1).is_some_and(|before| bytes[before].is_ascii_alphanumeric())
    }

    /// Whether what precedes the sign at `at`, or follows it, allows it to be more than a sign of a text.
    fn may_be_sign(&self, at: usize) -> bool {
        let bytes = self.bytes;
        let before = at.checked_sub(1).map_or(b' ', |before| bytes[before]);
        let next = bytes[at + 1];
        match bytes[at] {
            b'/' => before == b' ',
            // Azure's marker follows a digit.
            b'Q' => before.is_ascii_digit(),
            b'-' => match (before, next) {
                // `-----BEGIN`
                (b'-', b'-') => matches!(bytes.get(at + 5), Some(b'B' | b'E')),
                (b' ' | b'\t' | b'\n' | b'"' | b'\'' | b'`' | b'\\', _) | (_, b'-') => true,
                _ => next == b'u' && bytes.get(at + 2) == Some(&b's'),
            },
            _ => true,
        }
    }

    fn middle(&self, at: usize, row: &Middle) -> Option<Secret> {
        let marker = row.marker.as_bytes();
        if self.bytes[at] != marker[0] || !self.bytes[at..].starts_with(marker) {
            return None;
        }
        let (before, least, most) = row.before;
        // An equals sign before it belongs to its name.
        let has = |byte: &&u8| before.has(**byte) && **byte != b'=';
        let back = self.bytes[..at].iter().rev().take(most + 1).take_while(has).count();
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

    fn at_word(&mut self, at: usize) -> Option<Secret> {
        let bytes = self.bytes;
        let mut four = [0; 4];
        let length = (bytes.len() - at).min(4);
        four[..length].copy_from_slice(&bytes[at..at + length]);
        beginning_with(four).find_map(|what| match what {
            Begins::Shape(row) => prefixed(bytes, at, &SHAPES[usize::from(row)]),
            Begins::Middle(row) => self.middle(at, &MIDDLES[usize::from(row)]),
            Begins::Other(Other::Jwt) => self.jwt(at),
            _ if !begins_word(bytes, at) => None,
            Begins::Program(row) => self.program(at, usize::from(row)),
            Begins::Phrase => phrase(bytes, at),
            Begins::Other(Other::Bearer) => bearer(bytes, at),
            Begins::Other(Other::Basic) => basic(bytes, at),
            Begins::Other(Other::Property) => property(bytes, at),
            Begins::Other(Other::HereString) => here_string(bytes, at),
            Begins::Other(Other::Seed) => seed(bytes, at),
            Begins::Other(Other::User) => {
                let user = run_up_to(bytes, at, 8, |byte| byte.is_ascii_alphabetic());
                matches!(bytes.get(at + user), Some(b':' | b'/')).then(|| self.login(at + user))?
            }
            Begins::Other(Other::Name) => self.at_spoken_name(at),
            Begins::Other(Other::Values) if at < self.no_rows_before => None,
            Begins::Other(Other::Values) => {
                let (secrets, end) = table::inserted(bytes, at);
                self.no_rows_before = end;
                self.know(secrets)
            }
            Begins::Other(Other::Putty) => pem::putty(bytes, at),
            Begins::Other(Other::KeyBody) => pem::body(bytes, at),
            Begins::Other(Other::CookieJar) => cookie_jar(bytes, at),
            Begins::Other(Other::Call) => call(bytes, at),
            Begins::Other(Other::Piped) => self.piped(at),
            Begins::Other(Other::Below) => self.know(lists::below(bytes, at)),
            Begins::Other(Other::Literals) => self.know(lists::literals(bytes, at)),
            Begins::Other(Other::Set) => lists::set(bytes, at),
            Begins::Other(Other::Sent) => sent(bytes, at),
            Begins::Other(Other::Twilio) => twilio(bytes, at),
            Begins::Other(Other::Discord) => discord(bytes, at),
        })
    }

    /// Remembers secrets that follow, by their positions after the last mask.
    fn know(&mut self, secrets: VecDeque<Secret>) -> Option<Secret> {
        let base = self.base;
        let placed = |Secret { name, span }| Secret { name, span: base + span.start..base + span.end };
        self.known.extend(secrets.into_iter().map(placed));
        self.known.make_contiguous().sort_by_key(|secret| secret.span.start);
        None
    }

    /// At the sign between a user and a password.
    fn login(&mut self, at: usize) -> Option<Secret> {
        let (secret, others) = tell::login(self.bytes, at)?;
        self.know(others);
        Some(secret)
    }

    fn piped(&mut self, at: usize) -> Option<Secret> {
        let (secret, printed) = piped(self.bytes, at)?;
        self.know(printed.into_iter().collect());
        Some(secret)
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
}

#[inline(always)]
fn begins_some_word(four: [u8; 4]) -> bool {
    let four = u32::from_le_bytes(four);
    let is = |sum: usize| HEADS[sum / 64] >> (sum % 64) & 1 == 1;
    is(sum(four)) || is(sum(four & THREE))
}

/// `name = "OLD" -> "NEW"`, as Terraform shows a change, right after the first one.
fn changed_to(bytes: &[u8]) -> Option<Secret> {
    let gap = |from: usize| {
        let mut at = from + run_up_to(bytes, from, 4, is_blank);
        at = color_end(bytes, at).unwrap_or(at);
        at + run_up_to(bytes, at, 4, is_blank)
    };
    if let Some(before) = tell::previous(bytes).or_else(|| changed_line(bytes)) {
        return Some(before);
    }
    let slashes = run_up_to(bytes, 0, 16, |byte| byte == b'\\');
    let arrow = bytes[slashes..].starts_with(b"\"").then(|| gap(slashes + 1))?;
    let value = bytes[arrow..].starts_with(b"->").then(|| value_from(bytes, gap(arrow + 2)))??;
    let likely = value.quoted && is_secret(Kind::Password, Style::Data, &value.judged(bytes));
    if likely { Secret::new("secret", value.span) } else { None }
}

/// `+  value: "NEW"`, the line of a patch after the one with the old value.
fn changed_line(bytes: &[u8]) -> Option<Secret> {
    let quote = run_up_to(bytes, 0, 16, |byte| matches!(byte, b'\\' | b'"' | b'\''));
    // The escape of a line feed in JSON has a backslash of its own.
    let end = if bytes.get(quote) == Some(&b'n') { quote.checked_sub(1)? } else { quote };
    let line = next_line(bytes, end);
    let rest = bytes.get(line..).filter(|_| line > end)?.strip_prefix(b"+")?;
    let blanks = run_up_to(rest, 0, 48, is_blank);
    rest[blanks..].starts_with(b"value:").then_some(())?;
    let value = value_from(bytes, line + 1 + blanks + b"value:".len())?;
    let likely = is_secret(Kind::Password, Style::Data, &value.judged(bytes));
    if likely { Secret::new("secret", value.span) } else { None }
}

/// The length of the mask at the start of `rest`, if there is one.
fn mask_length(rest: &[u8]) -> Option<usize> {
    let name = if rest[0] == b'[' { rest.strip_prefix(b"[masked:")? } else { return None };
    let length = run_up_to(name, 0, 32, |byte| byte.is_ascii_lowercase() || byte == b'-');
    (name.get(length) == Some(&b']')).then_some(8 + length + 1)
}

/// Whether a color may end here.
#[inline(always)]
fn is_color(lead: &[u8]) -> bool {
    matches!(lead, [.., b'0'..=b'9' | b'[', b'm' | b'K'])
}

/// Whether a quote opens here, escaped or not.
fn may_open(rest: &[u8]) -> bool {
    matches!(rest, [b'"' | b'\'', ..] | [b'\\', ..])
}
