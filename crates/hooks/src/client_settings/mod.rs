//! The client's settings files: where they are ([`locate`]), what our entries in them look like ([`entry`]), and how
//! they are changed without touching any byte that is not ours ([`merge`]).

pub mod document;
pub mod entry;
mod layout;
pub mod locate;
pub mod merge;
mod status_line;
