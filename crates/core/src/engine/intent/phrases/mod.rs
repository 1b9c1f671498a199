//! The phrases that reveal an intent, in lower case. One line each, so that one line fixes a wrong classification.

mod ends;
mod questions;
mod requests;

pub use crate::engine::intent::phrases::ends::*;
pub use crate::engine::intent::phrases::questions::*;
pub use crate::engine::intent::phrases::requests::*;

use crate::engine::intent::prose::Sentence;
use std::cmp::Reverse;

/// Where in a sentence a phrase must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Where {
    Starts,
    Anywhere,
    Whole,
}

type Table = &'static [(Where, &'static str)];

/// The first phrase of a table that occurs in the sentence.
pub fn find(table: Table, sentence: &Sentence) -> Option<&'static str> {
    let fits = |(place, phrase): &&(Where, &str)| place.position(&sentence.folded, phrase).is_some();
    table.iter().find(fits).map(|(_, phrase)| *phrase)
}

/// Orders phrases by how far into the text they are; of two in the same place, the longer one knows more.
pub type Rank = (usize, Reverse<usize>);

/// The rank of the first phrase of a table that occurs in the text.
pub fn rank(table: Table, text: &str) -> Option<Rank> {
    let rank = |(place, phrase): &(Where, &str)| Some((place.position(text, phrase)?, Reverse(phrase.len())));
    table.iter().filter_map(rank).min()
}
