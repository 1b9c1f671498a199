//! What Claude Code writes about a session: JSON lines, appended. [`Tail`] reads the new ones of a file,
//! [`classify`] says what a line means. Neither knows agents or states.

mod line;
mod tail;

pub use line::{Entry, Seen, Usage, classify};
pub use tail::{Mark, Read, Tail};
