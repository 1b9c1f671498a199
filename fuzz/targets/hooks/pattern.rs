//! `cargo +nightly fuzz run pattern`: no pattern and no text crashes the regular expressions, and what they find lies in
//! the text.

#![cfg_attr(fuzzing, no_main)]

use headspace_hooks::matching::pattern::{Fault, Pattern};

/// A pattern, a line end, a text.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (pattern, text) = text.split_once('\n').unwrap_or((&text, "aab"));
    match Pattern::new(pattern) {
        Err(Fault::Syntax { why, character }) => {
            assert!(!why.is_empty());
            assert!((1..=pattern.chars().count() + 1).contains(&character), "{character} in {pattern:?}");
        }
        Err(Fault::TooLong) => {}
        Ok(regex) => {
            let Ok(Some(captures)) = regex.find(text) else { return };
            let length = text.encode_utf16().count();
            assert!(captures[0].is_some(), "a match has a place");
            for range in captures.into_iter().flatten() {
                assert!(
                    range.start <= range.end && range.end <= length,
                    "{pattern:?} in {text:?}: {range:?}"
                );
            }
        }
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
