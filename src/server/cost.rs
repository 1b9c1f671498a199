//! What a hook costs Claude Code: from the moment `notify` started to the moment its event was on disk.

use crate::clock::Stamp;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Calls that count: enough for a p99, few enough to tell of today and not of last week.
const REMEMBERED: usize = 500;
/// Nobody waits longer: what took more was stamped by another clock, or told again later.
const LONGEST: Duration = Duration::from_secs(5);

/// The last calls, in microseconds.
#[derive(Debug, Default)]
pub struct Cost {
    calls: Mutex<VecDeque<u32>>,
}

impl Cost {
    /// A call that began at `begun` has its answer now.
    pub fn answered(&self, begun: Stamp) {
        let took = Stamp::now().since(begun);
        if took > LONGEST {
            return;
        }
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.len() == REMEMBERED {
            calls.pop_front();
        }
        calls.push_back(took.as_micros() as u32);
    }

    /// `{"p50": ms, "p99": ms}`, or null before the first call.
    pub fn figures(&self) -> Value {
        let mut calls: Vec<u32> =
            self.calls.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        calls.sort_unstable();
        let at = |percent: usize| calls.get((calls.len() * percent / 100).min(calls.len().wrapping_sub(1)));
        let ms = |micros: &u32| f64::from(micros / 10) / 100.0;
        match (at(50), at(99)) {
            (Some(p50), Some(p99)) => json!({"p50": ms(p50), "p99": ms(p99)}),
            _ => Value::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_of_the_last_calls_and_leave_out_what_nobody_waited_for() {
        let cost = Cost::default();
        assert_eq!(cost.figures(), Value::Null);
        cost.answered(Stamp::now().minus(Duration::from_secs(3600)));
        assert_eq!(cost.figures(), Value::Null);
        for ms in 0..REMEMBERED as u64 * 2 {
            cost.answered(Stamp::now().minus(Duration::from_millis(ms)));
        }
        let figure = |name: &str| cost.figures()[name].as_f64().unwrap();
        assert!((750.0..800.0).contains(&figure("p50")), "{}", figure("p50"));
        assert!((995.0..1050.0).contains(&figure("p99")), "{}", figure("p99"));
    }
}
