//! Hybrid mode: hooks are the primary source, and this thread observes what they do not report. It tails the transcripts of
//! known sessions, looks for sessions that no hook reported, and for clients that are gone. It submits what it sees to the
//! ledger as events; the engine decides what they mean. Begin with [`Reconciler`].
//!
//! Intervals, all from the configuration: agents that look busy every 2 s; the rest every 60 s while hooks arrive and
//! every 2 s after 300 s without any. After each hook of a session its transcript is read too, a moment later,
//! because the client writes its lines after it ran its hooks.

mod client_files;
mod consent;
pub mod discover;
mod file_events;
pub mod host;
pub mod liveness;
mod newcomers;
mod panes;
mod rounds;
pub mod settings_watch;
mod terminals;
pub mod watcher;

use crate::ledger::{NewEvent, PendingAnswer};
use crate::reconcile::liveness::ClientProcess;
use crate::reconcile::rounds::{LOOK_AFTER_HOOK, LOOK_WHILE_WAITING_EVERY, ReconcilerThread};
use crate::reconcile::settings_watch::{HookPresence, SettingsWatch};
use crate::reconcile::watcher::{AgentNow, HookSignal, Report, TranscriptWatcher};
use headspace_core::model::Machine;
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_platform::config;
use headspace_platform::tail::Mark;
use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// How long the end of the server waits for them: one may hang in a file system that no longer answers.
const WAIT_FOR_THREADS: Duration = Duration::from_secs(2);

/// What the reconciler needs from the rest of the server.
pub trait ReconcilerHost: Send + Sync {
    /// The agents that have not ended.
    fn targets(&self) -> Vec<WatchTarget>;
    /// The agent whose current session this is.
    fn target(&self, session_id: &str) -> Option<WatchTarget>;
    /// The agent whose client this is.
    fn target_of(&self, client: ClientProcess) -> Option<WatchTarget>;
    /// Whether any agent, ended or not, has or had this session.
    fn knows(&self, session_id: &str) -> bool;
    /// Whether hooks wait in the spool: what they report happened before what is seen now.
    fn hooks_wait(&self) -> bool;
    fn last_hook_at(&self) -> Option<Stamp>;
    /// Whether this is our machine: files and processes of another are out of reach.
    fn is_here(&self, machine: &Machine) -> bool;
    /// Queues the reports, in this order and with nothing between them.
    fn submit(&self, reports: Vec<Report>) -> Submitted;
    /// Waits until they are stored: what was read from a transcript is not read again before a restart. Takes long while
    /// the store cannot take anything, so call it without holding a lock.
    fn confirm(&self, submitted: Submitted);
}

/// Reports on their way into the store, to be passed to [`ReconcilerHost::confirm`]: until then they may be lost.
#[must_use = "reports may be lost until they are confirmed"]
#[derive(Debug, Default)]
pub struct Submitted {
    events: Vec<NewEvent>,
    pending: Vec<PendingAnswer>,
}

/// An agent as the reconciler sees it.
#[derive(Clone, Debug)]
pub struct WatchTarget {
    pub session_id: String,
    pub transcript_path: Option<PathBuf>,
    pub idle: bool,
    /// The main thread has a question open.
    pub asks: bool,
    /// A person answered through headspace, and the transcript will say whether that counted.
    pub answered: bool,
    /// All open dialogs, of the main thread and of subagents.
    pub open_dialogs: usize,
    /// Subagents that have a question open, and since when.
    pub asking_subagents: Vec<(String, Stamp)>,
    /// Not idle, or a question is open, or something runs in the background.
    pub busy: bool,
    /// The client's process, if it runs on this machine.
    pub client: Option<ClientProcess>,
    /// Its directory, if its hooks are run by a process that serves many sessions.
    pub shared_in: Option<PathBuf>,
    /// Its session began before the client that runs it now.
    pub resumed: bool,
    /// Hooks have reported this session.
    pub hooked: bool,
    /// Commands that wait for the user's consent, if the client may not say when they got it.
    pub asked_commands: Vec<AskedCommand>,
    /// Where it is shown, if that is tmux.
    pub pane: Option<Pane>,
    pub permission_mode: Option<String>,
    /// The last activity.
    pub active: Stamp,
}

