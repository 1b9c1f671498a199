//! See the files of this folder.

pub mod body;
pub mod event;
pub mod hook_latency;
pub mod hook_reply;
pub mod receive;
pub mod spool_drain;
