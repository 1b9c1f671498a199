//! Hybrid mode: what hooks do not report is found in transcripts, processes and settings.

use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_test_support::{Home, Process, Server, each_row, wait_for, wait_until};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A home with a server, and a client's transcripts.
struct Sessions {
    home: Home,
    server: Option<Server>,
    lines: u32,
}

impl Sessions {
    fn new() -> Sessions {
        Sessions::with_pace(0.3)
    }

    /// Agents that are not busy are looked at this often, in seconds.
    fn with_pace(pace: f64) -> Sessions {
        let home = Home::with_xdg_directories();
        std::fs::create_dir_all(home.at("project/.git")).unwrap();
        let pace = json!({"polling_interval_with_hooks": pace, "polling_interval_fallback": pace});
        home.configure(json!({ "reconcile": pace }));
        let server = Some(home.serve());
        Sessions { home, server, lines: 0 }
    }

    fn start(&mut self) {
        self.server = Some(self.home.serve());
    }

    /// Kills the server.
    fn stop(&mut self) {
        self.server.take().unwrap().kill();
    }

    fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    fn transcript(&self, session: &str) -> PathBuf {
        self.home.at(".claude/projects/-project").join(format!("{session}.jsonl"))
    }

    fn post(&self, slug: &str, session: &str, mut body: Value) -> Value {
        body["session_id"] = session.into();
        body["cwd"] = json!(self.home.at("project"));
        if body.get("transcript_path").is_none() {
            body["transcript_path"] = json!(self.transcript(session));
        }
        self.server().hook(slug, body)
    }

    fn get(&self, path: &str) -> Value {
        self.server().get(path)
    }

    fn agent(&self, session: &str) -> Option<Value> {
        let agents = self.get("/api/agents?all=1");
        agents["agents"].as_array().unwrap().iter().find(|agent| agent["session_id"] == session).cloned()
    }

    /// Waits until the agent is as wanted.
    fn until(&self, session: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let mut last = None;
        wait_for(&format!("{session} to be as wanted"), || {
            last = self.agent(session);
            last.clone().filter(|agent| wanted(agent))
        })
    }

    fn turns(&self, agent: &Value) -> Vec<String> {
        let turns = self.get(&format!("/api/agents/{}/turns", agent["id"]));
        let turn =
            |turn: &Value| format!("{} {}: {}", turn["actor"], turn["intent"], turn["text"]).replace('"', "");
        turns["turns"].as_array().unwrap().iter().map(turn).collect()
    }

    fn line(&mut self, kind: &str, rest: Value) -> String {
        self.lines += 1;
        let mut line = json!({"type": kind, "uuid": format!("u{}", self.lines), "isSidechain": false,
            "timestamp": to_the_millisecond(Stamp::now()), "cwd": self.home.at("project"),
            "gitBranch": "main", "entrypoint": "cli"});
        for (key, value) in rest.as_object().unwrap() {
            line[key] = value.clone();
        }
        format!("{line}\n")
    }

    fn write(&mut self, session: &str, kind: &str, rest: Value) {
        let line = self.line(kind, rest);
        append(&self.transcript(session), line.as_bytes());
    }

    fn said(&mut self, session: &str, text: &str, stop_reason: &str) {
        let content = json!([{"type": "text", "text": text}]);
        self.write(
            session,
            "assistant",
            json!({"message": {"content": content, "stop_reason": stop_reason}}),
        );
    }

    fn interrupted(&mut self, session: &str) {
        let content = json!([{"type": "text", "text": "[Request interrupted by user]"}]);
        self.write(session, "user", json!({"message": {"content": content}}));
    }
}

/// As a client writes it.
fn to_the_millisecond(at: Stamp) -> Stamp {
    Stamp(at.millis() * 1_000_000)
}

/// Transcripts have milliseconds and hooks have nanoseconds: what is written now is not older than the hook before it.
/// No condition could be waited for: it is the time itself that has to pass.
fn next_millisecond() {
    std::thread::sleep(Duration::from_millis(3));
}

fn append(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
    file.write_all(bytes).unwrap();
}

