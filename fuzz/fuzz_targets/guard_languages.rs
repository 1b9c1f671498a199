#![no_main]

#[path = "../targets/guard_world.rs"]
mod guard_world;
#[path = "../targets/guard_languages.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|data: &[u8]| target::run(data));
