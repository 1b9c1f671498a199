//! How much of the account's rate limits is used, in the words of every surface.

use crate::stamp::Stamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One limit, as a gauge shows it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LimitGauge {
    /// The client's own name: `five_hour`.
    pub id: String,
    /// "5 h".
    pub label: String,
    pub percent: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resets_at: Option<Stamp>,
}

/// The limits by the client's names, in the order in which they are shown.
const LABELS: &[(&str, &str)] = &[("five_hour", "5 h"), ("seven_day", "7 d"), ("spend_limit", "spend")];

/// More limits than any account has.
const MAX_GAUGES: usize = 6;

/// The gauges of what clients said, each with its time: the newest counts, because agents share an account. A limit that
/// was reset since is left out, because no client has said how much of the new one is used.
pub fn gauges<'a>(said: impl Iterator<Item = (Stamp, &'a Value)>, now: Stamp) -> Vec<LimitGauge> {
    let Some((_, limits)) = said.max_by_key(|(at, _)| *at) else { return Vec::new() };
    let Some(limits) = limits.as_object() else { return Vec::new() };
    let known = |id: &str| LABELS.iter().position(|(name, _)| *name == id);
    let gauge = |(id, limit): (&String, &Value)| {
        let percent =
            limit.get("used_percentage").and_then(Value::as_f64).filter(|percent| percent.is_finite())?;
        let label = known(id)
            .map_or_else(|| crate::text::one_line(&id.replace('_', " "), 20), |at| LABELS[at].1.to_owned());
        Some(LimitGauge {
            id: id.clone(),
            label,
            percent: percent.clamp(0.0, 100.0),
            resets_at: moment(limit.get("resets_at")),
        })
    };
    let mut found: Vec<LimitGauge> = limits.iter().filter_map(gauge).collect();
    found.retain(|gauge| gauge.resets_at.is_none_or(|at| at > now));
    found.sort_by_key(|gauge| known(&gauge.id).unwrap_or(LABELS.len()));
    found.truncate(MAX_GAUGES);
    found
}

/// Seconds since 1970, or a time as text.
fn moment(value: Option<&Value>) -> Option<Stamp> {
    match value? {
        Value::String(text) => Stamp::parse(text),
        number => number.as_i64()?.checked_mul(1_000_000_000).map(Stamp),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_newest_report_counts_and_a_reset_limit_is_unknown() {
        let old = json!({"five_hour": {"used_percentage": 90, "resets_at": 5_000}});
        let new = json!({
            "seven_day": {"used_percentage": 41.5, "resets_at": "1970-01-02T00:00:00Z"},
            "five_hour": {"used_percentage": 12, "resets_at": 2_000},
            "opus_weekly": {"used_percentage": 400},
            "nonsense": 7, "more": {"used_percentage": "much"},
        });
        let at = |seconds: i64| Stamp(seconds * 1_000_000_000);
        let shown = |now| {
            let found = gauges([(at(1), &old), (at(2), &new)].into_iter(), now);
            found.iter().map(|gauge| format!("{} {}", gauge.label, gauge.percent)).collect::<Vec<_>>()
        };
        assert_eq!(shown(at(1_000)), ["5 h 12", "7 d 41.5", "opus weekly 100"]);
        assert_eq!(shown(at(2_000)), ["7 d 41.5", "opus weekly 100"]);
        assert!(gauges(std::iter::empty(), at(0)).is_empty());
        assert!(gauges([(at(1), &json!([]))].into_iter(), at(0)).is_empty());
    }
}
