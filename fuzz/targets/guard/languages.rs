//! `cargo +nightly fuzz run guard_languages`: whatever the text, it can be judged as PowerShell, as SQL, as a program in
//! another language, as a text for another machine, and as the input of a tool that nobody has heard of.

#![cfg_attr(fuzzing, no_main)]

#[cfg(fuzzing)]
#[allow(dead_code, reason = "each target uses a part of it")]
#[path = "world.rs"]
mod world;

#[cfg(not(fuzzing))]
use super::world;
use headspace_guard::Decision;
use headspace_platform::config::Guard;
use serde_json::json;
use world::{answer, command};

pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    command("PowerShell", text, "");
    let quoted = text.replace('\'', r"'\''");
    for program in [
        "psql -c",
        "mongosh --eval",
        "python3 -c",
        "node -e",
        "perl -e",
        "php -r",
        "awk",
        "ssh host",
        "redis-cli",
    ] {
        command("Bash", &format!("{program} '{quoted}'"), "");
    }
    // A statement that destroys is found whatever statement follows it.
    if !text.contains('\0') {
        let sql = format!("psql -c 'DROP DATABASE shop; {quoted}'");
        assert!(command("Bash", &sql, "") >= Decision::Ask, "{sql:?}");
    }
    for (tool, key) in [("Write", "file_path"), ("mcp__db__query", "sql"), ("mcp__x__run", "command")] {
        answer(tool, json!({key: text, "content": text}), "", Guard::default());
    }
    if let Ok(input) = serde_json::from_str(text) {
        answer("mcp__files__move_file", input, "", Guard::default());
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
