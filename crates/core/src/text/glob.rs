//! Parsed glob patterns: the part that all dialects share. Parsing a dialect is its caller's job.

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub enum GlobPart {
    /// Any number of characters.
    Many,
    /// One character.
    One,
    Literal(char),
    Class {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl GlobPart {
    pub fn takes(&self, c: char) -> bool {
        match self {
            GlobPart::Many | GlobPart::One => true,
            GlobPart::Literal(literal) => *literal == c,
            GlobPart::Class { negated, ranges } => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) != *negated
            }
        }
    }
}

/// Whether the pieces match the whole text. Walks over the text once and returns to the last star when stuck, so no
/// pattern takes more than length × length steps.
pub fn fits(pieces: &[GlobPart], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pieces.get(p) {
            Some(GlobPart::Many) => {
                star = Some((p, t));
                p += 1;
            }
            Some(piece) if piece.takes(text[t]) => {
                p += 1;
                t += 1;
            }
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    p = at + 1;
                    t = from + 1;
                }
                None => return false,
            },
        }
    }
    pieces[p..].iter().all(|piece| *piece == GlobPart::Many)
}
