//! The reconciler's thread: what it does, round after round. Begin with [`ReconcilerThread::run`].

mod client_reports;

use crate::http::status::Mode;
use crate::log;
use crate::reconcile::client_files::ClientFiles;
use crate::reconcile::consent::RunningCommands;
use crate::reconcile::discover::{Discovery, FoundSession};
use crate::reconcile::file_events::FileEvents;
use crate::reconcile::liveness::{ClientProcess, Liveness};
use crate::reconcile::newcomers::TrustDialogs;
use crate::reconcile::rounds::client_reports::{Settling, Stopped};
use crate::reconcile::settings_watch::HookPresence;
use crate::reconcile::terminals::SharedTerminals;
use crate::reconcile::watcher::{AgentNow, Report};
use crate::reconcile::{HookSignal, Places, ReconcilerState, WatchTarget, lock};
use headspace_clients as clients;
use headspace_core::model::{Process, Source, observed};
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_platform::{config, process};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// A busy agent is checked this often, whatever is configured for the rest; more often if that is shorter.
const BUSY_PACE: f64 = 2.0;
/// After a hook: most lines are written by the first time, the last text of a turn by the second.
pub(super) const LOOK_AFTER_HOOK: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(1000)];
/// While a report is held back, or a client may be gone.
pub(super) const LOOK_WHILE_WAITING_EVERY: Duration = Duration::from_millis(500);
/// How often the processes of clients are checked: a killed one is noticed within a second.
const CHECK_PROCESSES_EVERY: Duration = Duration::from_millis(400);
/// A client that looks gone is checked again after this.
const RECHECK_GONE_AFTER: Duration = Duration::from_millis(320);
/// A transcript is read this much later than it is written, once for all lines of a burst.
const READ_BURST_AFTER: Duration = Duration::from_millis(40);
/// After the hook of a turn's end the client is idle within moments. One that is still busy then continues: a prompt was
/// queued, or a user's hook said so.
const STILL_BUSY_AFTER: Duration = Duration::from_millis(500);
/// Where the system does not report which files changed, they are checked this often.
const POLL_FILES_EVERY: Duration = Duration::from_secs(1);
/// What hooks spooled before this server started is recorded first; but wait no longer than this.
const SPOOL_READ_WITHIN: Duration = Duration::from_secs(10);
/// How long clients take to reload changed settings.
const CLIENT_RELOADS_WITHIN: Duration = Duration::from_secs(3);
/// A session that is not current in any agent is watched this much longer: its last lines come late.
const WATCH_LEFT_SESSION_FOR: Duration = Duration::from_secs(5);

/// A configured time; anything that is not a useful number becomes the shortest or the longest we support.
pub(super) fn seconds(value: f64) -> Duration {
    Duration::from_secs_f64(if value.is_nan() { BUSY_PACE } else { value.clamp(0.1, 1e9) })
}

/// The state of the thread.
pub(super) struct ReconcilerThread {
    shared: Arc<ReconcilerState>,
    config: config::Reconcile,
    places: Places,
    files: FileEvents,
    clients: ClientFiles,
    /// Changes of clients' files that have to last for a moment.
    settling: HashMap<u32, Settling>,
    /// Clients whose turn was reported to be over.
    stopped: Vec<Stopped>,
    /// Those that were running in the last round.
    running: Vec<ClientProcess>,
    next_process_check: Instant,
    started: Instant,
    trust_dialogs: TrustDialogs,
    discovery: Discovery,
    liveness: Liveness,
    terminals: SharedTerminals,
    commands: RunningCommands,
    /// Some client may wait for consent to a command, and not say when it gets it.
    asking: bool,
    /// Sessions to read additionally, and when.
    soon: HashMap<String, Vec<Instant>>,
    /// Watched sessions that no agent has any longer, and since when.
    abandoned: HashMap<String, Instant>,
    round: u64,
    next_round: Instant,
    quiet_round: Option<Instant>,
}

/// What woke the thread.
struct News {
    signals: Vec<HookSignal>,
    files: HashSet<PathBuf>,
}

