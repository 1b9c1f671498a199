//! Hybrid mode: hooks are primary, and this thread sees what they do not say. It tails the transcripts of known
//! sessions, looks for sessions nobody reported, and for clients that are gone. What it sees it hands to the
//! ledger as events; what they mean is decided in the engine.
//!
//! Paces, all from the configuration: agents that look busy every 2 s; the rest every 60 s while hooks arrive and
//! every 2 s after 300 s without any. After each hook of a session its transcript is read too, a moment later,
//! because the client writes its lines after it ran its hooks.

use super::discover::{Discovery, Found};
use super::installed::{Hooks, Settings};
use super::liveness::{Client, Liveness};
use super::status::Mode;
use super::watch::{Heard, Now, Report, Watch};
use super::{log, presence};
use crate::clients;
use crate::clock::Stamp;
use crate::config;
use crate::model::{Source, observed};
use crate::transcript::Mark;
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A busy agent is looked at this often, whatever is configured for the rest; oftener if that is.
const BUSY_PACE: f64 = 2.0;
/// After a hook: most lines are there by the first, the last words of a turn by the second.
const AFTER_HOOK: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(1000)];
/// While something is held back, or a client may be gone.
const WAITING_PACE: Duration = Duration::from_millis(500);
/// A session that is nobody's current one any more is watched so much longer: its last lines come late.
const LINGER: Duration = Duration::from_secs(5);

/// What the reconciler needs of the rest of the server.
pub trait Ground: Send + Sync {
    /// The agents that have not ended.
    fn seats(&self) -> Vec<Seat>;
    /// The agent whose current session this is.
    fn seat(&self, session_id: &str) -> Option<Seat>;
    /// Whether any agent, ended or not, has or had this session.
    fn knows(&self, session_id: &str) -> bool;
    fn last_hook_at(&self) -> Option<Stamp>;
    /// Whether a host of this name is this machine: another's files and processes are out of reach.
    fn is_here(&self, host: Option<&str>) -> bool;
    /// Records the reports in this order, with nothing between them.
    fn submit(&self, reports: Vec<Report>);
}

/// An agent as the reconciler sees it.
#[derive(Clone, Debug)]
pub struct Seat {
    pub session_id: String,
    pub transcript_path: Option<PathBuf>,
    pub idle: bool,
    /// The main thread has a question open.
    pub asks: bool,
    /// Subagents that have a question open, and since when.
    pub asking_subagents: Vec<(String, Stamp)>,
    /// Not idle, or a question is open, or something works in the background.
    pub busy: bool,
    /// The client's process, if it runs on this machine.
    pub client: Option<Client>,
    /// The last sign of life.
    pub active: Stamp,
}

impl Seat {
    fn now(&self) -> Now {
        Now { idle: self.idle, asks: self.asks }
    }
}

/// A configured time; whatever is no useful number means the shortest or the longest we do.
fn seconds(value: f64) -> Duration {
    Duration::from_secs_f64(if value.is_nan() { BUSY_PACE } else { value.clamp(0.1, 1e9) })
}

/// Where the client keeps what we look at.
#[derive(Debug)]
pub struct Places {
    /// The directory of all transcripts.
    pub projects: PathBuf,
    pub settings: Settings,
}

/// The reconciler's thread, and the way to it. Dropping it ends the thread.
pub struct Reconciler {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    ground: Arc<dyn Ground>,
    inbox: Mutex<Inbox>,
    changed: Condvar,
    watches: Mutex<HashMap<String, Arc<Mutex<Watched>>>>,
    /// How far transcripts were read before this server started.
    marks: Mutex<HashMap<String, Mark>>,
    /// What the user's settings said when they were last looked at.
    hooks: Mutex<Option<Hooks>>,
}

#[derive(Default)]
struct Inbox {
    heard: Vec<Heard>,
    /// When the thread will look by itself.
    next_look: Option<Instant>,
    stop: bool,
}

