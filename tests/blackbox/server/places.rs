//! Where a session belongs: its repository, or the directory it was started in; and its machine.

use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_test_support::{Home, Server, event};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

fn repository(dir: &Path) {
    std::fs::create_dir_all(dir.join(".git")).unwrap();
    std::fs::write(dir.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
}

/// Dotfiles are often kept in a repository at home. Sessions below it are not one project whose idle agents take over
/// each other's sessions.
#[test]
fn a_repository_at_home_is_not_the_project_of_directories_below() {
    let home = Home::new();
    repository(home.path());
    repository(&home.path().join("repo"));
    for dir in ["notes", "letters/new", "repo/src", "empty/.git", "empty/src"] {
        std::fs::create_dir_all(home.path().join(dir)).unwrap();
    }
    let server = home.serve();
    let mut agents = Vec::new();
    for (cwd, root, branch) in [
        ("", "", json!("main")),
        ("notes", "notes", Value::Null),
        ("letters/new", "letters/new", Value::Null),
        ("repo", "repo", json!("main")),
        ("repo/src", "repo", json!("main")),
        ("empty/src", "empty/src", Value::Null),
    ] {
        let real = |dir: &str| home.path().canonicalize().unwrap().join(dir);
        let session = format!("in {cwd}");
        let mut body = event(&session, json!({"source": "startup"}));
        body["cwd"] = json!(home.path().join(cwd));
        let started = server.hook("session-start", body);
        let agent = server.get(&format!("/api/agents/{}", started["agent_id"]));
        let root = real(root);
        let path = Path::new(agent["project_path"].as_str().unwrap());
        assert_eq!((path, &agent["branch"]), (root.as_path(), &branch), "{cwd}");
        agents.push(started["agent_id"].clone());
    }
    agents.dedup();
    // The second session in the repository continues the idle agent of the first.
    assert_eq!(agents.len(), 5, "{agents:?}");
}

/// This machine cannot check whether an agent on another one still works, so its silence is shown, live and rebuilt.
#[test]
fn a_silent_agent_on_another_machine_says_when_it_was_last_heard() {
    let home = Home::new();
    let server = home.serve();
    let ago = |minutes: u64| Stamp::now().minus(Duration::from_secs(minutes * 60));
    for (session, host_id, minutes) in [("silent", "other", 7), ("talks", "other", 1), ("ours", "", 7)] {
        let at = ago(minutes);
        let more = json!({"prompt": "go", "host": "container", "host_id": host_id, "sent_at": at});
        let mut body = event(session, more);
        if host_id.is_empty() {
            let id = std::fs::read_to_string(home.state().join("host_id")).unwrap();
            body["host_id"] = json!(id.trim());
        }
        server.hook("user-prompt-submit", body);
    }
    let look = |server: &Server| {
        let agents = server.get("/api/agents")["agents"].as_array().unwrap().clone();
        let mut lines: Vec<String> = agents
            .iter()
            .map(|agent| {
                let word = |field: &str| agent[field].as_str().unwrap_or_default().to_owned();
                ["session_id", "state", "status", "status_detail", "confidence"].map(word).join(" ")
            })
            .collect();
        lines.sort();
        lines
    };
    let expected = [
        "ours processing working Thinking high",
        "silent processing idle not heard since 7 m low",
        "talks processing working Thinking high",
    ];
    assert_eq!(look(&server), expected);
    server.stop();
    assert!(home.run(&["rebuild"]).status.success());
    assert_eq!(look(&home.serve()), expected);
}
