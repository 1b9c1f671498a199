//! Whether the value of a name like "password" is a secret, or code, a placeholder, a word. Pure tables and counting.

mod words;

use crate::mask::bytes::{listed, starts_with_ignore_case};
use crate::mask::judge::words::{
    NEVER, NEVER_RANGES, SENTENCE, STEM_RANGES, STEMS, contains_any, has_stem, is_phrase, is_sentence,
};
use crate::mask::names::Kind;
use crate::mask::noise::is_noise;
use crate::mask::shapes::Alphabet;

/// How name and value are written together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Style {
    /// `"name": "value"`: data, unless it describes a form.
    Data,
    /// `NAME=value`, `--name value`: an environment, a command line.
    Env,
    /// `name: value`, `name = value`: a file of settings, or code, or prose.
    Line,
    /// `name value`, `"name", "value"`: only the value itself can tell.
    Beside,
    /// `the name is value`: what people tell each other, and what programs say about a name.
    Told,
}

pub struct Judged<'a> {
    pub bytes: &'a [u8],
    pub quoted: bool,
    /// The byte after it.
    pub next: u8,
}

/// Whether `value` is a secret, given what its name says.
pub fn is_secret(kind: Kind, style: Style, value: &Judged) -> bool {
    let bytes = value.bytes;
    if value.quoted && kind != Kind::Seed && is_salt(bytes) {
        return true;
    }
    if bytes.is_empty() || stands_for_a_value(bytes) || is_date(bytes) {
        return false;
    }
    if kind == Kind::Seed {
        return is_seed(bytes);
    }
    if value.quoted && kind == Kind::Password && is_app_password(bytes) {
        return true;
    }
    if style == Style::Told && kind == Kind::Password {
        return is_told(bytes, value);
    }
    let style = if style == Style::Told { Style::Beside } else { style };
    if value.quoted && bytes.contains(&b' ') {
        return kind == Kind::Password
            && style != Style::Beside
            && (!is_sentence(bytes) || style == Style::Env && is_phrase(bytes))
            && !is_foreign(bytes);
    }
    // A label in another script.
    if is_foreign(bytes) {
        return false;
    }
    if is_path(bytes)
        || ((kind != Kind::Password || style == Style::Beside) && is_resource(bytes))
        || (!value.quoted && is_code(bytes, value.next))
    {
        return false;
    }
    let wordy = is_wordy(bytes);
    let digits = bytes.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b':' | b'-'));
    match (kind, style) {
        (Kind::Password, Style::Beside) if value.quoted && is_passphrase(bytes) => !has_stem(bytes),
        (Kind::Password, Style::Beside) => !wordy && !digits && bytes.len() >= 8 && is_random(bytes),
        (_, Style::Beside) => !wordy && !digits && bytes.len() >= 16 && is_random(bytes),
        (Kind::Password, _) if digits => bytes.len() >= 5 && !bytes.contains(&b'.'),
        (Kind::Password, Style::Line) if wordy && !value.quoted => {
            let words = bytes.len() >= 16 && bytes.iter().filter(|&&byte| byte == b'-').count() >= 2;
            let ends_with_digit =
                bytes[bytes.len() - 1].is_ascii_digit() && !matches!(value.next, b')' | b',');
            (words || (ends_with_digit && bytes.len() >= 6)) && !has_stem(bytes)
        }
        (Kind::Password, _) if wordy => {
            // `username=me,password=SECRET9,uid=1000`: a variable rarely ends with a number.
            let option = style == Style::Env && value.next == b',' && bytes[bytes.len() - 1].is_ascii_digit();
            let argument = !value.quoted && matches!(value.next, b')' | b',') && !option;
            bytes.len() >= 6
                && !argument
                && (!has_stem(bytes) || value.quoted && is_stressed(bytes))
                && (!bytes.contains(&b'.') || has_number(bytes))
        }
        (Kind::Password, _) => bytes.len() >= 4,
        (Kind::Secret, Style::Data | Style::Line | Style::Env) if value.quoted && is_made_up(bytes) => {
            !has_stem(bytes)
        }
        (_, _) if digits || wordy => false,
        (Kind::Key, _) => bytes.len() >= 16 && is_random(bytes),
        (Kind::QuietKey, _) => {
            bytes.len() >= 20 && bytes.iter().all(|byte| Alphabet::Encoded.has(*byte)) && is_noise(bytes)
        }
        _ => bytes.len() >= 8,
    }
}

