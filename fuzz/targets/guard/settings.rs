//! `cargo +nightly fuzz run guard_settings`: whatever the user's patterns and the command, the guard answers, and "deny"
//! and "ask" never make an answer milder, whoever sets them.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
#[allow(dead_code, reason = "each target uses a part of it")]
#[path = "world.rs"]
mod world;

#[cfg(not(fuzzing))]
use super::world;
use headspace_guard::rules;
use headspace_platform::config::Guard;
use serde_json::json;
use world::answer;

/// A pattern, a line end, a command.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (pattern, line) = text.split_once('\n').unwrap_or((text, text));
    let judged = |settings: serde_json::Value, project: &str| {
        let Ok(config) = serde_json::from_value::<Guard>(settings) else { return None };
        let _ = rules::problems(&config);
        Some(answer("Bash", json!({"command": line}), project, config))
    };
    let plain = judged(json!({}), "");
    for key in ["ask", "deny", "protected_paths"] {
        assert!(judged(json!({key: [pattern]}), "") >= plain, "{key} {pattern:?} made {line:?} milder");
        let project = json!({"guard": {key: [pattern]}}).to_string();
        assert!(judged(json!({}), &project) >= plain, "a project's {key} {pattern:?} made {line:?} milder");
    }
    judged(json!({"allow": [pattern]}), "");
    judged(json!({"rules": {pattern: "ask", "git": line}, "profile": pattern}), "");
    let loose =
        json!({"guard": {"allow": [pattern], "rules": {pattern: "off"}, "profile": "quiet"}}).to_string();
    assert!(judged(json!({}), &loose) >= plain, "a project allowed {line:?} with {pattern:?}");
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
