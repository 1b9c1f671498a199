//! Context windows: how full is it.

use super::agent::Figures;
use crate::model::ContextUse;

/// What a window holds when the client did not say: first fit on the model's id.
const WINDOWS: &[(&str, u64)] = &[("[1m]", 1_000_000), ("claude-opus-5", 1_000_000)];
const USUAL: u64 = 200_000;
const LARGE: u64 = 1_000_000;

fn window(figures: &Figures) -> u64 {
    let known = figures.window.or_else(|| {
        let model = figures.model.as_deref()?;
        WINDOWS.iter().find(|(part, _)| model.contains(part)).map(|(_, window)| *window)
    });
    // More than fits is the proof of a larger window.
    known.unwrap_or(if figures.used_tokens > Some(USUAL) { LARGE } else { USUAL })
}

pub fn context(figures: &Figures) -> Option<ContextUse> {
    let window = window(figures);
    let (used_tokens, percent) = match (figures.used_tokens, figures.percent) {
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
    fn the_window_is_what_the_client_said_else_what_the_model_has_else_what_is_proved() {
        for (model, told, used, window, percent) in [
            ("claude-sonnet-4-5", None, 43_000, 200_000, 21.5),
            ("claude-sonnet-4-5", Some(1_000_000), 190_000, 1_000_000, 19.0),
            ("claude-sonnet-4-5[1m]", None, 190_000, 1_000_000, 19.0),
            ("claude-opus-5-5", None, 500_000, 1_000_000, 50.0),
            ("claude-sonnet-4-5", None, 260_000, 1_000_000, 26.0),
            ("claude-sonnet-4-5", Some(200_000), 260_000, 200_000, 100.0),
        ] {
            let figures = Figures {
                model: Some(model.into()),
                window: told,
                used_tokens: Some(used),
                ..Figures::default()
            };
            assert_eq!(context(&figures), Some(ContextUse { used_tokens: used, window, percent }), "{model}");
        }
        assert_eq!(context(&Figures::default()), None);
    }
}