fn working(agent: &Value) -> bool {
    agent["status"] == "working"
}

fn idle(agent: &Value) -> bool {
    agent["state"] == "idle"
}

#[test]
fn an_interrupt_while_the_server_was_down_is_seen_when_it_is_back() {
    let mut sessions = Sessions::new();
    sessions.post("user-prompt-submit", "s", json!({"prompt": "go"}));
    sessions.said("s", "On it.", "tool_use");
    let agent = sessions.until("s", |agent| agent["turn_count"] == 2);
    sessions.stop();
    sessions.interrupted("s");
    sessions.start();
    let agent_then = sessions.until("s", idle);
    assert_eq!(agent_then["status_detail"], "interrupted");
    assert_eq!(agent_then["id"], agent["id"]);
    assert_eq!(sessions.turns(&agent), ["user command: go", "agent progress: On it."]);
}

#[test]
fn the_last_answer_is_recorded_before_the_session_ends() {
    each_row(
        [
            ("All of it is done.", "agent completion: All of it is done."),
            ("Shall I push it?", "agent question: Shall I push it?"),
        ],
        |(answer, ..)| answer.to_string(),
        |(answer, taken)| {
            let mut sessions = Sessions::with_pace(60.0);
            sessions.post("user-prompt-submit", "s", json!({"prompt": "go"}));
            sessions.said("s", answer, "end_turn");
            // No Stop: the client was told to leave first.
            sessions.post("session-end", "s", json!({"reason": "prompt_input_exit"}));
            let agent = sessions.agent("s").unwrap();
            assert_eq!(
                (&agent["end_reason"], &agent["status"]),
                (&json!("prompt_input_exit"), &json!("idle"))
            );
            assert_eq!(sessions.turns(&agent), ["user command: go", taken]);
            let events = sessions.get("/api/events?limit=2")["events"].clone();
            assert_eq!(
                (&events[0]["name"], &events[1]["name"]),
                (&json!("TranscriptTurnEnd"), &json!("SessionEnd"))
            );
        },
    );
}

#[test]
fn an_answer_written_after_the_session_ended_is_recorded() {
    let mut sessions = Sessions::with_pace(60.0);
    sessions.post("user-prompt-submit", "s", json!({"prompt": "go"}));
    sessions.post("session-end", "s", json!({"reason": "other"}));
    sessions.said("s", "All of it is done.", "end_turn");
    let agent = sessions.until("s", |agent| agent["turn_count"] == 2);
    assert_eq!(agent["end_reason"], "other");
    assert_eq!(sessions.turns(&agent), ["user command: go", "agent completion: All of it is done."]);
}

#[test]
fn a_stop_without_text_asks_what_its_late_transcript_line_asks() {
    let mut sessions = Sessions::with_pace(60.0);
    sessions.post("user-prompt-submit", "s", json!({"prompt": "go"}));
    let content = json!([{"type": "text", "text": "Shall I push it?"}]);
    let line =
        sessions.line("assistant", json!({"message": {"content": content, "stop_reason": "end_turn"}}));
    sessions.post("stop", "s", json!({}));
    assert!(idle(&sessions.agent("s").unwrap()));
    // As long as a busy machine may take, longer than the looks right after a hook: the time itself has to pass.
    std::thread::sleep(Duration::from_secs(3));
    append(&sessions.transcript("s"), line.as_bytes());
    let agent = sessions.until("s", |agent| agent["status"] == "attention");
    assert_eq!(
        (&agent["state"], &agent["interactions"][0]["kind"]),
        (&json!("awaiting_input"), &json!("reply"))
    );
    assert_eq!(sessions.turns(&agent), ["user command: go", "agent question: Shall I push it?"]);
}

