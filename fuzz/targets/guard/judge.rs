//! `cargo +nightly fuzz run guard_judge`: whatever the command, the guard answers, and what stands behind `;`, or in the
//! project's own files, cannot make the answer milder. The same text is also every script of the project.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
#[allow(dead_code, reason = "each target uses a part of it")]
#[path = "world.rs"]
mod world;

#[cfg(not(fuzzing))]
use super::world;
use headspace_guard::Decision;
use world::command;

pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    command("Bash", text, "");
    assert_eq!(command("Bash", &format!("rm -rf /usr/local; {text}"), ""), Decision::Deny);
    assert_eq!(command("Bash", "rm -rf /usr/local", text), Decision::Deny);
    for runs in ["./x.sh a b", "make all clean", "npm run build"] {
        command("Bash", runs, text);
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
