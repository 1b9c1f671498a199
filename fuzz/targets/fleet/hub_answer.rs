//! `cargo +nightly fuzz run hub_answer`: whatever answers in a hub's place, an answer is read to its end, or refused.

#![cfg_attr(fuzzing, no_main)]

use headspace_fleet::link::http::HubAnswer;

pub fn run(data: &[u8]) {
    let mut rest = data;
    while let Ok((answer, keeps)) = HubAnswer::read(&mut rest) {
        assert!(answer.body.len() <= data.len());
        assert!(answer.message().chars().all(|c| !c.is_control()));
        if !keeps {
            return;
        }
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
