//! Where a session belongs: its repository, or the directory it was started in.

use crate::world::{Home, event};
use serde_json::{Value, json};
use std::path::Path;

fn repository(dir: &Path) {
    std::fs::create_dir_all(dir.join(".git")).unwrap();
    std::fs::write(dir.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
}

/// Dotfiles are often kept in a repository at home: sessions below it are not one project whose agents take each
/// other's idle seats.
#[test]
fn a_repository_at_home_is_nobody_elses_project() {
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
    // Of the two in the repository the second takes the seat that the first left idle.
    assert_eq!(agents.len(), 5, "{agents:?}");
}
