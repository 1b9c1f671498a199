//! `cargo +nightly fuzz run batch`: whatever a machine posts to its hub, it is refused in words or read as a batch in which
//! nothing is above the team's maximum and everything can be stored.

#![cfg_attr(fuzzing, no_main)]

use headspace_fleet::level::{Level, view};
use headspace_fleet::protocol::parse;
use serde_json::Value;

pub fn run(data: &[u8]) {
    for most in [Level::States, Level::Asks, Level::Full] {
        let batch = match parse(data, most) {
            Ok(batch) => batch,
            Err(why) => {
                assert!(!why.is_empty());
                continue;
            }
        };
        assert!(batch.from >= 1 && batch.to >= batch.from - 1);
        assert!(most == Level::Full || batch.events.is_empty());
        let mut before = 0;
        for event in &batch.events {
            assert!(event.pos > before && event.pos >= batch.from && event.pos <= batch.to);
            before = event.pos;
            for text in [&event.session_id, &event.name, &event.source, &event.body] {
                assert!(!text.contains('\0'), "PostgreSQL keeps no NUL in a text");
            }
        }
        for agent in &batch.agents {
            assert!((1..=most.number()).contains(&agent.share));
            let document: Value = serde_json::from_str(&agent.doc).unwrap_or_default();
            assert!(view(&document).is_some(), "every surface can read it: {document}");
            assert!(!agent.doc.contains('\0') && !agent.status.contains('\0'));
            assert!(most == Level::Full || agent.turns.is_empty());
        }
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
