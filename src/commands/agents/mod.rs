//! The commands that show agents and act on them.

pub mod events;
pub mod explain;
pub mod export;
pub mod jump;
pub mod rename;
pub mod reply;
pub mod show;
pub mod status;
pub mod wake;