/// A command that a client asks about, as the board shows it: on one line, and cut when it is long.
#[derive(Clone, Debug)]
pub struct AskedCommand {
    pub line: String,
    pub tool_use_id: Option<String>,
    pub opened_at: Stamp,
}

/// A pane of a tmux server.
#[derive(Clone, Debug)]
pub struct Pane {
    pub socket: Option<String>,
    pub id: String,
}

impl WatchTarget {
    fn now(&self) -> AgentNow {
        AgentNow { idle: self.idle, asks: self.asks, answered: self.answered }
    }
}

/// Where the client keeps the files we read.
#[derive(Debug)]
pub struct Places {
    /// The client's configuration directory: transcripts, status files and settings are below it.
    pub config: PathBuf,
    pub settings: SettingsWatch,
}

impl Places {
    fn projects(&self) -> PathBuf {
        self.config.join("projects")
    }

    fn sessions(&self) -> PathBuf {
        self.config.join("sessions")
    }
}

/// The reconciler's threads and the access to them. Dropping it ends them.
pub struct Reconciler {
    shared: Arc<ReconcilerState>,
    /// Closed when both threads have ended.
    ended: Mutex<mpsc::Receiver<()>>,
}

struct ReconcilerState {
    host: Arc<dyn ReconcilerHost>,
    inbox: Mutex<Inbox>,
    changed: Condvar,
    watches: Mutex<HashMap<String, Arc<Mutex<WatchedSession>>>>,
    /// How far transcripts were read before this server started.
    marks: Mutex<HashMap<String, Mark>>,
    /// What the user's settings said when they were last read.
    hooks: Mutex<Option<HookPresence>>,
    /// Since when our hooks are not in the settings. A hook that comes later was installed elsewhere, for example in a
    /// project.
    hooks_lost_at: Mutex<Option<Stamp>>,
    viewers: panes::Viewers,
}

#[derive(Default)]
struct Inbox {
    signals: Vec<HookSignal>,
    /// Files that changed.
    files: HashSet<PathBuf>,
    /// What hooks had spooled before this server started is recorded, so what is seen now comes after it.
    spool_read: bool,
    /// When the thread will look by itself.
    next_look: Option<Instant>,
    stop: bool,
}

