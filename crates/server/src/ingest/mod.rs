//! How events come in: [`receive`] takes what hooks post, from bytes to the ledger; [`spool_drain`] takes what they kept
//! while no server answered. [`hook_reply`] decides what a hook is told, [`hook_latency`] measures what it waited.

pub mod body;
pub mod hook_latency;
pub mod hook_reply;
pub mod receive;
pub mod spool_drain;
