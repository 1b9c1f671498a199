//! What a line of Claude Code's transcript (JSON lines, appended) means; begin with [`classify`]. Reading the file is
//! platform's job, and agents and states are unknown here.

mod line;

pub use crate::transcript::line::{Entry, Seen, Usage, classify};
