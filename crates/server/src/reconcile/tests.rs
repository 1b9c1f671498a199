use crate::reconcile::*;
use headspace_core::model::{Source, observed};
use headspace_platform::clock::WallClock;
use serde_json::{Value, json};
use std::io::Write;
use std::time::Duration;

/// A server with one agent: keeps what the reconciler submits, and does nothing with it.
struct Stage {
    dir: tempfile::TempDir,
    targets: Mutex<Vec<WatchTarget>>,
    last_hook: Mutex<Option<Stamp>>,
    reports: Mutex<Vec<Report>>,
    /// How many submissions the reconciler has not waited for yet.
    unconfirmed: Mutex<usize>,
    came: Condvar,
    /// While this is set, nothing is stored.
    disk_full: Mutex<bool>,
}

impl ReconcilerHost for Stage {
    fn targets(&self) -> Vec<WatchTarget> {
        lock(&self.targets).clone()
    }

    fn target(&self, session_id: &str) -> Option<WatchTarget> {
        self.targets().into_iter().find(|target| target.session_id == session_id)
    }

    fn target_of(&self, client: ClientProcess) -> Option<WatchTarget> {
        self.targets().into_iter().find(|target| target.client == Some(client))
    }

    fn hooks_wait(&self) -> bool {
        false
    }

    fn knows(&self, session_id: &str) -> bool {
        self.target(session_id).is_some()
    }

    fn last_hook_at(&self) -> Option<Stamp> {
        *lock(&self.last_hook)
    }

    fn is_here(&self, machine: &headspace_core::model::Machine) -> bool {
        machine.name.as_deref() != Some("elsewhere")
    }

    fn submit(&self, reports: Vec<Report>) -> Submitted {
        *lock(&self.unconfirmed) += 1;
        lock(&self.reports).extend(reports);
        self.came.notify_all();
        Submitted::default()
    }

    fn confirm(&self, _: Submitted) {
        *lock(&self.unconfirmed) -= 1;
        let mut full = lock(&self.disk_full);
        while *full {
            full = self.came.wait(full).unwrap();
        }
    }
}

const QUICK: config::Reconcile = config::Reconcile {
    polling_interval_with_hooks: 0.1,
    polling_interval_fallback: 0.1,
    fallback_timeout: 300.0,
};
/// The reconciler does nothing by itself during a test, except for the first round.
const NEVER: config::Reconcile = config::Reconcile {
    polling_interval_with_hooks: 1e6,
    polling_interval_fallback: 1e6,
    fallback_timeout: 300.0,
};

impl Stage {
    fn new() -> Arc<Stage> {
        Arc::new(Stage {
            dir: tempfile::tempdir().unwrap(),
            targets: Mutex::default(),
            last_hook: Mutex::default(),
            reports: Mutex::default(),
            unconfirmed: Mutex::default(),
            came: Condvar::new(),
            disk_full: Mutex::default(),
        })
    }

    fn path(&self) -> PathBuf {
        let directory = self.dir.path().join("projects/-p");
        std::fs::create_dir_all(&directory).unwrap();
        directory.join("s.jsonl")
    }

    fn target_for(&self, busy: bool) -> WatchTarget {
        WatchTarget {
            resumed: false,
            hooked: true,
            asked_commands: Vec::new(),
            session_id: "s".into(),
            transcript_path: Some(self.path()),
            idle: !busy,
            asks: false,
            answered: false,
            open_dialogs: 0,
            shared_in: None,
            asking_subagents: Vec::new(),
            busy,
            client: None,
            pane: None,
            permission_mode: None,
            active: Stamp::now(),
        }
    }

    fn set_target(&self, target: WatchTarget) {
        *lock(&self.targets) = vec![target];
    }

    fn start(self: &Arc<Stage>, config: config::Reconcile) -> Reconciler {
        let host = Arc::clone(self) as Arc<dyn ReconcilerHost>;
        let settings = SettingsWatch::at(self.dir.path().join("settings.json"), None);
        let places = Places { config: self.dir.path().to_owned(), settings };
        let reconciler = Reconciler::start(host, config, places, HashMap::new()).unwrap();
        reconciler.spool_was_read();
        reconciler
    }

    fn write(&self, kind: &str, rest: Value) {
        let mut line =
            json!({"type": kind, "uuid": "u", "timestamp": Stamp::now(), "isSidechain": false, "cwd": "/p"});
        for (key, value) in rest.as_object().unwrap() {
            line[key] = value.clone();
        }
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(self.path()).unwrap();
        writeln!(file, "{line}").unwrap();
    }

    fn interrupt(&self) {
        self.write("user", json!({"message": {"content": "[Request interrupted by user]"}}));
    }

