//! See the files of this folder.

pub mod document;
pub mod entry;
pub mod layout;
pub mod locate;
pub mod merge;
pub mod status_line;
