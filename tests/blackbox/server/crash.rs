//! A server that dies after it committed events and before it wrote the rows derived from them: nothing is lost.

use super::stream::{Stream, Told};
use super::tables::{TABLES, Tables, everything};
use headspace_test_support::{Home, Server, event};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::path::Path;

/// The newest event on disk, and the newest whose rows are there too.
fn newest(path: &Path) -> (i64, i64) {
    let db = Connection::open(path).unwrap();
    let last = db.query_row("SELECT max(id) FROM events", [], |row| row.get(0)).unwrap();
    let marks: String =
        db.query_row("SELECT value FROM meta WHERE key = 'marks'", [], |row| row.get(0)).unwrap_or_default();
    let marks: Value = serde_json::from_str(&marks).unwrap_or_default();
    (last, marks["projected"].as_i64().unwrap_or(0))
}

/// A bit of everything, from several sessions at once, so that events are committed in groups.
fn work(server: &Server, round: usize) {
    std::thread::scope(|scope| {
        for worker in 0..6 {
            scope.spawn(move || {
                let session = format!("s{worker}");
                let ask =
                    json!({"tool_name": "Bash", "tool_use_id": format!("t{round}"), "tool_input": {"command": "ls"}});
                let child = json!({"agent_id": format!("a{round}"), "agent_type": "Explore"});
                let said = json!({"last_assistant_message": format!("Done with {round}.")});
                server.hook("user-prompt-submit", event(&session, json!({"prompt": format!("{round}")})));
                server.hook("permission-request", event(&session, ask.clone()));
                server.hook("subagent-start", event(&session, child));
                server.hook("post-tool-use", event(&session, ask));
                server.hook("stop", event(&session, said));
                if worker == 5 {
                    server.hook("session-end", event(&session, json!({"reason": "clear"})));
                }
            });
        }
    });
}

/// A home as if the last server had written only events, with what its stream sent and all its rows.
fn crashed() -> (Home, Vec<Told>, Tables) {
    let home = Home::new();
    let server = home.serve();
    work(&server, 0);
    server.stop();
    let before = home.path().join("before.db");
    std::fs::copy(home.database(), &before).unwrap();

    let server = home.serve();
    let mut stream = Stream::open(&server, "", None);
    for round in 1..4 {
        work(&server, round);
    }
    // A stream ends with its server even if changes are pending. The change of this event comes after all others.
    server.hook("user-prompt-submit", event("s0", json!({"prompt": "last"})));
    let mut told: Vec<Told> = Vec::new();
    let is_last =
        |told: &Told| told.kind == "agent_updated" && told.data["current_command"]["instruction"] == "last";
    while !told.last().is_some_and(is_last) {
        told.extend(Some(stream.next().unwrap()).filter(|told| told.id.is_some()));
    }
    server.stop();
    let rows = everything(&home.database(), &[]);
    let db = Connection::open(&before).unwrap();
    db.execute("ATTACH ?1 AS later", [home.database().to_str().unwrap()]).unwrap();
    let came = db
        .execute("INSERT INTO events SELECT * FROM later.events WHERE id > (SELECT max(id) FROM events)", []);
    assert_eq!(came.unwrap(), 3 * 31 + 1);
    drop(db);
    std::fs::rename(&before, home.database()).unwrap();
    (home, told, rows)
}

#[test]
fn rows_that_were_not_written_are_recomputed() {
    let (home, _, rows) = crashed();
    let (last, written) = newest(&home.database());
    assert!(written < last);
    home.serve().stop();
    assert_eq!(newest(&home.database()), (last, last));
    let again = everything(&home.database(), &[]);
    for table in TABLES {
        assert_eq!(again[table], rows[table], "{table}");
    }
}