#[test]
fn an_interrupt_before_the_first_output_is_seen_in_the_clients_status_file() {
    let sessions = Sessions::new();
    let pid = std::process::id();
    let start = headspace_platform::process::start_time(pid);
    let client = json!({"claude_pid": pid, "claude_pid_start": start});
    let mut prompt = client.clone();
    prompt["prompt"] = "go".into();
    sessions.post("session-start", "s1", client);
    sessions.post("user-prompt-submit", "s1", prompt);
    let status_files = sessions.home.at(".claude/sessions");
    std::fs::create_dir_all(&status_files).unwrap();
    let says = |status: &str, session: &str| {
        let now =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
        let text = json!({"pid": pid, "sessionId": session, "procStart": start.unwrap().to_string(),
            "status": status, "updatedAt": now, "statusUpdatedAt": now});
        std::fs::write(status_files.join(format!("{pid}.json")), text.to_string()).unwrap();
    };
    says("busy", "s1");
    let agent = sessions.until("s1", |agent| agent["client_status"]["status"] == "busy");
    assert!(working(&agent));
    says("idle", "another");
    // Nothing shows that a file was read which says nothing about s1: several rounds of the reconciler have to pass.
    std::thread::sleep(Duration::from_millis(1500));
    assert!(working(&sessions.agent("s1").unwrap()));
    says("idle", "s1");
    let agent = sessions.until("s1", idle);
    assert_eq!((&agent["status_detail"], &agent["source"]), (&json!("interrupted"), &json!("client")));
}

#[test]
fn a_half_written_line_waits_for_the_rest() {
    let mut sessions = Sessions::new();
    sessions.post("user-prompt-submit", "s", json!({"prompt": "go"}));
    sessions.said("s", "First.", "tool_use");
    let content = json!([{"type": "text", "text": "[Request interrupted by user]"}]);
    let line = sessions.line("user", json!({"message": {"content": content}}));
    let (one, two) = line.split_at(line.len() - 20);
    append(&sessions.transcript("s"), one.as_bytes());
    let agent = sessions.until("s", |agent| agent["turn_count"] == 2);
    assert!(working(&agent));
    append(&sessions.transcript("s"), two.as_bytes());
    sessions.until("s", idle);
}

#[test]
fn the_transcript_reports_what_lost_hooks_do_not() {
    let mut sessions = Sessions::new();
    sessions.post("session-start", "s", json!({"source": "startup"}));
    // The time by which a hook may be late must be over.
    std::thread::sleep(Duration::from_millis(2100));
    sessions.write("s", "user", json!({"message": {"content": "upgrade the deps"}, "promptId": "p1"}));
    let agent = sessions.until("s", working);
    assert_eq!((&agent["source"], &agent["confidence"]), (&json!("transcript"), &json!("medium")));
    assert_eq!(agent["current_command"]["instruction"], "upgrade the deps");
    let call = json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "npm up"}}]);
    sessions.write("s", "assistant", json!({"message": {"content": call, "stop_reason": "tool_use"}}));
    sessions.until("s", |agent| agent["status_detail"] == "Bash: npm up");
    sessions.said("s", "All upgraded.", "end_turn");
    let agent = sessions.until("s", idle);
    assert_eq!(sessions.turns(&agent), ["user command: upgrade the deps", "agent completion: All upgraded."]);
}

#[test]
fn a_discovered_session_keeps_its_agent_when_hooks_arrive() {
    let mut sessions = Sessions::new();
    sessions.write("s", "user", json!({"message": {"content": "look around"}}));
    let found = sessions.until("s", working);
    assert_eq!(found["source"], "transcript");
    let answer = sessions.post("stop", "s", json!({"last_assistant_message": "Looked."}));
    assert_eq!((&answer["agent_id"], &answer["is_new_agent"]), (&found["id"], &json!(false)));
    let agent = sessions.until("s", idle);
    assert_eq!((&agent["source"], &agent["confidence"]), (&json!("hook"), &json!("high")));
    assert_eq!(sessions.turns(&agent), ["user command: look around", "agent completion: Looked."]);
}

/// No hook reports its end, so its process is watched. That needs the directory of a process, which only Linux shows.
#[test]
#[cfg(target_os = "linux")]
fn a_discovered_session_ends_with_its_process() {
    let mut sessions = Sessions::new();
    let client = Process::named("claude", &sessions.home.at("project"));
    sessions.write("s", "user", json!({"message": {"content": "look around"}}));
    sessions.said("s", "Looked.", "end_turn");
    let found = sessions.until("s", idle);
    assert_eq!(found["source"], "transcript");
    assert_eq!(found["claude_pid"], client.id());
    // The process is stored, so this works across a restart too.
    sessions.stop();
    sessions.start();
    assert_eq!(sessions.agent("s").unwrap()["ended_at"], Value::Null);
    drop(client);
    let ended = sessions.until("s", |agent| !agent["ended_at"].is_null());
    assert_eq!(ended["end_reason"], "process_gone");
}

