//! How the write-ahead log gets to disk: synced a moment after COMMIT, and copied into the database beside the writer.

pub mod checkpoint;
pub mod sync;
pub mod tail;