    fn wait_for(&self, name: &str) -> Report {
        let deadline = Instant::now() + Duration::from_secs(20);
        let mut reports = lock(&self.reports);
        loop {
            if let Some(report) = reports.iter().find(|report| report.name == name) {
                return report.clone();
            }
            let left = deadline.checked_duration_since(Instant::now()).unwrap_or_default();
            assert!(!left.is_zero(), "no {name} in {reports:?}");
            reports = self.came.wait_timeout(reports, left).unwrap().0;
        }
    }
}

fn signal(name: &str, path: &std::path::Path) -> HookSignal {
    HookSignal::new(name, "s", Stamp::now(), &json!({"transcript_path": path}))
}

#[test]
fn esc_of_a_busy_agent_is_seen_without_any_hook() {
    let stage = Stage::new();
    stage.set_target(stage.target_for(true));
    let _reconciler = stage.start(QUICK);
    stage.interrupt();
    let report = stage.wait_for(observed::INTERRUPTED);
    assert_eq!((report.session_id.as_str(), report.source), ("s", Source::Transcript));
    assert!(report.tail.is_some());
}

#[test]
fn a_transcript_is_read_soon_after_a_hook() {
    let stage = Stage::new();
    let reconciler = stage.start(NEVER);
    reconciler.heard(signal("UserPromptSubmit", &stage.path()));
    stage.interrupt();
    stage.wait_for(observed::INTERRUPTED);
}

#[test]
fn a_path_on_another_machine_is_not_read() {
    let stage = Stage::new();
    let reconciler = stage.start(NEVER);
    stage.interrupt();
    let body = json!({"transcript_path": stage.path(), "host": "elsewhere"});
    let event = HookSignal::new("UserPromptSubmit", "s", Stamp::default(), &body);
    assert_eq!(reconciler.read_now(&event, None), []);
    let event =
        HookSignal::new("UserPromptSubmit", "s", Stamp::default(), &json!({"transcript_path": stage.path()}));
    assert_eq!(reconciler.read_now(&event, None)[0].name, observed::INTERRUPTED);
}

#[test]
fn the_transcript_can_be_read_at_once() {
    let stage = Stage::new();
    let mut target = stage.target_for(true);
    target.asks = true;
    stage.set_target(target);
    let reconciler = stage.start(NEVER);
    reconciler.heard(signal("PermissionRequest", &stage.path()));
    stage.interrupt();
    let prompt = signal("UserPromptSubmit", &stage.path());
    assert!(reconciler.is_needed_before("UserPromptSubmit", &prompt));
    // The thread may have been faster; between them the line is reported once.
    let mut own = Vec::new();
    let mut interrupts = || {
        own.extend(reconciler.read_now(&prompt, None));
        let all = own.iter().cloned().chain(lock(&stage.reports).clone());
        all.filter(|report: &Report| report.name == observed::INTERRUPTED).count()
    };
    let deadline = std::time::Instant::now() + Duration::from_secs(10);
    while interrupts() == 0 && std::time::Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(interrupts(), 1);
    let stop = HookSignal::new("Stop", "s", Stamp::now(), &json!({}));
    assert!(reconciler.is_needed_before("Stop", &stop));
    let stop = HookSignal::new("Stop", "s", Stamp::now(), &json!({"last_assistant_message": "Done."}));
    assert!(!reconciler.is_needed_before("Stop", &stop));
}

#[test]
fn a_session_that_no_hook_reported_is_found() {
    let stage = Stage::new();
    stage.write(
        "user",
        json!({"message": {"content": "upgrade the deps"}, "entrypoint": "cli", "gitBranch": "main"}),
    );
    let _reconciler = stage.start(QUICK);
    let found = stage.wait_for(observed::SESSION_FOUND);
    assert_eq!((&found.body["cwd"], &found.body["entrypoint"]), (&json!("/p"), &json!("cli")));
    assert_eq!(stage.wait_for(observed::PROMPT).body["text"], "upgrade the deps");
}

#[cfg(unix)]
#[test]
fn a_client_that_is_gone_is_reported_after_its_last_texts() {
    let stage = Stage::new();
    let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let mut target = stage.target_for(false);
    target.client = Some(ClientProcess { pid: child.id(), start: None });
    stage.set_target(target);
    let _reconciler = stage.start(QUICK);
    stage.interrupt();
    child.kill().unwrap();
    child.wait().unwrap();
    let gone = stage.wait_for(observed::PROCESS_GONE);
    assert_eq!((gone.source, &gone.body["claude_pid"]), (Source::Process, &json!(child.id())));
    assert_eq!(lock(&stage.reports)[0].name, observed::INTERRUPTED);
}

