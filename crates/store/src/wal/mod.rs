//! The write-ahead log on its way to the disk: synced a moment after COMMIT, and copied into the database beside the writer.

pub mod checkpoint;
pub mod sync;
