//! Whether the value of a name like "password" is a secret, or code, a placeholder, a word. Pure tables and counting.

use crate::mask::bytes::starts_with_ignore_case;
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
}

pub struct Judged<'a> {
    pub bytes: &'a [u8],
    pub quoted: bool,
    /// The byte after it.
    pub next: u8,
}

/// Parts of words that refer to a value rather than being one, and of placeholders.
/// Checked only for values made of words: `P4ssw0rd!` contains `pass` and is a password nevertheless.
const STEMS: &[&str] = &[
    "arg",
    "auth",
    "bearer",
    "boolean",
    "buffer",
    "bytes",
    "change",
    "client",
    "comment",
    "config",
    "confirm",
    "correct_",
    "create",
    "cred",
    "data",
    "decrypt",
    "default",
    "delete",
    "denied",
    "digest",
    "disable",
    "empty",
    "enable",
    "encrypt",
    "enter",
    "env",
    "example",
    "expire",
    "false",
    "field",
    "fixme",
    "forgot",
    "generate",
    "hash",
    "hidden",
    "identifier",
    "include",
    "incorrect",
    "input",
    "insert",
    "key",
    "mask",
    "missing",
    "name",
    "needed",
    "none",
    "null",
    "number",
    "object",
    "omit",
    "operator",
    "option",
    "origin",
    "param",
    "pass",
    "placeholder",
    "plain",
    "prompt",
    "provided",
    "punctuation",
    "pwd",
    "random",
    "redact",
    "remove",
    "replace",
    "request",
    "require",
    "reset",
    "response",
    "result",
    "secret",
    "self",
    "server",
    "setting",
    "string",
    "text",
    "this",
    "todo",
    "token",
    "true",
    "type",
    "undefined",
    "unset",
    "update",
    "user",
    "valid",
    "value",
    "wrong",
    "your",
];

/// What no password contains, whatever else it looks like.
const NEVER: &[&str] = &[
    "#{",
    "$(",
    "${",
    "%(",
    "&&",
    "****",
    "-here",
    "...",
    "....",
    "://",
    "<|",
    "=>",
    "[masked:",
    "_here",
    "arn:",
    "change-me",
    "change_me",
    "changeme",
    "import.meta",
    "nullable",
    "os.environ",
    "placeholder",
    "process.env",
    "redacted",
    "replace-me",
    "replace_me",
    "required|",
    "xxxx",
    "your-",
    "your_",
    "{{",
    "||",
    "•",
    "…",
];

/// Words that occur in sentences. A passphrase has none of them.
const SENTENCE: &[&str] = &[
    "a",
    "an",
    "the",
    "is",
    "are",
    "was",
    "be",
    "to",
    "for",
    "of",
    "in",
    "on",
    "at",
    "with",
    "and",
    "or",
    "not",
    "no",
    "your",
    "you",
    "must",
    "should",
    "can",
    "cannot",
    "enter",
    "please",
    "this",
    "that",
    "it",
    "if",
    "password",
    "token",
    "secret",
    "key",
    "invalid",
    "required",
    "characters",
    "use",
    "least",
    "min",
    "max",
    "new",
    "old",
    "confirm",
    "forgot",
    "reset",
    "type",
    "again",
    "wrong",
    "missing",
    "from",
    "by",
    "has",
    "have",
    "will",
    "only",
    // The same in the languages that most programs are translated to.
    "de",
    "du",
    "des",
    "la",
    "le",
    "les",
    "el",
    "su",
    "tu",
    "mot",
    "votre",
    "contraseña",
    "senha",
    "olvidado",
    "oublié",
    "vergessen",
    "vergeten",
    "das",
    "der",
    "die",
    "ihr",
    "dein",
    "neues",
    "und",
    "il",
    "di",
    "sua",
    "het",
    "een",
    "uw",
];

/// Whether `value` is a secret, given what its name says.
pub fn is_secret(kind: Kind, style: Style, value: &Judged) -> bool {
    let bytes = value.bytes;
    if value.quoted && kind != Kind::Seed && is_salt(bytes) {
        return true;
    }
    if bytes.is_empty() || stands_for_a_value(bytes) {
        return false;
    }
    if kind == Kind::Seed {
        return is_seed(bytes);
    }
    if value.quoted && kind == Kind::Password && is_app_password(bytes) {
        return true;
    }
    if value.quoted && bytes.contains(&b' ') {
        return kind == Kind::Password && style != Style::Beside && !is_sentence(bytes);
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
            let argument = !value.quoted && matches!(value.next, b')' | b',');
            bytes.len() >= 6
                && !argument
                && !has_stem(bytes)
                && (!bytes.contains(&b'.') || ends_with_number(bytes))
        }
        (Kind::Password, _) => bytes.len() >= 4,
        (_, _) if digits || wordy => false,
        (Kind::Key, _) => bytes.len() >= 16 && is_random(bytes),
        (Kind::QuietKey, _) => {
            bytes.len() >= 24 && bytes.iter().all(|byte| Alphabet::Encoded.has(*byte)) && is_noise(bytes)
        }
        _ => bytes.len() >= 8,
    }
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
    let last = bytes.rsplit(|byte| *byte == b'.').next().unwrap_or_default();
    !last.is_empty() && last.iter().all(u8::is_ascii_digit)
}