impl ReconcilerThread {
    pub(super) fn new(
        shared: Arc<ReconcilerState>,
        config: config::Reconcile,
        places: Places,
    ) -> ReconcilerThread {
        let inbox = Arc::clone(&shared);
        let files = FileEvents::start(move |path| {
            lock(&inbox.inbox).files.insert(path.to_owned());
            inbox.changed.notify_one();
        });
        ReconcilerThread {
            shared,
            config,
            files,
            clients: ClientFiles::new(places.sessions()),
            settling: HashMap::new(),
            stopped: Vec::new(),
            running: Vec::new(),
            next_process_check: Instant::now() + CHECK_PROCESSES_EVERY,
            started: Instant::now(),
            trust_dialogs: TrustDialogs::default(),
            discovery: Discovery::new(places.projects()),
            places,
            liveness: Liveness::default(),
            terminals: SharedTerminals::default(),
            commands: RunningCommands::default(),
            asking: false,
            soon: HashMap::new(),
            abandoned: HashMap::new(),
            round: 0,
            next_round: Instant::now(),
            quiet_round: None,
        }
    }

    pub(super) fn run(&mut self) {
        while let Some(news) = self.wait() {
            for event in news.signals {
                self.take_signal(event);
            }
            self.files_changed(&news.files);
            self.read_due_sessions();
            self.check_stopped_clients();
            self.report_settled();
            self.check_processes();
            if Instant::now() >= self.next_round {
                self.look_at_all();
            }
        }
    }

    /// When something has to be done even if nothing happens.
    fn due(&self) -> Instant {
        let soon = self.soon.values().flatten().copied();
        let settling = self.settling.values().map(|settling| settling.due);
        let stopped = self.stopped.iter().map(|stopped| stopped.look_at);
        let process_check = (self.asking || !self.running.is_empty()).then_some(self.next_process_check);
        soon.chain(settling)
            .chain(stopped)
            .chain(process_check)
            .chain([self.next_round])
            .min()
            .unwrap_or(self.next_round)
    }

