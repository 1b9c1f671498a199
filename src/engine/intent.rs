//! What a text means: text ▶ (intent, confidence, why).

use crate::model::{Confidence, Intent};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub intent: Intent,
    pub confidence: Confidence,
    pub why: &'static str,
}

pub fn intent(text: &str) -> Judgement {
    let asks = text.trim_end().ends_with('?');
    let intent = if asks { Intent::Question } else { Intent::Completion };
    Judgement { intent, confidence: Confidence::High, why: "the last sentence" }
}

/// As [`intent`], for the text a turn ended with: whatever is no question completes it.
pub fn at_stop(text: &str) -> Judgement {
    let judged = intent(text);
    match judged.intent {
        Intent::Question | Intent::Completion | Intent::EndOfTask => judged,
        _ => Judgement { intent: Intent::Completion, ..judged },
    }
}

/// The part of a text that asks.
pub fn asking_part(text: &str) -> String {
    text.trim().lines().last().unwrap_or_default().to_string()
}
