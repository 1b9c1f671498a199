//! The files an agent edited, from its events: with a server and without one.

use headspace_test_support::Installation;
use serde_json::{Value, json};

fn payload(name: &str) -> Value {
    let path = format!("{}/tests/fixtures/payloads/{name}.json", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

#[test]
fn the_files_an_agent_edited_come_with_counts_and_diffs() {
    let board = Installation::new(json!({}));
    let dir = board.project("shop", "main");
    for name in ["PostToolUse.Write", "PostToolUse.Edit"] {
        let mut fields = payload(name);
        fields.as_object_mut().unwrap().retain(|key, _| key.starts_with("tool_"));
        let path = dir.join("src/new.txt").display().to_string();
        fields["tool_input"]["file_path"] = json!(path);
        fields["tool_response"]["filePath"] = json!(path);
        board.send("PostToolUse", "s1", &dir, fields);
    }
    board.send("PostToolUse", "s1", &dir, json!({"tool_name": "Read", "tool_input": {"file_path": "x"}}));
    let changes = board.server().get("/api/agents/1/changes");
    let file = &changes["files"][0];
    assert_eq!(
        (&file["path"], &file["added"], &file["removed"]),
        (&json!("src/new.txt"), &json!(4), &json!(1))
    );
    assert_eq!(file["created"], true);
    assert_eq!(file["edits"][1]["diff"], "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n");
    assert_eq!((&changes["added"], &changes["complete"]), (&json!(4), &json!(true)));
    assert_eq!(changes["files"].as_array().unwrap().len(), 1);
    let missing = board.server().request("GET", "/api/agents/99/changes", &[], None);
    assert_eq!(missing.status, 404);
}
