//! The machine: configuration, files, processes, git, terminals, the spool, the log.
//!
//! It knows the words of core and nothing about hooks, guard, store or server.
//! Begin with [`config`].

pub mod address;
pub mod clock;
pub mod config;
pub mod delivery;
pub mod files;
pub mod git;
pub mod http_client;
pub mod log;
pub mod machine;
pub mod multiplexer;
pub mod peer_uid;
pub mod process;
pub mod socket;
pub mod spool;
pub mod tail;
pub mod tmux;
pub mod usage;
