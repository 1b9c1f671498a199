//! The server's log on stderr, which is `serve.log` when it runs detached. Never contains text from an event.

use crate::clock::WallClock;
use headspace_core::stamp::Stamp;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// The same line again within this time is counted, not written.
const SAME_LINE_WITHIN: Duration = Duration::from_secs(10);

static LAST: Mutex<Option<(String, Instant, u32)>> = Mutex::new(None);

/// One line, with the time, and without anything a terminal would interpret.
pub fn line(text: &str) {
    let text = headspace_core::text::strip_control(text);
    let mut last = LAST.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((previous, at, repeats)) = last.as_mut() {
        if *previous == text && at.elapsed() < SAME_LINE_WITHIN {
            *repeats += 1;
            return;
        }
        if *repeats > 0 {
            write(&format!("(the last line was repeated {repeats} times)"));
        }
    }
    write(&text);
    *last = Some((text, Instant::now(), 0));
}

fn write(text: &str) {
    use std::io::Write;
    let now = Stamp::now().to_string();
    // A log that cannot be written is not a reason to stop.
    let _ = writeln!(std::io::stderr(), "{} headspace: {text}", &now[..19]);
}
