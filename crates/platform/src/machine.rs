//! This machine: its name, and an id that is made once and kept in the state directory.
//!
//! Pids are meaningful on one machine only. Two containers can have the same name, so the hook sends the id with every
//! event, and the server compares it with its own before it checks a process.

use crate::{config, files, process};
use headspace_core::model::Machine;
use std::io::{ErrorKind, Read, Write};

/// Hex digits of an id.
const DIGITS: usize = 32;

pub fn this() -> Machine {
    Machine { name: process::host_name(), id: id() }
}

/// The id, created if there is none. `None` if it cannot be stored, or not where others could change it: then the name must
/// be enough.
pub fn id() -> Option<String> {
    config::check_state_dir().ok()?;
    let path = config::host_id_file();
    // One look, one open, one read: the hook does this for every event.
    let mut digits = [0; DIGITS];
    match files::open_regular(&path, std::fs::OpenOptions::new().read(true)) {
        Ok(mut file) => {
            let length = file.read(&mut digits).ok()?;
            let whole = length == DIGITS && digits.iter().all(u8::is_ascii_hexdigit);
            return whole.then(|| String::from_utf8_lossy(&digits).into_owned());
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(_) => return None,
    }
    files::private_dir(path.parent()?).ok()?;
    let id = new_id();
    match files::create_private(&path) {
        Ok(mut file) => match file.write_all(format!("{id}\n").as_bytes()) {
            Ok(()) => Some(id),
            // The disk is full: the next event tries again.
            Err(_) => {
                let _ = std::fs::remove_file(&path);
                None
            }
        },
        // Another hook was faster. It may not have written yet: the next event has the id.
        Err(_) => None,
    }
}

/// For the server, which has time: recreates an id that was not written completely, or that can never be read.
pub fn ensure_id() {
    if id().is_some() || id().is_some() {
        return;
    }
    let path = config::host_id_file();
    if files::read_up_to(&path, DIGITS as u64 + 2).is_err_and(|error| files::is_not_regular(&error)) {
        // A link is removed, never what it leads to.
        let _ = std::fs::remove_file(&path);
    }
    let _ = files::replace(&path, format!("{}\n", new_id()).as_bytes());
}

fn new_id() -> String {
    format!("{:016x}{:016x}", process::random(), process::random())
}
