//! What is old goes; what a living agent needs stays.

use crate::world::{Home, event};
use serde_json::{Value, json};

const DAY: i64 = 24 * 60 * 60 * 1_000_000_000;

/// Makes everything stored so far `days` older.
fn age(home: &Home, days: i64) {
    let db = rusqlite::Connection::open(home.database()).unwrap();
    let back = days * DAY;
    for (table, columns) in [
        ("events", &["at", "received_at"][..]),
        ("turns", &["timestamp"]),
        ("transitions", &["at"]),
        ("commands", &["started_at"]),
        ("agents", &["last_active_at", "ended_at"]),
        ("sessions", &["started_at", "ended_at"]),
    ] {
        for column in columns {
            db.execute(&format!("UPDATE {table} SET {column} = {column} - {back}"), []).unwrap();
        }
    }
}

fn sessions_of_events(home: &Home) -> Vec<String> {
    let db = rusqlite::Connection::open(home.database()).unwrap();
    let mut query = db.prepare("SELECT DISTINCT session_id FROM events ORDER BY 1").unwrap();
    query.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

fn fill(home: &Home) {
    let server = home.serve();
    server.hook("user-prompt-submit", event("ended", json!({"prompt": "old"})));
    server.hook("session-end", event("ended", json!({"reason": "other"})));
    server.hook("user-prompt-submit", event("alive", json!({"prompt": "a long job"})));
    server.stop();
    age(home, 40);
}

#[test]
fn without_a_server_prune_does_it_itself() {
    let home = Home::new();
    fill(&home);
    let done = home.run(&["prune", "--json"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let told: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(told, json!({"events": 2, "agents": 1}));
    assert_eq!(sessions_of_events(&home), ["alive"]);
}

#[test]
fn a_server_prunes_and_forgets_and_a_rebuild_keeps_the_living() {
    let home = Home::new();
    fill(&home);
    let server = home.serve();
    let port = server.port.to_string();
    let mut prune = home.command(crate::world::BIN, &["prune"]);
    prune.env("CLAUDE_HEADSPACE_URL", format!("http://127.0.0.1:{port}"));
    let done = prune.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(String::from_utf8_lossy(&done.stdout), "Deleted 2 events and 1 agents.\n");
    let agents = server.get("/api/agents?all=1")["agents"].clone();
    assert_eq!(agents.as_array().unwrap().len(), 1);
    assert_eq!((&agents[0]["session_id"], &agents[0]["state"]), (&json!("alive"), &json!("processing")));
    server.stop();
    assert!(home.run(&["rebuild"]).status.success());
    let server = home.serve();
    let rebuilt = server.get("/api/agents?all=1")["agents"].clone();
    for field in ["id", "session_id", "sessions", "state", "turn_count", "name"] {
        assert_eq!(rebuilt[0][field], agents[0][field], "{field}");
    }
}

#[test]
fn a_database_that_grew_too_big_lets_the_oldest_go() {
    let home = Home::new();
    home.configure(&json!({"retention": {"days": 30, "max_bytes": 2_000_000}}));
    let server = home.serve();
    for n in 0..40 {
        let session = format!("s{n:02}");
        for _ in 0..10 {
            server.hook("user-prompt-submit", event(&session, json!({"prompt": "word ".repeat(2000)})));
        }
        server.hook("session-end", event(&session, json!({"reason": "other"})));
    }
    server.stop();
    let before = std::fs::metadata(home.database()).unwrap().len();
    assert!(before > 3_000_000, "{before}");
    assert!(home.run(&["prune"]).status.success());
    let after = std::fs::metadata(home.database()).unwrap().len();
    assert!(after < 2_200_000, "{before} became {after}");
    let left = sessions_of_events(&home);
    assert_eq!(left.last().map(String::as_str), Some("s39"));
    assert!(!left.contains(&"s00".to_owned()), "{left:?}");
}
