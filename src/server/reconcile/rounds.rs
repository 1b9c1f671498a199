//! What the reconciler's thread does, round after round.

use super::{Heard, Places, Seat, Shared, lock};
use crate::clients;
use crate::clock::Stamp;
use crate::config;
use crate::model::{Source, observed};
use crate::server::discover::{Discovery, Found};
use crate::server::installed::{Hooks, Settings};
use crate::server::liveness::Liveness;
use crate::server::status::Mode;
use crate::server::watch::{Now, Report};
use crate::server::{log, presence};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// A busy agent is looked at this often, whatever is configured for the rest; oftener if that is.
const BUSY_PACE: f64 = 2.0;
/// After a hook: most lines are there by the first, the last words of a turn by the second.
pub(super) const AFTER_HOOK: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(1000)];
/// While something is held back, or a client may be gone.
pub(super) const WAITING_PACE: Duration = Duration::from_millis(500);
/// A session that is nobody's current one any more is watched so much longer: its last lines come late.
const LINGER: Duration = Duration::from_secs(5);

/// A configured time; whatever is no useful number means the shortest or the longest we do.
pub(super) fn seconds(value: f64) -> Duration {
    Duration::from_secs_f64(if value.is_nan() { BUSY_PACE } else { value.clamp(0.1, 1e9) })
}

/// What the thread does, round after round.
pub(super) struct Rounds {
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
    pub(super) fn new(shared: Arc<Shared>, config: config::Reconcile, places: Places) -> Rounds {
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

    pub(super) fn run(&mut self) {
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
        if more || watched.main.waits() || watched.main.expects_text(now) {
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
