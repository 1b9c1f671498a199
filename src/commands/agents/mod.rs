//! The commands that show agents and act on them.

pub mod events;
pub mod explain;
pub mod jump;
pub mod rename;
pub mod status;
pub mod wake;
