//! See the files of this folder.

pub mod by_size;
pub mod prune;
pub mod schedule;
