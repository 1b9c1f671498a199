//! One person, several machines: a line to the server of each, kept up by a command such as ssh.
//!
//! [`Lines::start`] reads which machines there are, keeps a [`line`] to each and follows the configuration.
//! [`relay_line`] parses what a line sends, and [`far_board`] holds it, within bounds; changes go to [`Boards`], which
//! the program connects to the server. Nothing of it is stored. Begin with [`far_board`].

pub mod far_board;
mod line;
pub mod machine;
pub mod name;
pub mod pace;
pub mod relay_line;

use crate::machines::line::Line;
use crate::machines::machine::Machine;
use crate::machines::relay_line::Question;
use headspace_core::model::{AgentId, AgentView, MachineName};
use headspace_core::wire::MachineStatus;
use headspace_platform::config::{self, Config};
use headspace_platform::{files, log};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

/// How often the configuration is checked. A change has to take effect within two seconds.
const READ_CONFIG_EVERY: Duration = Duration::from_secs(1);

/// Where the agents of other machines are shown.
pub trait Boards: Send + Sync {
    /// These agents are new or changed.
    fn show(&self, agents: Vec<Arc<AgentView>>, news: News);
    fn remove(&self, agents: Vec<AgentId>);
}

/// What a person should be alerted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// Changes that call for an alert give one.
    Rings,
    /// It was so before we looked: no alert, now or later.
    Known,
    /// No alerts for that machine here.
    Silent,
}

/// The lines to all machines.
#[derive(Clone)]
pub struct Lines(Arc<LinesState>);

struct LinesState {
    boards: Arc<dyn Boards>,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    lines: BTreeMap<MachineName, Line>,
    /// Entries of the configuration that cannot be used, with the reason.
    wrong: Vec<(String, String)>,
    stopping: bool,
    keeper: Option<JoinHandle<()>>,
}

impl Lines {
    pub fn start(boards: Arc<dyn Boards>) -> std::io::Result<Lines> {
        let lines = Lines(Arc::new(LinesState { boards, state: Mutex::default(), changed: Condvar::new() }));
        let own = lines.clone();
        let keeper =
            std::thread::Builder::new().name("machines".into()).spawn(move || own.follow_configuration())?;
        lines.state().keeper = Some(keeper);
        Ok(lines)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn follow_configuration(&self) {
        let mut seen = None;
        loop {
            let now = fingerprint();
            if seen.as_ref() != Some(&now) {
                seen = Some(now);
                match Config::load() {
                    Ok(config) => self.keep(machine::all(&config.machines)),
                    Err(_) => log::line("could not read the configuration: the machines stay as they were"),
                }
            }
            let state = self.state();
            let waits = self.0.changed.wait_timeout_while(state, READ_CONFIG_EVERY, |state| !state.stopping);
            if waits.unwrap_or_else(PoisonError::into_inner).0.stopping {
                return;
            }
        }
    }

    /// Ends the lines that are no longer wanted, or have changed, and starts the new ones.
    fn keep(&self, (machines, wrong): (Vec<Machine>, Vec<(String, String)>)) {
        let ended: Vec<Line> = {
            let mut state = self.state();
            state.wrong = wrong;
            let wanted = |line: &Line| machines.contains(&line.machine);
            let ended: Vec<MachineName> =
                state.lines.values().filter(|line| !wanted(line)).map(|line| line.machine.name).collect();
            ended.iter().filter_map(|name| state.lines.remove(name)).collect()
        };
        for line in ended {
            let agents = line.end();
            self.0.boards.remove(agents);
        }
        let mut state = self.state();
        for machine in machines {
            if state.stopping || state.lines.contains_key(&machine.name) {
                continue;
            }
            match Line::begin(machine.clone(), Arc::clone(&self.0.boards)) {
                Ok(line) => drop(state.lines.insert(machine.name, line)),
                Err(error) => log::line(&format!("could not begin a line to {}: {error}", machine.name)),
            }
        }
    }

    /// The status of every line, and the entries that cannot be used.
    pub fn statuses(&self) -> Vec<MachineStatus> {
        let state = self.state();
        let wrong = state.wrong.iter().map(|(name, why)| MachineStatus::unusable(name, why));
        state.lines.values().map(Line::status).chain(wrong).collect()
    }

    /// The machine with this name, if it has a line.
    pub fn machine(&self, name: MachineName) -> Option<Machine> {
        self.state().lines.get(&name).map(|line| line.machine.clone())
    }

    /// Asks a machine about one of its agents, and waits a few seconds for the answer.
    pub fn ask(&self, name: MachineName, question: Question) -> Result<Value, String> {
        let asked = self.state().lines.get(&name).map(|line| line.ask(question));
        asked.ok_or_else(|| format!("there is no machine called {name}"))?.wait(name)
    }

    /// Ends every line, with the commands that keep them.
    pub fn stop(&self) {
        let (lines, keeper) = {
            let mut state = self.state();
            state.stopping = true;
            (std::mem::take(&mut state.lines), state.keeper.take())
        };
        self.0.changed.notify_all();
        for line in lines.into_values() {
            line.end();
        }
        let _ = keeper.map(JoinHandle::join);
    }
}

/// Distinguishes one version of the configuration from the next without reading it.
fn fingerprint() -> Option<(Option<files::FileId>, Option<SystemTime>, u64)> {
    let path = config::config_file();
    let meta = std::fs::metadata(&path).ok()?;
    Some((files::id(&path), meta.modified().ok(), meta.len()))
}
