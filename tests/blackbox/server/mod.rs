//! The server through its binary and its port: what it accepts, whom it lets in, what it keeps.

mod access;
mod crash;
mod durability;
mod faults;
mod hostile;
mod http;
mod places;
mod replies;
mod retention;
mod stream;
mod tables;
