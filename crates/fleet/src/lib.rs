//! Other machines: one person's own, read over ssh, and a team's, through a hub.
//!
//! Begin with [`machines`]: the lines to one person's other machines. Nothing that arrives over a line is stored here.
//!
//! This crate stands beside the server and does not know it: the program gives each what it needs from the other. What
//! arrives from another machine is that machine's text, so it is bounded, checked and shown, and never run.

#![forbid(unsafe_code)]
// A whole agent as one `json!` in a test is deeper than the usual limit.
#![cfg_attr(test, recursion_limit = "256")]

pub mod document;
pub mod hub;
pub mod level;
pub mod link;
pub mod machines;
pub mod protocol;
pub mod tls;