#[test]
fn the_stream_continues_where_each_client_was() {
    let (home, told, _) = crashed();
    let is_update = |told: &Told| told.kind == "agent_updated";
    let server = home.serve();
    for seen in [0, told.len() / 3, told.len() - 2] {
        let rest = &told[seen + 1..];
        // The last update of an agent replaces the ones before it.
        let outdated = |told: &Told| {
            let newer =
                |other: &Told| is_update(other) && other.data["id"] == told.data["id"] && other.id > told.id;
            is_update(told) && rest.iter().any(newer)
        };
        let missed: Vec<&Told> = rest.iter().filter(|told| !outdated(told)).collect();
        assert!(!missed.is_empty());
        let mut stream = Stream::open(&server, "", told[seen].id);
        for expected in missed {
            let told = stream.next().unwrap();
            assert_eq!((told.id, &told.kind), (expected.id, &expected.kind));
            if !is_update(expected) {
                assert_eq!(told.data, expected.data);
            }
        }
    }
}

#[test]
fn without_a_server_status_includes_the_last_events() {
    let (home, ..) = crashed();
    let read = || -> Vec<Value> {
        let out = home.run(&["status", "--all", "--json"]);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let mut status: Value = serde_json::from_slice(&out.stdout).unwrap();
        serde_json::from_value(status["agents"].take()).unwrap()
    };
    let (last, written) = newest(&home.database());
    let agents = read();
    assert_eq!(agents.len(), 6);
    assert!(agents.iter().all(|agent| agent["turn_count"].as_u64() > Some(8)), "{agents:?}");
    assert_eq!(newest(&home.database()), (last, written), "who only reads wrote");
    home.serve().stop();
    assert_eq!(read(), agents);
}

#[test]
fn a_rebuild_includes_events_whose_rows_were_not_written() {
    let (home, told, rows) = crashed();
    assert!(home.run(&["rebuild"]).status.success());
    let again = everything(&home.database(), &[]);
    for table in ["changes", "days", "turns", "transitions", "sessions"] {
        assert_eq!(again[table], rows[table], "{table}");
    }
    let server = home.serve();
    assert_eq!(server.get("/hook/status")["events_received"], rows["events"].len());
    let mut stream = Stream::open(&server, "types=turn_created", told[0].id);
    let turn = told[1..].iter().find(|told| told.kind == "turn_created").unwrap();
    assert_eq!(stream.next().as_ref(), Some(turn));
}

/// Events whose rows were not written are taken into account before anything is deleted.
#[test]
fn a_prune_after_a_crash_keeps_agents_that_came_back() {
    let (home, ..) = crashed();
    let db = Connection::open(home.database()).unwrap();
    // According to the rows everything ended long ago; the later events say otherwise.
    db.execute("UPDATE agents SET ended_at = 1, last_active_at = 1", []).unwrap();
    drop(db);
    let pruned = home.run(&["prune", "--json"]);
    let told: Value = serde_json::from_slice(&pruned.stdout).unwrap();
    assert_eq!(told, json!({"events": 0, "agents": 0}));
}

#[test]
fn a_server_killed_right_after_an_answer_loses_nothing_and_repeats_nothing() {
    let home = Home::new();
    let (mut texts, mut told, mut caught) = (Vec::new(), Vec::new(), 0);
    let mut last: Option<i64> = Some(0);
    for round in 0..60 {
        let server = home.serve();
        let mut stream = Stream::open(&server, "types=turn_created", last);
        texts.push(format!("{round}"));
        server.hook("user-prompt-submit", event("s", json!({"prompt": texts[round]})));
        // In every other round the client gets the change before the crash.
        if round % 2 == 0 {
            let news = stream.next().unwrap();
            assert!(news.id > last, "{news:?} after {last:?}");
            last = news.id;
            told.push(news.data["text"].as_str().unwrap().to_owned());
        }
        server.kill();
        let (newest, written) = newest(&home.database());
        caught += usize::from(written < newest);
        let server = home.serve();
        let mut stream = Stream::open(&server, "types=turn_created", last);
        while told.len() < texts.len() {
            let news = stream.next().unwrap();
            assert!(news.id > last, "{news:?} after {last:?}");
            last = news.id;
            told.push(news.data["text"].as_str().unwrap().to_owned());
        }
        assert_eq!(told, texts);
        if round >= 5 && caught > 2 {
            return;
        }
    }
    panic!("the server always came to write its rows: {caught} of 60");
}
