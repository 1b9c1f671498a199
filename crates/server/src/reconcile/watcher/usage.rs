//! Decides when a change of the context's size is worth a report.

use headspace_core::stamp::Stamp;
use headspace_core::transcript::Usage;
use serde_json::{Value, json};

/// A smaller change of the context's size waits for the end of the turn: a row for every answer would be wasteful.
const REPORT_TOKENS_STEP: u64 = 1000;

#[derive(Debug, Default)]
pub(super) struct UsageReports {
    pub(super) newest: Option<(Usage, Stamp)>,
    reported: Option<u64>,
    pub(super) turn_ended: bool,
}

impl UsageReports {
    pub(super) fn news(&mut self) -> Option<(Stamp, Value)> {
        let (usage, at) = self.newest.as_ref()?;
        let worth = match self.reported {
            None => true,
            Some(reported) if reported == usage.used_tokens => false,
            Some(reported) => {
                self.turn_ended
                    || usage.compacted
                    || reported.abs_diff(usage.used_tokens) >= REPORT_TOKENS_STEP
            }
        };
        if !worth {
            return None;
        }
        let mut body = json!({"used_tokens": usage.used_tokens, "timestamp": at});
        if let Some(model) = &usage.model {
            body["model"] = model.as_str().into();
        }
        if let Some(window) = usage.window {
            body["window"] = window.into();
        }
        if usage.compacted {
            body["compacted"] = true.into();
        }
        self.reported = Some(usage.used_tokens);
        self.turn_ended = false;
        Some((*at, body))
    }
}