/// A session's watch, and those of its subagents that ask.
struct Watched {
    main: Watch,
    subagents: HashMap<String, Watch>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Reconciler {
    /// `marks`: what the store remembers, by session.
    pub fn start(
        ground: Arc<dyn Ground>,
        config: config::Reconcile,
        places: Places,
        marks: HashMap<String, Mark>,
    ) -> std::io::Result<Reconciler> {
        let shared = Arc::new(Shared {
            ground,
            inbox: Mutex::default(),
            changed: Condvar::new(),
            watches: Mutex::default(),
            marks: Mutex::new(marks),
            hooks: Mutex::default(),
        });
        let mut rounds = Rounds::new(Arc::clone(&shared), config, places);
        let thread = std::thread::Builder::new().name("reconcile".into()).spawn(move || {
            // A bug in one round must not blind us for good; it is logged, and the next round comes in its time.
            while catch_unwind(AssertUnwindSafe(|| rounds.run())).is_err() {
                std::thread::sleep(WAITING_PACE);
            }
        })?;
        Ok(Reconciler { shared, thread: Some(thread) })
    }

    /// Whether our hooks are installed; `None` before the first look.
    pub fn hooks(&self) -> Option<Hooks> {
        *lock(&self.shared.hooks)
    }

    /// A hook's event came: its transcript is read soon. Costs the caller next to nothing.
    pub fn heard(&self, event: Heard) {
        if !self.shared.ground.is_here(event.host.as_deref()) {
            return;
        }
        let mut inbox = lock(&self.shared.inbox);
        inbox.heard.push(event);
        // Nothing is read before this time anyway; waking the thread for every hook would cost more than reading.
        let soon = Instant::now() + AFTER_HOOK[0];
        if inbox.heard.len() == 1 && inbox.next_look.is_some_and(|at| at > soon) {
            self.shared.changed.notify_one();
        }
    }

    /// Whether the transcript may change what this event means, so that [`Reconciler::read_now`] comes first:
    /// a prompt is no answer if the question was refused, and a Stop without text has it in the transcript.
    pub fn is_needed_before(&self, name: &str, event: &Heard) -> bool {
        match name {
            "UserPromptSubmit" => {
                self.shared.ground.seat(&event.session_id).is_some_and(|seat| seat.asks || !seat.idle)
            }
            "Stop" => event.lacks_text(),
            // Lines from before the compaction must not count as measured after it.
            "SessionStart" => event.compacts(),
            _ => false,
        }
    }

    /// What the session's transcript says up to now, to be recorded right before `event`. Reads a file: not for
    /// the server's runtime.
    pub fn read_now(&self, event: &Heard) -> Vec<Report> {
        let Some(watched) = self.shared.watched_for(event) else { return Vec::new() };
        let seat = self.shared.ground.seat(&event.session_id);
        let agent = seat.map_or(Now { idle: true, asks: false }, |seat| seat.now());
        // What the thread has not come to yet; hearing it twice does no harm.
        let heard: Vec<Heard> = {
            let inbox = lock(&self.shared.inbox);
            inbox.heard.iter().filter(|heard| heard.session_id == event.session_id).cloned().collect()
        };
        let mut watched = lock(&watched);
        for event in heard {
            watched.main.heard(event);
        }
        let now = Stamp::now();
        while watched.main.read(now) {}
        if event.lacks_text() {
            watched.main.settle_for_stop(now, agent)
        } else {
            watched.main.settle(now, agent)
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
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn watch(&self, session_id: &str) -> Option<Arc<Mutex<Watched>>> {
        lock(&self.watches).get(session_id).cloned()
    }

    fn keep(&self, session_id: &str, main: Watch) -> Arc<Mutex<Watched>> {
        let watched = Arc::new(Mutex::new(Watched { main, subagents: HashMap::new() }));
        Arc::clone(lock(&self.watches).entry(session_id.to_owned()).or_insert(watched))
    }

    /// The watch of the session an event belongs to; it begins with the session's first event that names a file.
    fn watched_for(&self, event: &Heard) -> Option<Arc<Mutex<Watched>>> {
        if !self.ground.is_here(event.host.as_deref()) {
            return None;
        }
        if let Some(watched) = self.watch(&event.session_id) {
            return Some(watched);
        }
        // A known agent that is not watched yet (this server is young) may have had its last word before this event.
        if let Some(seat) = self.ground.seat(&event.session_id)
            && let Some(watched) = self.watched_of(&seat)
        {
            return Some(watched);
        }
        let path = event.transcript_path.clone()?;
        Some(self.keep(&event.session_id, self.begin(&event.session_id, path, event.at)))
    }

    /// The watch of an agent's session.
    fn watched_of(&self, seat: &Seat) -> Option<Arc<Mutex<Watched>>> {
        if let Some(watched) = self.watch(&seat.session_id) {
            return Some(watched);
        }
        let path = seat.transcript_path.clone()?;
        // Known, but not watched: this server is younger than the agent. What came since its last sign is news.
        Some(self.keep(&seat.session_id, self.begin(&seat.session_id, path, seat.active)))
    }

    fn begin(&self, session_id: &str, path: PathBuf, since: Stamp) -> Watch {
        match lock(&self.marks).remove(session_id) {
            Some(mark) => {
                let mut watch = Watch::resume(session_id, mark, since);
                watch.moved_to(path);
                watch
            }
            None => Watch::new(session_id, path, since),
        }
    }
}

/// What the thread does, round after round.
struct Rounds {
    shared: Arc<Shared>,
    config: config::Reconcile,
    settings: Settings,
    discovery: Discovery,
    liveness: Liveness,
    /// Sessions to look at besides, and when.
    soon: HashMap<String, Vec<Instant>>,
    /// Sessions watched that are nobody's any more, and since when.
    left: HashMap<String, Instant>,
    round: u64,
    next_round: Instant,
    quiet_round: Option<Instant>,
}

impl Rounds {
    fn new(shared: Arc<Shared>, config: config::Reconcile, places: Places) -> Rounds {
        Rounds {
            shared,
            config,
            settings: places.settings,
            discovery: Discovery::new(places.projects),
            liveness: Liveness::default(),
            soon: HashMap::new(),
            left: HashMap::new(),
            round: 0,
            next_round: Instant::now(),
            quiet_round: None,
        }
    }

    fn run(&mut self) {
        while let Some(heard) = self.wait() {
            for event in heard {
                self.hear(event);
            }
            self.attend_due();
            if Instant::now() >= self.next_round {
                self.look_at_all();
            }
        }
    }

    /// Until there is something to do; `None` when the server ends.
    fn wait(&self) -> Option<Vec<Heard>> {
        let due =
            self.soon.values().flatten().min().map_or(self.next_round, |soon| (*soon).min(self.next_round));
        let mut inbox = lock(&self.shared.inbox);
        while inbox.heard.is_empty() && !inbox.stop {
            let Some(left) = due.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else {
                break;
            };
            inbox.next_look = Some(due);
            inbox = self.shared.changed.wait_timeout(inbox, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        (!inbox.stop).then(|| std::mem::take(&mut inbox.heard))
    }

    fn hear(&mut self, event: Heard) {
        if let Some(watched) = self.shared.watched_for(&event) {
            self.left.remove(&event.session_id);
            // The first look is not put off by the next hook, the last one is.
            let [first, last] = AFTER_HOOK.map(|wait| Instant::now() + wait);
            let times = self.soon.entry(event.session_id.clone()).or_default();
            times.retain(|time| *time <= first);
            if times.is_empty() {
                times.push(first);
            }
            times.push(last);
            lock(&watched).main.heard(event);
        }
    }

    fn attend_due(&mut self) {
        let now = Instant::now();
        let mut due = Vec::new();
        self.soon.retain(|session_id, times| {
            let before = times.len();
            times.retain(|time| *time > now);
            if times.len() < before {
                due.push(session_id.clone());
            }
            !times.is_empty()
        });
        for session_id in due {
            let seat = self.shared.ground.seat(&session_id);
            self.attend(&session_id, seat.as_ref());
        }
    }

    /// Reads a session's transcript and hands in what it says.
    fn attend(&mut self, session_id: &str, seat: Option<&Seat>) {
        let watched = match seat {
            Some(seat) => self.shared.watched_of(seat),
            None => self.shared.watch(session_id),
        };
        let Some(watched) = watched else { return };
        let mut watched = lock(&watched);
        let now = Stamp::now();
        let agent = seat.map_or(Now { idle: true, asks: false }, Seat::now);
        if let Some(path) = seat.and_then(|seat| seat.transcript_path.clone()) {
            watched.main.moved_to(path);
        }
        let more = watched.main.read(now);
        let mut reports = watched.main.settle(now, agent);
        if let Some(seat) = seat {
            reports.extend(watched.subagents_that_ask(seat, now));
        }
        if more || watched.main.waits() {
            let wait = if more { Duration::ZERO } else { WAITING_PACE };
            self.soon.entry(session_id.to_owned()).or_default().push(Instant::now() + wait);
        }
        // Still locked: whoever reads this transcript next hands in later.
        if !reports.is_empty() {
            self.shared.ground.submit(reports);
        }
    }

    fn look_at_all(&mut self) {
        self.round += 1;
        let now = Stamp::now();
        let mode = Mode::at(now, self.shared.ground.last_hook_at(), self.config.fallback_timeout);
        let quiet_pace = seconds(match mode {
            Mode::HooksActive => self.config.polling_interval_with_hooks,
            Mode::PollingFallback => self.config.polling_interval_fallback,
        });
        let quiet = self.quiet_round.is_none_or(|at| at.elapsed() >= quiet_pace);
        if quiet {
            self.quiet_round = Some(Instant::now());
            self.look_at_settings();
        }
        let seats = self.shared.ground.seats();
        for seat in &seats {
            if seat.busy || quiet {
                self.attend(&seat.session_id, Some(seat));
            }
            self.look_for_client(seat, now);
            self.ask_client(seat, now);
        }
        self.liveness.forget_others(self.round);
        if quiet || self.discovery.waits() {
            self.discover(now);
        }
        self.drop_left(&seats);
        let busy_pace = [self.config.polling_interval_with_hooks, self.config.polling_interval_fallback]
            .into_iter()
            .fold(BUSY_PACE, f64::min);
        let pace = if self.liveness.uncertain() { WAITING_PACE } else { Duration::MAX };
        self.next_round = Instant::now() + seconds(busy_pace).min(pace);
    }

    fn look_at_settings(&mut self) {
        let now = self.settings.look();
        let before = lock(&self.shared.hooks).replace(now);
        if before.is_some_and(|before| before != now) {
            log::line(match now {
                Hooks::Installed => "settings.json has our hooks again",
                Hooks::Missing => "settings.json no longer has our hooks: run `headspace install`",
                Hooks::SwitchedOff => "settings.json switches all hooks off (disableAllHooks)",
                Hooks::Unreadable => "settings.json cannot be read: run `headspace doctor`",
            });
        }
    }

    fn look_for_client(&mut self, seat: &Seat, now: Stamp) {
        let Some(client) = seat.client else { return };
        if !self.liveness.has_gone(client, seat.busy, now, self.round) {
            return;
        }
        // Its last words first.
        self.attend(&seat.session_id, Some(seat));
        self.shared.ground.submit(vec![Report {
            name: observed::PROCESS_GONE,
            session_id: seat.session_id.clone(),
            at: now,
            source: Source::Process,
            body: json!({"claude_pid": client.pid, "claude_pid_start": client.start}),
            tail: None,
        }]);
    }

    /// A turn that ended without a word, because it was interrupted before the first.
    fn ask_client(&self, seat: &Seat, now: Stamp) {
        let (Some(client), Some(transcript)) = (seat.client, &seat.transcript_path) else { return };
        if seat.idle || seat.asks {
            return;
        }
        let Some(since) = presence::idle_since(transcript, &seat.session_id, client, seat.active, now) else {
            return;
        };
        self.shared.ground.submit(vec![Report {
            name: observed::CLIENT_IDLE,
            session_id: seat.session_id.clone(),
            at: since,
            source: Source::Process,
            body: json!({"claude_pid": client.pid, "timestamp": since}),
            tail: None,
        }]);
    }

    fn discover(&mut self, now: Stamp) {
        let ground = Arc::clone(&self.shared.ground);
        let found = self.discovery.look(now, &|session_id| ground.knows(session_id));
        if found.is_empty() {
            return;
        }
        // No hook will say when they end, so their processes are looked for now.
        let running = clients::running();
        let mut taken: HashSet<u32> =
            ground.seats().iter().filter_map(|seat| Some(seat.client?.pid)).collect();
        for found in found {
            let Found { session_id, path, mut watch, finding } = found;
            let client = clients::of_session(&running, &taken, &session_id, &path, finding.cwd.as_ref());
            taken.extend(client.map(|client| client.pid));
            let body = json!({
                "cwd": finding.cwd, "transcript_path": path, "timestamp": finding.last_at,
                "git_branch": finding.branch, "entrypoint": finding.entrypoint, "version": finding.version,
                "claude_pid": client.map(|client| client.pid),
                "claude_pid_start": client.and_then(|client| client.start),
            });
            let mut reports = vec![Report {
                name: observed::SESSION_FOUND,
                session_id: session_id.clone(),
                at: finding.last_at,
                source: Source::Transcript,
                body,
                tail: None,
            }];
            reports.extend(watch.settle(now, Now { idle: true, asks: false }));
            let watched = self.shared.keep(&session_id, watch);
            let _reading = lock(&watched);
            self.shared.ground.submit(reports);
        }
    }

    /// Sessions that are over or left behind are not watched for ever.
    fn drop_left(&mut self, seats: &[Seat]) {
        let mut watches = lock(&self.shared.watches);
        let current: HashSet<&str> = seats.iter().map(|seat| seat.session_id.as_str()).collect();
        self.left.retain(|session_id, _| !current.contains(session_id.as_str()));
        watches.retain(|session_id, _| {
            current.contains(session_id.as_str())
                || self.left.entry(session_id.clone()).or_insert_with(Instant::now).elapsed() < LINGER
        });
        self.left.retain(|session_id, _| watches.contains_key(session_id));
    }
}

impl Watched {
    /// A refused permission of a subagent shows in its own transcript only.
    fn subagents_that_ask(&mut self, seat: &Seat, now: Stamp) -> Vec<Report> {
        self.subagents.retain(|id, _| seat.asking_subagents.iter().any(|(asking, _)| asking == id));
        let mut reports = Vec::new();
        for (id, since) in &seat.asking_subagents {
            let main = self.main.path();
            let watch = self
                .subagents
                .entry(id.clone())
                .or_insert_with(|| Watch::subagent(&seat.session_id, id, main, *since));
            watch.read(now);
            reports.extend(watch.settle(now, seat.now()));
        }
        reports
    }
}

#[cfg(test)]
mod tests;
