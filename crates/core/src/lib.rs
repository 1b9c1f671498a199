//! The types of the product and the pure logic on them.
//!
//! [`model`] has events, agents, commands, turns and interactions; [`engine`] says what an event does to an agent;
//! [`transcript`] reads a line of the client's transcript; [`mask`] removes secrets; [`wire`] has what the HTTP routes
//! send; [`answering`] and [`changes`] check an answer and read file changes from tool calls; [`text`] and [`json`] are
//! shared tools.
//!
//! Nothing here does I/O or reads a clock: functions take values and return values, and `clippy.toml` forbids the rest.
//! Begin with [`model`], then [`engine`].

#![forbid(unsafe_code)]

pub mod answering;
pub mod changes;
pub mod engine;
pub mod export;
pub mod fnv;
pub mod json;
pub mod mask;
pub mod model;
pub mod stamp;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;
pub mod transcript;
pub mod wire;
