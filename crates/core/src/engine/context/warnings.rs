//! Warnings before the context window is full: which level is due, and the text. Pure; the caller remembers the level.

use serde_json::{Value, json};

/// A drop this far below the last warning's level means the window was emptied: the levels start again.
const CLEARED_BELOW_LEVEL_BY: f64 = 20.0;

/// What to do about a reading of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarningDue {
    Nothing,
    /// Give this warning: the highest level reached that was not given yet.
    Say(u32),
    /// The window was emptied: the levels start again.
    StartAgain,
}

pub fn due(percent: f64, said: Option<u32>, levels: &[u32]) -> WarningDue {
    let percent = percent.round();
    let dropped = said.is_some_and(|said| percent <= f64::from(said) - CLEARED_BELOW_LEVEL_BY);
    let said = said.filter(|_| !dropped);
    let reached = levels.iter().copied().filter(|level| percent >= f64::from(*level)).max();
    match reached.filter(|reached| said.is_none_or(|said| *reached > said)) {
        Some(level) => WarningDue::Say(level),
        None if dropped => WarningDue::StartAgain,
        None => WarningDue::Nothing,
    }
}

/// "Context at 82%", with the urgency and what to do.
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

/// The warning in the form the event allows: for the model with a prompt, only for the user at Stop, where anything
/// else would make the model continue.
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

    /// The warnings given at these readings, one after the other.
    fn warnings_at(readings: &[f64]) -> Vec<Option<u32>> {
        let mut said = None;
        let step = |percent: &f64| match due(*percent, said, LEVELS) {
            WarningDue::Nothing => None,
            WarningDue::StartAgain => {
                said = None;
                None
            }
            WarningDue::Say(level) => {
                said = Some(level);
                said
            }
        };
        readings.iter().map(step).collect()
    }

    #[test]
    fn each_level_is_given_once_and_only_the_highest_reached() {
        let readings = [59.0, 60.0, 61.0, 79.4, 79.5, 85.0, 90.0, 94.0, 95.0, 99.0];
        let expected = [None, Some(60), None, None, Some(80), None, Some(90), None, Some(95), None];
        assert_eq!(warnings_at(&readings), expected);
        assert_eq!(warnings_at(&[97.0, 98.0]), [Some(95), None]);
        assert_eq!(due(97.0, None, &[]), WarningDue::Nothing);
    }

    #[test]
    fn a_clear_drop_starts_the_levels_again() {
        assert_eq!(warnings_at(&[96.0, 78.0, 96.0]), [Some(95), None, None]);
        assert_eq!(warnings_at(&[96.0, 62.0, 80.0]), [Some(95), Some(60), Some(80)]);
        assert_eq!(warnings_at(&[96.0, 20.0, 96.0]), [Some(95), None, Some(95)]);
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
