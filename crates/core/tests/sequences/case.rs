//! A recorded run of the real client, as `tests/fixtures/sequences` keeps it.

use headspace_core::stamp::Stamp;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Clone, Deserialize)]
pub struct Case {
    pub name: String,
    pub files: BTreeMap<String, Option<String>>,
    pub processes: Vec<ClientProcess>,
    pub steps: Vec<Recorded>,
    pub transcript: Vec<Transcript>,
    pub expect: Vec<Expected>,
    pub turns: Value,
}

#[derive(Clone, Deserialize)]
pub struct ClientProcess {
    pub n: u32,
    pub exits_after: Option<usize>,
}

#[derive(Clone, Deserialize)]
pub struct Recorded {
    pub at: f64,
    pub body: Value,
    pub as_of: Option<usize>,
    #[serde(default)]
    pub twice: bool,
    #[serde(default)]
    pub restart_before: bool,
}

#[derive(Clone, Deserialize)]
pub struct Transcript {
    pub session_id: String,
    pub main: bool,
    pub lines: Vec<(f64, Value)>,
}

#[derive(Clone, Deserialize)]
pub struct Expected {
    pub after: Value,
    pub within_s: Option<f64>,
    #[serde(default)]
    pub after_restart: bool,
    #[serde(default)]
    pub count: BTreeMap<String, usize>,
    pub agents: Vec<Map<String, Value>>,
}

pub fn all() -> Vec<Case> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/sequences");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap()).collect()
}

/// Second `s` of the recording, as a time of the test.
pub fn moment(s: f64) -> Stamp {
    Stamp(1_800_000_000_000_000_000 + (s * 1e9) as i64)
}

pub const fn pid(process: u32) -> u32 {
    1000 + process
}

pub const fn pid_start(process: u32) -> u64 {
    500_000 + process as u64
}

/// Puts pids, start times and moments where the recording has placeholders. No moment is later than `now`.
pub fn fill(value: &mut Value, stamp: Stamp, now: Stamp) {
    match value {
        Value::Object(map) => map.values_mut().for_each(|value| fill(value, stamp, now)),
        Value::Array(items) => items.iter_mut().for_each(|value| fill(value, stamp, now)),
        Value::String(text) => {
            let inner = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
            let filled = match inner.map(|inner| inner.split_once(':').unwrap_or((inner, ""))) {
                Some(("NOW", _)) => Value::from(stamp.to_string()),
                Some(("PID", n)) => Value::from(pid(n.parse().unwrap())),
                Some(("START", n)) => Value::from(pid_start(n.parse().unwrap())),
                Some(("T", s)) => {
                    let at = moment(s.parse().unwrap()).min(now);
                    Value::from(Stamp(at.0 / 1_000_000 * 1_000_000).to_string())
                }
                _ => return,
            };
            *value = filled;
        }
        _ => {}
    }
}
