//! The hook's short way on foreign bytes: an answer that ends it is an acknowledgment by any reader of JSON, and a payload
//! is an object where `notify` and serde_json find one.

use headspace_notify::stdin::{Input, Payload};
use headspace_shortcut::answer::{self, Answer};
use headspace_shortcut::bytes::Places;
use headspace_shortcut::request;
use headspace_shortcut::scan::{Progress, Scanner};
use serde_json::Value;

pub fn run(data: &[u8]) {
    let mut places = Places::NONE.clone();
    if answer::read(data, &mut places) == Answer::Stored {
        let body =
            data.windows(4).position(|four| four == b"\r\n\r\n").map(|at| &data[at + 4..]).expect("a body");
        let first = serde_json::Deserializer::from_slice(body).into_iter::<Value>().next();
        let body = first.expect("an object").expect("JSON");
        assert!(
            body["status"] == "ok" && !body["event_id"].is_null() && body.get("hook_output").is_none(),
            "{body}"
        );
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