/// `amber-gondola-maple-99`, `amber-gondola-maple-juniper`: words and perhaps a number, as password managers make them.
fn is_passphrase(bytes: &[u8]) -> bool {
    let parts = || bytes.split(|byte| *byte == b'-');
    let (words, numbers): (Vec<&[u8]>, Vec<&[u8]>) =
        parts().partition(|part| part.iter().any(|byte| byte.is_ascii_alphabetic()));
    let many = words.len() >= 3 && numbers.len() == 1 || words.len() >= 4 && numbers.is_empty();
    many && is_wordy(bytes)
}

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
                None | Some(b'/' | b'.' | b':' | b'-' | b'@' | b'%' | b'[' | b'$' | b'&')
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
    if matches!(next, b'(' | b'[' | b'<') && (is_wordy(bytes) || (is_identifier(bytes) && has_stem(bytes))) {
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
    let members = inner.iter().any(|byte| matches!(byte, b'.' | b':')) && !inner[0].is_ascii_digit();
    // `std` has no vowel.
    let short = |part: &[u8]| part.len() <= 3 && part.iter().all(u8::is_ascii_lowercase);
    let capitals = |part: &[u8]| part.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_');
    members && parts.all(|part| is_wordy(part) || short(part) || capitals(part))
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

/// In a passphrase only the beginnings of words count: `sunset` is not `unset`.
fn has_stem(bytes: &[u8]) -> bool {
    if !is_passphrase(bytes) {
        return contains_any(bytes, STEMS, &STEM_RANGES, |at, stem| {
            // `monkey` is not a key.
            let short = stem.len() == 3 || stem == "unset";
            let begins = at == 0
                || !bytes[at - 1].is_ascii_alphabetic()
                || (bytes[at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase());
            // Nor is a `thistle` this one.
            let whole = stem != "this" || !bytes.get(at + 4).is_some_and(u8::is_ascii_lowercase);
            whole && (begins || !short)
        });
    }
    let stems = || STEMS.iter().filter(|stem| **stem != "this");
    let begins = |part: &[u8]| stems().any(|stem| starts_with_ignore_case(part, stem));
    bytes.split(|byte| *byte == b'-').any(begins)
}

/// Prose: at least one of its words is common in sentences.
fn is_sentence(bytes: &[u8]) -> bool {
    let words =
        bytes.split(|byte| matches!(byte, b' ' | b',' | b'.' | b':' | b'!' | b'?' | b'\'' | b'(' | b')'));
    let known = |word: &[u8]| SENTENCE.iter().any(|known| word.eq_ignore_ascii_case(known.as_bytes()));
    let words: Vec<&[u8]> = words.filter(|word| !word.is_empty()).collect();
    words.iter().any(|word| known(word)) || words.len() > 10
}

/// A whole line of words that make a wallet: twelve or more, in steps of three, and no sentence.
pub fn is_wallet(line: &[u8]) -> bool {
    let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let count = words.clone().count();
    count % 3 == 0
        && is_seed(line)
        && !words.any(|word| SENTENCE.iter().any(|known| word == known.as_bytes()))
}

/// A dozen words or more, all neither short nor long. What is judged may end within the last one.
fn is_seed(bytes: &[u8]) -> bool {
    let words: Vec<&[u8]> = bytes.split(|byte| *byte == b' ').filter(|word| !word.is_empty()).collect();
    let small = |word: &&[u8]| word.len() <= 8 && word.iter().all(u8::is_ascii_lowercase);
    words.len() >= 12
        && words.iter().all(small)
        && words[..words.len() - 1].iter().all(|word| word.len() >= 3)
}

/// Whether one of `words` (lower case, sorted) occurs in it where `fits` allows it.
fn contains_any(
    bytes: &[u8],
    words: &[&str],
    ranges: &[(u8, u8); 256],
    fits: impl Fn(usize, &str) -> bool,
) -> bool {
    bytes.iter().enumerate().any(|(at, byte)| {
        let (from, to) = ranges[*byte as usize];
        words[usize::from(from)..usize::from(to)]
            .iter()
            .any(|word| starts_with_ignore_case(&bytes[at..], word) && fits(at, word))
    })
}

static STEM_RANGES: [(u8, u8); 256] = ranges(STEMS);
static NEVER_RANGES: [(u8, u8); 256] = ranges(NEVER);

/// Which of `words` begin with a byte, in either case.
const fn ranges(words: &[&str]) -> [(u8, u8); 256] {
    let mut ranges = [(0, 0); 256];
    let mut i = 0;
    while i < words.len() {
        let first = words[i].as_bytes()[0];
        assert!(i == 0 || words[i - 1].as_bytes()[0] <= first, "sorted");
        let from =
            if i > 0 && words[i - 1].as_bytes()[0] == first { ranges[first as usize].0 } else { i as u8 };
        ranges[first as usize] = (from, i as u8 + 1);
        ranges[first.to_ascii_uppercase() as usize] = ranges[first as usize];
        i += 1;
    }
    ranges
}
