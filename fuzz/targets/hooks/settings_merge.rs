//! `cargo +nightly fuzz run settings_merge`: a text is refused, or installed into so that it is still what it was
//! plus our entries, a second install changes nothing, and uninstall restores it.

#![cfg_attr(fuzzing, no_main)]

use headspace_hooks::client_settings::entry::{Call, Entry, Role};
use headspace_hooks::client_settings::merge::{Desired, Event, Notify, Plan, find, merge};

const PROGRAM: &str = "/opt/headspace";
const EVENTS: [&str; 3] = ["PreToolUse", "Stop", "Setup"];

pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let events = EVENTS.map(|name| Event { name: name.to_owned(), matcher: None, entry: None }).to_vec();
    let plan = Plan {
        program: Some(PROGRAM.to_owned()),
        notify: Desired::Put(Notify { events, entry: Entry::new(Call::exec(PROGRAM, Role::Notify)) }),
        wait: Desired::Leave,
        guard: Desired::Put(Entry::new(Call::exec(PROGRAM, Role::Guard))),
        status_line: Desired::Put(PROGRAM.to_owned()),
    };
    let nothing = Plan::nothing(plan.program.clone());
    // A text that already had our entries is restored without them.
    let Ok(clean) = merge(text, &nothing, Some(text)) else { return };
    if clean.text != text {
        return;
    }
    let installed = merge(text, &plan, None).expect("a file that can be read can be installed into").text;
    assert_eq!(find(&installed, None).expect("still readable").len(), EVENTS.len() + 1);
    assert_eq!(merge(&installed, &plan, Some(text)).expect("still readable").text, installed);

    let back = merge(&installed, &nothing, Some(text)).expect("still readable").text;
    let solid = |text: &str| -> String { text.chars().filter(|c| !c.is_whitespace()).collect() };
    let (before, after) = (solid(text), solid(&back));
    // A file without an object keeps the one it got; one that was filled keeps its brackets.
    assert!(after == before || after == format!("{before}{{}}"), "{text:?} became {back:?}");
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
