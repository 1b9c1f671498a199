//! `cargo +nightly fuzz run screen`: whatever a pane shows and wherever its cursor is, reading it comes to an end; an input box
//! is only where borders stand around the cursor; and a box that holds a text does not hold another one.

#![cfg_attr(fuzzing, no_main)]

use headspace_clients::screen::{Screen, Seen, holds, read};

pub fn run(data: &[u8]) {
    let [x, y, rest @ ..] = data else { return };
    let text = String::from_utf8_lossy(rest);
    let seen = read(Screen { text: &text, cursor: (usize::from(*x), usize::from(*y)) });
    if let Seen::InputBox(typed) | Seen::ShellMode(typed) = seen {
        assert!(text.matches('─').count() >= 20, "a box without borders");
        assert!(!typed.contains('\x1b'));
        assert!(
            typed.trim().is_empty()
                || !holds(&typed, "nobody typed these words, which are longer than forty letters")
        );
        assert!(!holds("", &typed));
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
