//! The rules of the state model, one row each.

#![allow(clippy::disallowed_methods, reason = "fixtures are files")]
#![allow(clippy::unwrap_used)]

mod answers;
mod client_status;
mod correlation;
mod effects;
mod fine_points;
mod machines;
mod observations;
mod order;
mod replies;
mod story;
mod turns;
