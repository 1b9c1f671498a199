//! Access to the machine: configuration, files, processes, git, terminals, the spool, the log.
//!
//! It knows the types of core and nothing about hooks, guard, store or server.
//! Begin with [`config`].

pub mod clock;
pub mod config;
pub mod control;
pub mod files;
pub mod git;
pub mod log;
pub mod machine;
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
