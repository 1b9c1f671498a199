//! Programs that read, write, copy, pack, find and delete files.

pub(super) mod archives;
pub(super) mod copying;
pub(super) mod deleting;
pub(super) mod find;
pub(super) mod reading;
