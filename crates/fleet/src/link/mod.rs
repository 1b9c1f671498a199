//! The link: a thread beside the server that copies its log to the hub this machine has joined.
//!
//! It reads what is committed, by position; hooks never wait for it. It keeps no record of what was sent: the hub
//! knows, and says so in every answer. So a hub restored from an old backup recovers by itself, and a machine whose
//! database was recreated begins another history. The machine's own board works whatever happens to the hub.

pub mod file;
pub mod http;
pub mod outgoing;
mod retry;
pub mod state;

pub use state::Link;

use headspace_core::model::AgentView;
use std::path::Path;
use std::time::Duration;

/// The machine's own server, as the link sees it. The program connects the two.
pub trait Source: Send {
    /// The newest committed position.
    fn newest(&self) -> i64;
    /// A new number means that another database has replaced the first.
    fn generation(&self) -> u64;
    fn database(&self) -> &Path;
    /// The agents that were touched since the last call.
    fn touched(&mut self) -> Vec<AgentView>;
    /// All agents that have not ended.
    fn living(&self) -> Vec<AgentView>;
    fn agent(&self, id: i64) -> Option<AgentView>;
    /// Returns `true` when everything derived from the events so far is in the tables.
    fn written(&self) -> bool;
    /// Waits this long, or until an agent begins or stops needing a person: then `true`, even if that was before.
    fn wait(&self, at_most: Duration) -> bool;
    /// The server is ending.
    fn is_closing(&self) -> bool;
}
