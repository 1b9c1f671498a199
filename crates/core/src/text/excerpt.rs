//! The part of a long text that has the words of a search, on one line, with the words marked.

use crate::text::one_line;
use serde::{Deserialize, Serialize};

/// A piece of an excerpt; `hit` is one of the words.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Piece {
    pub text: String,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hit: bool,
}

/// Characters shown before the first hit.
const CHARS_BEFORE_HIT: usize = 60;

/// Words of a search: runs of letters and digits, as the index has them. At most 16, so that a query cannot be an attack.
pub fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(16)
        .map(str::to_owned)
        .collect()
}

/// About `width` characters of `text` around the first of the words; `None` if none of them is in it.
pub fn excerpt(text: &str, words: &[String], width: usize) -> Option<Vec<Piece>> {
    let folded: Vec<Vec<char>> = words.iter().map(|word| word.chars().map(fold).collect()).collect();
    let chars: Vec<char> = text.chars().collect();
    // The longest word that begins here: "log" must not cut "login" short. Like the index, only at the beginning of a word.
    let hit_at = |at: usize| {
        if at > 0 && chars[at - 1].is_alphanumeric() {
            return None;
        }
        let begins = |word: &&Vec<char>| {
            !word.is_empty()
                && chars[at..].len() >= word.len()
                && chars[at..].iter().zip(word.iter()).all(|(a, b)| fold(*a) == *b)
        };
        folded.iter().filter(begins).map(Vec::len).max()
    };
    let first = (0..chars.len()).find(|at| hit_at(*at).is_some())?;
    let from = first.saturating_sub(CHARS_BEFORE_HIT);
    let to = chars.len().min(from + width);
    let mut pieces: Vec<Piece> = Vec::new();
    let mut plain = if from > 0 { "…".to_owned() } else { String::new() };
    let mut at = from;
    while at < to {
        match hit_at(at) {
            Some(length) => {
                push(&mut pieces, std::mem::take(&mut plain), false);
                push(&mut pieces, chars[at..chars.len().min(at + length)].iter().collect(), true);
                at += length;
            }
            None => {
                plain.push(chars[at]);
                at += 1;
            }
        }
    }
    if at < chars.len() {
        plain.push('…');
    }
    push(&mut pieces, plain, false);
    Some(pieces)
}

/// Adds a piece on one line; blanks at its ends are kept, because its neighbors follow on the same line.
fn push(pieces: &mut Vec<Piece>, text: String, hit: bool) {
    if text.is_empty() {
        return;
    }
    let blank = |c: Option<char>| if c.is_some_and(char::is_whitespace) { " " } else { "" };
    let (before, after) = (blank(text.chars().next()), blank(text.chars().next_back()));
    let inner = one_line(&text, usize::MAX / 8);
    let text = if inner.is_empty() { " ".to_owned() } else { format!("{before}{inner}{after}") };
    pieces.push(Piece { text, hit });
}

/// Upper and lower case are the same.
fn fold(c: char) -> char {
    c.to_lowercase().next().unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, search: &str, width: usize) -> Option<String> {
        let pieces = excerpt(text, &words(search), width)?;
        Some(
            pieces
                .iter()
                .map(|piece| if piece.hit { format!("[{}]", piece.text) } else { piece.text.clone() })
                .collect(),
        )
    }

    #[test]
    fn words_are_marked_in_the_part_that_has_them() {
        for (text, search, wanted) in [
            ("Fix the flaky login test", "LOGIN", Some("Fix the flaky [login] test")),
            ("log the\nlogin", "log login", Some("[log] the [login]")),
            ("Äpfel und ÄPFEL", "äpfel", Some("[Äpfel] und [ÄPFEL]")),
            ("the others, their theme", "the", Some("[the] others, [the]ir [the]me")),
            ("nothing here", "cookie", None),
            ("", "x", None),
            ("a\u{1b}[31mb cookie", "cookie", Some("a[31mb [cookie]")),
        ] {
            assert_eq!(shown(text, search, 200).as_deref(), wanted, "{text}");
        }
        let long = format!("{}needle{}", "a ".repeat(500), " b".repeat(500));
        let cut = shown(&long, "needle", 100).unwrap();
        assert!(cut.starts_with('…') && cut.ends_with('…') && cut.contains("[needle]"), "{cut}");
        assert!(cut.chars().count() < 110, "{cut}");
    }

    #[test]
    fn an_excerpt_of_a_huge_text_is_small() {
        let text = "ab ".repeat(1 << 18);
        assert!(excerpt(&text, &words("ab b a"), 240).unwrap().len() < 200);
    }
}
