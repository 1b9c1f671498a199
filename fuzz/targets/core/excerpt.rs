//! Whatever was said and is searched for: the excerpt is one line without control characters, no longer than asked for, and marks
//! only the words.

#![cfg_attr(fuzzing, no_main)]

use headspace_core::text::excerpt;

const WIDTH: usize = 80;

pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    // The first line is the search, the rest what is searched.
    let (search, said) = text.split_once('\n').unwrap_or((&text, &text));
    let words = excerpt::words(search);
    assert!(words.len() <= 16);
    let Some(pieces) = excerpt::excerpt(said, &words, WIDTH) else { return };
    assert!(pieces.iter().any(|piece| piece.hit), "an excerpt without a hit");
    let longest = words.iter().map(|word| word.chars().count()).max().unwrap_or(0);
    let shown: usize = pieces.iter().map(|piece| piece.text.chars().count()).sum();
    // The last hit may reach over the end; two signs say that something is left out.
    assert!(shown <= WIDTH + longest + 2, "{shown} characters");
    for piece in &pieces {
        assert!(!piece.text.chars().any(char::is_control), "{:?}", piece.text);
        if piece.hit {
            let length = piece.text.chars().count();
            assert!(words.iter().any(|word| word.chars().count() == length), "{:?}", piece.text);
        }
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
