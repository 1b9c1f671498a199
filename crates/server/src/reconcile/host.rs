//! The server as the reconciler sees it: agents to watch, and a ledger for what it finds.

use crate::ledger::{AnswerPath, Ledger, NewEvent};
use crate::reconcile::liveness::ClientProcess;
use crate::reconcile::settings_watch::SettingsWatch;
use crate::reconcile::watcher::Report;
use crate::reconcile::{AskedCommand, Pane, Places, Reconciler, ReconcilerHost, Submitted, WatchTarget};
use headspace_clients::client::codex;
use headspace_core::engine::Agent;
use headspace_core::model::{AgentState, Interaction, InteractionKind, Machine, observed};
use headspace_core::stamp::Stamp;
use headspace_platform::config::{self, Config};
use headspace_platform::machine;
use headspace_platform::tail::Mark;
use headspace_store::write::TailUpdate;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// How often, and after which pause, a report is submitted again while the store cannot take it.
const SUBMIT_ATTEMPTS: u32 = 10;
const SUBMIT_PAUSE: Duration = Duration::from_millis(500);

/// Starts the reconciler in its own thread, where the last server stopped reading.
pub fn start(config: &Config, ledger: &Ledger, tails: Vec<TailUpdate>) -> std::io::Result<Reconciler> {
    let marks: HashMap<String, Mark> =
        tails.into_iter().map(|tail| (tail.session_id.clone(), mark(tail))).collect();
    let host = Arc::new(LedgerHost { ledger: ledger.clone(), machine: machine::this() });
    let places = Places { config: config::claude_dir(), settings: SettingsWatch::of_user() };
    Reconciler::start(host, config.reconcile.clone(), places, marks)
}

struct LedgerHost {
    ledger: Ledger,
    machine: Machine,
}

impl ReconcilerHost for LedgerHost {
    fn targets(&self) -> Vec<WatchTarget> {
        let agents = self.ledger.snapshot().agents(0);
        agents.iter().map(|agent| self.target_of(agent)).collect()
    }

    fn target(&self, session_id: &str) -> Option<WatchTarget> {
        let agent = self.ledger.snapshot().agent_of_session(session_id)?;
        (agent.session_id == session_id && agent.ended_at.is_none()).then(|| self.target_of(&agent))
    }

    fn target_of(&self, client: ClientProcess) -> Option<WatchTarget> {
        self.targets().into_iter().find(|target| target.client == Some(client))
    }

    fn hooks_wait(&self) -> bool {
        headspace_platform::spool::Spool::open().pending().count > 0
    }

    fn knows(&self, session_id: &str) -> bool {
        self.ledger.snapshot().agent_of_session(session_id).is_some()
    }

    fn last_hook_at(&self) -> Option<Stamp> {
        self.ledger.marks().last_hook_at
    }

    fn is_here(&self, machine: &Machine) -> bool {
        machine.is(&self.machine)
    }

    fn submit(&self, reports: Vec<Report>) -> Submitted {
        let here = |mut report: Report| {
            // Events that say where an agent runs are about this machine.
            if matches!(report.name, observed::SESSION_FOUND | observed::CLIENT_STATUS) {
                report.body["host"] = json!(self.machine.name);
                report.body["host_id"] = json!(self.machine.id);
            }
            NewEvent::from(report)
        };
        let events: Vec<NewEvent> = reports.into_iter().map(here).collect();
        let pending = self.ledger.submit(events.clone(), AnswerPath::Direct);
        Submitted { events, pending }
    }

    fn confirm(&self, mut submitted: Submitted) {
        let mut attempts = 0;
        while attempts < SUBMIT_ATTEMPTS {
            let stored = submitted.pending.drain(..).all(|pending| pending.wait().is_ok());
            if stored || self.ledger.is_closed() {
                return;
            }
            // A full disk may stay full for long. Nothing else can be stored meanwhile, so there is nothing to hold up.
            attempts += u32::from(!self.ledger.has_no_room());
            std::thread::sleep(SUBMIT_PAUSE);
            submitted.pending = self.ledger.submit(submitted.events.clone(), AnswerPath::Direct);
        }
        headspace_platform::log::line(
            "could not store what transcripts say: they are read again at the next start",
        );
    }
}

