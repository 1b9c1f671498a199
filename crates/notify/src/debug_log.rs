//! `HEADSPACE_DEBUG=1`: what `notify` did, in `notify.log` of the state directory. Never on the terminal.

use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_platform::config::{self, var};
use headspace_platform::files;
use std::fmt::Display;
use std::io::Write;

/// A forgotten log must not fill the disk: beyond this size it starts over.
const MAX_LOG_BYTES: u64 = 4 << 20;

/// Adds a line, if the user asked for it.
pub fn note(what: impl Display) {
    if config::env(var::DEBUG).is_some_and(|value| value != "0") {
        let _ = append(&what.to_string());
    }
}

fn append(line: &str) -> std::io::Result<()> {
    if config::check_state_dir().is_err() {
        return Ok(());
    }
    let path = config::state_dir().join("notify.log");
    let mut options = std::fs::OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut open = || files::open_regular(&path, &mut options);
    let mut file = open().or_else(|_| {
        let _ = files::private_dir(&config::state_dir());
        open()
    })?;
    if file.metadata()?.len() > MAX_LOG_BYTES {
        file.set_len(0)?;
    }
    let line =
        format!("{} {} {}\n", Stamp::now(), std::process::id(), headspace_core::text::strip_control(line));
    file.write_all(line.as_bytes())
}
