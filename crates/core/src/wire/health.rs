//! The health of the server and the hooks.

use crate::model::limits::LimitGauge;
use crate::stamp::Stamp;
use crate::text::numbers::duration;
use crate::text::one_line;
use serde::{Deserialize, Serialize, Serializer};

/// `GET /health`: which server this is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Health {
    pub status: String,
    pub name: String,
    pub version: String,
    pub pid: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Stamp>,
    /// Where a browser on the same machine finds the server. A caller that came through the socket does not know: the
    /// port may be another than the configured one (`serve --port`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// `GET /hook/status`: the state of the receiver of hook events.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HookStatus {
    pub enabled: bool,
    /// As in [`Health`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// `hooks_active` or `polling_fallback`.
    pub mode: String,
    pub last_event_at: Option<Stamp>,
    /// Seconds.
    #[serde(serialize_with = "whole_if_whole_opt")]
    pub last_event_ago: Option<f64>,
    pub last_event_type: Option<String>,
    pub events_received: u64,
    /// Seconds between two checks of what the client writes.
    #[serde(serialize_with = "whole_if_whole")]
    pub polling_interval: f64,
    pub config: PollingPace,
    /// Whether our hooks are in the settings; `None` until the server has checked.
    pub hooks: Option<String>,
    /// They are not, and no events arrive by other means.
    pub hooks_missing: bool,
    /// Why events cannot be stored now; hooks keep them until they can.
    pub store_trouble: Option<String>,
    pub spool_pending: u64,
    pub dropped: u64,
    /// What a hook costs Claude Code; `None` before the first call.
    pub notify_ms: Option<NotifyLatency>,
    /// How much of the account's rate limits is used, as far as a client said so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<LimitGauge>,
    /// All of that in a few words.
    pub health: HookHealth,
    /// Set by a team's hub, which has no hooks of its own, takes no answers, has no guard and no search.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hub: bool,
}

/// The health of the hooks, in the words of every surface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HookHealth {
    /// `active`, `quiet`, `silent`, `none_yet`, `missing`, `trouble` or `disabled`.
    pub kind: String,
    /// "hooks active", "quiet for".
    pub text: String,
    /// With this, the text ends in the time since then: "quiet for 7 m".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<Stamp>,
}

impl HookHealth {
    /// `busy`: an agent is working. Silent hooks are a problem only then.
    pub fn of(status: &HookStatus, busy: bool) -> HookHealth {
        if let Some(why) = &status.store_trouble {
            let text = format!("events cannot be stored ({}): hooks keep them", one_line(why, 100));
            return HookHealth { kind: "trouble".to_owned(), text, since: None };
        }
        let last = status.last_event_at;
        let (kind, text, since) = match (status.hooks_missing, status.hooks.as_deref(), last) {
            _ if !status.enabled => ("disabled", "receiver disabled", None),
            (true, Some("switched_off"), _) => {
                ("missing", "hooks missing: settings.json switches all hooks off", None)
            }
            (true, Some("unreadable"), _) => {
                ("missing", "hooks missing: settings.json is not valid, see `headspace doctor`", None)
            }
            (true, ..) => ("missing", "hooks missing: `headspace install` adds them", None),
            _ if status.mode == "hooks_active" => ("active", "hooks active", None),
            (.., None) => ("none_yet", "no event yet", None),
            _ if busy => ("silent", "transcripts are read, hooks silent for", last),
            _ => ("quiet", "quiet for", last),
        };
        HookHealth { kind: kind.to_owned(), text: text.to_owned(), since }
    }

    pub fn phrase(&self, now: Stamp) -> String {
        let since = self.since.map(|since| format!(" {}", duration(now.since(since))));
        format!("{}{}", self.text, since.unwrap_or_default())
    }
}

/// How often the server checks what the client writes, in seconds.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct PollingPace {
    #[serde(serialize_with = "whole_if_whole")]
    pub polling_interval_with_hooks: f64,
    #[serde(serialize_with = "whole_if_whole")]
    pub polling_interval_fallback: f64,
    /// Hooks that are silent for this long are not relied on.
    #[serde(serialize_with = "whole_if_whole")]
    pub fallback_timeout: f64,
}

/// Milliseconds from the start of the hook to its answer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct NotifyLatency {
    pub p50: f64,
    pub p99: f64,
}

/// `60`, not `60.0`: whole seconds are whole numbers.
fn whole_if_whole<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        serializer.serialize_i64(*value as i64)
    } else {
        serializer.serialize_f64(*value)
    }
}

fn whole_if_whole_opt<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => whole_if_whole(value, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::AgentsPage;
    use serde_json::json;

    #[test]
    fn an_answer_of_an_older_server_is_understood() {
        let old =
            json!({"enabled": true, "mode": "hooks_active", "events_received": 3, "polling_interval": 60});
        let status: HookStatus = serde_json::from_value(old).unwrap();
        assert_eq!((status.events_received, status.spool_pending, status.hooks), (3, 0, None));
        assert_eq!(serde_json::from_str::<AgentsPage>(r#"{"agents": []}"#).unwrap().next, None);
    }

    #[test]
    fn silence_is_a_problem_only_while_an_agent_works() {
        let status = |mode: &str, last: Option<i64>| HookStatus {
            enabled: true,
            mode: mode.into(),
            last_event_at: last.map(Stamp),
            ..HookStatus::default()
        };
        let minutes = |minutes: i64| Stamp(minutes * 60_000_000_000);
        let phrase = |status: &HookStatus, busy| HookHealth::of(status, busy).phrase(minutes(7));
        let silent = status("polling_fallback", Some(0));
        assert_eq!(phrase(&silent, false), "quiet for 7 m");
        assert_eq!(phrase(&silent, true), "transcripts are read, hooks silent for 7 m");
        assert_eq!(phrase(&status("hooks_active", Some(0)), true), "hooks active");
        assert_eq!(phrase(&status("polling_fallback", None), false), "no event yet");
        let missing = HookStatus { hooks_missing: true, hooks: Some("missing".into()), ..silent };
        assert_eq!(phrase(&missing, false), "hooks missing: `headspace install` adds them");
    }

    #[test]
    fn whole_seconds_are_whole_numbers() {
        let status =
            HookStatus { polling_interval: 60.0, last_event_ago: Some(0.25), ..HookStatus::default() };
        assert_eq!(json!(status)["polling_interval"].to_string(), "60");
        assert_eq!(json!(status)["last_event_ago"].to_string(), "0.25");
    }
}