/// `2026-11-18`, `2026-11-18T09:30:00Z`: when a secret was made.
fn is_date(bytes: &[u8]) -> bool {
    let digit = |at: &usize| bytes[*at].is_ascii_digit();
    bytes.len() >= 10
        && [0, 1, 2, 3, 5, 6, 8, 9].iter().all(digit)
        && bytes[4] == b'-'
        && bytes[7] == b'-'
        && matches!(bytes.get(10), None | Some(b'T' | b' '))
}

/// Words with letters outside of ASCII and nothing else: what a form says, rather than a password.
fn is_foreign(bytes: &[u8]) -> bool {
    !bytes.is_ascii()
        && bytes.iter().all(|byte| {
            byte.is_ascii_alphabetic() || matches!(byte, b' ' | b'-' | b'_' | b'.' | b':' | b'?' | 0x80..)
        })
}

/// Whether somebody who says "the password is …" says the password, and not how it is.
fn is_told(bytes: &[u8], value: &Judged) -> bool {
    let end =
        bytes.iter().rposition(|byte| !matches!(byte, b'.' | b':' | b'?' | b'!')).map_or(0, |at| at + 1);
    let core = &bytes[..end];
    let Some(first) = core.first() else { return false };
    let has = |class: fn(&u8) -> bool| core.iter().any(class);
    let wordy = is_wordy(core);
    if is_foreign(bytes) || is_path(core) || is_resource(core) || is_term(core) || (wordy && has_stem(core)) {
        return false;
    }
    if value.quoted {
        if core.contains(&b' ') {
            let words = || core.split(|byte| *byte == b' ');
            let phrase = words().count() >= 3
                && words().all(|word| word.len() >= 4 && word.iter().all(u8::is_ascii_lowercase));
            return (phrase || has(u8::is_ascii_digit)) && !is_sentence(core);
        }
        return core.len() >= 4 && (wordy || core.len() < end || has(u8::is_ascii_digit) || has(is_sign));
    }
    // `&str`, `*args1`
    let reference = matches!(first, b'&' | b'*' | b'$' | b'%')
        && core[1..].iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'_');
    // A call or an index.
    if reference {
        return false;
    }
    if matches!(value.next, b'(' | b'[' | b'<' | b'=') || !has(u8::is_ascii_alphabetic) {
        return core.len() >= 6 && core.iter().all(u8::is_ascii_digit);
    }
    // `auth.v2`, `config.key1`: only names with capitals are not members of something.
    let members = core.contains(&b'.')
        && (!has(u8::is_ascii_uppercase)
            || !ends_with_number(core) && wordy && !core[core.len() - 1].is_ascii_digit());
    if first.is_ascii_digit() || members {
        return core.len() >= 8 && is_random(core);
    }
    let words = || core.split(|byte| *byte == b'-');
    let phrase = core.len() >= 16
        && words().count() >= 3
        && words().all(|word| word.len() >= 2 && word.iter().all(u8::is_ascii_alphabetic))
        && !words().any(|word| listed(SENTENCE).any(|known| word == known.as_bytes()));
    core.len() >= 4 && (has(u8::is_ascii_digit) || has(is_sign) || phrase)
}

/// A sign that passwords have, and neither words nor names do.
fn is_sign(byte: &u8) -> bool {
    matches!(byte, b'!' | b'#' | b'$' | b'%' | b'^' | b'&' | b'*' | b'+' | b'=' | b'?' | b'~')
}

/// `sha256`, `2FA`, `base64`, `8-character`: how something is stored, sent or made.
fn is_term(bytes: &[u8]) -> bool {
    const TERMS: &str = "aes|argon|base|bcrypt|blake|crypt|des|ecdsa|ed25519|es|hs|http|ipv|keccak|latin|md|ntlm|oauth|p\
        |page|part|pbkdf|ps|python|rs|rsa|scram|scrypt|sha|step|table|utf|v|version|windows|x";
    let letters = bytes.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let rest = &bytes[letters..];
    let tail =
        rest.iter().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'_' | b'.' | b'i' | b'd'))
            || rest.iter().position(|byte| *byte == b'-').is_some_and(|dash| {
                rest[..dash].iter().all(u8::is_ascii_digit)
                    && rest[dash..].iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
            });
    tail && listed(TERMS).any(|term| bytes[..letters].eq_ignore_ascii_case(term.as_bytes()))
}

/// `l?o;F}]Gm=dQ)0<#mxX(2pWbiP.&TRzpE;#D`: long, with more signs than any code; what it contains means nothing.
fn is_salt(bytes: &[u8]) -> bool {
    let signs =
        bytes.iter().filter(|byte| byte.is_ascii_punctuation() && !matches!(byte, b'-' | b'_' | b'*' | b'.'));
    let letters = bytes.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let spread =
        bytes.windows(2).filter(|pair| pair[0].is_ascii_alphanumeric() != pair[1].is_ascii_alphanumeric());
    bytes.len() >= 40
        && letters >= 8
        && bytes.iter().any(u8::is_ascii_digit)
        && signs.count() * 4 >= bytes.len()
        && spread.count() * 3 >= bytes.len()
}

