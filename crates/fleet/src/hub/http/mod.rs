//! The hub's port: connections, access, and answers.

pub mod access;
mod api;
pub(super) mod connections;
pub(super) mod log_route;
pub mod routes;
pub(super) mod streams;
