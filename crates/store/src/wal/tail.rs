//! Whether the log still has what was committed: somebody may empty or cut it under the open database. SQLite does not look;
//! it writes on behind the hole.

use crate::wal::checkpoint::frames_in_log;
use headspace_platform::files;
use rusqlite::Connection;
use std::fs::{File, OpenOptions};
use std::io::{Read, Result, Seek, SeekFrom};
use std::path::Path;

const HEADER: usize = 32;
const FRAME_HEADER: u64 = 24;
/// So many of the last bytes are compared.
const TAIL: usize = 32;

/// The end of the log after the last look.
#[derive(Debug, Default)]
pub struct LogTail {
    file: Option<File>,
    /// Others after the log has started over.
    salts: [u8; 8],
    /// 0: nothing was in the log.
    end: u64,
    bytes: [u8; TAIL],
}

impl LogTail {
    /// To be asked after a COMMIT by `db`. Costs a few microseconds.
    pub fn is_whole(&mut self, db: &Connection, log: &Path) -> bool {
        // Another program may have copied all of the log and emptied it between two of these reads: the second look knows.
        self.look(db, log) || self.look(db, log)
    }

    fn look(&mut self, db: &Connection, log: &Path) -> bool {
        // Whoever empties the log in good order says so in its index. `None`: SQLite has read what is not there any more.
        let frames = frames_in_log(db).ok();
        if frames == Some(0) {
            self.end = 0;
            return true;
        }
        if self.file.is_none() {
            self.file = files::open_regular(log, OpenOptions::new().read(true)).ok();
        }
        let Some(file) = &mut self.file else { return true };
        let Ok(header) = read_at::<HEADER>(file, 0) else { return false };
        let word = |at: usize| header[at..at + 4].try_into().map_or(0, u32::from_be_bytes);
        // The last bit tells the order of bytes in checksums.
        if word(0) & !1 != 0x377f_0682 {
            return false;
        }
        let same = header[16..24] == self.salts;
        let is_there = |end: u64, bytes: &[u8; TAIL], file: &mut File| {
            read_at::<TAIL>(file, end - TAIL as u64).is_ok_and(|now| now == *bytes)
        };
        if same && self.end > 0 && !is_there(self.end, &self.bytes, file) {
            return false;
        }
        let Some(frames) = frames else { return true };
        let end = HEADER as u64 + frames * (FRAME_HEADER + u64::from(word(8)));
        let Ok(bytes) = read_at::<TAIL>(file, end - TAIL as u64) else { return false };
        self.salts.copy_from_slice(&header[16..24]);
        (self.end, self.bytes) = (end, bytes);
        true
    }
}

fn read_at<const LENGTH: usize>(file: &mut File, at: u64) -> Result<[u8; LENGTH]> {
    let mut bytes = [0; LENGTH];
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut bytes)?;
    Ok(bytes)
}