#[test]
fn a_prompt_after_a_refusal_is_a_command_and_not_an_answer() {
    let mut sessions = Sessions::new();
    let call = json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "rm x"}});
    sessions.post("user-prompt-submit", "s", json!({"prompt": "clean up"}));
    sessions.post("pre-tool-use", "s", call.clone());
    let asked = sessions.post("permission-request", "s", call);
    assert_eq!(asked["state"], "awaiting_input");
    let result = json!([{"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": "no"}]);
    sessions.write("s", "user", json!({"message": {"content": result}, "toolDenialKind": "user-rejected"}));
    sessions.interrupted("s");
    sessions.post("user-prompt-submit", "s", json!({"prompt": "leave it"}));
    let agent = sessions.agent("s").unwrap();
    let turns = sessions.turns(&agent);
    assert_eq!(turns[turns.len() - 1], "user command: leave it");
    let commands = sessions.get(&format!("/api/agents/{}/commands", agent["id"]));
    let states: Vec<&Value> = commands["commands"].as_array().unwrap().iter().map(|c| &c["state"]).collect();
    assert_eq!(states, ["complete", "processing"]);
}

#[test]
fn a_turn_goes_on_after_a_refusal_with_instructions() {
    let mut sessions = Sessions::new();
    let call = json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "rm x"}});
    sessions.post("user-prompt-submit", "s", json!({"prompt": "clean up"}));
    sessions.post("pre-tool-use", "s", call.clone());
    sessions.post("permission-request", "s", call);
    let result =
        json!([{"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": "use trash"}]);
    sessions.write("s", "user", json!({"message": {"content": result}, "toolDenialKind": "user-rejected"}));
    let agent = sessions.until("s", |agent| agent["interactions"] == json!([]));
    assert_eq!((&agent["state"], &agent["status"]), (&json!("processing"), &json!("working")));
}

/// Lines have milliseconds, hooks nanoseconds. A line that was written after a prompt's hook is about the turn it began, one
/// written before it is not, even if their times do not tell.
#[test]
fn a_line_in_the_millisecond_of_a_prompt_counts_by_when_it_was_written() {
    let esc = json!([{"type": "text", "text": "[Request interrupted by user]"}]);
    let done = json!([{"type": "text", "text": "All of it is done."}]);
    let rows = [
        ("an answer after it", "assistant", &done, false, "idle"),
        ("Esc after it", "user", &esc, false, "idle"),
        ("Esc before it", "user", &esc, true, "working"),
    ];
    each_row(
        rows,
        |(what, ..)| what.to_string(),
        |(_, kind, content, before, status)| {
            let mut sessions = Sessions::with_pace(60.0);
            let millisecond = to_the_millisecond(Stamp::now().minus(Duration::from_secs(2)));
            let sent = |after: Duration| json!(millisecond.plus(after));
            let started =
                json!({"source": "startup", "sent_at": millisecond.minus(Duration::from_millis(5))});
            sessions.post("session-start", "s", started);
            let message = json!({"content": content, "stop_reason": "end_turn"});
            let line = sessions.line(kind, json!({"timestamp": millisecond, "message": message}));
            let path = sessions.transcript("s");
            if before {
                append(&path, line.as_bytes());
            }
            let prompt = json!({"prompt": "go", "sent_at": sent(Duration::from_micros(700))});
            sessions.post("user-prompt-submit", "s", prompt);
            if !before {
                append(&path, line.as_bytes());
            }
            if kind == "assistant" {
                sessions.post("stop", "s", json!({"sent_at": sent(Duration::from_millis(3))}));
                let agent = sessions.until("s", idle);
                assert_eq!(
                    sessions.turns(&agent),
                    ["user command: go", "agent completion: All of it is done."]
                );
            }
            // The transcript was read when its title is known.
            let title = sessions.line("custom-title", json!({"customTitle": "read up to here"}));
            append(&path, title.as_bytes());
            let agent = sessions.until("s", |agent| agent["name"] == "read up to here");
            assert_eq!(agent["status"], status);
        },
    );
}

