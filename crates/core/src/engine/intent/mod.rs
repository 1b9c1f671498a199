//! Classifies a text: text ▶ (intent, confidence, why). Pure. Begin with [`intent`].
//!
//! Structure first: code, quotations and URLs are removed; then the last sentence, or the line above a closing list,
//! decides. Only then the tables of phrases are used. They also say whether a question before the end is still open:
//! one to the user is, unless it is answered; any other only if what follows is known to be a remark on it.

mod phrases;
mod prose;

use crate::engine::intent::phrases::Where;
use crate::engine::intent::prose::{Block, Kind, Sentence};
use crate::model::{Confidence, Intent};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub intent: Intent,
    pub confidence: Confidence,
    pub why: &'static str,
    /// For a question: the sentence that asks.
    pub asks: Option<String>,
}

/// In bytes; no text that a person would read is longer.
const LONGEST_TEXT: usize = 128 * 1024;

/// How many sentences at either end of a text can say that the work is finished.
const EDGE_SENTENCES: usize = 3;

/// How many paragraphs and lists at the end of a text are searched for its question.
const BLOCKS_LOOKED_AT: usize = 3;

/// How many sentences may follow a question to the user that is still open.
const UNRELATED_AFTER_QUESTION: usize = 4;

fn judged(intent: Intent, confidence: Confidence, why: &'static str) -> Judgement {
    Judgement { intent, confidence, why, asks: None }
}

/// What Claude means by a text: a question to the user, an announcement of more, or the end of a task.
pub fn intent(text: &str) -> Judgement {
    let blocks = prose::read(end_of(text));
    if let Some(question) = question(&blocks) {
        return question;
    }
    let Some(last) = blocks.iter().rev().flat_map(|block| block.sentences.last()).next() else {
        return judged(Intent::Completion, Confidence::Low, "no words");
    };
    let first = blocks.first().into_iter().flat_map(|block| block.sentences.iter().take(EDGE_SENTENCES));
    let edges = first
        .chain(blocks.last().into_iter().flat_map(|block| block.sentences.iter().rev().take(EDGE_SENTENCES)));
    if let Some(why) = edges.into_iter().find_map(|sentence| phrases::find(phrases::DONE, sentence)) {
        return judged(Intent::EndOfTask, Confidence::Medium, why);
    }
    if let Some(why) = phrases::find(phrases::GOING_ON, last).filter(|_| !is_soft(last)) {
        return judged(Intent::Progress, Confidence::Medium, why);
    }
    judged(Intent::Completion, Confidence::Low, "a statement")
}

/// A text of any length is judged by its end.
fn end_of(text: &str) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(LONGEST_TEXT))..]
}

/// Like [`intent`], for the text a turn ended with: anything that is not a question completes it.
pub fn at_stop(text: &str) -> Judgement {
    let judged = intent(text);
    match judged.intent {
        Intent::Question | Intent::EndOfTask => judged,
        _ => Judgement { intent: Intent::Completion, ..judged },
    }
}

/// The question a text ends with, if it ends with one. It is looked for backward from the end: what follows a question
/// may add to it, but not answer it.
fn question(blocks: &[Block]) -> Option<Judgement> {
    let mut after = After::default();
    for (n, block) in blocks.iter().enumerate().rev().take(BLOCKS_LOOKED_AT) {
        if block.kind == Kind::List {
            return question_at_list(block, &blocks[..n], &after);
        }
        if block.kind == Kind::Heading && after.sentences > 0 {
            return None;
        }
        match question_in(&block.sentences, &mut after) {
            Looked::Asks(judged) => return Some(judged),
            Looked::Closed => return None,
            Looked::Open => {}
        }
    }
    None
}

/// What follows the sentence that is being looked at.
#[derive(Default)]
struct After {
    sentences: usize,
    /// Those that are not known as remarks on a question.
    unrelated: usize,
}

enum Looked {
    Asks(Judgement),
    /// An answer or a report: a question before it is settled.
    Closed,
    /// Nothing here settles a question that may be before it.
    Open,
}

/// The last sentence asks; or an earlier one does, and what follows only adds to the question.
fn question_in(sentences: &[Sentence], after: &mut After) -> Looked {
    for sentence in sentences.iter().rev() {
        let soft = is_soft(sentence);
        if !soft && let Some((level, why)) = asks(sentence, after) {
            return Looked::Asks(asking(level, why, sentence));
        }
        after.sentences += 1;
        // A soft closing after a question does not withdraw it.
        if soft || sentence.is_aside() || phrases::find(phrases::REMARK, sentence).is_some() {
            continue;
        }
        after.unrelated += 1;
        if sentence.asks || settles(sentence) || after.unrelated > UNRELATED_AFTER_QUESTION {
            return Looked::Closed;
        }
    }
    Looked::Open
}

fn asks(sentence: &Sentence, after: &After) -> Option<(Confidence, &'static str)> {
    if sentence.asks && after.sentences == 0 {
        return Some((Confidence::High, "the last sentence is a question"));
    }
    let stays_open = is_to_you(sentence) || after.unrelated == 0 && !sentence.asks_what();
    if sentence.asks && stays_open {
        return Some((Confidence::Medium, "a question and a remark on it"));
    }
    phrases::find(phrases::ASKS, sentence).map(|why| (Confidence::Medium, why))
}