impl LedgerHost {
    fn target_of(&self, agent: &Agent) -> WatchTarget {
        let place = &agent.place;
        // Agents from before there were machine ids are compared by name only.
        let here = !place.elsewhere && self.is_here(&place.machine());
        let asking = agent.interactions.iter();
        let asking_subagents =
            asking.filter_map(|one| Some((one.subagent.clone()?, one.opened_at))).collect::<Vec<_>>();
        let idle = agent.state == AgentState::Idle;
        let dialogs = || agent.interactions.iter().filter(|one| one.kind != InteractionKind::Reply);
        WatchTarget {
            session_id: agent.session_id.clone(),
            transcript_path: place.transcript_path.as_deref().filter(|_| here).map(PathBuf::from),
            idle,
            asks: dialogs().any(|one| one.subagent.is_none()),
            answered: agent.has_answers_in_doubt(),
            open_dialogs: dialogs().count(),
            busy: !idle || !agent.interactions.is_empty() || agent.phase.is_some() || agent.live_tasks() > 0,
            asking_subagents,
            client: place
                .claude_pid
                .filter(|_| here)
                .map(|pid| ClientProcess { pid, start: place.claude_pid_start }),
            shared_in: place.cwd.as_deref().filter(|_| here && is_codex_daemon(agent)).map(PathBuf::from),
            resumed: agent.metrics.resumed,
            hooked: agent.hooked,
            asked_commands: if here { asked_commands(agent) } else { Vec::new() },
            pane: place.tmux_pane.clone().filter(|_| here).map(|id| Pane {
                socket: place
                    .terminal
                    .as_ref()
                    .and_then(|terminal| terminal["tmux_socket"].as_str())
                    .map(str::to_owned),
                id,
            }),
            permission_mode: place.permission_mode.clone(),
            active: agent.last_active_at,
        }
    }
}

/// Whether this is the one client whose terminals can be found by their processes.
fn is_codex_daemon(agent: &Agent) -> bool {
    agent.place.shared_process && agent.place.client_name.as_deref() == Some(codex::ROW.name)
}

/// Claude records when the user says yes; not all other clients do.
fn asked_commands(agent: &Agent) -> Vec<AskedCommand> {
    if agent.place.client_name.is_none() {
        return Vec::new();
    }
    let asked = agent.interactions.iter().filter(|one| one.kind == InteractionKind::Permission);
    let command = |one: &Interaction| {
        let call = one.text.strip_prefix("Allow ")?;
        let line = call.strip_prefix(one.tool_name.as_deref()?)?.strip_prefix(": ")?;
        Some(AskedCommand {
            line: line.to_owned(),
            tool_use_id: one.tool_use_id.clone(),
            opened_at: one.opened_at,
        })
    };
    asked.filter(|one| one.subagent.is_none()).filter_map(command).collect()
}

/// A line that is read twice is one event: its id consists of what identifies the line.
impl From<Report> for NewEvent {
    fn from(report: Report) -> NewEvent {
        let text =
            |field: &str| report.body.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
        let block = text("tool_use_id").or(text("message_id")).unwrap_or_default();
        let id = match report.name {
            observed::CLIENT_STATUS => Some(client_change(&report)),
            _ => text("uuid").map(|uuid| format!("{}/{uuid}/{}/{block}", report.session_id, report.name)),
        };
        let mut event =
            NewEvent::observed(report.name, &report.session_id, report.at, report.source, report.body);
        // Longer ones would be refused, and no client writes them.
        event.delivery_id = id.filter(|id| id.len() <= 500);
        event.tail = report.tail.map(|mark| tail(&report.session_id, &mark));
        event
    }
}

/// A change of the client's status is one event, however often its file is read.
fn client_change(report: &Report) -> String {
    let field = |field: &str| report.body.get(field).map(Value::to_string).unwrap_or_default();
    let [pid, start, status, title] = ["claude_pid", "claude_pid_start", "status", "title"].map(field);
    format!("{}/{pid}/{start}/{}/{status}/{title}", report.session_id, report.at.0)
}

fn tail(session_id: &str, mark: &Mark) -> TailUpdate {
    TailUpdate {
        path: mark.path.to_string_lossy().into_owned(),
        session_id: session_id.to_owned(),
        offset: mark.offset,
        inode: mark.inode,
        data: Some(json!({"check": mark.check})),
    }
}

fn mark(tail: TailUpdate) -> Mark {
    let check = tail.data.as_ref().and_then(|data| data.get("check")?.as_u64());
    Mark { path: PathBuf::from(tail.path), offset: tail.offset, inode: tail.inode, check }
}
