//! Words that secrets do not have, and words that only sentences have.

use crate::mask::bytes::{listed, starts_with_ignore_case};
use crate::mask::judge::is_passphrase;

/// Parts of words that refer to a value rather than being one, and of placeholders.
/// Checked only for values made of words: `P4ssw0rd!` contains `pass` and is a password nevertheless.
pub const STEMS: &[&str] = &[
    "anmeld",
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
    "contrase",
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
    "erforder",
    "example",
    "expire",
    "falsch",
    "false",
    "field",
    "fixme",
    "forgot",
    "geben",
    "generate",
    "hash",
    "hidden",
    "identifier",
    "include",
    "incorrect",
    "input",
    "insert",
    "kennwort",
    "key",
    "mask",
    "missing",
    "name",
    "needed",
    "none",
    "null",
    "number",
    "object",
    "olvid",
    "omit",
    "operator",
    "option",
    "origin",
    "oubli",
    "param",
    "parola",
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
    "repet",
    "replace",
    "request",
    "require",
    "reset",
    "response",
    "result",
    "secret",
    "self",
    "senha",
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
    "vergess",
    "vergeten",
    "wachtwoord",
    "wiederhol",
    "wrong",
    "your",
];

/// What no password contains, whatever else it looks like.
pub const NEVER: &[&str] = &[
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
pub const SENTENCE: &str = "a|an|the|is|are|was|be|to|for|of|in|on|at|with|and|or|not|no|your|you|must|should|can|cannot\
        |enter|please|this|that|it|if|password|token|secret|key|invalid|required|characters|use|least|min\
        |max|new|old|confirm|forgot|reset|type|again|wrong|missing|from|by|has|have|will|only|de|du|des\
        |la|le|les|el|su|tu|mot|votre|contraseña|senha|olvidado|oublié|vergessen|vergeten|das|der|die|ihr\
        |dein|neues|und|il|di|sua|het|een|uw|al|au|menos|moins|mindestens|zeichen|caracteres|caractères\
        |caratteri|tekens";

/// In a passphrase only the beginnings of words count: `sunset` is not `unset`.
pub fn has_stem(bytes: &[u8]) -> bool {
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
pub fn is_sentence(bytes: &[u8]) -> bool {
    let words =
        bytes.split(|byte| matches!(byte, b' ' | b',' | b'.' | b':' | b'!' | b'?' | b'\'' | b'(' | b')'));
    let known = |word: &[u8]| listed(SENTENCE).any(|known| word.eq_ignore_ascii_case(known.as_bytes()));
    let words: Vec<&[u8]> = words.filter(|word| !word.is_empty()).collect();
    words.iter().any(|word| known(word)) || words.len() > 10
}

/// Whether one of `words` (lower case, sorted) occurs in it where `fits` allows it.
pub fn contains_any(
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

pub static STEM_RANGES: [(u8, u8); 256] = ranges(STEMS);
pub static NEVER_RANGES: [(u8, u8); 256] = ranges(NEVER);

/// `the owl flies at noon`: small words, and none that a form or a message has.
pub fn is_phrase(bytes: &[u8]) -> bool {
    const SMALL: &str = "a|an|the|of|in|on|at|with|and|by|from|for";
    let words = || bytes.split(|byte| *byte == b' ');
    let small = |word: &[u8]| listed(SMALL).any(|known| word == known.as_bytes());
    let telling = |word: &[u8]| listed(SENTENCE).any(|known| word == known.as_bytes()) && !small(word);
    let letters = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    (4..=8).contains(&words().count())
        && words().all(|word| !word.is_empty() && word.iter().all(letters) && !telling(word))
        // A `keyboard` is not a key.
        && !contains_any(bytes, STEMS, &STEM_RANGES, |_, stem| stem != "key")
}

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
