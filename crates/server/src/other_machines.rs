//! The agents of other machines: kept in memory beside the ledger's, never in a file. The program puts them here; the server
//! does not know how they are received.

use crate::http::sse::Message;
use crate::ledger::Ledger;
use headspace_core::model::{AgentId, AgentView};
use headspace_core::wire::MachineStatus;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// A question about an agent's past, which is on its own machine.
#[derive(Clone, Debug, Default)]
pub struct HistoryQuestion {
    /// `events`, `turns`, `commands`, `transitions`, or `seen`: a person has looked at it.
    pub about: String,
    pub before: Option<i64>,
    pub after: Option<i64>,
    pub limit: Option<usize>,
    /// Names of events, with commas between them.
    pub names: Option<String>,
}

/// The connection to the other machines.
pub trait MachineLines: Send + Sync {
    fn statuses(&self) -> Vec<MachineStatus>;
    /// May take seconds. The error is for the user.
    fn ask(&self, agent: AgentId, question: HistoryQuestion) -> Result<Value, String>;
}

/// Whether a change may alert a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alerting {
    Rings,
    /// It was known before: it alerts neither now nor later.
    Known,
    Silent,
}

pub struct OtherMachines {
    agents: RwLock<BTreeMap<AgentId, Arc<AgentView>>>,
    lines: OnceLock<Box<dyn MachineLines>>,
    ledger: Ledger,
}

impl OtherMachines {
    pub fn new(ledger: Ledger) -> OtherMachines {
        OtherMachines { agents: RwLock::default(), lines: OnceLock::new(), ledger }
    }

    /// Sets the connection, once.
    pub fn heard_by(&self, lines: Box<dyn MachineLines>) {
        let _ = self.lines.set(lines);
    }

    /// These agents are new or changed.
    pub fn show(&self, views: Vec<Arc<AgentView>>, alerting: Alerting) {
        {
            let mut agents = self.agents.write().unwrap_or_else(PoisonError::into_inner);
            agents.extend(views.iter().map(|view| (view.id, Arc::clone(view))));
        }
        match alerting {
            Alerting::Rings => self.ledger.alert_feed().send(&views),
            Alerting::Known => self.ledger.alert_feed().note_known(&views),
            Alerting::Silent => {}
        }
        if !self.ledger.hub().is_empty() {
            let message = |view: &Arc<AgentView>| Message::new(None, "agent_updated", Some(view.id), &**view);
            self.ledger.hub().publish(views.iter().map(message).collect());
        }
    }

    pub fn remove(&self, ids: &[AgentId]) {
        {
            let mut agents = self.agents.write().unwrap_or_else(PoisonError::into_inner);
            ids.iter().for_each(|id| drop(agents.remove(id)));
        }
        self.ledger.alert_feed().forget(ids);
        let message = |id: &AgentId| Message::new(None, "agent_removed", Some(*id), &json!({"id": id}));
        self.ledger.hub().publish(ids.iter().map(message).collect());
    }

    /// All that have not ended, and with `ended` those that have, too.
    pub fn agents(&self, ended: bool) -> Vec<Arc<AgentView>> {
        let agents = self.agents.read().unwrap_or_else(PoisonError::into_inner);
        agents.values().filter(|agent| ended || agent.ended_at.is_none()).cloned().collect()
    }

    pub fn agent(&self, id: AgentId) -> Option<Arc<AgentView>> {
        self.agents.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned()
    }

    pub fn statuses(&self) -> Vec<MachineStatus> {
        self.lines.get().map(|lines| lines.statuses()).unwrap_or_default()
    }

    pub fn ask(&self, agent: AgentId, question: HistoryQuestion) -> Result<Value, String> {
        self.lines.get().ok_or("no other machine is heard")?.ask(agent, question)
    }
}
