//! The commands that run the server and look after its data.

pub mod notify_test;
pub mod open;
pub mod prune;
pub mod rebuild;
pub mod serve;
pub mod service;
pub mod up;
