//! How events arrive: [`receive`] takes what hooks post, from bytes to the ledger; [`spool_drain`] takes what they
//! stored while no server answered; `direct` is the short path for plain events. [`hook_reply`] decides the reply to a
//! hook, [`hook_latency`] measures how long it waited.

pub mod body;
#[cfg(unix)]
pub mod direct;
pub mod hook_latency;
pub mod hook_reply;
pub mod receive;
pub mod spool_drain;
