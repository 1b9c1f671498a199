//! The guard through the binary: what it reads, prints and exits with.

#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

struct Home {
    dir: tempfile::TempDir,
}

impl Home {
    fn new() -> Home {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("home/proj/.git")).unwrap();
        Home { dir }
    }

    fn home(&self) -> std::path::PathBuf {
        self.dir.path().join("home")
    }

    fn configure(&self, text: &str) {
        let dir = self.home().join(".config/headspace");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("config.jsonc"), text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let home = self.home();
        let mut command = Command::new(env!("CARGO_BIN_EXE_headspace"));
        command
            .args(args)
            .env_clear()
            .env("HOME", &home)
            .env("USER", "dev")
            .env("CLAUDE_PROJECT_DIR", home.join("proj"))
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("XDG_STATE_HOME", home.join(".local/state"))
            // Nobody listens there: verdicts have nowhere to go.
            .env("CLAUDE_HEADSPACE_URL", "http://127.0.0.1:9")
            .current_dir(home.join("proj"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, args: &[&str], stdin: &[u8]) -> Output {
        let mut child = self.command(args).spawn().unwrap();
        let mut pipe = child.stdin.take().unwrap();
        let _ = pipe.write_all(stdin);
        drop(pipe);
        child.wait_with_output().unwrap()
    }

    fn payload(&self, command: &str) -> Vec<u8> {
        payload(&self.home().join("proj"), command)
    }
}

fn payload(cwd: &Path, command: &str) -> Vec<u8> {
    let payload = json!({
        "session_id": "s1", "hook_event_name": "PreToolUse", "cwd": cwd,
        "tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "t1",
    });
    serde_json::to_vec(&payload).unwrap()
}

fn answer(output: &Output) -> Value {
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn check_answers_every_input() {
    let home = Home::new();
    for (stdin, verdict) in [
        (home.payload("rm -rf /usr/local"), "deny"),
        (home.payload("echo hi"), "allow"),
        (home.payload("echo \"open"), "ask"),
        (b"not json".to_vec(), "ask"),
        (Vec::new(), "ask"),
        (vec![0xff, 0xfe], "ask"),
        (b"[".repeat(100_000), "ask"),
        (br#"{"tool_name":"Bash"}"#.to_vec(), "ask"),
    ] {
        let answer = answer(&home.run(&["guard", "check"], &stdin));
        assert_eq!(answer["verdict"], verdict, "{}", String::from_utf8_lossy(&stdin[..stdin.len().min(80)]));
        let silent = verdict == "allow";
        assert_eq!(answer["rule"].is_null(), silent);
        assert_eq!(answer["reason"].is_null(), silent);
    }
}

#[test]
fn hook_prints_a_decision_or_nothing() {
    let home = Home::new();
    let allowed = home.run(&["guard", "hook"], &home.payload("git status && cargo test"));
    assert!(
        allowed.status.success() && allowed.stdout.is_empty() && allowed.stderr.is_empty(),
        "{allowed:?}"
    );
    let denied = answer(&home.run(&["guard", "hook"], &home.payload("git reset --hard")));
    let output = &denied["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "PreToolUse");
    assert_eq!(output["permissionDecision"], "deny");
    let reason = output["permissionDecisionReason"].as_str().unwrap();
    assert!(reason.contains("git.discard") && reason.contains("config.jsonc"), "{reason}");
    let asked = answer(&home.run(&["guard", "hook"], b"garbage"));
    assert_eq!(asked["hookSpecificOutput"]["permissionDecision"], "ask");
}

#[test]
fn a_broken_configuration_leaves_the_rules_on() {
    let home = Home::new();
    home.configure("{ this is no JSON");
    let denied = answer(&home.run(&["guard", "hook"], &home.payload("sudo id")));
    assert_eq!(denied["hookSpecificOutput"]["permissionDecision"], "deny");
}

#[test]
fn the_configuration_changes_what_rules_say() {
    let home = Home::new();
    home.configure(r#"{ "guard": { "rules": { "privilege": "ask", "git": "off" } } } // mine"#);
    let verdict =
        |command: &str| answer(&home.run(&["guard", "check"], &home.payload(command)))["verdict"].clone();
    assert_eq!(verdict("sudo id"), "ask");
    assert_eq!(verdict("git reset --hard"), "allow");
    assert_eq!(verdict("rm -rf /usr"), "deny");
    let rules = answer(&home.run(&["guard", "rules", "--json"], b""));
    let rule =
        |id: &str| rules["rules"].as_array().unwrap().iter().find(|rule| rule["id"] == id).unwrap().clone();
    assert_eq!(
        (rule("privilege")["default"].clone(), rule("privilege")["here"].clone()),
        (json!("deny"), json!("ask"))
    );
    assert_eq!(rule("git.discard")["here"], "off");
}

#[test]
fn explain_shows_the_commands_the_rule_and_the_reason() {
    let home = Home::new();
    let output = home.run(&["guard", "explain", "--", "x=/usr; cd / && sh -c \"rm -rf $x/local\""], b"");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    for part in ["cd /", "rm -rf /usr/local", "verdict:  deny", "delete.outside", "reason:"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = answer(&home.run(&["guard", "explain", "--json", "--", "ls | wc -l"], b""));
    assert_eq!(json["verdict"], "allow");
    assert_eq!(json["commands"].as_array().unwrap().len(), 2);
    let wrong = home.run(&["guard", "explain"], b"");
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn foreign_text_has_no_power_over_the_terminal() {
    let home = Home::new();
    let output = home.run(&["guard", "explain", "--", "echo \u{1b}[2J\u{7}; sudo \u{1b}]0;x"], b"");
    assert!(!output.stdout.contains(&0x1b) && !output.stdout.contains(&7), "{output:?}");
}

#[test]
fn a_pipe_that_never_closes_is_answered_in_time() {
    let home = Home::new();
    let started = Instant::now();
    let mut child = home.command(&["guard", "hook"]).spawn().unwrap();
    let mut pipe = child.stdin.take().unwrap();
    pipe.write_all(b"{\"tool_name\":").unwrap();
    let output = child.wait_with_output().unwrap();
    drop(pipe);
    assert_eq!(answer(&output)["hookSpecificOutput"]["permissionDecision"], "ask");
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
}

#[cfg(unix)]
#[test]
fn links_on_the_disk_are_followed() {
    let home = Home::new();
    let proj = home.home().join("proj");
    std::fs::create_dir_all(home.home().join("other/lib")).unwrap();
    std::fs::create_dir_all(proj.join("build")).unwrap();
    std::os::unix::fs::symlink("../other", proj.join("out")).unwrap();
    std::os::unix::fs::symlink("build", proj.join("inside")).unwrap();
    let verdict =
        |command: &str| answer(&home.run(&["guard", "check"], &home.payload(command)))["verdict"].clone();
    // The whole home lies in a temp directory, where deleting is allowed: writing shows where a link leads.
    std::fs::create_dir_all(home.home().join(".ssh")).unwrap();
    std::os::unix::fs::symlink("../.ssh/config", proj.join("cfg")).unwrap();
    assert_eq!(verdict("cat .ssh-notes"), "allow");
    assert_eq!(verdict("cat cfg"), "ask");
    assert_eq!(verdict("rm -rf inside/x"), "allow");
    assert_eq!(verdict("rm -rf ."), "deny");
    assert_eq!(verdict("rm -rf *"), "ask");
}
