//! `cargo +nightly fuzz run settings`: the reader with positions accepts what serde_json accepts, every value is where it
//! says, and no settings file crashes the check.

#![cfg_attr(fuzzing, no_main)]

use headspace_hooks::dialect::{CLAUDE, WAVE};
use headspace_hooks::json_spans::{JsonDocument, SpannedValue, position};
use headspace_hooks::settings::check;
use serde_json::value::RawValue;

pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let ours = JsonDocument::parse(text);
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let theirs = serde_json::from_str::<&RawValue>(bare);
    assert_eq!(ours.is_ok(), theirs.is_ok(), "{text:?}");
    match ours {
        Ok(doc) => walk(text, doc.root()),
        Err(error) => assert!(error.at <= text.len() && text.is_char_boundary(error.at)),
    }
    for dialect in [&CLAUDE, &WAVE] {
        let reading = check::read(dialect, text);
        assert!(
            reading.problems.iter().all(|problem| problem.position.line >= 1 && problem.position.column >= 1)
        );
    }
}

fn walk(text: &str, root: SpannedValue<'_>) {
    let mut open = vec![root];
    while let Some(value) = open.pop() {
        assert!(text.contains(value.source()));
        assert!(value.position() <= position(text, text.len()));
        assert!(JsonDocument::parse(value.source()).is_ok(), "a value is JSON by itself");
        open.extend(value.items());
        open.extend(value.members().map(|(_, value)| value));
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
