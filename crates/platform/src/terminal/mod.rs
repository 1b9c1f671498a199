//! Terminals that can be asked what they show and told to show something else.

pub mod multiplexer;
pub mod tmux;
