//! The context window: how full it is, and when to say so.

pub mod warnings;
pub mod window;
