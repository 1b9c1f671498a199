//! What Claude Code writes about a session: JSON lines, appended. [`Tail`] reads the new ones of a file,
//! [`classify`] says what a line means. Neither knows agents or states.

mod line;

pub use crate::transcript::line::{Entry, Seen, Usage, classify};
