//! headspace through its binary, its port and its terminal.
//!
//! One test program, because each one that is linked costs as much as compiling: `cargo test --test blackbox`, or
//! `cargo test --test blackbox install::` for a module.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod alerts;
mod answer;
mod fleet;
mod guard;
#[cfg(target_os = "linux")]
mod hooks;
mod hybrid;
mod notify;
mod reply;
mod server;
mod setup;
mod shortcut;
mod strangers;
mod surfaces;
mod transport;
