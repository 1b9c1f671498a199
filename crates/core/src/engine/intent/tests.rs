//! The corpus: texts as Claude writes them, with the intent a user would see in them.

use crate::engine::intent::*;
use std::collections::BTreeMap;

const CORPUS: &str = include_str!("corpus.tsv");

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
