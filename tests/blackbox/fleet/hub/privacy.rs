//! Nothing above a level, anywhere: dumps, write-ahead log, logs, streams. And who may ask for what there is.

use super::{Machine, Team, words};
use headspace_fleet::hub::http::access::Access;
use headspace_fleet::hub::http::routes::TABLE;
use headspace_test_support::{Server, request, succeeded, wait_until};
use serde_json::{Value, json};
use std::io::{Read, Write};

/// What a stream of the hub says until `until` is in it.
fn streamed(team: &Team, token: &str, until: &str) -> String {
    let mut stream = team.hub.connect();
    let bearer = format!("Bearer {token}");
    let asked = request(
        team.hub.port,
        "GET",
        "/api/events/stream?last_event_id=1",
        &[("Authorization", &bearer)],
        None,
    );
    stream.write_all(&asked).unwrap();
    let (mut text, mut buffer) = (String::new(), [0; 8192]);
    while !text.contains(until) {
        let read = stream.read(&mut buffer).unwrap();
        assert!(read > 0, "the stream ended: {text}");
        text.push_str(&String::from_utf8_lossy(&buffer[..read]));
    }
    text
}

#[test]
fn no_word_above_the_level_is_in_dump_log_or_stream() {
    let Some(team) = Team::start() else { return };
    let rows: [(&str, &[&str]); 2] =
        [("states", &[]), ("asks", &["PATHWORD", "BRANCHWORD", "TITLEWORD", "ASKWORD"])];
    for (share, may_leave) in rows {
        let machine = team.machine(share, share, json!({}));
        machine.talk();
        team.agent(&machine, "s1", |agent| agent["status"] == "attention");
        machine.hook(
            "post-tool-use",
            json!({"tool_name": "Bash", "tool_use_id": "t", "tool_response": {"stdout": "OUTPUTWORD"}}),
        );
        machine.hook("stop", json!({"last_assistant_message": "ANSWERWORD"}));
        wait_until("the position to follow", || machine.status()["lag_events"] == 0);
        let id = format!("\"id\":\"{}/", machine.edge);
        let places = [
            ("stream", streamed(&team, &machine.token, &id)),
            ("dump", team.postgres.dump()),
            ("write-ahead log", String::from_utf8_lossy(&team.postgres.write_ahead_log()).into_owned()),
            ("log of PostgreSQL", team.postgres.log()),
            ("log of the hub", team.hub.log()),
            ("log of the machine", machine.server.log()),
            ("preview", succeeded(machine.home.run(&["hub", "preview", "--json"]))),
        ];
        for (place, text) in &places {
            let found: Vec<&str> = words(text).into_iter().filter(|word| !may_leave.contains(word)).collect();
            assert_eq!(found, Vec::<&str>::new(), "{share}: {place}");
            assert!(!text.contains("OUTPUTWORD") && !text.contains("ANSWERWORD"), "{share}: {place}");
            assert!(!text.contains(&machine.token), "{share}: {place} has the token");
        }
        // The search finds what is there.
        assert!(places[2].1.contains("proj"), "the write-ahead log was not read");
    }
}

#[test]
fn a_level_that_is_lowered_later_leaves_nothing_above_it() {
    let Some(team) = Team::start() else { return };
    let machine = team.machine("ada", "full", json!({}));
    machine.talk();
    team.agent(&machine, "s1", |agent| agent["status"] == "attention");
    wait_until("the events", || machine.status()["lag_events"] == 0);
    assert_eq!(words(&team.postgres.dump()).len(), 5);
    let Machine { home, server, edge, token } = machine;
    server.stop();
    home.configure(
        json!({"port": home.port(), "notifications": {"desktop": false}, "hub": {"share": {"*": "states"}}}),
    );
    let machine = Machine { server: Server::start(home.command(&["serve"])), home, edge, token };
    team.agent(&machine, "s1", |agent| agent["status_detail"].is_null() && agent["status"] == "attention");
    let said = succeeded(machine.home.run(&["hub", "status"]));
    assert!(said.contains("sharing full unless `hub.share` in the configuration says otherwise"), "{said}");
    wait_until("the rest to be erased", || words(&team.postgres.dump()).is_empty());
    assert_eq!(
        team.postgres.query("SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM turns)"),
        "0|0"
    );
    // And none: not even that there is a project.
    let Machine { home, server, edge, token } = machine;
    server.stop();
    home.configure(
        json!({"port": home.port(), "notifications": {"desktop": false}, "hub": {"share": {"*": "none"}}}),
    );
    let machine = Machine { server: Server::start(home.command(&["serve"])), home, edge, token };
    wait_until("the agent to leave", || team.postgres.query("SELECT count(*) FROM agents") == "0");
    assert!(machine.status()["error"].is_null());
}

