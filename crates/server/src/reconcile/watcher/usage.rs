//! Decides when a change of the context's size is worth a report.

use headspace_core::model::Spent;
use headspace_core::stamp::Stamp;
use headspace_core::transcript::Usage;
use serde_json::{Value, json};

/// A smaller change of the context's size waits for the end of the turn: a row for every answer would be wasteful.
const REPORT_TOKENS_STEP: u64 = 1000;

#[derive(Debug, Default)]
pub(super) struct UsageReports {
    newest: Option<(Usage, Stamp)>,
    reported: Option<u64>,
    pub(super) turn_ended: bool,
    spent: Tally,
}

/// Tokens spent since the last report. Every line of one answer repeats the answer's counts, and the later lines have more.
#[derive(Debug, Default)]
struct Tally {
    message: String,
    counted: Spent,
    unreported: Spent,
}

impl Tally {
    fn count(&mut self, message: &str, spent: Spent) {
        if self.message != message {
            self.message = message.to_owned();
            self.counted = Spent::default();
        }
        let more = |now: u64, before: u64| now.saturating_sub(before);
        self.unreported.add(&Spent {
            micro_usd: 0,
            input_tokens: more(spent.input_tokens, self.counted.input_tokens),
            output_tokens: more(spent.output_tokens, self.counted.output_tokens),
            cache_write_tokens: more(spent.cache_write_tokens, self.counted.cache_write_tokens),
            cache_read_tokens: more(spent.cache_read_tokens, self.counted.cache_read_tokens),
        });
        self.counted = spent;
    }
}

impl UsageReports {
    /// `history`: the line is older than this watcher, and an earlier server counted it.
    pub(super) fn take(&mut self, usage: Usage, at: Stamp, history: bool) {
        if let Some((message, spent)) = usage.spent.as_ref().filter(|_| !history) {
            self.spent.count(message, *spent);
        }
        self.newest = Some((usage, at));
    }

    pub(super) fn news(&mut self) -> Option<(Stamp, Value)> {
        let (usage, at) = self.newest.as_ref()?;
        let worth = match self.reported {
            None => true,
            Some(reported) if reported == usage.used_tokens => {
                self.turn_ended && !self.spent.unreported.is_nothing()
            }
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
        let spent = std::mem::take(&mut self.spent.unreported);
        if !spent.is_nothing() {
            body["spent"] = json!(spent);
        }
        self.reported = Some(usage.used_tokens);
        self.turn_ended = false;
        Some((*at, body))
    }
}
