//! What the HTTP servers of headspace have in common: the dashboard, built into the binary, the form of an answer, and
//! how a connection and a stream of changes behave.
//!
//! A machine's own server and a team's hub show the same page and refuse in the same words. This crate knows neither:
//! it has no routes, no store and no state. Begin with [`assets`].

#![forbid(unsafe_code)]

pub mod answer;
pub mod assets;
pub mod connection;
pub mod stream;
