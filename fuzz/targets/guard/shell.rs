//! `cargo +nightly fuzz run guard_shell`: whatever the text, the shell reader comes to an end, and a text without
//! any mark of shell syntax has no problem.

#![cfg_attr(fuzzing, no_main)]

use headspace_guard::shell;

pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for depth in [4, 40] {
        let parsed = shell::read(text, depth);
        let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || " /.-_".contains(c));
        let reserved =
            ["then", "elif", "else", "fi", "do", "done", "esac", "in", "if", "for", "while", "until", "case"];
        let reserved = text.split_whitespace().any(|word| {
            reserved.contains(&word) || matches!(word, "select" | "function" | "coproc" | "time")
        });
        assert!(!plain || reserved || parsed.problems.is_empty(), "{:?}", parsed.problems);
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
