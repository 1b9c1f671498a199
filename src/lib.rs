//! headspace: which of your coding agents needs you now, and why.
//!
//! This is the program on top of the crates: [`cli`] reads the arguments, [`commands`] has a file or folder per command,
//! [`view`] has what several commands share when they print. Everything that judges or stores is in `crates/`.

#![forbid(unsafe_code)]

pub mod cli;
pub mod commands;
pub mod view;