/// A session's watcher, and those of its subagents that ask.
struct WatchedSession {
    main: TranscriptWatcher,
    subagents: HashMap<String, TranscriptWatcher>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Reconciler {
    /// `marks`: what the store saved, by session.
    pub fn start(
        host: Arc<dyn ReconcilerHost>,
        config: config::Reconcile,
        places: Places,
        marks: HashMap<String, Mark>,
    ) -> std::io::Result<Reconciler> {
        let shared = Arc::new(ReconcilerState {
            host,
            inbox: Mutex::default(),
            changed: Condvar::new(),
            watches: Mutex::default(),
            marks: Mutex::new(marks),
            hooks: Mutex::default(),
            hooks_lost_at: Mutex::default(),
            viewers: panes::Viewers::default(),
        });
        let (running, ended) = mpsc::channel();
        let reads = running.clone();
        let mut rounds = ReconcilerThread::new(Arc::clone(&shared), config, places);
        std::thread::Builder::new().name("reconcile".into()).spawn(move || {
            let _running = running;
            // A bug in one round must not stop the reconciler forever; it is logged, and the next round follows.
            while catch_unwind(AssertUnwindSafe(|| rounds.run())).is_err() {
                std::thread::sleep(LOOK_WHILE_WAITING_EVERY);
            }
        })?;
        let screens = Arc::clone(&shared);
        std::thread::Builder::new().name("panes".into()).spawn(move || {
            let _running = reads;
            panes::run(&screens);
        })?;
        Ok(Reconciler { shared, ended: Mutex::new(ended) })
    }

    /// The board is being looked at, so terminal screens are worth reading.
    pub fn viewed(&self) {
        self.shared.viewers.look();
    }

    /// What was spooled while no server ran is recorded.
    pub fn spool_was_read(&self) {
        lock(&self.shared.inbox).spool_read = true;
        self.shared.changed.notify_one();
    }

    /// Whether our hooks are installed; `None` before the first check.
    pub fn hooks(&self) -> Option<HookPresence> {
        *lock(&self.shared.hooks)
    }

    /// Our hooks are not in the user's settings, and none came since that was noticed.
    pub fn hooks_are_missing(&self, last_hook_at: Option<Stamp>) -> bool {
        lock(&self.shared.hooks_lost_at).is_some_and(|lost| last_hook_at.is_none_or(|hook| hook <= lost))
    }

    /// A hook's event came: its transcript is read soon. Costs the caller almost nothing.
    pub fn heard(&self, event: HookSignal) {
        if !self.shared.host.is_here(&event.machine) {
            return;
        }
        let mut inbox = lock(&self.shared.inbox);
        inbox.signals.push(event);
        // Nothing is read before this time anyway; waking the thread for every hook would cost more than reading.
        let soon = Instant::now() + LOOK_AFTER_HOOK[0];
        if inbox.signals.len() == 1 && inbox.next_look.is_some_and(|at| at > soon) {
            self.shared.changed.notify_one();
        }
    }

    /// Whether the transcript may change what this event means, so that [`Reconciler::read_now`] comes first: a prompt is
    /// not an answer if the question was refused, and what is written after it is about its own turn; a Stop without text
    /// has it in the transcript, and a session that ends has its last answer there.
    pub fn is_needed_before(&self, name: &str, event: &HookSignal) -> bool {
        match name {
            "UserPromptSubmit" => true,
            "Stop" => event.lacks_text(),
            "SessionEnd" => true,
            // Lines from before the compaction must not count as measured after it.
            "SessionStart" => event.compacts(),
            _ => false,
        }
    }

    /// What the session's transcript says up to now, or up to `limit`, to be recorded right before `event`. Reads a file: do
    /// not call this on the server's runtime.
    pub fn read_now(&self, event: &HookSignal, limit: Option<Stamp>) -> Vec<Report> {
        let Some(watched) = self.shared.watched_for(event) else { return Vec::new() };
        let target = self.shared.host.target(&event.session_id);
        let agent = target.map_or(AgentNow::NO_AGENT, |target| target.now());
        // Signals the thread has not processed yet; processing one twice does no harm.
        let signals: Vec<HookSignal> = {
            let inbox = lock(&self.shared.inbox);
            inbox.signals.iter().filter(|signal| signal.session_id == event.session_id).cloned().collect()
        };
        let mut watched = lock(&watched);
        for event in signals {
            watched.main.heard(event);
        }
        let now = Stamp::now();
        while watched.main.read(now) {}
        watched.main.between_turns();
        if event.goes_on() {
            watched.main.read_before(event.at);
        }
        match limit {
            _ if event.lacks_text() => watched.main.settle_for_stop(now, agent),
            _ if event.ends_session() => watched.main.settle_for_end(now, agent),
            Some(limit) => watched.main.settle_until(now, agent, limit),
            None => watched.main.settle(now, agent),
        }
    }
}

impl std::fmt::Debug for Reconciler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reconciler")
    }
}

impl Drop for Reconciler {
    fn drop(&mut self) {
        lock(&self.shared.inbox).stop = true;
        self.shared.changed.notify_one();
        self.shared.viewers.stop();
        let _ = lock(&self.ended).recv_timeout(WAIT_FOR_THREADS);
    }
}

