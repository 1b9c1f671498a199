//! `cargo +nightly fuzz run body`: whatever is posted to `/hook/<slug>`, it is refused with a reason or recorded as
//! JSON that means the same when read again; masking it again changes nothing; the engine gives the same result twice.

#![cfg_attr(fuzzing, no_main)]

use headspace_core::engine;
use headspace_core::engine::World;
use headspace_core::mask;
use headspace_core::model::event_names::{EVENTS, slug_of};
use headspace_core::model::{Event, Facts};
use headspace_platform::net::hook_request::{self, Recognized};
use headspace_server::ingest::receive;
use serde_json::Value;

/// Bodies, each in a line of its own behind a letter that picks its event.
pub fn run(data: &[u8]) {
    recognize(data);
    let mut events = Vec::new();
    for (number, line) in data.split(|byte| *byte == b'\n').enumerate() {
        let Some((pick, body)) = line.split_first() else { continue };
        let spec = EVENTS.get(usize::from(*pick) % (EVENTS.len() + 1));
        let slug = spec.map_or("some-thing-new".into(), |spec| slug_of(spec.name));
        match receive::recorded(&slug, body, pick % 5 == 0) {
            Err(why) => assert!(!why.is_empty()),
            Ok(record) => {
                let (event, text) = (record.event, record.text);
                assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), event.body);
                let mut again = event.body.clone();
                assert!(!mask::value(&mut again), "masked twice: {again}");
                events.push(Event { id: number as i64 + 1, facts: facts(&event), ..event });
            }
        }
    }
    let [first, second] = [(); 2].map(|()| {
        let mut world = World::default();
        let outcomes: Vec<String> =
            events.iter().map(|event| format!("{:?}", engine::apply(&mut world, event))).collect();
        (outcomes, format!("{:?}", world.agents().collect::<Vec<_>>()))
    });
    assert_eq!(first, second);
}

/// What is taken for a hook's request ends with its body, and no part of it is taken for anything else.
fn recognize(data: &[u8]) {
    let Recognized::Whole { slug, body, .. } = hook_request::recognize(data) else { return };
    assert!(data.starts_with(format!("POST /hook/{slug} HTTP/1.1").as_bytes()) && data.ends_with(body));
    for cut in 0..data.len() {
        assert_eq!(hook_request::recognize(&data[..cut]), Recognized::Part);
    }
}

/// As the server would find them, without a disk.
fn facts(event: &Event) -> Facts {
    Facts { root: event.text("cwd").map(str::to_owned), ..Facts::default() }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
