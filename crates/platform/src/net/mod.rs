//! Addresses, sockets, and who is at the other end of one.

pub mod address;
pub mod hook_request;
pub mod http_client;
pub mod local;
pub mod peer_uid;
pub mod socket;
