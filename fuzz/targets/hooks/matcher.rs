//! `cargo +nightly fuzz run matcher`: no matcher and no `if` crashes the comparison, and what is said about a
//! matcher beforehand holds when it is tried.

#![cfg_attr(fuzzing, no_main)]

use headspace_hooks::dialect::{CLAUDE, WAVE};
use headspace_hooks::matching::condition;
use headspace_hooks::matching::matcher;
use headspace_hooks::tools;
use std::path::Path;

/// A long regular expression may take all the steps that it has; the target `pattern` is for those.
const SHORT: usize = 24;

/// A number, a pattern, a line end, a value.
pub fn run(data: &[u8]) {
    let Some((number, rest)) = data.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let (pattern, value) = text.split_once('\n').unwrap_or((text, ""));
    if pattern.chars().count() > SHORT || value.chars().count() > SHORT / 2 {
        return;
    }
    let rule = &CLAUDE.events[usize::from(*number) % CLAUDE.events.len()];
    let matched = matcher::matches(CLAUDE.matching, rule, Some(pattern), Some(value));
    let is_all = pattern.is_empty() || pattern == "*";
    if !is_all && matcher::exact_names(rule, pattern).is_none() && matcher::regex(rule, pattern).is_err() {
        assert!(!matched, "an expression that does not compile matches nothing");
        assert!(!matcher::never_matches(rule, pattern).is_empty());
    }

    let rule = &WAVE.events[0];
    if matcher::glob_is_dead(pattern) {
        for tool in tools::KNOWN {
            assert!(
                !matcher::matches(WAVE.matching, rule, Some(pattern), Some(tool)),
                "{pattern:?} is not dead"
            );
        }
    }
    let _ = matcher::glob_fault(pattern);
    let _ = matcher::matches(WAVE.matching, rule, Some(pattern), Some(value));

    let input = serde_json::json!({"command": value, "file_path": value, "pattern": value});
    for tool in ["Bash", "Write", "Grep", "Agent"] {
        let _ = condition::holds(pattern, tool, &input, Path::new("/p"));
        let _ = condition::holds(&format!("{tool}({pattern})"), tool, &input, Path::new("/p"));
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
