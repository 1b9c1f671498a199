//! Parsed glob patterns: the part that all dialects share. Parsing a dialect is its caller's job.

/// A part of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
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

impl Piece {
    pub fn takes(&self, c: char) -> bool {
        match self {
            Piece::Many | Piece::One => true,
            Piece::Literal(literal) => *literal == c,
            Piece::Class { negated, ranges } => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&c)) != *negated
            }
        }
    }
}

/// Whether the pieces match the whole text. Walks over the text once and returns to the last star when stuck, so no
/// pattern takes more than length × length steps.
pub fn fits(pieces: &[Piece], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pieces.get(p) {
            Some(Piece::Many) => {
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
    pieces[p..].iter().all(|piece| *piece == Piece::Many)
}
