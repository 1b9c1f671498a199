//! Programs that read, write, copy, pack, find and delete files.

pub mod archives;
pub mod copying;
pub mod deleting;
pub mod find;
pub mod reading;
