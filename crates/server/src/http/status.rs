//! `GET /hook/status` and `GET /metrics`: the receiver's state.

use crate::app_state::{AppState, SharedState};
use crate::http::response::{ApiResult, ok};
use crate::http::time_updates;
use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use headspace_core::model::Status;
use headspace_core::model::limits::{self, LimitGauge};
use headspace_core::stamp::Stamp;
use headspace_core::wire::{HookHealth, HookStatus, PollingPace};
use headspace_platform::clock::WallClock;
use headspace_platform::spool::Pending;
use hyper::header::CONTENT_TYPE;
use std::fmt::Write;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Hooks are the primary source; without them the reconciler polls faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    HooksActive,
    PollingFallback,
}

impl Mode {
    /// Fallback before the first event.
    pub fn at(now: Stamp, last_hook_at: Option<Stamp>, fallback_timeout: f64) -> Mode {
        let timeout = Duration::try_from_secs_f64(fallback_timeout).unwrap_or(Duration::MAX);
        match last_hook_at {
            Some(at) if now.since(at) <= timeout => Mode::HooksActive,
            _ => Mode::PollingFallback,
        }
    }

    pub const fn word(self) -> &'static str {
        match self {
            Mode::HooksActive => "hooks_active",
            Mode::PollingFallback => "polling_fallback",
        }
    }
}

impl AppState {
    pub fn mode(&self) -> Mode {
        Mode::at(Stamp::now(), self.ledger.marks().last_hook_at, self.config.reconcile.fallback_timeout)
    }

    pub fn hook_status(&self, spool: Pending) -> HookStatus {
        let now = Stamp::now();
        let marks = self.ledger.marks();
        let pace = &self.config.reconcile;
        let mode = Mode::at(now, marks.last_hook_at, pace.fallback_timeout);
        let interval = match mode {
            Mode::HooksActive => pace.polling_interval_with_hooks,
            Mode::PollingFallback => pace.polling_interval_fallback,
        };
        let mut status = HookStatus {
            enabled: true,
            url: Some(self.config.own_address()),
            mode: mode.word().to_owned(),
            last_event_at: marks.last_hook_at,
            last_event_ago: marks.last_hook_at.map(|at| round(now.since(at).as_secs_f64())),
            last_event_type: marks.last_hook,
            events_received: marks.received,
            polling_interval: interval,
            config: PollingPace {
                polling_interval_with_hooks: pace.polling_interval_with_hooks,
                polling_interval_fallback: pace.polling_interval_fallback,
                fallback_timeout: pace.fallback_timeout,
            },
            hooks: self.reconciler.hooks().map(|hooks| hooks.word().to_owned()),
            hooks_missing: self.reconciler.hooks_are_missing(marks.last_hook_at),
            store_trouble: self.ledger.trouble(),
            spool_pending: spool.count,
            dropped: spool.dropped,
            notify_ms: self.hook_latency.latency(),
            limits: self.limits(now),
            health: HookHealth::default(),
            hub: false,
        };
        status.health = HookHealth::of(&status, self.has_working_agent(now));
        status
    }

    /// Also those of the agents that ended last: a limit outlives the session that hit it.
    fn limits(&self, now: Stamp) -> Vec<LimitGauge> {
        const ENDED_ASKED: usize = 50;
        let snapshot = self.ledger.snapshot();
        let agents = snapshot.agents(ENDED_ASKED);
        let said = agents
            .iter()
            .filter_map(|agent| Some((agent.metrics.limits_at?, agent.metrics.rate_limits.as_ref()?)));
        limits::gauges(said, now)
    }

    fn has_working_agent(&self, now: Stamp) -> bool {
        let snapshot = self.ledger.snapshot();
        snapshot.agents(0).iter().any(|agent| !agent.is_stale(now) && agent.status(now).0 == Status::Working)
    }
}

/// Rounded to milliseconds.
fn round(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

pub async fn hook_status(State(app): State<SharedState>) -> ApiResult {
    let spool = time_updates::spool().await;
    Ok(ok(&app.hook_status(spool)))
}

pub async fn metrics(State(app): State<SharedState>) -> ApiResult {
    let counts = app.ledger.counts();
    let marks = app.ledger.marks();
    let load = |counter: &std::sync::atomic::AtomicU64| counter.load(Ordering::Relaxed) as f64;
    let snapshot = app.ledger.snapshot();
    let (all, open) = (snapshot.len(), snapshot.present());
    drop(snapshot);
    let table: [(&str, &str, &str, f64); 12] = [
        ("headspace_events_received_total", "counter", "Hook events accepted.", marks.received as f64),
        ("headspace_events_stored_total", "counter", "Events of every kind stored.", marks.event as f64),
        (
            "headspace_duplicates_total",
            "counter",
            "Events received more than once.",
            load(&counts.duplicates),
        ),
        ("headspace_commits_total", "counter", "Transactions committed.", load(&counts.commits)),
        (
            "headspace_hooks_answered_directly_total",
            "counter",
            "Hooks answered without the HTTP framework, where they were stored.",
            load(&counts.direct),
        ),
        (
            "headspace_commit_failures_total",
            "counter",
            "Transactions that failed.",
            load(&counts.commit_failures),
        ),
        (
            "headspace_engine_failures_total",
            "counter",
            "Events without effect.",
            load(&counts.engine_failures),
        ),
        ("headspace_agents", "gauge", "Agents that have not ended.", open as f64),
        ("headspace_agents_known", "gauge", "All agents, including ended ones.", all as f64),
        ("headspace_stream_clients", "gauge", "Clients of the event stream.", app.ledger.hub().len() as f64),
        (
            "headspace_stream_clients_dropped_total",
            "counter",
            "Clients of the event stream that could not keep up.",
            load(&app.ledger.hub().dropped),
        ),
        ("headspace_connections", "gauge", "Open connections.", app.connections.len() as f64),
    ];
    let mut text = String::new();
    for (name, kind, help, value) in table {
        let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n");
    }
    if let Some(cost) = app.hook_latency.figures() {
        let name = "headspace_notify_seconds";
        let help = "From the start of a hook to its acknowledgment.";
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} summary");
        for (quantile, took) in [("0.5", cost.p50), ("0.99", cost.p99)] {
            let _ = writeln!(text, "{name}{{quantile=\"{quantile}\"}} {}", took.as_secs_f64());
        }
        let _ = write!(text, "{name}_sum {}\n{name}_count {}\n", cost.sum.as_secs_f64(), cost.count);
    }
    let response = Response::builder()
        .header(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")
        .body(Body::from(text));
    response.map_err(|error| anyhow::Error::from(error).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_means_fallback_and_so_does_no_event_at_all() {
        let now = Stamp(1_000_000_000_000);
        let ago = |seconds| Some(now.minus(Duration::from_secs(seconds)));
        for (last, expected) in [
            (None, Mode::PollingFallback),
            (ago(0), Mode::HooksActive),
            (ago(300), Mode::HooksActive),
            (ago(301), Mode::PollingFallback),
            (Some(now.plus(Duration::from_secs(9))), Mode::HooksActive),
        ] {
            assert_eq!(Mode::at(now, last, 300.0), expected, "{last:?}");
        }
    }
}