#[test]
fn a_subagents_refusal_is_seen_in_its_own_transcript() {
    let stage = Stage::new();
    let mut target = stage.target_for(true);
    target.asking_subagents = vec![("a1".into(), Stamp::now())];
    stage.set_target(target);
    let _reconciler = stage.start(QUICK);
    let path = stage.path().with_extension("").join("subagents/agent-a1.jsonl");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let content = json!([{"type": "tool_result", "tool_use_id": "t1", "is_error": true}]);
    let line = json!({"type": "user", "uuid": "u", "timestamp": Stamp::now(), "isSidechain": true,
        "toolDenialKind": "user-rejected", "message": {"content": content}});
    std::fs::write(path, format!("{line}\n")).unwrap();
    assert_eq!(stage.wait_for(observed::REFUSED).body["agent_id"], "a1");
}

#[cfg(target_os = "linux")]
#[test]
fn a_client_found_by_its_status_file_is_reported_until_it_is_stored() {
    let stage = Stage::new();
    let sessions = stage.dir.path().join("sessions");
    std::fs::create_dir(&sessions).unwrap();
    let (pid, start) = (std::process::id(), headspace_platform::process::start_time(std::process::id()));
    let note = json!({"pid": pid, "procStart": start, "sessionId": "found", "status": "idle", "cwd": "/p",
        "statusUpdatedAt": Stamp::now().0 / 1_000_000});
    std::fs::write(sessions.join(format!("{pid}.json")), note.to_string()).unwrap();
    let _reconciler = stage.start(QUICK);
    assert_eq!(stage.wait_for(observed::CLIENT_STATUS).session_id, "found");
    let deadline = Instant::now() + Duration::from_secs(20);
    while *lock(&stage.unconfirmed) > 0 {
        assert!(Instant::now() < deadline, "the report may be lost, and nobody would notice");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A line that was written while no server ran is read from where the last server stopped, whichever thread is first to
/// ask for the session's watcher.
#[test]
fn two_threads_that_begin_to_watch_a_session_share_the_saved_position() {
    let stage = Stage::new();
    stage.interrupt();
    let path = stage.path();
    for round in 0..300 {
        let mark = Mark { path: path.clone(), offset: 0, inode: 0, check: None };
        let state = ReconcilerState {
            host: Arc::clone(&stage) as Arc<dyn ReconcilerHost>,
            inbox: Mutex::default(),
            changed: Condvar::new(),
            watches: Mutex::default(),
            marks: Mutex::new(HashMap::from([("s".to_owned(), mark)])),
            hooks: Mutex::default(),
            hooks_lost_at: Mutex::default(),
            viewers: panes::Viewers::default(),
        };
        let together = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let event = signal("PreToolUse", &path);
                    together.wait();
                    state.watched_for(&event);
                });
            }
        });
        let watched = state.watch("s").unwrap();
        let mut watched = lock(&watched);
        let now = Stamp::now();
        watched.main.read(now);
        let reports = watched.main.settle(now, stage.target_for(true).now());
        assert_eq!(reports.len(), 1, "round {round}: the line was skipped");
    }
}

#[test]
fn nonsense_for_an_interval_becomes_a_valid_interval() {
    for value in [f64::NAN, f64::NEG_INFINITY, -1.0, 0.0, f64::INFINITY] {
        let pace = rounds::seconds(value);
        assert!(pace >= Duration::from_millis(100) && pace < Duration::from_secs(2_000_000_000), "{value}");
    }
}

/// A hook that waits for its transcript must not wait for the disk too.
#[test]
fn a_transcript_can_be_read_while_the_store_is_blocked() {
    let stage = Stage::new();
    stage.set_target(stage.target_for(true));
    *lock(&stage.disk_full) = true;
    let reconciler = stage.start(QUICK);
    stage.interrupt();
    stage.wait_for(observed::INTERRUPTED);
    // The reconciler's thread waits for the store now.
    let stop = HookSignal::new("Stop", "s", Stamp::now(), &json!({"transcript_path": stage.path()}));
    let (done, read) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(|| done.send(reconciler.read_now(&stop, None)));
        let answer = read.recv_timeout(Duration::from_secs(20));
        *lock(&stage.disk_full) = false;
        stage.came.notify_all();
        assert!(answer.is_ok(), "still waiting for the transcript");
    });
}

#[test]
fn a_thread_that_hangs_does_not_hold_up_the_end() {
    let stage = Stage::new();
    stage.set_target(stage.target_for(true));
    *lock(&stage.disk_full) = true;
    let reconciler = stage.start(QUICK);
    stage.interrupt();
    stage.wait_for(observed::INTERRUPTED);
    let (done, ended) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        drop(reconciler);
        done.send(())
    });
    let answer = ended.recv_timeout(Duration::from_secs(60));
    *lock(&stage.disk_full) = false;
    stage.came.notify_all();
    assert!(answer.is_ok(), "the end waits for the thread");
}
