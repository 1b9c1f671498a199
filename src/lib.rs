//! headspace: which of your Claude Code sessions needs you now, and why.
//!
//! The program on top of the crates: `cli` reads the arguments, `commands` do the work, `view` holds what the surfaces in
//! the terminal share. Everything that judges or stores is in `crates/`.

#![forbid(unsafe_code)]

pub mod cli;
pub mod commands;
pub mod view;
