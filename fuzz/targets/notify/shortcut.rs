//! The hook's short way on foreign bytes: an answer that ends it is an acknowledgment to `notify`, and a payload is an
//! object with the members that `notify` finds.

#![cfg_attr(fuzzing, no_main)]

use headspace_notify::stdin::{Input, Payload};
use headspace_shortcut::answer::{self, Answer};
use headspace_shortcut::bytes::Places;
use headspace_shortcut::request;
use headspace_shortcut::scan::{Progress, Scanner};

pub fn run(data: &[u8]) {
    let mut places = Places::NONE.clone();
    if answer::read(data, &mut places) == Answer::Stored {
        let at = data.windows(4).position(|four| four == b"\r\n\r\n").expect("a body");
        let Input::Object(body) = Payload::parse(data[at + 4..].to_vec()) else { panic!("no object") };
        let get = |name| body.get(name).map(String::from_utf8_lossy);
        assert_eq!(get("status").as_deref(), Some("\"ok\""));
        assert!(get("event_id").is_some_and(|id| id != "null") && get("hook_output").is_none());
    }
    places.forget();
    let mut scanner = Scanner::with(&mut places);
    if let Progress::Done(end) = scanner.feed(data) {
        let start = scanner.start();
        let Input::Object(payload) = Payload::parse(data.to_vec()) else { panic!("no object") };
        assert_eq!(payload.object(), &data[start..end]);
        let ours: Vec<_> = places.members().collect();
        assert_eq!(ours, payload.members);
        if let Some(name) = places.get(data, b"hook_event_name").and_then(request::plain_text) {
            assert_eq!(Some(&*String::from_utf8_lossy(name)), payload.text("hook_event_name").as_deref());
        }
    }
    request::start_time(data);
    request::is_plain_configuration(data, b"Stop");
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
