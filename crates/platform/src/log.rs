//! What the server says on stderr, which is `serve.log` when it runs detached. Never anything an event said.

use crate::clock::WallClock;
use headspace_core::stamp::Stamp;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The same line again within this time is counted, not written.
const SAME_LINE_WITHIN: Duration = Duration::from_secs(10);

static LAST: Mutex<Option<(String, Instant, u32)>> = Mutex::new(None);

/// One line, with the time, and nothing in it that a terminal would obey.
pub fn line(text: &str) {
    let text = headspace_core::text::strip_control(text);
    let mut last = LAST.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((said, at, again)) = last.as_mut() {
        if *said == text && at.elapsed() < SAME_LINE_WITHIN {
            *again += 1;
            return;
        }
        if *again > 0 {
            write(&format!("(the last line {again} times more)"));
        }
    }
    write(&text);
    *last = Some((text, Instant::now(), 0));
}

fn write(text: &str) {
    use std::io::Write;
    let now = Stamp::now().to_string();
    // A log that cannot be written is no reason to stop.
    let _ = writeln!(std::io::stderr(), "{} headspace: {text}", &now[..19]);
}
