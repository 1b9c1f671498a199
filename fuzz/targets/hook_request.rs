//! What arrives on the server's socket, in whatever pieces: taken for a hook's request only when it is one to the byte; a
//! beginning of one is waited for, and nothing else ever is.

use headspace_platform::net::hook_request::{self, MAX_REQUEST, Recognized, recognize};

pub fn run(data: &[u8]) {
    let mut before = Recognized::Part;
    for end in 0..=data.len() {
        let now = recognize(&data[..end]);
        // More bytes never make a hook's request of what was none; and a whole one has nothing behind it.
        assert!(before == Recognized::Part || now == Recognized::Other, "{before:?} ▶ {now:?}");
        if let Recognized::Whole { slug, body } = now {
            let (start, middle, rest) = (hook_request::START, hook_request::MIDDLE, hook_request::END);
            let head = format!("{start}{slug}{middle}{}{rest}", body.len());
            assert_eq!([head.as_bytes(), body].concat(), &data[..end]);
        }
        assert!(now == Recognized::Other || end <= MAX_REQUEST, "a hook would be waited for without end");
        before = now;
    }
}