/// Whether a question is meant for the user. Others are often asked only to be answered in the next sentence.
fn is_to_you(sentence: &Sentence) -> bool {
    let found = |table| phrases::find(table, sentence).is_some();
    found(phrases::YOUR_WISH) || found(phrases::TO_YOU) && !found(phrases::RHETORICAL)
}

/// An answer, or a report of what was done or is done next. "I'll …" is none: it may say what happens after a yes.
fn settles(sentence: &Sentence) -> bool {
    let goes_on =
        phrases::find(phrases::GOING_ON, sentence).is_some_and(|phrase| !phrase.starts_with("i'll"));
    goes_on || [phrases::ANSWERS, phrases::DONE].iter().any(|table| phrases::find(table, sentence).is_some())
}

/// A list belongs to the line above it: the choices of a question, or the questions themselves.
fn question_at_list(list: &Block, before: &[Block], after: &After) -> Option<Judgement> {
    let above = before.iter().rev().find(|block| block.kind != Kind::List);
    let lead = above.and_then(|block| block.sentences.last());
    if let Some(lead) = lead {
        let choices =
            (lead.asks && (is_to_you(lead) || !lead.asks_what())).then_some("a question and its choices");
        let offers = || phrases::find(phrases::ASKS, lead).filter(|_| !is_soft(lead));
        let why = choices.or_else(offers).or_else(|| phrases::find(phrases::OFFERS_CHOICE, lead));
        if let Some(why) = why {
            return Some(asking(Confidence::Medium, why, lead));
        }
    }
    let reported = lead.is_some_and(|lead| phrases::find(phrases::REPORTS, lead).is_some());
    let ends_in_question = list.sentences.last().is_some_and(|end| end.asks);
    if ends_in_question && after.unrelated == 0 && !reported {
        let item = list.sentences.iter().rev().find(|sentence| sentence.asks && !is_soft(sentence))?;
        return Some(asking(Confidence::Medium, "a list of questions", item));
    }
    // "Which one? Here they are:" — the question is in the line above, but not at its end.
    let mut after = After { sentences: 1, unrelated: after.unrelated };
    match question_in(&above?.sentences, &mut after) {
        Looked::Asks(judged) => Some(judged),
        _ => None,
    }
}

fn asking(confidence: Confidence, why: &'static str, sentence: &Sentence) -> Judgement {
    Judgement { asks: Some(sentence.text.clone()), ..judged(Intent::Question, confidence, why) }
}

/// A friendly closing that needs no answer. A question with a soft clause is one, unless another clause asks ("Happy to do
/// either; which do you want?"). In a request, what is said first decides ("Please confirm, and let me know if …").
fn is_soft(sentence: &Sentence) -> bool {
    use phrases::rank;
    if sentence.asks {
        let (soft, others): (Vec<&str>, Vec<&str>) =
            sentence.clauses().partition(|clause| rank(phrases::SOFT, clause).is_some());
        let asks = |clause: &&str| rank(phrases::TO_YOU, clause).is_some();
        return !soft.is_empty() && !others.iter().any(asks);
    }
    let soft = rank(phrases::SOFT, &sentence.folded);
    let asks = rank(phrases::ASKS, &sentence.folded);
    soft.is_some_and(|soft| asks.is_none_or(|asks| soft < asks))
}

/// The part of a text that asks, for display as the question.
pub fn asking_part(text: &str) -> String {
    intent(text).asks.unwrap_or_else(|| text.trim().lines().next_back().unwrap_or_default().to_string())
}

impl Where {
    /// Where in the sentence the phrase is. "please * and tell me" stands for any words between the two parts.
    fn position(self, sentence: &str, phrase: &str) -> Option<usize> {
        if let Some((first, second)) = phrase.split_once(" * ") {
            let start = self.position(sentence, first)?;
            let rest = &sentence[start + first.len()..];
            return Where::Anywhere.position(rest, second).map(|_| start);
        }
        let whole_words = |i: &usize| {
            begins_a_word(&sentence[..*i], phrase) && ends_a_word(&sentence[i + phrase.len()..], phrase)
        };
        match self {
            Where::Starts => sentence.starts_with(phrase).then_some(0).filter(whole_words),
            Where::Anywhere => sentence.match_indices(phrase).map(|(i, _)| i).find(whole_words),
            Where::Whole => (sentence.trim_end_matches(['.', '!', '?', ':', ' ']) == phrase).then_some(0),
        }
    }
}

fn begins_a_word(before: &str, phrase: &str) -> bool {
    !phrase.starts_with(is_of_a_word) || !before.ends_with(is_of_a_word)
}

/// Whether the phrase ends at the end of a word; one that ends in a blank or a mark always does.
fn ends_a_word(rest: &str, phrase: &str) -> bool {
    !phrase.ends_with(is_of_a_word) || !rest.starts_with(is_of_a_word)
}

/// Where words are not set apart by blanks, a phrase may be anywhere in the text.
fn is_of_a_word(c: char) -> bool {
    c.is_alphanumeric() && !prose::is_written_without_blanks(c)
}

#[cfg(test)]
mod tests;