#[test]
fn a_transcript_that_moves_is_followed() {
    let mut sessions = Sessions::new();
    sessions.post("user-prompt-submit", "s", json!({"prompt": "go"}));
    sessions.said("s", "Before the move.", "tool_use");
    let agent = sessions.until("s", |agent| agent["turn_count"] == 2);
    let there = sessions.home.at(".claude/projects/-worktree/s.jsonl");
    std::fs::create_dir_all(there.parent().unwrap()).unwrap();
    std::fs::rename(sessions.transcript("s"), &there).unwrap();
    sessions.post("post-tool-use", "s", json!({"tool_name": "EnterWorktree", "transcript_path": there}));
    let content = json!([{"type": "text", "text": "After the move."}]);
    next_millisecond();
    let line =
        sessions.line("assistant", json!({"message": {"content": content, "stop_reason": "tool_use"}}));
    append(&there, line.as_bytes());
    sessions.until("s", |agent| agent["turn_count"] == 3);
    let turns = ["user command: go", "agent progress: Before the move.", "agent progress: After the move."];
    assert_eq!(sessions.turns(&agent), turns);
}

#[test]
fn a_long_transcript_is_read_from_its_end() {
    let mut sessions = Sessions::new();
    let usage = json!({"input_tokens": 50_000});
    let old = json!([{"type": "text", "text": "Old words."}]);
    let message =
        json!({"content": old, "model": "claude-opus-4-1", "usage": usage, "stop_reason": "tool_use"});
    let noise = format!("{{\"type\":\"attachment\",\"x\":\"{}\"}}\n", "y".repeat(1 << 20));
    for _ in 0..40 {
        append(&sessions.transcript("s"), noise.as_bytes());
    }
    sessions.write("s", "assistant", json!({ "message": message }));
    next_millisecond();
    sessions.post("pre-tool-use", "s", json!({"tool_name": "Bash", "tool_use_id": "t1"}));
    sessions.said("s", "New words.", "tool_use");
    let agent =
        sessions.until("s", |agent| agent["context"]["used_tokens"] == 50_000 && agent["turn_count"] == 1);
    assert_eq!(sessions.turns(&agent), ["agent progress: New words."]);
    let io = std::fs::read_to_string(format!("/proc/{}/io", sessions.server().pid()));
    if let Ok(io) = io {
        let read: u64 = io.lines().next().unwrap().rsplit(' ').next().unwrap().parse().unwrap();
        assert!(read < 20 << 20, "read {read} bytes");
    }
}

#[test]
fn a_process_on_another_host_is_not_looked_up_here() {
    let sessions = Sessions::new();
    // No process can have this pid.
    let gone = json!({"claude_pid": 4_194_305, "claude_pid_start": 1});
    let mut elsewhere = gone.clone();
    elsewhere["host"] = "another-machine.invalid".into();
    sessions.post("session-start", "there", elsewhere);
    sessions.post("session-start", "here", gone);
    let agent = sessions.until("here", |agent| !agent["ended_at"].is_null());
    assert_eq!(agent["end_reason"], "process_gone");
    assert_eq!(sessions.agent("there").unwrap()["ended_at"], Value::Null);
}

/// Two containers have the same name, and the pids of one mean nothing in the other.
#[test]
fn a_process_on_another_machine_with_our_name_is_not_looked_up_here() {
    let sessions = Sessions::new();
    let ours = std::fs::read_to_string(sessions.home.state().join("host_id")).unwrap();
    let name = headspace_platform::process::host_name();
    let gone =
        |id: &str| json!({"claude_pid": 4_194_305, "claude_pid_start": 1, "host": name, "host_id": id});
    sessions.post("session-start", "there", gone("0123456789abcdef0123456789abcdef"));
    sessions.post("session-start", "here", gone(ours.trim()));
    let agent = sessions.until("here", |agent| !agent["ended_at"].is_null());
    assert_eq!((&agent["end_reason"], &agent["elsewhere"]), (&json!("process_gone"), &json!(false)));
    let there = sessions.agent("there").unwrap();
    assert_eq!((&there["ended_at"], &there["elsewhere"]), (&Value::Null, &json!(true)));
    assert_ne!(there["id"], agent["id"]);
}

