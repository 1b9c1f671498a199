//! The contract: slugs, errors, lists.

use headspace_test_support::{Home, Server, each_row, event};
use serde_json::{Value, json};

#[test]
fn what_is_not_an_event_is_refused_with_the_reason() {
    let home = Home::new();
    let server = home.serve();
    let deep = format!("{{\"session_id\":\"s\",\"a\":{}1{}}}", "[".repeat(200), "]".repeat(200));
    let table: &[(&str, u16, &str)] = &[
        ("", 400, "empty"),
        ("{not json", 400, "JSON"),
        ("[{\"session_id\":\"a\"}]", 400, "array"),
        ("42", 400, "number"),
        ("null", 400, "null"),
        ("{}", 400, "session_id"),
        ("{\"session_id\":null}", 400, "session_id"),
        ("{\"session_id\":\"\"}", 400, "session_id"),
        ("{\"session_id\":\"  \"}", 400, "session_id"),
        ("{\"session_id\":5}", 400, "session_id"),
        (&deep, 400, "JSON"),
    ];
    each_row(
        table,
        |(body, ..)| body.chars().take(60).collect(),
        |(body, status, word)| {
            let answer = server.request("POST", "/hook/stop", &[], Some(body.as_bytes()));
            assert_eq!(answer.status, *status, "{body}");
            let said = answer.json();
            assert_eq!(said["status"], "error");
            assert_eq!(said.as_object().unwrap().len(), 2, "{said}");
            assert!(said["message"].as_str().unwrap().contains(word), "{body}: {said}");
        },
    );
    each_row(
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"],
        |kind| kind.to_string(),
        |kind| {
            let body = br#"{"session_id":"a"}"#;
            let answer = server.request("POST", "/hook/stop", &[("Content-Type", kind)], Some(body));
            assert_eq!((answer.status, &answer.json()["status"]), (400, &json!("error")), "{kind}");
        },
    );
    assert_eq!(server.get("/hook/status")["events_received"], 0);
    assert_eq!(server.get("/api/agents?all=1")["agents"], json!([]));
}

#[test]
fn unknown_paths_and_methods_are_answered_in_json() {
    let home = Home::new();
    let server = home.serve();
    each_row(
        [
            ("GET", "/nowhere", 404),
            ("GET", "/api/agents/999", 404),
            ("GET", "/api/agents/nope/turns", 404),
            ("GET", "/assets/nope.js", 404),
            ("GET", "/hook/stop", 405),
            ("DELETE", "/hook/stop", 405),
            ("OPTIONS", "/hook/stop", 405),
        ],
        |(method, path, _)| format!("{method} {path}"),
        |(method, path, status)| {
            let answer = server.request(method, path, &[], None);
            assert_eq!(
                (answer.status, &answer.json()["status"]),
                (status, &json!("error")),
                "{method} {path}"
            );
            assert!(answer.header("access-control-allow-origin").is_none());
        },
    );
}

#[test]
fn every_response_has_security_headers() {
    let home = Home::new();
    let server = home.serve();
    each_row(
        [("/", 200), ("/health", 200), ("/nowhere", 404), ("/api/agents", 200)],
        |(path, _)| path.to_string(),
        |(path, status)| {
            let answer = server.request("GET", path, &[], None);
            assert_eq!(answer.status, status);
            assert!(
                answer.header("content-security-policy").unwrap().contains("frame-ancestors 'none'"),
                "{path}"
            );
            assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
            assert_eq!(answer.header("referrer-policy"), Some("no-referrer"), "{path}");
        },
    );
    let page = server.request("GET", "/", &[], None);
    let again = server.request(
        "GET",
        "/",
        &[("If-None-Match", page.header("etag").unwrap()), ("Content-Length", "0")],
        None,
    );
    assert_eq!(again.status, 304);
}

#[test]
fn the_same_delivery_twice_is_one_event() {
    let home = Home::new();
    let server = home.serve();
    let body = event("s", json!({"prompt": "once"}));
    let first = server.hook("user-prompt-submit", body.clone());
    let second = server.hook("user-prompt-submit", body.clone());
    assert_eq!(first["event_id"], second["event_id"]);
    assert_eq!(first["agent_id"], second["agent_id"]);
    assert_eq!(server.get("/hook/status")["events_received"], 1);
    assert_eq!(server.get("/api/events")["events"].as_array().unwrap().len(), 1);
}

