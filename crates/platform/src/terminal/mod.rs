//! Terminals that can report what they show and can be told to show something else.

pub mod multiplexer;
pub mod tmux;
