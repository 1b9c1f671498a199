//! Whatever is left of a database, reading it page by page ends, and what is found is whole.

#![cfg_attr(fuzzing, no_main)]

use headspace_store::carve::{Bytes, Pages};
use serde_json::Value;
use std::io::Cursor;

/// The file, and behind the first line that says so the log.
pub fn run(data: &[u8]) {
    const LOG: &[u8] = b"\n-wal\n";
    let at = data.windows(LOG.len()).position(|part| part == LOG);
    let (file, log) = at.map_or((data, None), |at| (&data[..at], Some(&data[at + LOG.len()..])));
    let boxed = |bytes: &[u8]| Box::new(Cursor::new(bytes.to_vec())) as Box<dyn Bytes>;
    let Ok(mut pages) = Pages::of(boxed(file), log.map(boxed)) else { return };
    let (found, _) = pages.events();
    assert!(found.is_sorted_by(|one, other| one.id < other.id));
    for place in found {
        let row = pages.event(place).expect("what was found");
        assert!(row.id == place.id && !row.name.is_empty() && !row.session_id.is_empty());
        assert!(serde_json::from_str::<Value>(&row.body).expect("JSON").is_object());
    }
}

#[cfg(fuzzing)]
libfuzzer_sys::fuzz_target!(|data: &[u8]| run(data));
