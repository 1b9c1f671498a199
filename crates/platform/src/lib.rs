//! Access to the machine: configuration, files, processes, git, terminals, the spool, the log.
//!
//! Code that must use `unsafe` to talk to the system belongs here. The crate knows the types of core, and nothing about
//! hooks, the guard, the store or the server. Begin with [`config`].

pub mod clock;
pub mod command;
pub mod config;
pub mod control;
pub mod file_look;
pub mod files;
pub mod git;
pub mod log;
pub mod machine;
pub mod mounts;
pub mod net;
pub mod process;
pub mod process_group;
#[cfg(unix)]
pub mod session_bus;
pub mod spool;
pub mod tail;
pub mod terminal;
pub mod usage;
pub mod watchdog;
pub mod worker_threads;
