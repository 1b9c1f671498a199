//! `cargo +nightly fuzz run config`: no configuration crashes its reader, positions are those that the user sees, and
//! what is JSON already is left alone.

#![cfg_attr(fuzzing, no_main)]

use headspace_platform::config::{Config, guard_of, strict_json};
use serde_json::value::RawValue;

pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let json = strict_json(text);
    assert_eq!(json.len(), bare.len());
    assert_eq!(json.matches('\n').count(), bare.matches('\n').count());
    if serde_json::from_str::<&RawValue>(bare).is_ok() {
        assert_eq!(json, bare);
    }
    let guard = guard_of(text);
    if let Ok(config) = Config::parse(text) {
        assert_eq!(config.guard.enabled, guard.enabled);
        let _ = config.server_url();
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
