//! The hub's port: connections, who may ask what, and the answers.

pub mod access;
mod api;
pub(super) mod connections;
pub(super) mod log_route;
pub mod routes;
pub(super) mod streams;