#[test]
fn a_team_that_takes_less_cuts_what_its_machines_post_from_the_next_batch_on() {
    let Some(team) = Team::start() else { return };
    let machine = team.machine("ada", "full", json!({}));
    machine.hook("session-start", json!({"source": "startup"}));
    team.agent(&machine, "s1", |_| true);
    team.postgres.query("UPDATE teams SET share_max = 1");
    machine.talk();
    team.agent(&machine, "s1", |agent| agent["status"] == "attention" && agent["status_detail"].is_null());
    wait_until("the position to follow", || machine.status()["lag_events"] == 0);
    assert_eq!(words(&team.postgres.dump()), Vec::<&str>::new());
    assert!(machine.status()["error"].is_null(), "{}", machine.status());
}

#[test]
fn every_route_knows_a_browser_another_team_and_a_revoked_machine() {
    let Some(team) = Team::start() else { return };
    let machine = team.machine("ada", "full", json!({}));
    machine.talk();
    team.agent(&machine, "s1", |_| true);
    let join = |team_name: &str| {
        let args = [
            "hub",
            "invite",
            "eve",
            "--team",
            team_name,
            "--role",
            "admin",
            "--json",
            "--database-url",
            &team.postgres.url(),
        ];
        let invited: Value = serde_json::from_str(&succeeded(team.home.run(&args))).unwrap();
        let body = json!({"code": invited["code"], "host": "elsewhere"});
        let joined = team.hub.request("POST", "/v1/join", &[], Some(body.to_string().as_bytes())).json();
        (joined["edge"].as_str().unwrap().to_owned(), joined["token"].as_str().unwrap().to_owned())
    };
    let (other_edge, other) = join("others");
    let link: Value =
        serde_json::from_str(&succeeded(machine.home.run(&["hub", "login", "--json"]))).unwrap();
    let path = link["url"].as_str().unwrap().split_once("/login/").unwrap().1.to_owned();
    let cookie = team.hub.request("GET", &format!("/login/{path}"), &[], None);
    let cookie = cookie.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let ask = |method: &str, path: &str, header: (&str, &str)| {
        let path = path.replace("{edge}", &machine.edge).replace("{id}", "1").replace("{*path}", "x");
        team.hub
            .request(&method.to_uppercase(), &path, &[header], (method == "post").then_some(&b"{}"[..]))
            .status
    };
    // A stream has no end.
    for (method, path, access) in TABLE.iter().filter(|(_, path, _)| *path != "/api/events/stream") {
        let by_cookie = ask(method, path, ("Cookie", &cookie));
        let by_another_team = ask(method, path, ("Authorization", &format!("Bearer {other}")));
        match access {
            Access::Open => {}
            Access::Reader => {
                assert_eq!(by_cookie, 200, "{method} {path}");
                let expected = if path.contains("{edge}") { 404 } else { 200 };
                assert_eq!(by_another_team, expected, "{method} {path} of another team");
            }
            Access::Machine => assert_eq!((by_cookie, by_another_team), (403, 200), "{method} {path}"),
            Access::OwnEdge | Access::OwnLog => {
                assert_eq!((by_cookie, by_another_team), (403, 403), "{method} {path}")
            }
        }
    }
    // What another team may ask for is its own, and empty.
    let bearer = format!("Bearer {other}");
    let theirs = team.hub.request("GET", "/api/agents?all=1", &[("Authorization", &bearer)], None);
    assert_eq!(theirs.json()["agents"], json!([]));
    succeeded(team.home.run(&["hub", "revoke", &other_edge, "--database-url", &team.postgres.url()]));
    for (method, path, access) in TABLE.iter().filter(|(.., access)| *access != Access::Open) {
        assert_eq!(
            ask(method, path, ("Authorization", &bearer)),
            403,
            "{method} {path} ({access:?}) after revoke"
        );
    }
    // Of secrets the database has hashes only.
    let dump = team.postgres.dump();
    for secret in [machine.token.as_str(), &other, &path, cookie.split_once('=').unwrap().1] {
        assert!(secret.len() > 20 && !dump.contains(secret));
    }
}
