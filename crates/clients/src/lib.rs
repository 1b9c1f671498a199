//! The coding agents whose sessions are on the board: one row in a table and one small module each.
//!
//! A row says where a client keeps its configuration, how our hook is registered there, in which unit it counts timeouts,
//! what its events are called, how it is recognized, where its transcripts are and how a session is resumed. A module holds
//! what a table cannot say: how a payload becomes one of headspace's own events ([`translate`]) and how a line of its
//! transcript is read ([`reader`]).
//!
//! Apart from looking for Claude's processes, this crate turns values into values. It knows nothing about the store, the
//! server or the engine, and the engine knows nothing about clients: after `translate`, all events are alike. Begin with
//! [`table`].

#![forbid(unsafe_code)]
#![warn(unreachable_pub)]

pub mod client;
pub mod guard;
pub mod hook_file;
mod incoming;
pub mod lineage;
pub mod recognize;
pub mod screen;
pub mod table;

pub use crate::client::claude::*;
pub use crate::incoming::{Incoming, Surroundings, translate};
pub use crate::table::{CLIENTS, GuardForm, Registration, Row, Rows, Unit, named};

use crate::table::Transcript;
use headspace_core::transcript::{Entry, classify};
use std::path::{Path, PathBuf};

/// Reads one line of a transcript.
pub type Reader = fn(&[u8]) -> Option<Entry>;

/// How the lines of this file are read: every client names its files in a way of its own.
pub fn reader(path: &Path) -> Reader {
    transcript(path).map_or(classify, |one| one.read)
}

/// How the lines of this file are found, if it is a database.
pub fn rows(path: &Path) -> Option<Rows> {
    transcript(path)?.rows
}

/// The transcript of a subagent, beside or below that of its session.
pub fn subagent_transcript(main: &Path, agent_id: &str) -> PathBuf {
    let theirs = transcript(main).and_then(|one| one.of_subagent?(main, agent_id));
    let claudes = || main.with_extension("").join("subagents").join(format!("agent-{agent_id}.jsonl"));
    theirs.unwrap_or_else(claudes)
}

fn transcript(path: &Path) -> Option<Transcript> {
    CLIENTS.iter().filter_map(|row| row.transcript).find(|transcript| (transcript.is_named)(path))
}
