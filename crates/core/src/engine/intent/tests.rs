//! The corpus: texts as Claude writes them, with the intent a user would see in them.

use crate::engine::intent::*;
use std::collections::BTreeMap;

const CORPUS: &str = include_str!("corpus.tsv");

/// Endings of turns, by what they mean to the user: `question` waits for an answer, `done` does not.
const ENDINGS: &str = include_str!("endings.tsv");

fn endings() -> impl Iterator<Item = (bool, String)> {
    ENDINGS.lines().map(|line| {
        let (label, text) = line.split_once('\t').unwrap();
        assert!(matches!(label, "question" | "done"), "{label}");
        (label == "question", text.replace("\\n", "\n"))
    })
}

fn corpus() -> impl Iterator<Item = (Intent, String)> {
    CORPUS.lines().filter(|line| !line.is_empty()).map(|line| {
        let (intent, text) = line.split_once('\t').unwrap();
        (Intent::from_word(intent).unwrap(), text.replace("\\n", "\n"))
    })
}

/// Run with `--nocapture` for precision and recall.
#[test]
fn the_corpus_is_classified_as_a_user_would() {
    let mut counts: BTreeMap<Intent, (u32, u32, u32)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (wanted, text) in corpus() {
        let got = intent(&text);
        counts.entry(wanted).or_default().0 += 1;
        counts.entry(got.intent).or_default().1 += 1;
        if got.intent == wanted {
            counts.entry(wanted).or_default().2 += 1;
        } else {
            wrong.push(format!("{wanted}, not {} ({}): {text:?}", got.intent, got.why));
        }
    }
    let total: u32 = counts.values().map(|count| count.0).sum();
    println!("{total} texts, {} wrong", wrong.len());
    for (intent, (wanted, got, right)) in &counts {
        let precision = f64::from(*right) / f64::from((*got).max(1));
        let recall = f64::from(*right) / f64::from((*wanted).max(1));
        println!("{:12} precision {precision:.3} recall {recall:.3} ({wanted} texts)", intent.word());
    }
    println!("{}", wrong.join("\n"));
    assert!(total >= 150);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_turn_needs_the_user_only_if_its_ending_asks() {
    let wrong = |asks: bool| {
        endings().filter(move |(wanted, text)| {
            *wanted != asks && (at_stop(text).intent == Intent::Question) == asks
        })
    };
    let false_questions: Vec<String> = wrong(true).map(|(_, text)| text).collect();
    let missed: Vec<String> = wrong(false).map(|(_, text)| text).collect();
    println!("{} endings, {} missed, {} false", endings().count(), missed.len(), false_questions.len());
    assert!(
        false_questions.is_empty() && missed.is_empty(),
        "missed: {missed:#?}, false: {false_questions:#?}"
    );
}

/// Work that grows faster than the length of the text would not end here.
#[test]
fn a_huge_text_is_judged_by_its_end() {
    for piece in ["?", "a? ", "a.a", "a, ", "- ?\n"] {
        let text = piece.repeat((16 << 20) / piece.len());
        let asks = format!("{text}\n\nShould I go on?");
        assert_eq!(intent(&asks).intent, Intent::Question, "{piece:?}");
        let done = format!("{text}\n\nNo. The cache holds entries in insertion order.");
        assert_eq!(intent(&done).intent, Intent::Completion, "{piece:?}");
    }
}

/// The decision between "needs you" and "done" must not depend on how much was said before.
#[test]
fn a_question_after_a_long_text_is_found() {
    for (wanted, text) in corpus().filter(|(wanted, _)| *wanted != Intent::Progress) {
        let asks = wanted == Intent::Question;
        let long = format!("{}\n\n{text}", "One more line of analysis, with its reasons. ".repeat(280));
        assert_eq!(intent(&long).intent == Intent::Question, asks, "{text:?}");
        let after_code = format!("Look:\n```\nwhat is this?\n```\n\n{text}");
        assert_eq!(intent(&after_code).intent == Intent::Question, asks, "{text:?}");
    }
}

#[test]
fn the_asking_part_of_a_question_is_extracted() {
    for (text, asks) in [
        ("The parser is split. Which name do you prefer?", "Which name do you prefer?"),
        ("Which one?\n\n1. This\n2. That", "Which one?"),
        ("Which port? The default is 80.\n\nShould I use `8080`?", "Should I use …?"),
        ("Nothing to ask here", "Nothing to ask here"),
    ] {
        assert_eq!(asking_part(text), asks);
    }
}
