//! The domain types and all pure logic on them: events, agents, masking, the engine, transcript lines.
//!
//! Invariant: no I/O and no clock. Functions take values and return values; `clippy.toml` forbids the rest.
//! Begin with [`model`], then [`engine`].

#![forbid(unsafe_code)]

pub mod answering;
pub mod bounded_json;
pub mod changes;
pub mod cut;
pub mod deceptive;
pub mod diff;
pub mod engine;
pub mod event_names;
pub mod excerpt;
pub mod export;
pub mod fnv;
pub mod glob;
pub mod json;
pub mod json_repair;
pub mod mask;
pub mod model;
pub mod numbers;
pub mod proposal;
pub mod stamp;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;
pub mod transcript;
pub mod wire;
