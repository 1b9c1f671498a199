//! The reader of transcripts and watcher of processes: what hooks did not say.

use super::ledger::Ledger;
use crate::config::Config;

/// A handle for everybody who needs a transcript read now.
#[derive(Clone, Debug)]
pub struct Reconciler {}

impl Reconciler {
    /// Begins to watch, in its own thread.
    pub fn start(_config: &Config, _ledger: &Ledger) -> Reconciler {
        Reconciler {}
    }

    /// Reads what is new in the session's transcript and records it, before returning.
    pub fn read_now(&self, _session_id: &str) {}
}
