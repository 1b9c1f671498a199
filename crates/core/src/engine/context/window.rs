//! How full a context window is.

use crate::engine::agent::Metrics;
use crate::model::ContextUse;

/// Models with a large window: the first match on the id by which the client names the model.
const WINDOWS: &[(&str, u64)] = &[("[1m]", LARGE_WINDOW), ("claude-opus-5", LARGE_WINDOW)];
const USUAL_WINDOW: u64 = 200_000;
const LARGE_WINDOW: u64 = 1_000_000;

/// The window of the model the client says it uses. The id in a transcript is not enough: it lacks the mark `[1m]`, so
/// it says nothing about the window.
pub(in crate::engine) fn of_model(model: &str) -> Option<u64> {
    WINDOWS.iter().find(|(part, _)| model.contains(part)).map(|(_, window)| *window)
}

/// The one place that computes fullness, for the board and for the warnings. `configured` wins over everything.
pub fn context(metrics: &Metrics, configured: Option<u64>) -> Option<ContextUse> {
    // More tokens than fit prove a larger window.
    let proved = || if metrics.used_tokens > Some(USUAL_WINDOW) { LARGE_WINDOW } else { USUAL_WINDOW };
    let window = configured.filter(|window| *window > 0).or(metrics.window).unwrap_or_else(proved);
    let (used_tokens, percent) = match (metrics.used_tokens, metrics.percent) {
        (Some(used), _) => (used, used as f64 * 100.0 / window as f64),
        (None, Some(percent)) => ((percent * window as f64 / 100.0).round().max(0.0) as u64, percent),
        (None, None) => return None,
    };
    Some(ContextUse { used_tokens, window, percent: (percent.clamp(0.0, 100.0) * 10.0).round() / 10.0 })
}

/// Whether two names mean the same model: the status line and the transcript differ in marks like `[1m]`.
pub fn same_model(a: &str, b: &str) -> bool {
    let bare = |name: &str| name.split('[').next().unwrap_or_default().to_string();
    bare(a) == bare(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_the_configured_one_or_the_clients_or_what_the_usage_proves() {
        for (configured, named, used, window, percent) in [
            (None, None, 43_000, 200_000, 21.5),
            (None, Some(1_000_000), 190_000, 1_000_000, 19.0),
            (None, None, 260_000, 1_000_000, 26.0),
            (None, Some(200_000), 260_000, 200_000, 100.0),
            (Some(500_000), Some(200_000), 250_000, 500_000, 50.0),
            (Some(0), None, 43_000, 200_000, 21.5),
        ] {
            let metrics = Metrics { window: named, used_tokens: Some(used), ..Metrics::default() };
            let expected = ContextUse { used_tokens: used, window, percent };
            assert_eq!(context(&metrics, configured), Some(expected), "{configured:?} {named:?} {used}");
        }
        assert_eq!(context(&Metrics::default(), None), None);
    }

    #[test]
    fn large_windows_are_recognized_by_the_clients_name_of_the_model() {
        for (model, window) in [
            ("claude-sonnet-4-5", None),
            ("claude-sonnet-4-5[1m]", Some(1_000_000)),
            ("claude-opus-5-5", Some(1_000_000)),
        ] {
            assert_eq!(of_model(model), window, "{model}");
        }
    }
}