#[test]
fn a_machine_that_was_renamed_is_still_this_one() {
    let sessions = Sessions::new();
    let ours = std::fs::read_to_string(sessions.home.state().join("host_id")).unwrap();
    let client = Process::idle();
    let start = headspace_platform::process::start_time(client.id());
    let from = |start: Option<u64>| json!({"claude_pid": client.id(), "claude_pid_start": start, "host": "renamed.invalid", "host_id": ours.trim()});
    sessions.post("session-start", "renamed", from(start));
    // Another process with the same pid: a container that shares our state directory.
    let mut elsewhere = from(start.map(|start| start + 1));
    elsewhere["working_directory"] = json!("/elsewhere");
    sessions.post("session-start", "shared", elsewhere);
    assert_eq!(sessions.agent("renamed").unwrap()["elsewhere"], false);
    drop(client);
    let agent = sessions.until("renamed", |agent| !agent["ended_at"].is_null());
    assert_eq!(agent["end_reason"], "process_gone");
    let shared = sessions.agent("shared").unwrap();
    assert_eq!((&shared["ended_at"], &shared["elsewhere"]), (&Value::Null, &json!(true)));
}

#[test]
fn a_subagents_refused_dialog_is_closed() {
    let mut sessions = Sessions::new();
    let call = json!({"agent_id": "a1", "agent_type": "helper", "tool_name": "Bash", "tool_use_id": "t1"});
    sessions.post("subagent-start", "s", json!({"agent_id": "a1", "agent_type": "helper"}));
    sessions.post("pre-tool-use", "s", call.clone());
    sessions.post("permission-request", "s", call);
    sessions.until("s", |agent| agent["status"] == "attention");
    let result = json!([{"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": "no"}]);
    next_millisecond();
    let refusal =
        json!({"isSidechain": true, "message": {"content": result}, "toolDenialKind": "user-rejected"});
    let line = sessions.line("user", refusal);
    let path = sessions.transcript("s").with_extension("").join("subagents/agent-a1.jsonl");
    append(&path, line.as_bytes());
    sessions.until("s", |agent| agent["interactions"] == json!([]) && agent["status"] != "attention");
}

#[test]
fn lost_hooks_are_noticed() {
    let sessions = Sessions::new();
    let settings = sessions.home.at(".claude/settings.json");
    let until = |word: &str| {
        wait_until(&format!("hooks to be {word}"), || sessions.get("/hook/status")["hooks"] == word);
    };
    until("missing");
    let ours = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "headspace notify"}]}]}});
    append(&settings, ours.to_string().as_bytes());
    until("installed");
    std::fs::write(&settings, "{}").unwrap();
    until("missing");
}

/// A process in place of a client, and its status file.
#[cfg(target_os = "linux")]
struct FakeClient {
    process: Process,
    file: PathBuf,
    cwd: PathBuf,
}

#[cfg(target_os = "linux")]
impl FakeClient {
    fn new(sessions: &Sessions) -> FakeClient {
        let process = Process::idle();
        let status_files = sessions.home.at(".claude/sessions");
        std::fs::create_dir_all(&status_files).unwrap();
        let file = status_files.join(format!("{}.json", process.id()));
        FakeClient { process, file, cwd: sessions.home.at("project") }
    }

    fn start_time(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.process.id())).unwrap();
        stat.rsplit(')').next().unwrap().split_whitespace().nth(19).unwrap().parse().unwrap()
    }

    /// What its hooks carry.
    fn hook(&self) -> Value {
        json!({"claude_pid": self.process.id(), "claude_pid_start": self.start_time()})
    }

    fn says(&self, session: &str, status: &str, more: Value) {
        let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64;
        let mut note = json!({
            "pid": self.process.id(), "sessionId": session, "procStart": self.start_time().to_string(),
            "cwd": self.cwd, "entrypoint": "cli", "status": status, "updatedAt": now, "statusUpdatedAt": now,
        });
        for (key, value) in more.as_object().unwrap() {
            note[key] = value.clone();
        }
        std::fs::write(&self.file, note.to_string()).unwrap();
    }
}

