//! Whatever comes from the bus is a message, the beginning of one, or refused; and nothing longer than it is believed.

#![cfg_attr(fuzzing, no_main)]

use headspace_platform::session_bus::message::{MAX_MESSAGE, Message};

pub fn run(data: &[u8]) {
    let mut rest = data;
    while let Ok(Some((message, length))) = Message::read(rest) {
        assert!((16..=MAX_MESSAGE).contains(&length) && length <= rest.len());
        let _ = (message.number(), message.text());
        assert_eq!(
            Message::read(&rest[..length]),
            Ok(Some((message, length))),
            "what follows changes nothing"
        );
        assert_eq!(Message::read(&rest[..length - 1]).ok().flatten(), None, "it is not whole");
        rest = &rest[length..];
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
