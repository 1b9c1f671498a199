//! What arrives on the server's socket, in whatever pieces: taken for a hook's request only when it is one; a
//! beginning of one is waited for, and nothing else ever is.

#![cfg_attr(fuzzing, no_main)]

use headspace_platform::net::hook_request::{MAX_REQUEST, Recognized, recognize};

pub fn run(data: &[u8]) {
    let mut before = Recognized::Part;
    for end in 0..=data.len() {
        let now = recognize(&data[..end]);
        // More bytes never make a hook's request of what was none; and a whole one has nothing behind it.
        assert!(before == Recognized::Part || now == Recognized::Other, "{before:?} ▶ {now:?}");
        if let Recognized::Whole { slug, body, .. } = now {
            let line = format!("POST /hook/{slug} HTTP/1.1");
            assert!(data.starts_with(line.as_bytes()) && data[..end].ends_with(body));
        }
        assert!(now == Recognized::Other || end <= MAX_REQUEST, "a hook would be waited for without end");
        before = now;
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
