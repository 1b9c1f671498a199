//! See the files of this folder.

pub mod accept;
pub mod api;
pub mod assets;
pub mod auth;
pub mod own_socket;
pub mod response;
pub mod routes;
pub mod sse;
pub mod status;
pub mod stream;
pub mod time_updates;
