//! The commands that run the server and look after its data.

mod beside;
pub mod notify_test;
pub mod open;
mod phone;
pub mod prune;
pub mod rebuild;
pub mod serve;
pub mod service;
pub mod up;