/// `Copper.Anchor.56`: the last part of a member or a file's name is not a number.
fn ends_with_number(bytes: &[u8]) -> bool {
    bytes.rsplit(|byte| *byte == b'.').next().is_some_and(is_number)
}

/// The same, or `Bodkin.4.Thread`, `Nuss.Baum-88`: no part of a type's name is one.
fn has_number(bytes: &[u8]) -> bool {
    let inside =
        || bytes[0].is_ascii_uppercase() && bytes.split(|byte| matches!(byte, b'.' | b'-')).any(is_number);
    ends_with_number(bytes) || inside()
}

/// `todo-list-Secret9`: a capital and a number, which no key of a form or a translation has behind its dash.
fn is_stressed(bytes: &[u8]) -> bool {
    bytes.contains(&b'-')
        && bytes[bytes.len() - 1].is_ascii_digit()
        && bytes.iter().any(u8::is_ascii_uppercase)
        && bytes.iter().any(u8::is_ascii_lowercase)
}

fn is_number(part: &[u8]) -> bool {
    !part.is_empty() && part.iter().all(u8::is_ascii_digit)
}

/// `amber-gondola-maple-99`, `amber-gondola-maple-juniper`: words and perhaps a number, as password managers make them.
fn is_passphrase(bytes: &[u8]) -> bool {
    let parts = || bytes.split(|byte| *byte == b'-');
    let (words, numbers): (Vec<&[u8]>, Vec<&[u8]>) =
        parts().partition(|part| part.iter().any(|byte| byte.is_ascii_alphabetic()));
    let many = words.len() >= 3 && numbers.len() == 1 || words.len() >= 4 && numbers.is_empty();
    many && is_wordy(bytes)
}

/// Whether it is what somebody wrote who had to think of a secret: `mysupersecretjwtkey-do-not-share`, `keyboard kitten 99`.
pub fn is_chosen(value: &Judged) -> bool {
    const PLACEHOLDERS: &str = "change|example|generate|replace|your|insert|random|enter|todo|require|same|dummy|sample|fixme\
        |secretname";
    let bytes = value.bytes;
    let words = bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b' '));
    let placeholder = || {
        bytes
            .windows(4)
            .enumerate()
            .any(|(at, _)| listed(PLACEHOLDERS).any(|word| starts_with_ignore_case(&bytes[at..], word)))
    };
    let blank = bytes.contains(&b' ');
    words
        && bytes.iter().any(u8::is_ascii_lowercase)
        && !stands_for_a_value(bytes)
        && if blank {
            value.quoted && bytes.len() >= 12 && (!is_sentence(bytes) || is_phrase(bytes))
        } else {
            bytes.len() >= 20 || is_numbered(bytes)
        }
        && !placeholder()
}

/// `keyboard-kitten-77`: two words or more, none of which says what it is, and a number of two digits that is no version.
fn is_numbered(bytes: &[u8]) -> bool {
    let Some(dash) = memchr::memrchr(b'-', bytes) else { return false };
    let (number, words) = (&bytes[dash + 1..], || bytes[..dash].split(|byte| *byte == b'-'));
    // What a thing is named after.
    const NAMED: &str = "app|dev|jwt|local|prod|production|session|signing|staging|store|test|web";
    // A `keyboard` is not a key.
    let word = |word: &[u8]| word.len() >= 3 && word != b"key" && word.iter().all(u8::is_ascii_lowercase);
    number.len() == 2
        && number.iter().all(u8::is_ascii_digit)
        && words().count() >= 2
        && words().all(word)
        && !words().any(|word| listed(NAMED).any(|known| word == known.as_bytes()))
        && !contains_any(bytes, STEMS, &STEM_RANGES, |_, stem| stem != "key")
}

/// `blaue-Katze-im-Regen`: words, some of them with a capital, or with one that only sentences have.
fn is_made_up(bytes: &[u8]) -> bool {
    let words = || bytes.split(|byte| matches!(byte, b'-' | b'_'));
    let word = |word: &[u8]| {
        word.len() >= 2
            && word.iter().all(u8::is_ascii_alphabetic)
            && word[1..].iter().all(u8::is_ascii_lowercase)
    };
    let capitals = words().filter(|word| word.first().is_some_and(u8::is_ascii_uppercase)).count();
    let spoken =
        || words().any(|word| listed(MADE_UP).any(|known| word.eq_ignore_ascii_case(known.as_bytes())));
    let count = words().count();
    bytes.len() >= 16
        && count >= 3
        && words().all(word)
        && ((1..count).contains(&capitals) || (count >= 4 && spoken()))
}

