//! Where a session's lines come from: a file that grows, or the rows of a client's database.

use crate::reconcile::watcher::database::DatabaseTail;
use headspace_platform::tail::{Mark, Read, Tail};
use std::io;
use std::path::{Path, PathBuf};

/// A position in a session's lines.
#[derive(Debug)]
pub(super) enum TranscriptLines {
    File(Tail),
    Database(DatabaseTail),
}

impl TranscriptLines {
    pub(super) fn new(path: PathBuf, session_id: &str) -> TranscriptLines {
        match headspace_clients::rows(&path) {
            Some(rows) => TranscriptLines::Database(DatabaseTail::new(path, rows, session_id)),
            None => TranscriptLines::File(Tail::new(path)),
        }
    }

    pub(super) fn resume(mark: Mark, session_id: &str) -> TranscriptLines {
        match headspace_clients::rows(&mark.path) {
            Some(rows) => {
                TranscriptLines::Database(DatabaseTail::new(mark.path, rows, session_id).from(mark.offset))
            }
            None => TranscriptLines::File(Tail::resume(mark)),
        }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            TranscriptLines::File(tail) => tail.path(),
            TranscriptLines::Database(tail) => tail.path(),
        }
    }

    pub(super) fn mark(&self) -> Mark {
        match self {
            TranscriptLines::File(tail) => tail.mark(),
            TranscriptLines::Database(tail) => tail.mark(),
        }
    }

    pub(super) fn moved_to(&mut self, path: PathBuf) {
        match self {
            TranscriptLines::File(tail) => tail.moved_to(path),
            TranscriptLines::Database(tail) => tail.moved_to(path),
        }
    }

    /// Goes to the last `bytes`, as far as they are counted; `true` if that is not the beginning.
    pub(super) fn near_end(&mut self, bytes: u64) -> bool {
        match self {
            TranscriptLines::File(tail) => tail.near_end(bytes),
            TranscriptLines::Database(tail) => tail.near_end(bytes),
        }
    }

    /// Passes every new line to `each`.
    pub(super) fn read(&mut self, each: impl FnMut(&[u8])) -> io::Result<Read> {
        match self {
            TranscriptLines::File(tail) => tail.read(each),
            TranscriptLines::Database(tail) => tail.read(each),
        }
    }
}
