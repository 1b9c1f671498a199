//! How secrets begin: the rows of all tables, sorted by their first bytes, so that the scan skips ordinary text at memory
//! speed. The largest table is made when it is first needed, which takes a few microseconds: it would be a two-hundredth of
//! the program's size.

use crate::mask::commands::{COMMANDS, PHRASES};
use crate::mask::shapes::{MIDDLES, SHAPES};
use std::sync::LazyLock;

/// A word from the tables may begin here, if its third letter fits too.
pub(super) const WORD: u8 = 1;
/// A sign that is significant anywhere.
pub(super) const SIGN: u8 = 2;
/// A separator between a name and its value.
pub(super) const SEPARATOR: u8 = 4;
/// A name may end here, with its value after a blank or a `>`.
pub(super) const NAME_END: u8 = 8;
/// The sign between a short name and noise: `acme_…`. No pair of bytes says so; see `noise.rs`.
pub(super) const JOINT: u8 = 16;

/// For each pair of bytes, what may begin at the first: this skips ordinary text at memory speed. By the second byte, then
/// by the first: in this order most processors read the place of a pair in one go.
pub(super) static STARTS: LazyLock<Box<[[u8; 256]; 256]>> = LazyLock::new(|| {
    let by_first = starts();
    Box::new(std::array::from_fn(|second| std::array::from_fn(|first| by_first[first][second])))
});
/// The same for the first four bytes of a word, as one bit for each of their hashes. Hashes can collide.
pub(super) static FOURS: [u64; SUMS / 64] = fours();
const SUM_BITS: u32 = 18;
const SUMS: usize = 1 << SUM_BITS;

pub(super) const fn sum(four: u32) -> usize {
    (four.wrapping_mul(0x9e37_79b1) >> (32 - SUM_BITS)) as usize
}

/// Beginnings of secrets that are in no other table.
const OTHERS: &[(&[u8], Other)] = &[
    (b"eyJ", Other::Jwt),
    (b"Bearer ", Other::Bearer),
    (b"bearer ", Other::Bearer),
    (b"BEARER ", Other::Bearer),
    (b"Basic ", Other::Basic),
    (b"basic ", Other::Basic),
    (b"<string>", Other::Property),
    (b"<<<", Other::HereString),
    (b"mnemonic", Other::Seed),
    (b"Mnemonic", Other::Seed),
    (b"seed phrase", Other::Seed),
    (b"Seed phrase", Other::Seed),
    (b"recovery phrase", Other::Seed),
    (b"Recovery phrase", Other::Seed),
    (b"VALUES", Other::Values),
    (b"values", Other::Values),
    (b"Private-", Other::Putty),
    (b"MII", Other::KeyBody),
    (b"MIG", Other::KeyBody),
    (b"MHcC", Other::KeyBody),
    (b"MC4C", Other::KeyBody),
    (b"b3Bl", Other::KeyBody),
    (b"chpasswd", Other::Piped),
    (b"sudo -S", Other::Piped),
    (b"passwd --stdin", Other::Piped),
    (b"NetworkCredential(", Other::Call),
    (b"PDO(", Other::Call),
    (b"algoliasearch(", Other::Call),
    (b"login(", Other::Call),
    (b"mysqli_connect(", Other::Call),
    (b"jwt.", Other::Call),
    (b"basic_auth", Other::Call),
    (b"basicAuth(", Other::Call),
    (b"SetBasicAuth(", Other::Call),
    (b"TRUE\t", Other::CookieJar),
    (b"FALSE\t", Other::CookieJar),
    (b"SK", Other::Twilio),
    (b"AC", Other::Twilio),
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
pub(super) enum Other {
    Jwt,
    Bearer,
    Basic,
    Property,
    HereString,
    Seed,
    Values,
    Putty,
    KeyBody,
    CookieJar,
    Piped,
    Call,
    Twilio,
    Discord,
}

/// How one entry of the tables begins.
#[derive(Clone, Copy)]
pub(super) struct Start {
    /// The first four bytes, and which of them count.
    pub(super) head: u32,
    pub(super) mask: u32,
    pub(super) what: Begins,
}

#[derive(Clone, Copy)]
pub(super) enum Begins {
    Shape(usize),
    Middle(usize),
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

const TEXT_COUNT: usize = SHAPES.len() + LONG_MIDDLES + COMMANDS.len() + 2 * PHRASES.len() + OTHERS.len();
const LONG_MIDDLES: usize = {
    let (mut count, mut i) = (0, 0);
    while i < MIDDLES.len() {
        count += is_long(i) as usize;
        i += 1;
    }
    count
};

const fn is_long(middle: usize) -> bool {
    MIDDLES[middle].marker.len() >= 4
}

/// Everything that begins with a word, grouped by first byte; within a group in the order of the tables.
pub(super) static BEGINNINGS: ([Start; TEXT_COUNT], [usize; 257]) = FOUND;
const FOUND: ([Start; TEXT_COUNT], [usize; 257]) = beginnings();

const fn beginnings() -> ([Start; TEXT_COUNT], [usize; 257]) {
    const NONE: Start = Start { head: 0, mask: 0, what: Begins::Phrase };
    let mut all = [NONE; TEXT_COUNT];
    let mut n = 0;
    let mut i = 0;
    while i < SHAPES.len() {
        all[n] = start(SHAPES[i].prefix.as_bytes(), Begins::Shape(i));
        (n, i) = (n + 1, i + 1);
    }
    let mut i = 0;
    while i < MIDDLES.len() {
        if is_long(i) {
            all[n] = start(MIDDLES[i].marker.as_bytes(), Begins::Middle(i));
            n += 1;
        }
        i += 1;
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
    let mut sorted = [NONE; TEXT_COUNT];
    let mut offsets = [0; 257];
    let (mut filled, mut byte) = (0, 0);
    while byte < 256 {
        offsets[byte] = filled;
        let mut i = 0;
        while i < TEXT_COUNT {
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

/// By the first byte, then by the second.
fn starts() -> [[u8; 256]; 256] {
    let mut table = [[0; 256]; 256];
    let mut i = 0;
    while i < TEXT_COUNT {
        let [a, b, ..] = BEGINNINGS.0[i].head.to_be_bytes();
        table[a as usize][b as usize] |= WORD;
        i += 1;
    }
    let mut i = 0;
    while i < MIDDLES.len() {
        let marker = MIDDLES[i].marker.as_bytes();
        if !is_long(i) {
            table[marker[0] as usize][marker[1] as usize] |= SIGN;
        }
        i += 1;
    }
    let mut i = 0;
    while i < COMMANDS.len() {
        if let [b'-', letter, ..] = COMMANDS[i].option.as_bytes() {
            table[b'-' as usize][*letter as usize] |= SIGN;
        }
        i += 1;
    }
    table[b'[' as usize][b'm' as usize] |= SIGN; // what was masked before
    table[b'-' as usize][b'-' as usize] |= SIGN; // -----BEGIN
    table[b'@' as usize][b't' as usize] |= SIGN; // user:password@tcp(
    table[b'@' as usize][b'u' as usize] |= SIGN;
    table[b'@' as usize][b'/' as usize] |= SIGN; // user/password@//host
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
    let ends = b"rdwdsseneteypw";
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
    while i < TEXT_COUNT {
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
