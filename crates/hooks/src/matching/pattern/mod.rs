//! JavaScript's regular expressions as `new RegExp(text)` reads them: without flags, and with all the leniency that
//! browsers need (Annex B of ECMAScript), since that is what Claude Code does with a matcher.
//!
//! Text and pattern are UTF-16 units as in JavaScript: without the `u` flag, a character beyond U+FFFF is two units, `.`
//! matches half of it, and `\p{L}` is the letter p. So no tables of Unicode properties are needed. Both were written by
//! others, so nothing here recurses, and a search has a bounded number of steps.

mod class;
mod parse;
mod run;

use class::Set;
use std::fmt;
use std::ops::Range;

/// More units than this are not read.
const MAX_PATTERN_UNITS: usize = 1 << 15;

/// The index of a node in the pattern's list of nodes.
type Id = usize;

/// A pattern that can be searched for.
#[derive(Debug)]
pub struct Pattern {
    nodes: Vec<Node>,
    /// Where each node leads to, and in which direction it reads.
    links: Vec<Link>,
    root: Id,
    groups: usize,
    repeats: usize,
}

/// A part of a pattern. A node that has a body is followed by the node at its end, which the body leads to.
#[derive(Debug)]
enum Node {
    /// The whole pattern has matched.
    Done,
    Unit {
        unit: u16,
        ignore_case: bool,
    },
    Set(Set),
    /// What one of these groups has matched: several may have the same name in different alternatives.
    Again {
        groups: Vec<usize>,
        ignore_case: bool,
    },
    Start {
        of_line: bool,
    },
    End {
        of_line: bool,
    },
    WordEdge {
        negated: bool,
    },
    Sequence(Vec<Id>),
    Either(Vec<Id>),
    Group {
        index: usize,
        body: Id,
    },
    GroupEnd {
        index: usize,
    },
    Look {
        body: Id,
        behind: bool,
        negated: bool,
    },
    LookEnd,
    Repeat(Repeat),
    RepeatEnd,
}

#[derive(Debug)]
struct Repeat {
    body: Id,
    least: u32,
    most: u32,
    greedy: bool,
    /// The groups inside, which every round empties.
    groups: Range<usize>,
    /// Which of the pattern's repeats this is.
    index: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Link {
    next: Id,
    backward: bool,
}

/// Why a text cannot be used as a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// JavaScript throws a SyntaxError. The number counts characters, from 1.
    Syntax { why: String, character: usize },
    /// JavaScript may accept it; headspace does not read patterns of this length.
    TooLong,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { why, character } => write!(f, "{why}, at character {character}"),
            Self::TooLong => write!(f, "more than {MAX_PATTERN_UNITS} characters"),
        }
    }
}

/// The search took too many steps: whether the pattern matches is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GaveUp;

/// Where the pattern matched: the whole match, then what each group matched, in UTF-16 units.
pub type Captures = Vec<Option<Range<usize>>>;

impl Pattern {
    pub fn new(text: &str) -> Result<Self, Fault> {
        let units: Vec<u16> = text.encode_utf16().take(MAX_PATTERN_UNITS + 1).collect();
        if units.len() > MAX_PATTERN_UNITS {
            return Err(Fault::TooLong);
        }
        parse::parse(&units).map_err(|error| {
            let before = String::from_utf16_lossy(&units[..error.at]).chars().count();
            Fault::Syntax { why: error.why, character: before + 1 }
        })
    }

    /// The first match in the text, as `RegExp.prototype.exec` finds it.
    pub fn find(&self, text: &str) -> Result<Option<Captures>, GaveUp> {
        run::find(self, &text.encode_utf16().collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests;
