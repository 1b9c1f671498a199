//! Whatever a tool call says it did, its changes are worked out without failing, and the counts are those of its diffs.

#![cfg_attr(fuzzing, no_main)]

use headspace_core::changes::Collector;
use headspace_core::stamp::Stamp;
use headspace_core::wire::StoredEvent;
use serde_json::{Value, json};

pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    // As JSON where it is JSON; otherwise as the text of a patch.
    let body: Value = serde_json::from_str(&text).unwrap_or_else(
        |_| json!({"tool_name": "apply_patch", "tool_input": format!("*** Begin Patch\n{text}"), "cwd": "/p"}),
    );
    let mut collector = Collector::new(Some("/p"));
    collector.take(&StoredEvent {
        id: 1,
        name: "PostToolUse".into(),
        session_id: "s".into(),
        agent_id: Some(1),
        at: Stamp(1),
        received_at: Stamp(1),
        source: "hook".into(),
        duplicate: false,
        client: None,
        body,
    });
    let changes = collector.finish(true);
    for edit in changes.files.iter().flat_map(|file| &file.edits).filter(|edit| !edit.cut) {
        let lines = |sign: char| edit.diff.lines().filter(|line| line.starts_with(sign)).count() as u64;
        assert_eq!((edit.added, edit.removed), (lines('+'), lines('-')));
    }
    assert_eq!(changes.added, changes.files.iter().map(|file| file.added).sum::<u64>());
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
