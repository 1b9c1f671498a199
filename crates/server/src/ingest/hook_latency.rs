//! What a hook costs Claude Code: from the moment `notify` started to the moment its event was on disk.

use crate::ledger::NewEvent;
use headspace_core::stamp::Stamp;
use headspace_core::wire::NotifyLatency;
use headspace_platform::clock::WallClock;
use headspace_platform::process;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Number of calls kept: enough for a p99, few enough to be recent.
const MAX_REMEMBERED_CALLS: usize = 500;
/// No hook waits longer: a longer time was stamped by another clock, or belongs to a repeated delivery.
const LONGEST_BELIEVED: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct HookLatency {
    /// This machine's name as `notify` sends it: stamps from another machine come from another clock.
    host: Option<String>,
    calls: Mutex<RecentCalls>,
}

#[derive(Debug, Default)]
struct RecentCalls {
    /// The last ones, in microseconds.
    latest: VecDeque<u32>,
    /// All calls since the server started.
    count: u64,
    sum: Duration,
}

/// What calls have cost so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyFigures {
    pub p50: Duration,
    pub p99: Duration,
    pub count: u64,
    pub sum: Duration,
}

impl HookLatency {
    #[allow(clippy::new_without_default, reason = "it asks the machine for its name")]
    pub fn new() -> HookLatency {
        HookLatency { host: process::host_name(), calls: Mutex::default() }
    }

    /// When the call that sent this event began; `None` unless it was `notify` on this machine, which alone knows it.
    pub fn begun(&self, event: &NewEvent) -> Option<Stamp> {
        let here = event.body.get("host").is_some_and(|host| host.as_str() == self.host.as_deref());
        let stamped = event.delivery_id.is_some() && event.at < event.received_at;
        (event.from_hook && stamped && here).then_some(event.at)
    }

    /// Records that a call that began at `begun` is answered now.
    pub fn answered(&self, begun: Stamp) {
        let took = Stamp::now().since(begun);
        if took > LONGEST_BELIEVED {
            return;
        }
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.latest.len() == MAX_REMEMBERED_CALLS {
            calls.latest.pop_front();
        }
        calls.latest.push_back(took.as_micros() as u32);
        calls.count += 1;
        calls.sum += took;
    }

    /// `None` before the first call.
    pub fn figures(&self) -> Option<LatencyFigures> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let mut latest: Vec<u32> = calls.latest.iter().copied().collect();
        latest.sort_unstable();
        let last = latest.len().checked_sub(1)?;
        let at =
            |percent: usize| Duration::from_micros(latest[(latest.len() * percent / 100).min(last)].into());
        Some(LatencyFigures { p50: at(50), p99: at(99), count: calls.count, sum: calls.sum })
    }

    /// In milliseconds; `None` before the first call.
    pub fn latency(&self) -> Option<NotifyLatency> {
        let ms = |took: Duration| (took.as_micros() / 10) as f64 / 100.0;
        self.figures().map(|figures| NotifyLatency { p50: ms(figures.p50), p99: ms(figures.p99) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn the_latency_covers_the_last_calls_and_skips_what_nobody_waited_for() {
        let cost = HookLatency::new();
        assert_eq!(cost.latency(), None);
        cost.answered(Stamp::now().minus(Duration::from_secs(3600)));
        assert_eq!(cost.latency(), None);
        for ms in 0..MAX_REMEMBERED_CALLS as u64 * 2 {
            cost.answered(Stamp::now().minus(Duration::from_millis(ms)));
        }
        let NotifyLatency { p50, p99 } = cost.latency().unwrap();
        assert!((750.0..800.0).contains(&p50), "{p50}");
        assert!((995.0..1050.0).contains(&p99), "{p99}");
        assert_eq!(cost.figures().unwrap().count, MAX_REMEMBERED_CALLS as u64 * 2);
    }

    #[test]
    fn only_a_call_of_notify_on_this_machine_is_measured() {
        let cost = HookLatency { host: Some("here".into()), calls: Mutex::default() };
        let sent = Stamp::now().minus(Duration::from_millis(3));
        let event = |body: Value| NewEvent::hook("Stop".into(), "s".into(), body);
        let full = json!({"sent_at": sent, "delivery_id": "d", "host": "here"});
        assert_eq!(cost.begun(&event(full.clone())), Some(sent));
        for (field, value) in [
            ("host", json!("elsewhere")),
            ("host", Value::Null),
            ("delivery_id", Value::Null),
            ("sent_at", json!("yesterday")),
            ("sent_at", json!(Stamp::now().plus(Duration::from_secs(60)))),
        ] {
            let mut body = full.clone();
            body[field] = value;
            assert_eq!(cost.begun(&event(body.clone())), None, "{body}");
        }
        let mut status_line = event(full);
        status_line.from_hook = false;
        assert_eq!(cost.begun(&status_line), None);
    }
}