#[test]
fn broken_text_is_kept_with_replacement_characters() {
    let home = Home::new();
    let server = home.serve();
    let bodies: [&[u8]; 2] = [
        b"{\"session_id\":\"s\",\"cwd\":\"/x\",\"prompt\":\"a\xff\xfeb\"}",
        br#"{"session_id":"s","cwd":"/x","prompt":"a\ud800b"}"#,
    ];
    for body in bodies {
        let answer = server.request("POST", "/hook/user-prompt-submit", &[], Some(body));
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let events = server.get("/api/events");
    let prompts: Vec<&str> = events["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["body"]["prompt"].as_str().unwrap())
        .collect();
    assert_eq!(prompts, ["a\u{fffd}\u{fffd}b", "a\u{fffd}b"]);
}

#[test]
fn events_are_listed_filtered_and_searched() {
    let home = Home::new();
    let server = home.serve();
    let agent = server.hook("session-start", event("one", json!({"source": "startup"})))["agent_id"].clone();
    server.hook("user-prompt-submit", event("one", json!({"prompt": "find the needlefish please"})));
    server.hook("session-start", event("two", json!({"source": "startup"})));
    server.hook("brand-new-event", event("two", json!({"note": "unheard of"})));
    let ids = |path: &str| -> Vec<i64> {
        let answer = server.get(path);
        answer["events"].as_array().unwrap().iter().map(|event| event["id"].as_i64().unwrap()).collect()
    };
    assert_eq!(ids("/api/events"), [1, 2, 3, 4]);
    assert_eq!(ids("/api/events?limit=2"), [3, 4]);
    assert_eq!(ids("/api/events?limit=2&before=3"), [1, 2]);
    assert_eq!(ids("/api/events?after=1&limit=2"), [2, 3]);
    assert_eq!(ids("/api/events?type=SessionStart"), [1, 3]);
    assert_eq!(ids("/api/events?type=session-start,brand-new-event"), [1, 3, 4]);
    assert_eq!(ids(&format!("/api/events?agent={agent}")), [1, 2]);
    assert_eq!(ids(&format!("/api/agents/{agent}/events?type=UserPromptSubmit")), [2]);
    assert_eq!(ids("/api/events?q=needlefish"), [2]);
    assert_eq!(ids("/api/events?q=needlefish%20absent"), [0i64; 0]);
    assert_eq!(server.request("GET", "/api/events?after=x", &[], None).status, 400);
    let listed = &server.get("/api/events?type=brand-new-event")["events"][0];
    assert_eq!((&listed["name"], &listed["body"]["note"]), (&json!("BrandNewEvent"), &json!("unheard of")));
}

/// An agent that has finished, by its path in the API.
fn finished(server: &Server) -> String {
    server.hook("user-prompt-submit", event("s", json!({"prompt": "go"})));
    let answer = server.hook("stop", event("s", json!({"last_assistant_message": "Done."})));
    format!("/api/agents/{}", answer["agent_id"])
}

#[test]
fn a_finished_agent_is_unseen_until_a_person_looks() {
    let home = Home::new();
    let server = home.serve();
    let agent = finished(&server);
    assert_eq!(server.get(&agent)["unseen"], true);
    assert_eq!(server.post(&format!("{agent}/seen"), &json!({})).status, 200);
    assert_eq!(server.get(&agent)["unseen"], false);
}

#[test]
fn a_person_can_name_an_agent() {
    let home = Home::new();
    let server = home.serve();
    let agent = finished(&server);
    let named = server.post(&format!("{agent}/name"), &json!({"name": "front \u{1b}[31mdesk"}));
    assert_eq!(named.status, 200, "{}", named.text());
    assert_eq!(server.get(&agent)["name"], "front [31mdesk");
    assert_eq!(server.post(&format!("{agent}/name"), &json!({})).status, 400);
}

#[test]
fn a_jump_to_an_agent_without_a_terminal_is_refused() {
    let home = Home::new();
    let server = home.serve();
    let agent = finished(&server);
    let jump = server.post(&format!("{agent}/jump"), &json!({}));
    assert_eq!((jump.status, &jump.json()["status"]), (409, &json!("error")));
}

#[test]
fn waiting_time_is_counted_per_day() {
    let home = Home::new();
    let server = home.serve();
    let ask = json!({"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "ls"}});
    server.hook("user-prompt-submit", event("s", json!({"prompt": "go"})));
    server.hook("permission-request", event("s", ask.clone()));
    server.hook("post-tool-use", event("s", ask));
    let days = server.get("/api/stats")["days"].clone();
    let day = &days.as_array().unwrap()[0];
    assert_eq!((&day["events"], &day["commands"]), (&json!(3), &json!(1)), "{day}");
    assert!(day["waited_minutes"].is_number() && day["longest_wait_minutes"].is_number(), "{day}");
}

#[test]
fn every_state_transition_is_listed() {
    let home = Home::new();
    let server = home.serve();
    let answer = server.hook("user-prompt-submit", event("s", json!({"prompt": "go"})));
    let list = server.get(&format!("/api/agents/{}/transitions", answer["agent_id"]));
    let steps: Vec<(&Value, &Value)> =
        list["transitions"].as_array().unwrap().iter().map(|step| (&step["from"], &step["to"])).collect();
    assert_eq!(steps.first(), Some(&(&json!("idle"), &json!("commanded"))));
    assert_eq!(steps.last().unwrap().1, "processing");
}

#[test]
fn a_paranoid_server_stores_no_text() {
    let home = Home::new();
    home.configure(json!({"paranoid": true}));
    let server = home.serve();
    server.hook("user-prompt-submit", event("s", json!({"prompt": "the launch code is zebra"})));
    let ask = json!({"tool_name": "Bash", "tool_input": {"command": "cat zebra.txt"}, "tool_use_id": "t"});
    server.hook("pre-tool-use", event("s", ask));
    assert_eq!(server.get("/api/agents")["agents"][0]["state"], "processing");
    server.stop();
    for name in ["headspace.db", "headspace.db-wal"] {
        let bytes = std::fs::read(home.state().join(name)).unwrap_or_default();
        assert!(!bytes.windows(5).any(|five| five == b"zebra"), "{name}");
    }
}

#[test]
fn long_lists_come_in_pages_newest_first() {
    let home = Home::new();
    let server = home.serve();
    let mut agent = 0;
    for n in 0..130 {
        let answer =
            server.hook("user-prompt-submit", event("s", json!({"prompt": format!("please do {n}")})));
        server.hook("stop", event("s", json!({"last_assistant_message": format!("Did {n}.")})));
        agent = answer["agent_id"].as_i64().unwrap();
    }
    for (name, count) in [("turns", 260), ("commands", 130), ("transitions", 0)] {
        let page = |query: &str| -> Vec<i64> {
            let rows = server.get(&format!("/api/agents/{agent}/{name}?{query}"))[name].clone();
            rows.as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect()
        };
        let all = page("limit=1000");
        assert!(all.is_sorted() && all.len() >= count, "{name}: {all:?}");
        assert_eq!(page(""), all[all.len().saturating_sub(200)..], "{name}");
        let mut pages = page("limit=70");
        assert_eq!(pages.len(), 70);
        loop {
            let earlier = page(&format!("limit=70&before={}", pages[0]));
            if earlier.is_empty() {
                break;
            }
            pages.splice(0..0, earlier);
        }
        assert_eq!(pages, all, "{name}");
        for (cursor, start) in [("before", String::new()), ("after", "&after=0".into())] {
            if cursor == "after" && name == "turns" {
                // A turn's cursor is another turn, and there is none with the number 0.
                continue;
            }
            let (mut seen, mut at, mut answers) = (Vec::new(), start, 0);
            loop {
                let answer = server.get(&format!("/api/agents/{agent}/{name}?limit=70{at}"));
                let ids = answer[name].as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap());
                seen.extend(ids);
                answers += 1;
                match answer["next"].as_i64() {
                    Some(next) => at = format!("&{cursor}={next}"),
                    None => break,
                }
            }
            seen.sort_unstable();
            assert_eq!(seen, all, "{name} by {cursor}");
            assert_eq!(answers, all.len().div_ceil(70), "{name} by {cursor}: no answer is empty");
        }
        let later = page(&format!("limit=5&after={}", all[10]));
        assert_eq!(later, all[11..16], "{name}: the first after one, oldest first");
    }
    assert_eq!(server.request("GET", &format!("/api/agents/{agent}/turns?before=x"), &[], None).status, 400);
}

#[test]
fn the_last_ended_agents_are_listed() {
    let home = Home::new();
    let server = home.serve();
    for n in 0..4 {
        server.hook("session-start", event(&format!("s{n}"), json!({"source": "startup"})));
    }
    for n in [2, 0, 1] {
        server.hook("session-end", event(&format!("s{n}"), json!({"reason": "other"})));
    }
    let listed = |query: &str| -> Vec<String> {
        let agents = server.get(&format!("/api/agents?{query}"))["agents"].clone();
        let mut names: Vec<String> = agents
            .as_array()
            .unwrap()
            .iter()
            .map(|agent| agent["session_id"].as_str().unwrap().into())
            .collect();
        names.sort();
        names
    };
    assert_eq!(listed(""), ["s3"]);
    assert_eq!(listed("all=1"), ["s0", "s1", "s2", "s3"]);
    assert_eq!(listed("ended=2"), ["s0", "s1", "s3"]);
    let page = |query: &str| {
        let answer = server.get(&format!("/api/agents?{query}"));
        let sessions = answer["agents"].as_array().unwrap().iter().map(|agent| agent["session_id"].clone());
        (json!(sessions.collect::<Vec<_>>()), answer["next"].as_i64())
    };
    assert_eq!(page("").1, None, "who has not ended is always told whole");
    let (first, next) = page("all=1&limit=1");
    assert_eq!(first, json!(["s3", "s1"]));
    let (second, next) = page(&format!("limit=1&before={}", next.unwrap()));
    assert_eq!(second, json!(["s0"]));
    let (third, next) = page(&format!("limit=1&before={}", next.unwrap()));
    assert_eq!((third, next), (json!(["s2"]), None));
    assert_eq!(server.get("/api/board?all=1&limit=2")["next"], server.get("/api/agents?ended=2")["next"]);
    assert_eq!(server.request("GET", "/api/agents?before=4", &[], None).status, 400, "it has not ended");
}