/// Words that no name of a thing has.
const MADE_UP: &str =
    "the|an|is|im|am|auf|und|mit|der|die|das|le|les|sur|dans|el|los|en|il|nel|op|over|under";

/// `gqva xqpx ppzc vinc`: how Google writes a password for one program.
fn is_app_password(bytes: &[u8]) -> bool {
    let mut groups = bytes.split(|byte| *byte == b' ');
    bytes.len() == 19 && groups.all(|group| group.len() == 4 && group.iter().all(u8::is_ascii_lowercase))
}

/// `$TOKEN`, `<token>`, `{{ token }}`, `***`, `xxxx`, our own mask.
pub fn stands_for_a_value(bytes: &[u8]) -> bool {
    let Some((&first, rest)) = bytes.split_first() else { return true };
    let variable = || {
        let name =
            rest.iter().position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_').unwrap_or(rest.len());
        // `$ecret!9` is a password: the name of a variable is followed by nothing, or by more of a path or address.
        let letter = rest.first().is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_');
        (letter || rest.is_empty() || (name == rest.len() && name < 3))
            && matches!(
                rest.get(name),
                None | Some(b'/' | b'.' | b':' | b'-' | b'@' | b'%' | b'[' | b'$' | b'&' | b'{')
            )
    };
    match first {
        b'$' if variable() => return true,
        b'<' | b'[' | b'{' | b'*' => return true,
        // A regular expression.
        b'.' | b'(' if matches!(rest.first(), Some(b'*' | b'+')) => return true,
        // `%s`, `%TOKEN%`; but not a password that begins with a percent sign.
        b'%' if rest.len() < 4 || rest.ends_with(b"%") => return true,
        b'@' | b'!' | b'&' if is_wordy(rest) => return true,
        _ => {}
    }
    let same = bytes.iter().all(|byte| *byte == first || matches!(byte, b'-' | b'.'));
    same || contains_any(bytes, NEVER, &NEVER_RANGES, |_, _| true)
}

/// An expression: a call, a member, a type.
fn is_code(bytes: &[u8], next: u8) -> bool {
    // `parse(`, `parse!(`
    let called = bytes.strip_suffix(b"!").unwrap_or(bytes);
    if matches!(next, b'(' | b'[' | b'<') && (is_wordy(called) || (is_identifier(bytes) && has_stem(bytes))) {
        return true;
    }
    // `__u32`, `Rc::new`, `::core::ffi::c_int`, `0x04`
    let hex = |digits: &[u8]| digits.len() <= 8 && digits.iter().all(u8::is_ascii_hexdigit);
    if bytes.strip_prefix(b"0x").is_some_and(hex)
        || bytes.starts_with(b"__") && is_identifier(bytes)
        || is_scoped(bytes)
    {
        return true;
    }
    let inner = bytes.strip_prefix(b"&").or_else(|| bytes.strip_prefix(b"!")).unwrap_or(bytes);
    let marked = inner.strip_suffix(b"!").or_else(|| inner.strip_suffix(b"?"));
    // `String!`, `Password?`
    if marked.is_some_and(|name| is_wordy(name) && name[0].is_ascii_uppercase() && has_stem(name)) {
        return true;
    }
    let inner = marked.unwrap_or(inner);
    // `Token::Ident`, `a.b.c`, `this->token`, `user?.password`: every part a name.
    let mut parts =
        inner.split(|byte| matches!(byte, b'.' | b':' | b'?' | b'-' | b'>')).filter(|part| !part.is_empty());
    // One colon is an end of a label, unless there are numbers: `Odo0:Schraube`.
    let digits = || inner.iter().any(u8::is_ascii_digit);
    let colons = inner.contains(&b':') && (!digits() || memchr::memmem::find(inner, b"::").is_some());
    let members = (inner.contains(&b'.') || colons) && !inner[0].is_ascii_digit();
    // `std` has no vowel.
    let short = |part: &[u8]| part.len() <= 3 && part.iter().all(u8::is_ascii_lowercase);
    let capitals = |part: &[u8]| part.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_');
    members && parts.all(|part| is_wordy(part) || short(part) || capitals(part))
}

