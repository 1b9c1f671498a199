use super::*;
use serde_json::json;

fn event(id: i64, name: &str, body: Value) -> StoredEvent {
    StoredEvent {
        id,
        name: name.into(),
        session_id: "s".into(),
        agent_id: Some(1),
        at: Stamp(id),
        received_at: Stamp(id),
        source: "hook".into(),
        duplicate: false,
        client: None,
        body,
    }
}

fn post(id: i64, tool: &str, input: Value, response: Value) -> StoredEvent {
    let body = json!({"cwd": "/p/api", "tool_name": tool, "tool_input": input, "tool_response": response,
        "tool_use_id": format!("call-{id}")});
    event(id, "PostToolUse", body)
}

fn collect(events: &[StoredEvent]) -> Changes {
    let mut collector = Collector::new(Some("/p/api"));
    for event in events {
        assert!(may_concern(&event.name, &event.body.to_string()), "{}", event.body);
        collector.take(event);
    }
    collector.finish(true)
}

/// A tool, its input, its result; path, added and removed lines of each file.
type CallRow = (&'static str, Value, Value, &'static [(&'static str, u64, u64)]);

#[test]
fn every_way_of_editing_is_counted() {
    let patch = "*** Begin Patch\n*** Update File: src/a.rs\n@@ fn a() {\n-old\n+new\n+more\n*** Add File: b.txt\n+one\n\
                 *** Delete File: /elsewhere/c\n*** End Patch";
    let rows: [CallRow; 10] = [
        (
            "Edit",
            json!({"file_path": "/p/api/new.txt", "old_string": "two", "new_string": "TWO"}),
            json!({"structuredPatch": [{"oldStart": 1, "oldLines": 3, "newStart": 1, "newLines": 3,
                "lines": [" one", "-two", "+TWO", " three"]}]}),
            &[("new.txt", 1, 1)],
        ),
        (
            "Edit",
            json!({"file_path": "x", "old_string": "a\nb\n", "new_string": "a\nc\nd\n"}),
            json!("ok"),
            &[("x", 2, 1)],
        ),
        (
            "Write",
            json!({"file_path": "/p/api/n/w.txt", "content": "one\ntwo\n"}),
            json!({"type": "create", "structuredPatch": []}),
            &[("n/w.txt", 2, 0)],
        ),
        (
            "Write",
            json!({"file_path": "/p/api/e", "content": ""}),
            json!({"type": "create", "structuredPatch": []}),
            &[("e", 0, 0)],
        ),
        (
            "write_file",
            json!({"file_path": "/p/api/q.txt", "content": "hello\n"}),
            json!({"returnDisplay": {"fileDiff": "Index: q\n===\n--- q\n+++ q\n@@ -0,0 +1,1 @@\n+hello\n"}}),
            &[("q.txt", 1, 0)],
        ),
        (
            "MultiEdit",
            json!({"file_path": "/p/api/m", "edits": [{"old_string": "a", "new_string": "b"},
                {"old_string": "c", "new_string": ""}]}),
            Value::Null,
            &[("m", 1, 2)],
        ),
        (
            "NotebookEdit",
            json!({"notebook_path": "/p/api/n.ipynb", "new_source": "x = 1\n"}),
            Value::Null,
            &[("n.ipynb", 1, 0)],
        ),
        (
            "apply_patch",
            json!({"input": patch}),
            json!(""),
            &[("/elsewhere/c", 0, 0), ("b.txt", 1, 0), ("src/a.rs", 2, 1)],
        ),
        (
            "Bash",
            json!({"command": ["apply_patch", patch]}),
            json!(""),
            &[("/elsewhere/c", 0, 0), ("b.txt", 1, 0), ("src/a.rs", 2, 1)],
        ),
        ("Read", json!({"file_path": "/p/api/new.txt"}), json!({"content": "x"}), &[]),
    ];
    for (tool, input, response, expected) in rows {
        let changes = collect(&[post(1, tool, input, response)]);
        let mut found: Vec<(&str, u64, u64)> =
            changes.files.iter().map(|file| (file.path.as_str(), file.added, file.removed)).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{tool}");
    }
}

#[test]
fn edits_of_one_file_come_together_and_the_last_file_first() {
    let edit = |id, path: &str, old: &str, new: &str| {
        post(id, "Edit", json!({"file_path": path, "old_string": old, "new_string": new}), Value::Null)
    };
    let mut twice = edit(5, "/p/api/a", "x", "y");
    twice.body["tool_use_id"] = json!("call-4");
    let changes = collect(&[
        edit(1, "/p/api/a", "one", "ONE"),
        edit(2, "/p/api/b", "1", "1\n2"),
        edit(3, "./a", "two", "TWO"),
        edit(4, "/p/api/a", "x", "y"),
        twice,
    ]);
    let paths: Vec<&str> = changes.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["a", "b"]);
    assert_eq!(changes.files[0].edits.len(), 3);
    assert_eq!((changes.added, changes.removed), (5, 4));
    assert!(
        changes.files[0].unified().starts_with("--- a/a\n+++ b/a\n@@ … @@\n-one\n"),
        "{}",
        changes.files[0].unified()
    );
    assert_eq!(changes.files[0].counts(), "+3 −3");
}

/// A session without hooks: the transcript says what was called, and later whether it worked.
#[test]
fn a_call_of_the_transcript_counts_when_its_result_is_good() {
    let call = |id: i64| {
        event(
            id,
            observed::TOOL_USE,
            json!({"tool_name": "Write", "tool_use_id": format!("t{id}"),
            "tool_input": {"file_path": format!("/p/api/{id}"), "content": "x\n"}}),
        )
    };
    let result = |id: i64, call: i64, error: bool| {
        event(id, observed::TOOL_RESULT, json!({"tool_use_id": format!("t{call}"), "is_error": error}))
    };
    let changes = collect(&[call(1), call(2), call(3), result(4, 2, true), result(5, 1, false)]);
    assert_eq!(changes.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["1"]);
}

#[test]
fn what_is_missing_is_said_and_old_diffs_give_way_to_new_ones() {
    let shortened = format!("{}\n[… 900 bytes cut …]\nend\n", "a\n".repeat(10));
    let created = json!({"type": "create"});
    let changes =
        collect(&[post(1, "Write", json!({"file_path": "/p/api/a", "content": shortened}), created.clone())]);
    assert!(changes.files[0].cut() && changes.files[0].counts().ends_with("or more"));

    let long = "y".repeat(60_000) + "\n";
    let many: Vec<StoredEvent> = (1..=40)
        .map(|id| {
            post(id, "Write", json!({"file_path": format!("/p/api/{id}"), "content": long}), created.clone())
        })
        .collect();
    let changes = collect(&many);
    assert_eq!((changes.files.len(), changes.added), (40, 40));
    let bytes: usize = changes.files.iter().flat_map(|file| &file.edits).map(|edit| edit.diff.len()).sum();
    assert!(bytes <= MAX_DIFF_BYTES && bytes > MAX_DIFF_BYTES / 2, "{bytes}");
    assert!(!changes.files[0].cut() && changes.files[39].cut());
    let huge = post(1, "Write", json!({"file_path": "/p/api/h", "content": "z\n".repeat(100_000)}), created);
    let changes = collect(&[huge]);
    assert_eq!((changes.added, changes.files[0].cut()), (100_000, true));
}

#[test]
fn nonsense_changes_nothing() {
    for body in [
        json!(null),
        json!({"tool_name": 3, "tool_input": []}),
        json!({"tool_name": "Edit", "tool_input": {"file_path": ""}}),
        json!({"tool_name": "Edit", "tool_input": {"file_path": "a", "edits": [1, {}]}}),
        json!({"tool_name": "Edit", "tool_input": {"file_path": "a"}, "tool_response": {"structuredPatch": [1, {"lines": 4}]}}),
        json!({"tool_name": "apply_patch", "tool_input": "*** Begin Patch\n+x\n*** Move to: y"}),
    ] {
        let mut collector = Collector::new(None);
        collector.take(&event(1, "PostToolUse", body.clone()));
        let changes = collector.finish(true);
        assert!(changes.added + changes.removed == 0, "{body}: {changes:?}");
    }
    // A line break inside a line of a patch is not a second line.
    let trick = json!({"structuredPatch": [{"lines": ["+a\n+b\n-c"]}]});
    assert_eq!(collect(&[post(1, "Edit", json!({"file_path": "a", "old_string": ""}), trick)]).added, 1);
}

#[test]
fn paths_are_relative_only_inside_the_project() {
    for (path, root, expected) in [
        ("/p/api/src/a", Some("/p/api"), "src/a"),
        ("/p/api/src/a", Some("/p/api/"), "src/a"),
        ("/p/apis/a", Some("/p/api"), "/p/apis/a"),
        ("/p/api", Some("/p/api"), "/p/api"),
        ("/a", Some("/"), "a"),
        ("/a", None, "/a"),
    ] {
        assert_eq!(relative(path, root), expected);
    }
}
