//! What people see in the terminal. Everything renders the same [`board::Board`], so that no two surfaces disagree.

pub mod board;
pub mod client;
pub mod style;