/// A dialog that was just opened takes no keys for a moment, and what the client says about it then is not believed: it
/// is the time itself that has to pass.
#[cfg(target_os = "linux")]
fn dialog_takes_keys() {
    std::thread::sleep(Duration::from_millis(400));
}

#[test]
#[cfg(target_os = "linux")]
fn answers_to_a_dialog_are_seen_in_the_clients_status_file() {
    let sessions = Sessions::new();
    let client = FakeClient::new(&sessions);
    let bash = json!({"tool_name": "Bash", "tool_input": {"command": "npm test"}});
    let with = |mut body: Value| {
        for (key, value) in client.hook().as_object().unwrap() {
            body[key] = value.clone();
        }
        body
    };
    sessions.post("session-start", "s1", with(json!({"source": "startup"})));
    sessions.post("user-prompt-submit", "s1", with(json!({"prompt": "test it"})));
    client.says("s1", "busy", json!({}));
    for answer in ["busy", "idle"] {
        sessions.post("pre-tool-use", "s1", with(bash.clone()));
        sessions.post("permission-request", "s1", with(bash.clone()));
        client.says("s1", "waiting", json!({"waitingFor": "permission prompt"}));
        sessions.until("s1", |agent| agent["status"] == "attention");
        dialog_takes_keys();
        client.says("s1", answer, json!({}));
        sessions.until("s1", |agent| agent["status"] == if answer == "busy" { "working" } else { "idle" });
    }
    let agent = sessions.until("s1", |agent| agent["source"] == "client");
    assert_eq!(agent["client_status"]["status"], "idle");
    client.says("s1", "idle", json!({"name": "my-name", "nameSource": "user"}));
    sessions.until("s1", |agent| agent["name"] == "my-name");
    // The end of the process ends the agent, whatever its leftover file says.
    drop(client);
    sessions.until("s1", |agent| agent["end_reason"] == "process_gone");
}

