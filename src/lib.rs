//! headspace: which of your Claude Code sessions needs you now, and why.
//!
//! One room per concern; dependencies point one way. `main` calls `cli`, `cli` calls the commands, the commands
//! call the middle (`engine`, `guard`, `hook`, `settings::merge`), and the middle takes values and returns values.

pub mod cli;
pub mod commands;
pub mod view;