/// Names with `::` between them, none of them random.
fn is_scoped(bytes: &[u8]) -> bool {
    let mut parts = bytes.split(|byte| *byte == b':');
    memchr::memmem::find(bytes, b"::").is_some()
        && parts.all(|part| part.is_empty() || (is_identifier(part) && !is_random(part)))
}

fn is_identifier(bytes: &[u8]) -> bool {
    let names = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    bytes.first().is_some_and(|first| !first.is_ascii_digit()) && bytes.iter().all(names)
}

/// `/run/secrets/db`, `./x`, `~/.ssh/id`, `C:\x`. Base64 may begin with `/` too, and is not made of words.
pub fn is_path(bytes: &[u8]) -> bool {
    let windows = bytes.len() > 2
        && bytes[0].is_ascii_alphabetic()
        && bytes[1] == b':'
        && matches!(bytes[2], b'\\' | b'/');
    let begins =
        windows || matches!(bytes, [b'/', ..] | [b'.', b'/', ..] | [b'.', b'.', b'/', ..] | [b'~', b'/', ..]);
    let mut parts = bytes.split(|byte| matches!(byte, b'/' | b'\\' | b'.')).filter(|part| !part.is_empty());
    begins && (windows || parts.all(|part| is_wordy(part) || part.len() <= 8 || !is_random(part)))
}

/// `projects/acme/secrets/db/versions/3`, `tests/unit/test_login.py::test_password`
pub fn is_resource(bytes: &[u8]) -> bool {
    // `src` and `db` have no vowel.
    let short = |part: &[u8]| part.len() <= 4 && part.iter().all(u8::is_ascii_lowercase);
    let digits = |part: &[u8]| part.iter().all(u8::is_ascii_digit);
    bytes.contains(&b'/')
        && bytes
            .split(|byte| matches!(byte, b'/' | b':'))
            .all(|part| is_wordy(part) || short(part) || digits(part))
}

/// Words joined as people join them: `hashedPassword`, `new-password`, `TOKEN_TYPE`, with at most a number at the end.
pub fn is_wordy(bytes: &[u8]) -> bool {
    let (mut humps, mut letters, mut digits, mut before) = (0, 0, 0, b'_');
    let mut consonants = 0;
    for &byte in bytes {
        consonants = if byte.is_ascii_alphabetic() && !is_vowel(byte) { consonants + 1 } else { 0 };
        if consonants > MOST_CONSONANTS {
            return false;
        }
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' => {
                if digits > 0 && before.is_ascii_digit() {
                    return false;
                }
                let begins = !before.is_ascii_alphabetic()
                    || (byte.is_ascii_uppercase() && !before.is_ascii_uppercase());
                humps += usize::from(begins);
                letters += 1;
            }
            b'0'..=b'9' => digits += 1,
            b'_' | b'-' | b'.' => {}
            _ => return false,
        }
        before = byte;
    }
    // Random letters change case constantly; words are longer than that.
    letters >= 2 && letters >= 3 * humps - humps / 2 && digits <= 2 && vowels(bytes) * 8 >= letters
}

/// `CryptXmlDllVerify` has nine in a row.
const MOST_CONSONANTS: usize = 9;

fn is_vowel(byte: u8) -> bool {
    matches!(byte.to_ascii_lowercase(), b'a' | b'e' | b'i' | b'o' | b'u' | b'y')
}

fn vowels(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| is_vowel(**byte)).count()
}

/// Letters and digits alternating, or many special characters, or capitals where no word has them.
pub fn is_random(bytes: &[u8]) -> bool {
    let class = |byte: u8| match byte {
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        b'0'..=b'9' => 3,
        b'-' | b'_' | b'.' | b' ' => 0,
        _ => 4,
    };
    let changes = bytes.windows(2).filter(|pair| {
        let (a, b) = (class(pair[0]), class(pair[1]));
        a != 0 && b != 0 && a != b
    });
    changes.count() >= 3
}

/// A whole line of words that make a wallet: twelve or more, in steps of three, and no sentence.
pub fn is_wallet(line: &[u8]) -> bool {
    let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let count = words.clone().count();
    count % 3 == 0
        && is_seed(line)
        && !words.any(|word| listed(SENTENCE).any(|known| word == known.as_bytes()))
}

/// A dozen words or more, all neither short nor long. What is judged may end within the last one.
fn is_seed(bytes: &[u8]) -> bool {
    let words: Vec<&[u8]> = bytes.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).collect();
    let small = |word: &&[u8]| word.len() <= 8 && word.iter().all(u8::is_ascii_lowercase);
    words.len() >= 12
        && words.iter().all(small)
        && words[..words.len() - 1].iter().all(|word| word.len() >= 3)
}
