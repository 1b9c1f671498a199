//! The domain types and all pure logic on them: events, agents, masking, the engine, transcript lines.
//!
//! Invariant: no I/O and no clock. Functions take values and return values; `clippy.toml` forbids the rest.
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
