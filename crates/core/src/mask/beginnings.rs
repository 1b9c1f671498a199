//! How secrets begin: the rows of all tables, sorted by their first bytes, so that the scan skips ordinary text at memory
//! speed. The largest table is made when it is first needed, which takes a few microseconds: it would be a two-hundredth of
//! the program's size.

use crate::mask::commands::{CALLS, COMMANDS, PHRASES};
use crate::mask::shapes::{MIDDLES, SHAPES};
use std::sync::LazyLock;

/// A word from the tables may begin here, one byte before or two bytes before, if the other bytes fit too: for each word,
/// the table of pairs has the rarest of its first ones.
pub(super) const WORDS: [u8; 3] = [1, 2, 4];
pub(super) const WORD: u8 = WORDS[0] | WORDS[1] | WORDS[2];
/// A sign that is significant anywhere.
pub(super) const SIGN: u8 = 8;
/// A separator between a name and its value.
pub(super) const SEPARATOR: u8 = 16;
/// A name may end here, with its value after a blank or a `>`.
pub(super) const NAME_END: u8 = 32;
/// The sign between a short name and noise: `acme_…`. No pair of bytes says so; see `noise.rs`.
pub(super) const JOINT: u8 = 64;

/// For each pair of bytes, read as a number, what may begin at the first: this skips ordinary text at memory speed.
pub(super) static STARTS: LazyLock<Box<[u8; 1 << 16]>> = LazyLock::new(|| {
    let by_first = starts();
    Box::new(std::array::from_fn(|pair| by_first[pair & 0xff][pair >> 8]))
});
/// The same for the first four bytes of a word, or for three if it has no more, as one bit for each of their hashes. Hashes
/// can collide.
pub(super) static HEADS: [u64; SUMS / 64] = heads();
const SUM_BITS: u32 = 15;
const SUMS: usize = 1 << SUM_BITS;
/// The first three of four bytes.
pub(super) const THREE: u32 = 0xff_ffff;

/// Of four bytes, the first of them the lowest.
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
    // Names whose last letters end too many other words.
    (b"Passwort ", Other::Name),
    (b"passwort ", Other::Name),
    (b"Passwort?", Other::Name),
    (b"passwort?", Other::Name),
    (b"mot de passe?", Other::Name),
    (b"Kennwort ", Other::Name),
    (b"kennwort ", Other::Name),
    (b"mot de passe ", Other::Name),
    (b"Mot de passe ", Other::Name),
    (b"passphrase ", Other::Name),
    (b"mdp ", Other::Name),
    (b"senha ", Other::Name),
    (b"Senha ", Other::Name),
    (b"clave ", Other::Name),
    (b"Clave ", Other::Name),
    (b"admin", Other::User),
    (b"root", Other::User),
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
    (b"base64", Other::Piped),
    (b"docker secret", Other::Piped),
    (b"podman secret", Other::Piped),
    (b"gh secret", Other::Piped),
    (b"wrangler secret", Other::Piped),
    (b"gcloud secrets", Other::Piped),
    (b"cryptsetup", Other::Piped),
    (b"vercel env", Other::Piped),
    (b"<Value>", Other::Property),
    (b"<value>", Other::Property),
    (b"chpasswd", Other::Below),
    (b"userlist.txt", Other::Below),
    (b"recovery codes", Other::Below),
    (b"Recovery codes", Other::Below),
    (b"backup codes", Other::Below),
    (b"Backup codes", Other::Below),
    (b"create secret generic", Other::Literals),
    (b"set :", Other::Set),
    (b"send \"", Other::Sent),
    (b"send -- ", Other::Sent),
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
    Name,
    User,
    Values,
    Putty,
    KeyBody,
    CookieJar,
    Piped,
    Below,
    Literals,
    Set,
    Call,
    Sent,
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
    Shape(u16),
    Middle(u16),
    /// The first row of a program.
    Program(u16),
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

const TEXT_COUNT: usize =
    SHAPES.len() + LONG_MIDDLES + COMMANDS.len() + 2 * PHRASES.len() + CALLS.len() + OTHERS.len();
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

/// Everything that begins with a word, grouped by its first two bytes; within a group in the order of the tables.
pub(super) static BEGINNINGS: ([Start; TEXT_COUNT], [u16; 257]) = FOUND;
const FOUND: ([Start; TEXT_COUNT], [u16; 257]) = beginnings();

/// In which group a word is. Few groups have several pairs.
const fn group(first: u8, second: u8) -> usize {
    first.wrapping_mul(37).wrapping_add(second) as usize
}

/// What may begin with these four bytes.
pub(super) fn beginning_with(four: [u8; 4]) -> impl Iterator<Item = Begins> {
    let head = u32::from_be_bytes(four);
    let (starts, offsets) = &BEGINNINGS;
    let group = group(four[0], four[1]);
    let (from, to) = (usize::from(offsets[group]), usize::from(offsets[group + 1]));
    starts[from..to].iter().filter(move |start| head & start.mask == start.head).map(|start| start.what)
}

