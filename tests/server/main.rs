//! The server through its binary and its port: what it accepts, whom it lets in, what it keeps.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

mod access;
mod crash;
mod durability;
mod faults;
#[path = "../stage/ground.rs"]
mod ground;
mod hostile;
mod http;
mod places;
mod replies;
mod retention;
mod stream;
mod world;
