//! What runs beside the server: the lines to other machines, and the link to a team's hub. Server and fleet do not know each
//! other; this file gives each what it needs from the other.

use anyhow::{Context, Result};
use headspace_core::model::{AgentId, AgentView};
use headspace_core::wire::MachineStatus;
use headspace_fleet::link::{Link, Source};
use headspace_fleet::machines::relay_line::{About, Question};
use headspace_fleet::machines::{Boards, Lines, News};
use headspace_server::ServerParts;
use headspace_server::ledger::copy::Copier;
use headspace_server::other_machines::{Alerting, HistoryQuestion, MachineLines, OtherMachines};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Ends the lines when the server has stopped.
pub struct Companions(Lines);

impl Drop for Companions {
    fn drop(&mut self) {
        self.0.stop();
    }
}

pub fn start(server: &ServerParts) -> Result<Companions> {
    let machines = &server.other_machines;
    let boards = Arc::new(ServerBoards(Arc::clone(machines)));
    let lines = Lines::start(boards).context("could not start the lines to other machines")?;
    machines.heard_by(Box::new(Asked(lines.clone())));
    let link = Link::new(LedgerSource(server.ledger.copier(server.database.clone())));
    std::thread::Builder::new()
        .name("link".into())
        .spawn(move || link.run())
        .context("could not start the link")?;
    Ok(Companions(lines))
}

/// The server's place for agents of other machines.
struct ServerBoards(Arc<OtherMachines>);

impl Boards for ServerBoards {
    fn show(&self, agents: Vec<Arc<AgentView>>, news: News) {
        let alerting = match news {
            News::Rings => Alerting::Rings,
            News::Known => Alerting::Known,
            News::Silent => Alerting::Silent,
        };
        self.0.show(agents, alerting);
    }

    fn remove(&self, agents: Vec<AgentId>) {
        self.0.remove(&agents);
    }
}

/// The lines, as the server asks them.
struct Asked(Lines);

impl MachineLines for Asked {
    fn statuses(&self) -> Vec<MachineStatus> {
        self.0.statuses()
    }

    fn ask(&self, agent: AgentId, question: HistoryQuestion) -> Result<Value, String> {
        let machine = agent.machine.ok_or("it is an agent of this machine")?;
        let about = match question.about.as_str() {
            "events" => About::Events,
            "turns" => About::Turns,
            "commands" => About::Commands,
            "transitions" => About::Transitions,
            "seen" => About::Seen,
            _ => return Err(format!("this is known on {machine} only")),
        };
        let HistoryQuestion { before, after, limit, names, .. } = question;
        self.0.ask(machine, Question { ask: 0, agent: agent.number, about, before, after, limit, names })
    }
}

/// The server's ledger, as the link to a hub sees it.
struct LedgerSource(Copier);

impl Source for LedgerSource {
    fn newest(&self) -> i64 {
        self.0.newest()
    }

    fn generation(&self) -> u64 {
        self.0.generation()
    }

    fn database(&self) -> &Path {
        self.0.database()
    }

    fn touched(&mut self) -> Vec<AgentView> {
        self.0.touched()
    }

    fn living(&self) -> Vec<AgentView> {
        self.0.living()
    }

    fn agent(&self, id: i64) -> Option<AgentView> {
        self.0.agent(id)
    }

    fn written(&self) -> bool {
        self.0.written()
    }

    fn wait(&self, at_most: Duration) -> bool {
        self.0.wait(at_most)
    }

    fn is_closing(&self) -> bool {
        self.0.is_closing()
    }
}