const fn beginnings() -> ([Start; TEXT_COUNT], [u16; 257]) {
    const NONE: Start = Start { head: 0, mask: 0, what: Begins::Phrase };
    let mut all = [NONE; TEXT_COUNT];
    let mut n = 0;
    let mut i = 0;
    while i < SHAPES.len() {
        all[n] = start(SHAPES[i].prefix.as_bytes(), Begins::Shape(i as u16));
        (n, i) = (n + 1, i + 1);
    }
    let mut i = 0;
    while i < MIDDLES.len() {
        if is_long(i) {
            all[n] = start(MIDDLES[i].marker.as_bytes(), Begins::Middle(i as u16));
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
        all[n] = start(if name.len() == 2 { blank.split_at(3).0 } else { &blank }, Begins::Program(i as u16));
        (n, i) = (n + 1, i + 1);
    }
    let mut i = 0;
    while i < PHRASES.len() {
        let words = PHRASES[i].words.as_bytes();
        let small = [
            words[0].to_ascii_lowercase(),
            words[1].to_ascii_lowercase(),
            words[2].to_ascii_lowercase(),
            words[3].to_ascii_lowercase(),
        ];
        all[n] = start(words, Begins::Phrase);
        all[n + 1] = start(&small, Begins::Phrase);
        (n, i) = (n + 2, i + 1);
    }
    let mut i = 0;
    while i < CALLS.len() {
        all[n] = start(CALLS[i].words.as_bytes(), Begins::Other(Other::Call));
        (n, i) = (n + 1, i + 1);
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
        offsets[byte] = filled as u16;
        let mut i = 0;
        while i < TEXT_COUNT {
            if group((all[i].head >> 24) as u8, (all[i].head >> 16) as u8) == byte {
                sorted[filled] = all[i];
                filled += 1;
            }
            i += 1;
        }
        byte += 1;
    }
    offsets[256] = filled as u16;
    (sorted, offsets)
}

/// Where the pair of bytes is in a word that is the rarest one in texts. A sign that noise may follow comes after it:
/// what the word says is more than that.
fn rarest(head: [u8; 4], table: &[[u8; 256]; 256], ranks: &[[u8; 256]; 256]) -> usize {
    // What is asked for already costs nothing.
    let often = |pair: &[u8]| match table[usize::from(pair[0])][usize::from(pair[1])] {
        0 => ranks[usize::from(pair[0])][usize::from(pair[1])],
        _ => 0,
    };
    let length = head.iter().position(|byte| *byte == 0).unwrap_or(4);
    let joint = head.iter().position(|byte| matches!(byte, b'_' | b'-')).unwrap_or(length);
    let pairs = 0..(length - 1).min(joint.max(1)).min(3);
    pairs.min_by_key(|at| often(&head[*at..at + 2])).unwrap_or(0)
}

/// By the first byte, then by the second.
fn starts() -> [[u8; 256]; 256] {
    let mut table = [[0; 256]; 256];
    // The most frequent ones in code, manuals and the events of sessions, the most frequent first.
    const COMMON: &[u8] = b"  seerone meindeesroreatenomorthteecstiont ttiprctt anlehouss t_hens icossel a sedriisto\
        altrn peascejeamarsiitlaetratanaptoompojnd cidvengnert_ipali fd efr maolouutgeurfiiccl rodf ac osoe_ dtspodiean_\
        foillochcrexcalfauunagim psckeev e_nopifipudtync_p bllfauersy ul mplyp noko adottupumo liel___ unomi wrnrm_ebek_\
        baluhasu_teeabnlemhilsmmumigckairgnilta g tt_moc";
    let mut ranks = [[0; 256]; 256];
    for (rank, pair) in COMMON.as_chunks::<2>().0.iter().rev().enumerate() {
        ranks[usize::from(pair[0])][usize::from(pair[1])] = rank as u8 + 1;
    }
    let mut i = 0;
    while i < TEXT_COUNT {
        let head = BEGINNINGS.0[i].head.to_be_bytes();
        let back = rarest(head, &table, &ranks);
        table[head[back] as usize][head[back + 1] as usize] |= WORDS[back];
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
    table[b'/' as usize][b' ' as usize] |= SIGN; // admin / password
    for after in *b",)]" {
        table[b'"' as usize][after as usize] |= SEPARATOR;
        table[b'\'' as usize][after as usize] |= SEPARATOR;
    }
    let mut b = 0;
    while b < 256 {
        table[b'=' as usize][b] |= SEPARATOR;
        table[b':' as usize][b] |= SEPARATOR;
        b += 1;
    }
    // The last two letters of names that precede a blank: rarer than a blank after the last one.
    let ends = b"rdwdsseneteypw\xb1a\x82o";
    let mut i = 0;
    while i < ends.len() {
        let (a, b) = (ends[i], ends[i + 1]);
        table[a as usize][b as usize] |= NAME_END;
        table[a.to_ascii_uppercase() as usize][b.to_ascii_uppercase() as usize] |= NAME_END;
        i += 2;
    }
    table
}

const fn heads() -> [u64; SUMS / 64] {
    let mut bits = [0; SUMS / 64];
    let mut i = 0;
    while i < TEXT_COUNT {
        let Start { head, mask, .. } = FOUND.0[i];
        let short = mask & 0xff00 == 0;
        // Only hex and the base64 of a number have such a short head.
        let mut c = if short { b'0' } else { b'z' };
        while c <= b'z' {
            let number = matches!(c, b'A' | b'E' | b'I' | b'M' | b'Q' | b'U' | b'Y' | b'c' | b'g' | b'k');
            let third = if short { (c as u32) << 8 } else { 0 };
            if !short || number || c.is_ascii_hexdigit() {
                let sum = sum((head | third).swap_bytes());
                bits[sum / 64] |= 1 << (sum % 64);
            }
            c += 1;
        }
        i += 1;
    }
    bits
}
