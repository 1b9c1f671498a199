//! Old events are deleted; what a living agent needs stays.

use headspace_test_support::{Home, Server, event, wait_until};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

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
fn prune_works_without_a_server() {
    let home = Home::new();
    fill(&home);
    let done = home.run(&["prune", "--json"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let told: Value = serde_json::from_slice(&done.stdout).unwrap();
    assert_eq!(told, json!({"events": 2, "agents": 1}));
    assert_eq!(sessions_of_events(&home), ["alive"]);
}

#[test]
fn a_server_prunes_ended_agents_and_a_rebuild_keeps_the_others() {
    let home = Home::new();
    fill(&home);
    let server = home.serve();
    let port = server.port.to_string();
    let mut prune = home.command(&["prune"]);
    prune.env("CLAUDE_HEADSPACE_URL", format!("http://127.0.0.1:{port}"));
    let done = prune.output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    assert_eq!(String::from_utf8_lossy(&done.stdout), "Deleted 2 events and 1 agent.\n");
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
fn a_database_that_is_too_big_loses_its_oldest_events() {
    let home = Home::new();
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
    home.configure(json!({"retention": {"days": 30, "max_bytes": 2_000_000}}));
    assert!(home.run(&["prune"]).status.success());
    let after = std::fs::metadata(home.database()).unwrap().len();
    assert!(after < 2_200_000, "{before} became {after}");
    let left = sessions_of_events(&home);
    assert_eq!(left.last().map(String::as_str), Some("s39"));
    assert!(!left.contains(&"s00".to_owned()), "{left:?}");
}

/// How big the database and its log are.
fn sizes(home: &Home) -> (u64, u64) {
    let size = |path: &std::path::Path| std::fs::metadata(path).map_or(0, |meta| meta.len());
    (size(&home.database()), size(&home.state().join("headspace.db-wal")))
}

/// Sessions that never end, at work without a pause.
fn work(server: &Server, session: &str, turns: usize) -> Value {
    let long = "a few words of output\n".repeat(60);
    let mut last = Value::Null;
    for n in 0..turns {
        let tool = |k: usize| {
            json!({"tool_name": "Bash", "tool_use_id": format!("{session}-{n}-{k}"),
                "tool_input": {"command": format!("make {n}")}, "tool_response": {"stdout": long}})
        };
        server.hook("user-prompt-submit", event(session, json!({"prompt": format!("please do {n}")})));
        for k in 0..4 {
            server.hook("pre-tool-use", event(session, tool(k)));
            server.hook("post-tool-use", event(session, tool(k)));
        }
        last = server.hook("stop", event(session, json!({"last_assistant_message": format!("Did {n}.")})));
    }
    last
}

#[test]
fn the_database_keeps_its_limit_and_agents_their_state_under_steady_load() {
    const LIMIT: u64 = 3_000_000;
    // Enough of them that the server never waits for the next event.
    const WORKERS: usize = 12;
    const TURNS: usize = 50;
    let home = Home::new();
    home.configure(json!({"retention": {"days": 30, "max_bytes": LIMIT}}));
    let server = home.serve();
    let done = AtomicBool::new(false);
    let last = std::thread::scope(|scope| {
        let look = scope.spawn(|| {
            let mut most = (0, 0);
            while !done.load(Ordering::Relaxed) {
                let (database, log) = sizes(&home);
                most = (most.0.max(database), most.1.max(log));
                std::thread::sleep(Duration::from_millis(10));
            }
            most
        });
        let workers: Vec<_> = (0..WORKERS)
            .map(|worker| {
                let server = &server;
                scope.spawn(move || work(server, &format!("session-{worker}"), TURNS))
            })
            .collect();
        let last = workers.into_iter().map(|worker| worker.join().unwrap()["event_id"].as_i64()).max();
        done.store(true, Ordering::Relaxed);
        // What was written is several times the limit.
        let (database, log) = look.join().unwrap();
        assert!(database <= LIMIT * 6 / 5, "the database had {database} bytes");
        assert!(log <= 24 << 20, "its log had {log} bytes");
        last.flatten().unwrap()
    });
    let newest = server.get("/api/events?limit=100")["events"].clone();
    let ids: Vec<i64> =
        newest.as_array().unwrap().iter().map(|event| event["id"].as_i64().unwrap()).collect();
    assert_eq!(ids, (last - 99..=last).collect::<Vec<_>>());
    let mut before = server.get("/api/agents?all=1")["agents"].as_array().unwrap().clone();
    assert_eq!(before.len(), WORKERS);
    for agent in &before {
        assert_eq!((&agent["state"], &agent["turn_count"]), (&json!("idle"), &json!(2 * TURNS)), "{agent}");
    }
    server.stop();
    let db = rusqlite::Connection::open(home.database()).unwrap();
    let oldest = |table: &str, column: &str| -> i64 {
        db.query_row(&format!("SELECT min({column}) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    let first = oldest("events", "id");
    assert!(first > last / 2, "the first event is {first} of {last}");
    // Rows derived from deleted events are deleted too.
    for table in ["turns", "transitions"] {
        assert!(oldest(table, "event_id") >= first, "{table}");
    }
    assert!(oldest("commands", "id") > 200);
    assert!(oldest("changes", "seq") > 1);
    drop(db);
    // The remaining events, applied to the kept state, give the same agents.
    assert!(home.run(&["rebuild"]).status.success());
    let server = home.serve();
    let mut after = server.get("/api/agents?all=1")["agents"].as_array().unwrap().clone();
    for agents in [&mut before, &mut after] {
        agents.sort_by_key(|agent| agent["id"].as_i64());
    }
    assert_eq!(after, before);
}

/// Bytes of the pages that hold something, as another process sees them.
fn used(home: &Home) -> u64 {
    let db = rusqlite::Connection::open(home.database()).unwrap();
    let number = |pragma: &str| db.pragma_query_value(None, pragma, |row| row.get::<_, u32>(0)).unwrap();
    u64::from(number("page_count") - number("freelist_count")) * u64::from(number("page_size"))
}

#[test]
fn the_size_limit_is_enforced_right_after_a_burst() {
    const LIMIT: u64 = 1_000_000;
    let home = Home::new();
    let server = home.serve();
    work(&server, "before", 60);
    server.stop();
    let before = used(&home);
    assert!(before > LIMIT, "{before}");
    home.configure(json!({"retention": {"days": 30, "max_bytes": LIMIT}}));
    let server = home.serve();
    wait_until("a database that fits, at the start", || used(&home) <= LIMIT);
    std::thread::scope(|scope| {
        for worker in 0..8 {
            let server = &server;
            scope.spawn(move || work(server, &format!("burst-{worker}"), 5));
        }
    });
    wait_until("a database that fits, after a burst", || used(&home) <= LIMIT);
    assert_eq!(server.get("/api/agents")["agents"].as_array().unwrap().len(), 9);
}

#[test]
fn a_pruned_and_damaged_database_restores_its_agents_whole() {
    let home = Home::new();
    let server = home.serve();
    for session in ["one", "two"] {
        work(&server, session, 60);
    }
    let before = server.get("/api/agents?all=1")["agents"].clone();
    server.stop();
    home.configure(json!({"retention": {"days": 30, "max_bytes": 600_000}}));
    assert!(home.run(&["prune"]).status.success());
    let db = rusqlite::Connection::open(home.database()).unwrap();
    let number = |sql: &str| db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    let (first, last) = (number("SELECT min(id) FROM events"), number("SELECT max(id) FROM events"));
    assert!(first > last / 2, "the first event is {first} of {last}");
    let page = number("SELECT rootpage FROM sqlite_schema WHERE name = 'transitions'") - 1;
    drop(db);
    let mut bytes = std::fs::read(home.database()).unwrap();
    bytes[page as usize * 4096..][..4096].fill(0xa5);
    std::fs::write(home.database(), bytes).unwrap();

    let rebuilt = home.run(&["rebuild"]);
    assert!(rebuilt.status.success(), "{}", String::from_utf8_lossy(&rebuilt.stderr));
    let server = home.serve();
    assert_eq!(server.get("/api/agents?all=1")["agents"], before);
    let newest = &server.get("/api/events?limit=1")["events"][0]["id"];
    assert_eq!(newest, last, "an event keeps its id");
    // A new event gets a new id.
    assert_eq!(server.hook("stop", event("one", json!({})))["event_id"], last + 1);
}

#[test]
fn old_sessions_of_a_living_agent_are_deleted() {
    let home = Home::new();
    let server = home.serve();
    for n in 0..5 {
        let at = |fields: Value| {
            let mut body = event(&format!("s{n}"), fields);
            body["cwd"] = json!("/somewhere/here");
            body
        };
        server.hook("user-prompt-submit", at(json!({"prompt": "go"})));
        server.hook("subagent-start", at(json!({"agent_id": "a1", "agent_type": "Explore"})));
        server.hook("session-end", at(json!({"reason": "other"})));
    }
    let mut now = event("now", json!({"prompt": "go on"}));
    now["cwd"] = json!("/somewhere/here");
    server.hook("user-prompt-submit", now);
    assert_eq!(server.get("/api/agents?all=1")["agents"].as_array().unwrap().len(), 1);
    server.stop();
    age(&home, 40);
    assert!(home.run(&["prune"]).status.success());
    let db = rusqlite::Connection::open(home.database()).unwrap();
    let count = |table: &str| -> i64 {
        db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    assert_eq!((count("sessions"), count("subagents"), count("events")), (1, 0, 1));
}
