//! Prompts, turns and how a turn ends.

pub mod prompts;
pub mod turn_end;
pub mod turns;
