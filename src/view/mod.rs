//! What people see in the terminal. Everything renders the same [`board::Board`], so that no two surfaces disagree.

pub mod board;
pub mod client;
pub mod events;
pub mod explain;
pub mod jump;
pub mod open;
pub mod paint;
pub mod rename;
pub mod status;
pub mod top;
pub mod wake;
