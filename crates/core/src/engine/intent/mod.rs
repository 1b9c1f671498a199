//! Classifies a text: text ▶ (intent, confidence, why). Pure. Begin with [`intent`].
//!
//! Structure first: code, quotations and URLs are removed; then the last sentence, or the line above a closing list,
//! decides. Only then the tables of phrases are used.

mod phrases;
mod prose;

use crate::engine::intent::phrases::Where;
use crate::engine::intent::prose::{Block, Sentence};
use crate::model::{Confidence, Intent};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub intent: Intent,
    pub confidence: Confidence,
    pub why: &'static str,
    /// For a question: the sentence that asks.
    pub asks: Option<String>,
}

/// How many sentences at either end of a text can say that the work is finished.
const EDGE_SENTENCES: usize = 3;

fn judged(intent: Intent, confidence: Confidence, why: &'static str) -> Judgement {
    Judgement { intent, confidence, why, asks: None }
}

/// What Claude means by a text: a question to the user, an announcement of more, or the end of a task.
pub fn intent(text: &str) -> Judgement {
    let blocks = prose::read(text);
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

/// Like [`intent`], for the text a turn ended with: anything that is not a question completes it.
pub fn at_stop(text: &str) -> Judgement {
    let judged = intent(text);
    match judged.intent {
        Intent::Question | Intent::EndOfTask => judged,
        _ => Judgement { intent: Intent::Completion, ..judged },
    }
}

/// The question a text ends with, if it ends with one.
fn question(blocks: &[Block]) -> Option<Judgement> {
    let (last, before) = blocks.split_last()?;
    if last.is_list {
        closing_list(last, before)
    } else {
        asks_at_the_end(&last.sentences).or_else(|| question_before_remark(last, before))
    }
}

/// A list that closes the text belongs to the line above it: the choices of a question, or the questions themselves.
fn closing_list(last: &Block, before: &[Block]) -> Option<Judgement> {
    let items = last.sentences.iter().rev().find(|sentence| sentence.asks && !is_soft(sentence));
    let lead = before.iter().rev().find(|block| !block.is_list).and_then(|block| block.sentences.last());
    let lead_asks = lead.filter(|lead| !is_soft(lead)).and_then(|lead| {
        let choice = lead.asks.then_some("a question and its choices");
        choice
            .or_else(|| phrases::find(phrases::ASKS, lead))
            .or_else(|| phrases::find(phrases::OFFERS_CHOICE, lead))
    });
    let (why, sentence) = match (items, lead_asks, lead) {
        (_, Some(why), Some(lead)) => (why, lead),
        (Some(item), ..) if last.sentences.last().is_some_and(|end| end.asks) => {
            ("a list of questions", item)
        }
        _ => return None,
    };
    Some(asking(Confidence::Medium, why, sentence))
}

/// The last sentence asks; or an earlier one does, and what follows only adds to the question.
fn asks_at_the_end(sentences: &[Sentence]) -> Option<Judgement> {
    for (back, sentence) in sentences.iter().rev().enumerate() {
        let soft = is_soft(sentence);
        if sentence.asks && !soft && (back == 0 || phrases::find(phrases::TO_YOU, sentence).is_some()) {
            let why =
                if back == 0 { "the last sentence is a question" } else { "a question and a remark on it" };
            let level = if back == 0 { Confidence::High } else { Confidence::Medium };
            return Some(asking(level, why, sentence));
        }
        if let Some(why) = phrases::find(phrases::ASKS, sentence).filter(|_| !soft) {
            return Some(asking(Confidence::Medium, why, sentence));
        }
        // A soft closing after a question does not withdraw it.
        if !soft && phrases::find(phrases::REMARK, sentence).is_none() {
            return None;
        }
    }
    None
}

/// "Which one?" — list of choices — "I would take the first.": the question is above the list.
fn question_before_remark(last: &Block, before: &[Block]) -> Option<Judgement> {
    let only_remarks = last.sentences.iter().all(|s| phrases::find(phrases::REMARK, s).is_some() && !s.asks);
    let (list, above) = before.split_last()?;
    if !only_remarks {
        return None;
    }
    if list.is_list {
        return closing_list(list, above);
    }
    let sentence = list.sentences.last()?;
    let asks = sentence.asks && !is_soft(sentence) && phrases::find(phrases::TO_YOU, sentence).is_some();
    asks.then(|| asking(Confidence::Medium, "a question and a remark on it", sentence))
}

fn asking(confidence: Confidence, why: &'static str, sentence: &Sentence) -> Judgement {
    Judgement { asks: Some(sentence.text.clone()), ..judged(Intent::Question, confidence, why) }
}

/// A friendly closing that needs no answer.
fn is_soft(sentence: &Sentence) -> bool {
    phrases::find(phrases::SOFT, sentence).is_some()
}

/// The part of a text that asks, for display as the question.
pub fn asking_part(text: &str) -> String {
    intent(text).asks.unwrap_or_else(|| text.trim().lines().next_back().unwrap_or_default().to_string())
}

impl Where {
    fn fits(self, sentence: &str, phrase: &str) -> bool {
        match self {
            Where::Starts => starts_with_words(sentence, phrase),
            Where::Anywhere => sentence.match_indices(phrase).any(|(i, _)| {
                begins_a_word(&sentence[..i], phrase) && ends_a_word(&sentence[i + phrase.len()..], phrase)
            }),
            Where::Whole => sentence.trim_end_matches(['.', '!', '?', ' ']) == phrase,
        }
    }
}

fn starts_with_words(sentence: &str, phrase: &str) -> bool {
    sentence.strip_prefix(phrase).is_some_and(|rest| ends_a_word(rest, phrase))
}

fn begins_a_word(before: &str, phrase: &str) -> bool {
    !phrase.starts_with(is_of_a_word) || !before.ends_with(is_of_a_word)
}

/// Whether the phrase ends at the end of a word; one that ends in a blank or a mark always does.
fn ends_a_word(rest: &str, phrase: &str) -> bool {
    !phrase.ends_with(is_of_a_word) || !rest.starts_with(is_of_a_word)
}

/// Chinese and Japanese are written without blanks: there a phrase may be anywhere in the text.
fn is_of_a_word(c: char) -> bool {
    c.is_alphanumeric() && !matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}')
}

#[cfg(test)]
mod tests;