impl ReconcilerState {
    /// Records the reports, and waits until they are stored.
    fn record(&self, reports: Vec<Report>) {
        if !reports.is_empty() {
            self.host.confirm(self.host.submit(reports));
        }
    }

    fn watch(&self, session_id: &str) -> Option<Arc<Mutex<WatchedSession>>> {
        lock(&self.watches).get(session_id).cloned()
    }

    /// The session's watcher, made by `begin` if there is none. It is made under the lock, because the saved position can be
    /// taken only once: of two threads that begin at the same time, the second would start without it and skip lines.
    fn watch_or_begin(
        &self,
        session_id: &str,
        begin: impl FnOnce() -> TranscriptWatcher,
    ) -> Arc<Mutex<WatchedSession>> {
        let mut watches = lock(&self.watches);
        let watched = watches.entry(session_id.to_owned()).or_insert_with(|| {
            Arc::new(Mutex::new(WatchedSession { main: begin(), subagents: HashMap::new() }))
        });
        Arc::clone(watched)
    }

    /// Records a session that no hook reported, and watches it from now on.
    fn record_found(&self, session_id: &str, watch: TranscriptWatcher, reports: Vec<Report>) {
        let watched = self.watch_or_begin(session_id, || watch);
        // Submitted under the lock, so that the next reader of this transcript submits later.
        let reading = lock(&watched);
        let submitted = self.host.submit(reports);
        drop(reading);
        self.host.confirm(submitted);
    }

    /// The watcher of the session an event belongs to; it begins with the session's first event that names a file.
    fn watched_for(&self, event: &HookSignal) -> Option<Arc<Mutex<WatchedSession>>> {
        if !self.host.is_here(&event.machine) {
            return None;
        }
        if let Some(watched) = self.watch(&event.session_id) {
            return Some(watched);
        }
        // A known agent that is not watched yet (this server just started) may have said its last text before this event.
        if let Some(target) = self.host.target(&event.session_id)
            && let Some(watched) = self.watched_of(&target)
        {
            return Some(watched);
        }
        let path = event.transcript_path.clone()?;
        let session_id = &event.session_id;
        Some(self.watch_or_begin(session_id, || self.begin(session_id, path, event.at)))
    }

    /// The watcher of an agent's session.
    fn watched_of(&self, target: &WatchTarget) -> Option<Arc<Mutex<WatchedSession>>> {
        if let Some(watched) = self.watch(&target.session_id) {
            return Some(watched);
        }
        let path = target.transcript_path.clone()?;
        // Known, but not watched: this server is younger than the agent. What came since its last activity is new.
        let session_id = &target.session_id;
        Some(self.watch_or_begin(session_id, || self.begin(session_id, path, target.active)))
    }

    fn begin(&self, session_id: &str, path: PathBuf, since: Stamp) -> TranscriptWatcher {
        match lock(&self.marks).remove(session_id) {
            Some(mark) => {
                let mut watch = TranscriptWatcher::resume(session_id, mark, since);
                watch.moved_to(path);
                watch
            }
            None => TranscriptWatcher::new(session_id, path, since),
        }
    }
}

impl WatchedSession {
    /// A subagent's refused permission shows only in its own transcript.
    fn subagents_that_ask(&mut self, target: &WatchTarget, now: Stamp) -> Vec<Report> {
        self.subagents.retain(|id, _| target.asking_subagents.iter().any(|(asking, _)| asking == id));
        let mut reports = Vec::new();
        for (id, since) in &target.asking_subagents {
            let main = self.main.path();
            let watch = self
                .subagents
                .entry(id.clone())
                .or_insert_with(|| TranscriptWatcher::subagent(&target.session_id, id, main, *since));
            watch.read(now);
            reports.extend(watch.settle(now, target.now()));
        }
        reports
    }
}

#[cfg(test)]
mod tests;
