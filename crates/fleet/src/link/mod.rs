//! The link: a thread beside the server that copies its log to the hub this machine has joined.
//!
//! It reads what is committed, by position; hooks never wait for it. It keeps no book of what was sent: the hub knows, and says so
//! with every answer. So a hub restored from an old backup heals by itself, and a machine whose database was made again
//! begins another history. Whatever happens to the hub, the machine's own board goes on.

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
    /// Another number: another database has taken the first one's place.
    fn generation(&self) -> u64;
    fn database(&self) -> &Path;
    /// The agents that were touched since the last call.
    fn touched(&mut self) -> Vec<AgentView>;
    /// All agents that have not ended.
    fn living(&self) -> Vec<AgentView>;
    fn agent(&self, id: i64) -> Option<AgentView>;
    /// What is derived from the events up to now is in the tables when this returns `true`.
    fn written(&self) -> bool;
    /// Waits for so long, or until somebody begins or ceases to need a person: then it says `true`, also if that was before.
    fn wait(&self, at_most: Duration) -> bool;
    /// The server is ending.
    fn is_closing(&self) -> bool;
}
