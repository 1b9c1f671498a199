//! Warnings before the context window is full: which level to say, and in which words.

use serde_json::{Value, json};

/// A drop this far below the level said means the window was emptied: the levels start again.
const CLEAR_DROP: f64 = 20.0;

/// The level to say now: the highest one reached, if it was not said yet.
pub fn due(percent: f64, said: Option<u32>, levels: &[u32]) -> Option<u32> {
    let percent = percent.round();
    let said = said.filter(|said| percent > f64::from(*said) - CLEAR_DROP);
    let reached = levels.iter().copied().filter(|level| percent >= f64::from(*level)).max()?;
    said.is_none_or(|said| reached > said).then_some(reached)
}

/// "Context at 82%", with a word of the urgency and what to do.
pub fn text(percent: f64, level: u32) -> String {
    let percent = percent.round().clamp(0.0, 100.0);
    let (word, advice) = match level {
        95.. => ("CRITICAL", "finish now: write down what matters, then /compact or /clear"),
        90.. => ("URGENT", "save what must not be lost and prepare to /compact"),
        80.. => ("WARNING", "wrap up the current step and note what is open"),
        _ => ("INFO", "plenty is used; prefer small reads and short outputs"),
    };
    format!("[HEADSPACE: {word}]: Context at {percent:.0}% of the window: {advice}.")
}

/// The warning in the form the event allows: for the model with a prompt, for the user only at Stop, where
/// anything else would make the model go on.
pub fn output(event: &str, text: &str) -> Option<Value> {
    match event {
        "UserPromptSubmit" => Some(
            json!({"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": text}}),
        ),
        "Stop" => Some(json!({ "systemMessage": text })),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEVELS: &[u32] = &[60, 80, 90, 95];

    #[test]
    fn each_level_is_said_once_and_only_the_highest_reached() {
        let mut said = None;
        let mut heard = Vec::new();
        for percent in [59.0, 60.0, 61.0, 79.4, 79.5, 85.0, 90.0, 94.0, 95.0, 99.0] {
            let now = due(percent, said, LEVELS);
            heard.push(now);
            said = now.or(said);
        }
        assert_eq!(heard, [None, Some(60), None, None, Some(80), None, Some(90), None, Some(95), None]);
        assert_eq!(due(97.0, None, LEVELS), Some(95));
        assert_eq!(due(97.0, None, &[]), None);
    }

    #[test]
    fn a_clear_drop_starts_the_levels_again() {
        assert_eq!(due(62.0, Some(95), LEVELS), Some(60));
        assert_eq!(due(78.0, Some(95), LEVELS), None);
        assert_eq!(due(20.0, Some(95), LEVELS), None);
    }

    #[test]
    fn the_text_says_level_and_percentage() {
        for (percent, level, word) in
            [(60.0, 60, "INFO"), (83.0, 80, "WARNING"), (91.0, 90, "URGENT"), (120.0, 95, "CRITICAL")]
        {
            let text = text(percent, level);
            assert!(
                text.contains(word) && text.contains(&format!("Context at {:.0}%", percent.min(100.0))),
                "{text}"
            );
        }
    }
}