    /// Waits until there is something to do; `None` when the server ends.
    fn wait(&self) -> Option<News> {
        let mut inbox = lock(&self.shared.inbox);
        while !inbox.spool_read && !inbox.stop && self.started.elapsed() < SPOOL_READ_WITHIN {
            inbox = self
                .shared
                .changed
                .wait_timeout(inbox, LOOK_WHILE_WAITING_EVERY)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        let due = self.due();
        while inbox.signals.is_empty() && inbox.files.is_empty() && !inbox.stop {
            let Some(left) = due.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) else {
                break;
            };
            inbox.next_look = Some(due);
            inbox = self.shared.changed.wait_timeout(inbox, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        (!inbox.stop).then(|| News {
            signals: std::mem::take(&mut inbox.signals),
            files: std::mem::take(&mut inbox.files),
        })
    }

    fn take_signal(&mut self, event: HookSignal) {
        self.asking = true;
        if event.ends_turn() {
            let look_at = Instant::now() + STILL_BUSY_AFTER;
            let clients = self.clients.running(&event.session_id).into_iter();
            self.stopped.extend(clients.map(|pid| Stopped { pid, look_at, stop_at: event.at }));
        }
        if let Some(watched) = self.shared.watched_for(&event) {
            self.abandoned.remove(&event.session_id);
            // The first read is not delayed by the next hook, the last one is.
            let [first, last] = LOOK_AFTER_HOOK.map(|wait| Instant::now() + wait);
            let times = self.soon.entry(event.session_id.clone()).or_default();
            times.retain(|time| *time <= first);
            if times.is_empty() {
                times.push(first);
            }
            times.push(last);
            lock(&watched).main.heard(event);
        }
    }

    /// Files of the client were written. Reading them shows whether something changed.
    fn files_changed(&mut self, files: &HashSet<PathBuf>) {
        if files.is_empty() {
            return;
        }
        let sessions = self.places.sessions();
        if files.iter().any(|path| path.starts_with(&sessions)) {
            self.look_at_clients();
        }
        if files.iter().any(|path| self.places.settings.is(path)) {
            self.look_at_settings();
        }
        let written: Vec<String> = lock(&self.shared.watches)
            .iter()
            .filter(|(_, watched)| files.contains(lock(watched).main.path()))
            .map(|(session_id, _)| session_id.clone())
            .collect();
        let soon = Instant::now() + READ_BURST_AFTER;
        for session_id in written {
            let times = self.soon.entry(session_id).or_default();
            if !times.iter().any(|time| *time <= soon) {
                times.push(soon);
            }
        }
    }

    /// Starts a full round as soon as a client's process is gone.
    fn check_processes(&mut self) {
        let now = Instant::now();
        if now < self.next_process_check {
            return;
        }
        self.next_process_check = now + CHECK_PROCESSES_EVERY;
        // Whether the pid exists is enough here; the round checks closely.
        if self.running.iter().any(|client| !process::exists(client.pid)) {
            self.next_round = now;
        }
        if self.asking {
            let targets = self.shared.host.targets();
            self.asking = targets.iter().any(|target| !target.asked_commands.is_empty());
            self.shared.record(self.commands.find(&targets, Stamp::now()));
        }
    }

    fn read_due_sessions(&mut self) {
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
            let target = self.shared.host.target(&session_id);
            self.read_session(&session_id, target.as_ref());
        }
    }

    /// Reads a session's transcript and submits what it says.
    fn read_session(&mut self, session_id: &str, target: Option<&WatchTarget>) {
        let watched = match target {
            Some(target) => self.shared.watched_of(target),
            None => self.shared.watch(session_id),
        };
        let Some(watched) = watched else { return };
        let mut watched = lock(&watched);
        let now = Stamp::now();
        let agent = target.map_or(AgentNow::NO_AGENT, WatchTarget::now);
        if let Some(path) = target.and_then(|target| target.transcript_path.clone()) {
            watched.main.moved_to(path);
        }
        let more = watched.main.read(now);
        let mut reports = watched.main.settle(now, agent);
        if let Some(target) = target {
            reports.extend(watched.subagents_that_ask(target, now));
        }
        if more || watched.main.waits() || watched.main.expects_text(now) {
            let wait = if more { Duration::ZERO } else { LOOK_WHILE_WAITING_EVERY };
            self.soon.entry(session_id.to_owned()).or_default().push(Instant::now() + wait);
        }
        if !reports.is_empty() {
            // Submitted under the lock, so that the next reader of this transcript submits later.
            let submitted = self.shared.host.submit(reports);
            drop(watched);
            self.shared.host.confirm(submitted);
        }
    }

    fn look_at_all(&mut self) {
        self.round += 1;
        let now = Stamp::now();
        let mode = Mode::at(now, self.shared.host.last_hook_at(), self.config.fallback_timeout);
        let quiet_pace = seconds(match mode {
            Mode::HooksActive => self.config.polling_interval_with_hooks,
            Mode::PollingFallback => self.config.polling_interval_fallback,
        });
        let quiet = self.quiet_round.is_none_or(|at| at.elapsed() >= quiet_pace);
        if quiet {
            self.quiet_round = Some(Instant::now());
            self.look_at_settings();
        }
        let targets = self.shared.host.targets();
        for target in &targets {
            if target.busy || quiet {
                self.read_session(&target.session_id, Some(target));
            }
            self.check_client(target, now);
        }
        self.liveness.forget_others(self.round);
        self.running = targets.iter().filter_map(|target| target.client).collect();
        self.look_at_clients();
        self.shared.record(self.terminals.find(&targets, now));
        self.asking = targets.iter().any(|target| !target.asked_commands.is_empty());
        self.look_for_trust_dialogs();
        self.follow(&targets);
        if quiet || self.discovery.waits() {
            self.discover(now);
        }
        self.drop_abandoned(&targets);
        let busy_pace = [self.config.polling_interval_with_hooks, self.config.polling_interval_fallback]
            .into_iter()
            .fold(BUSY_PACE, f64::min);
        let pace = if self.liveness.uncertain() {
            RECHECK_GONE_AFTER
        } else if self.trust_dialogs.waits() {
            LOOK_WHILE_WAITING_EVERY
        } else if self.files.works() {
            Duration::MAX
        } else {
            POLL_FILES_EVERY
        };
        if self.liveness.uncertain() {
            // A client that is already known to be gone is not checked again before the next round.
            self.running.clear();
        }
        self.next_round = Instant::now() + seconds(busy_pace).min(pace);
    }

    /// Looks for clients that ask something before they have a session.
    fn look_for_trust_dialogs(&mut self) {
        let (clients, host) = (&self.clients, &self.shared.host);
        let known = |process: Process| {
            clients.note(process.pid).is_some() || host.target_of(process.into()).is_some()
        };
        let reports = self.trust_dialogs.look(&self.places.config, known);
        self.shared.record(reports);
    }

    /// What the system should watch: the clients' files, the settings, and the transcripts of all living agents.
    fn follow(&mut self, targets: &[WatchTarget]) {
        let mut wanted: HashSet<PathBuf> =
            targets.iter().filter_map(|target| target.transcript_path.clone()).collect();
        wanted.extend([self.places.config.clone(), self.places.sessions()]);
        wanted.extend(self.places.settings.directory());
        self.files.follow(&wanted);
    }

    fn look_at_settings(&mut self) {
        let now = self.places.settings.look();
        let before = lock(&self.shared.hooks).replace(now);
        if before != Some(now) {
            // A client reloads its settings within moments; until then its hooks still come.
            let since =
                if before.is_some() { Stamp::now().plus(CLIENT_RELOADS_WITHIN) } else { Stamp::now() };
            *lock(&self.shared.hooks_lost_at) = Some(since).filter(|_| now != HookPresence::Installed);
        }
        if before.is_some_and(|before| before != now) {
            if now != HookPresence::Installed {
                for watched in lock(&self.shared.watches).values() {
                    lock(watched).main.hooks_are_gone();
                }
            }
            log::line(match now {
                HookPresence::Installed => "settings.json has our hooks again",
                HookPresence::Missing => "settings.json no longer has our hooks: run `headspace install`",
                HookPresence::SwitchedOff => "settings.json switches all hooks off (disableAllHooks)",
                HookPresence::Unreadable => "settings.json cannot be read: run `headspace doctor`",
            });
        }
    }

    fn check_client(&mut self, target: &WatchTarget, now: Stamp) {
        let Some(client) = target.client else { return };
        if !self.liveness.has_gone(client, target.busy, now, self.round) {
            return;
        }
        // Its last texts first.
        self.read_session(&target.session_id, Some(target));
        self.shared.record(vec![Report {
            name: observed::PROCESS_GONE,
            session_id: target.session_id.clone(),
            at: now,
            source: Source::Process,
            body: json!({"claude_pid": client.pid, "claude_pid_start": client.start}),
            tail: None,
        }]);
    }

    fn discover(&mut self, now: Stamp) {
        let host = Arc::clone(&self.shared.host);
        let found = self.discovery.look(now, &|session_id| host.knows(session_id));
        if found.is_empty() {
            return;
        }
        // No hook will report when they end, so their processes are looked up now.
        let running = clients::running();
        let mut taken: HashSet<u32> =
            host.targets().iter().filter_map(|target| Some(target.client?.pid)).collect();
        for found in found {
            let FoundSession { session_id, path, mut watch, finding } = found;
            let client = clients::of_session(&running, &taken, &session_id, &path, finding.cwd.as_ref());
            taken.extend(client.map(|client| client.pid));
            let body = json!({
                "cwd": finding.cwd, "transcript_path": path.to_string_lossy(), "timestamp": finding.last_at,
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
            reports.extend(watch.settle(now, AgentNow::NO_AGENT));
            self.shared.record_found(&session_id, watch, reports);
        }
    }

    /// Sessions that are over or abandoned are not watched forever.
    fn drop_abandoned(&mut self, targets: &[WatchTarget]) {
        let mut watches = lock(&self.shared.watches);
        let current: HashSet<&str> = targets.iter().map(|target| target.session_id.as_str()).collect();
        self.abandoned.retain(|session_id, _| !current.contains(session_id.as_str()));
        watches.retain(|session_id, _| {
            current.contains(session_id.as_str())
                || self.abandoned.entry(session_id.clone()).or_insert_with(Instant::now).elapsed()
                    < WATCH_LEFT_SESSION_FOR
        });
        self.abandoned.retain(|session_id, _| watches.contains_key(session_id));
    }
}
