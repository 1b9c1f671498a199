//! See the files of this folder.

pub mod document;
pub mod entry;
mod layout;
pub mod locate;
pub mod merge;
mod status_line;
