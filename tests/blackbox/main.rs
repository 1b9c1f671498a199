//! headspace through its binary, its port and its terminal.
//!
//! One test program, because each one that is linked costs as much as compiling: `cargo test --test blackbox`, or
//! `cargo test --test blackbox install::` for a module.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod alerts;
mod answer;
mod changes;
mod clients;
mod daemon;
mod dashboard;
mod doctor;
mod generated;
mod guard;
#[cfg(target_os = "linux")]
mod hooks;
mod hub;
mod hybrid;
mod install;
mod machines;
mod notify;
mod phone;
mod reply;
mod screens;
mod server;
mod session_bus;
mod shortcut;
mod show;
mod spending;
mod strangers;
mod terminal;
mod transport;
