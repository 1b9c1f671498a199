//! The coding agents whose sessions stand on the board: one row in a table and one small module each.
//!
//! A row says where a client keeps its configuration, how our hook is registered there and in which unit of time, what
//! its events are called, how it is recognized, where its transcripts are and how a session is resumed. A module holds
//! what a table cannot say: how a payload becomes one of headspace's own events ([`translate`]) and how a line of its
//! transcript is read ([`reader`]).
//!
//! This crate turns values into values, and looks for Claude's processes. It knows nothing of the store, the server or
//! the engine, and the engine knows nothing of clients: after `translate` an event is an event. Begin with [`table`].

#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

mod claude;
pub mod codex;
mod copilot;
mod cursor;
mod gemini;
pub mod guard;
pub mod hook_file;
mod incoming;
mod json_lines;
mod opencode;
mod qwen;
pub mod recognize;
pub mod table;

pub use crate::claude::*;
pub use crate::incoming::{Incoming, Surroundings, translate};
pub use crate::table::{CLIENTS, GuardForm, Registration, Row, Unit, named};

use headspace_core::transcript::{Entry, classify};
use std::path::Path;

/// Reads one line of a transcript.
pub type Reader = fn(&[u8]) -> Option<Entry>;

/// How the lines of this file are read: every client names its files in a way of its own.
pub fn reader(path: &Path) -> Reader {
    let theirs = CLIENTS.iter().filter_map(|row| row.transcript);
    theirs.into_iter().find(|transcript| (transcript.is_named)(path)).map_or(classify, |one| one.read)
}