#[test]
#[cfg(target_os = "linux")]
fn a_session_without_hooks_is_discovered_by_its_status_file_and_its_dialog_needs_the_user() {
    let sessions = Sessions::new();
    let client = FakeClient::new(&sessions);
    client.says("s1", "idle", json!({}));
    let agent = sessions.until("s1", |agent| agent["status"] == "idle");
    assert_eq!((&agent["source"], &agent["claude_pid"]), (&json!("client"), &json!(client.process.id())));
    client.says("s1", "waiting", json!({"waitingFor": "permission prompt"}));
    let agent = sessions.until("s1", |agent| agent["status"] == "attention");
    assert_eq!(agent["interactions"][0]["kind"], "dialog");
    assert_eq!(agent["interactions"][0]["text"], "permission prompt");
    client.says("s1", "busy", json!({}));
    sessions.until("s1", |agent| agent["status"] == "working");
    client.says("s1", "shell", json!({}));
    sessions.until("s1", |agent| agent["group"] == "background");
    // The file of another process, or of one that has ended, is ignored.
    client.says("s1", "waiting", json!({"procStart": "1"}));
    std::fs::write(client.file.with_file_name("1.json"), r#"{"pid":1,"sessionId":"s2","status":"busy"}"#)
        .unwrap();
    client.says("s1", "idle", json!({}));
    let agent = sessions.until("s1", |agent| agent["group"] != "background");
    assert_eq!(agent["status"], "idle");
    assert!(sessions.agent("s2").is_none());
    assert!(sessions.turns(&agent).is_empty(), "the file makes no turns");
}

/// The process fits, and the session does not: what a file says about another session is not about this one.
#[test]
#[cfg(target_os = "linux")]
fn a_status_file_with_another_session_does_not_overrule_hooks() {
    let mut sessions = Sessions::new();
    wait_until("the settings to be read", || sessions.get("/hook/status")["hooks"] == "missing");
    let client = FakeClient::new(&sessions);
    let with = |more: Value| {
        // A session without a transcript, whose hooks are not in the user's settings.
        let mut body = json!({"transcript_path": null});
        for (key, value) in client.hook().as_object().unwrap().iter().chain(more.as_object().unwrap()) {
            body[key] = value.clone();
        }
        body
    };
    sessions.post("session-start", "s1", with(json!({"source": "startup"})));
    let known = sessions.post("user-prompt-submit", "s1", with(json!({"prompt": "go"})))["agent_id"].clone();
    client.says("s1", "busy", json!({}));
    sessions.until("s1", |agent| agent["client_status"]["status"] == "busy");
    client.says("another", "idle", json!({}));
    // A file that is written later is read: then the first one was.
    let later = FakeClient::new(&sessions);
    later.says("later", "idle", json!({}));
    sessions.until("later", idle);
    assert!(working(&sessions.agent("s1").unwrap()));
    assert!(sessions.agent("another").is_none());
    client.says("s1", "idle", json!({}));
    sessions.until("s1", idle);
    // `/clear` of a client whose hooks are gone: the new session has a transcript where the client writes it.
    let directory: String = sessions.home.at("project").display().to_string();
    let directory: String =
        directory.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let line = sessions.line("user", json!({"message": {"content": "a fresh start"}}));
    append(&sessions.home.at(".claude/projects").join(directory).join("s2.jsonl"), line.as_bytes());
    client.says("s2", "busy", json!({}));
    let agent = sessions.until("s2", |agent| agent["client_status"]["status"] == "busy");
    assert_eq!(agent["id"], known, "the same process, the same agent");
    assert_eq!(agent["sessions"], json!(["s1", "s2"]));
}

#[test]
#[cfg(target_os = "linux")]
fn a_client_without_hooks_moves_to_another_session_with_its_file() {
    let sessions = Sessions::new();
    let client = FakeClient::new(&sessions);
    client.says("s1", "busy", json!({}));
    let before = sessions.until("s1", working);
    // Right after `/clear` there is no transcript yet.
    client.says("s2", "waiting", json!({"waitingFor": "input needed"}));
    let after = sessions.until("s2", |agent| agent["status"] == "attention");
    assert_eq!((&after["id"], &after["sessions"]), (&before["id"], &json!(["s1", "s2"])));
}

#[test]
#[cfg(target_os = "linux")]
fn without_the_status_file_the_transcript_still_shows_an_interrupt() {
    let mut sessions = Sessions::new();
    let client = FakeClient::new(&sessions);
    client.says("s1", "busy", json!({}));
    sessions.post("session-start", "s1", client.hook());
    sessions.post("user-prompt-submit", "s1", json!({"prompt": "work"}));
    std::fs::remove_file(&client.file).unwrap();
    sessions.write("s1", "user", json!({"message": {"content": "[Request interrupted by user]"}}));
    sessions.until("s1", |agent| agent["status"] == "idle" && agent["status_detail"] == "interrupted");
}

#[test]
#[cfg(target_os = "linux")]
fn hooks_removed_from_the_settings_are_noticed_at_once() {
    let sessions = Sessions::new();
    let settings = sessions.home.at(".claude/settings.json");
    std::fs::create_dir_all(settings.parent().unwrap()).unwrap();
    let ours =
        r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "/usr/bin/headspace notify"}]}]}}"#;
    std::fs::write(&settings, ours).unwrap();
    let says = |word: &str| {
        wait_until(&format!("hooks to be {word}"), || sessions.get("/hook/status")["hooks"] == word);
    };
    says("installed");
    // Editors replace a file by renaming another one.
    std::fs::write(settings.with_extension("new"), "{}").unwrap();
    std::fs::rename(settings.with_extension("new"), &settings).unwrap();
    says("missing");
    let client = FakeClient::new(&sessions);
    client.says("s1", "waiting", json!({"waitingFor": "input needed"}));
    sessions.until("s1", |agent| agent["status"] == "attention");
}
