//! `cargo +nightly fuzz run mask`: whatever the text, masking ends, a second pass changes nothing, and the spool's
//! bytes are masked like the server's values.

#![cfg_attr(fuzzing, no_main)]

use headspace_core::mask;
use serde_json::{Value, json};

pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let once = mask::text(&text).into_owned();
    assert_eq!(mask::text(&once), once.as_str(), "masked twice: {text:?}");
    let whole = json!({"a": [&*text, "--password", &*text], "password": &*text, "name": "DB_PASSWORD", "value": &*text,
        "Cookie": &*text, "authorization": &*text});
    let mut value = whole.clone();
    mask::value(&mut value);
    let written = mask::json::bytes(whole.to_string().as_bytes()).into_owned();
    assert_eq!(serde_json::from_slice::<Value>(&written).expect("JSON"), value, "{text:?}");
    assert!(!mask::value(&mut value), "masked twice: {text:?}");
    // What is not JSON at all must not break it either.
    mask::json::bytes(data);
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
