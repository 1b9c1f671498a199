//! What a hub owes those who look at it: streams that never claim more than the hub knows, roles that count at once, and
//! tables that stay small and well counted.

use super::{Machine, Team, words};
use headspace_test_support::{Server, skip, wait_for, wait_until};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A machine without a server: the test posts in its place.
struct Posting {
    edge: String,
    token: String,
}

impl Posting {
    fn join(team: &Team, name: &str) -> Posting {
        let invitation = team.invite(name, "full");
        let code = invitation.split_once("#join=").unwrap().1;
        let joined = json!({"code": code, "host": name}).to_string();
        let joined = team.hub.request("POST", "/v1/join", &[], Some(joined.as_bytes())).json();
        let text = |field: &str| joined[field].as_str().unwrap().to_owned();
        Posting { edge: text("edge"), token: text("token") }
    }

    fn post(&self, hub: &Server, from: i64, to: i64, agents: &[Value]) -> u16 {
        let body = json!({"epoch": "00000000-0000-4000-8000-00000000000e", "from": from, "to": to, "level": "full", "agents": agents});
        let (path, bearer) = (format!("/v1/edges/{}/log", self.edge), format!("Bearer {}", self.token));
        let answer =
            hub.request("POST", &path, &[("Authorization", &bearer)], Some(body.to_string().as_bytes()));
        answer.status
    }
}

fn agent(id: i64) -> Value {
    json!({"id": id, "status": "idle", "last_active_at": "2026-11-17T10:00:00Z", "share": "states", "session_id": format!("s{id}")})
}

/// A stream says at least a comment every few seconds, so these are looked at.
const ENDS_WITHIN: Duration = Duration::from_secs(40);
const TOLD_WITHIN: Duration = Duration::from_secs(8);

struct Stream(BufReader<TcpStream>);

impl Stream {
    fn open(team: &Team, token: &str) -> Stream {
        let mut stream = team.hub.connect();
        let head = format!(
            "GET /api/events/stream HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut stream = Stream(BufReader::new(stream));
        while !stream.line().expect("the stream opens").starts_with(": connected") {}
        stream
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).expect("the stream says something, or ends");
        (read > 0).then_some(line)
    }

    /// Everything it says until it ends.
    fn rest(mut self) -> String {
        let (began, mut said) = (Instant::now(), String::new());
        while let Some(line) = self.line() {
            assert!(began.elapsed() < ENDS_WITHIN, "the stream goes on: {said}");
            said += &line;
        }
        said
    }

    /// Reads on until this is told, before the machine counts as silent: then all of its agents are told once more.
    fn until(&mut self, word: &str) {
        let began = Instant::now();
        while !self.line().expect("the stream goes on").contains(word) {
            assert!(began.elapsed() < TOLD_WITHIN, "the stream does not tell {word}");
        }
    }
}

#[test]
fn a_stream_ends_when_the_hub_is_blind_and_not_when_it_is_well() {
    let Some(team) = Team::start() else { return };
    let machine = team.machine("ada", "states", json!({}));
    let mut stream = Stream::open(&team, &machine.token);
    machine.talk();
    stream.until("attention");
    team.postgres.down();
    // Its client would show a board as live that nobody can know.
    stream.rest();
    let bearer = format!("Bearer {}", machine.token);
    let answer = || team.hub.request("GET", "/api/events/stream", &[("Authorization", &bearer)], None).status;
    assert_eq!(answer(), 503);
    team.postgres.up().unwrap();
    wait_until("the hub to be well again", || team.hub.request("GET", "/health", &[], None).status == 200);
    wait_until("the machine to reach it", || machine.status()["error"].is_null());
    let mut stream = Stream::open(&team, &machine.token);
    machine.hook("post-tool-use", json!({"tool_name": "Bash", "tool_use_id": "t", "tool_response": {}}));
    stream.until("working");
}

#[test]
fn a_role_that_is_taken_away_counts_for_streams_that_are_open() {
    let Some(team) = Team::start() else { return };
    let (ada, bob) = (team.machine("ada", "asks", json!({})), team.machine("bob", "asks", json!({})));
    let mut stream = Stream::open(&team, &bob.token);
    ada.talk();
    stream.until("ASKWORD");
    team.postgres.query("UPDATE members SET role = 1 WHERE usr = (SELECT id FROM users WHERE login = 'bob')");
    stream.rest();
    let mut stream = Stream::open(&team, &bob.token);
    ada.hook("post-tool-use", json!({"tool_name": "Bash", "tool_use_id": "t", "tool_response": {}}));
    ada.hook(
        "permission-request",
        json!({"tool_name": "Bash", "tool_input": {"command": "make ASKWORD"}, "tool_use_id": "u"}),
    );
    stream.until("attention");
    team.postgres.query("UPDATE users SET disabled_at = now() WHERE login = 'bob'");
    assert_eq!(words(&stream.rest()), Vec::<&str>::new());
}

#[test]
fn what_a_team_no_longer_shares_is_hidden_at_once_even_of_machines_that_are_away() {
    let Some(team) = Team::start() else { return };
    let ada = team.machine("ada", "asks", json!({}));
    let bob = team.machine("bob", "states", json!({}));
    ada.talk();
    team.agent(&ada, "s1", |agent| agent["status_detail"] == "Allow Bash: make ASKWORD");
    let Machine { server, token, .. } = ada;
    server.kill();
    team.postgres.query("UPDATE teams SET share_max = 1");
    for reader in [&token, &bob.token] {
        for path in ["/api/agents?all=1", "/api/board"] {
            let shown = team.get(path, reader).to_string();
            assert_eq!(words(&shown), Vec::<&str>::new(), "{path}: {shown}");
            assert!(shown.contains("proj"), "{path}: {shown}");
        }
    }
}

#[test]
fn a_database_whose_clock_is_set_back_still_tells_of_every_change() {
    let Some(team) = Team::start() else { return };
    let (reader, machine) = (Posting::join(&team, "bob"), Posting::join(&team, "ada"));
    assert_eq!(machine.post(&team.hub, 1, 1, &[agent(1)]), 200);
    // What was stored before the clock was set back is of the future now.
    team.postgres.query(
        "UPDATE edges SET changed_at = now() + interval '1 hour'; UPDATE agents SET changed_at = now() + interval '1 hour'",
    );
    let mut stream = Stream::open(&team, &reader.token);
    for id in 2..5 {
        assert_eq!(machine.post(&team.hub, id, id, &[agent(id)]), 200);
        stream.until(&format!("\"s{id}\""));
    }
}

#[test]
fn odd_questions_get_plain_answers() {
    let Some(team) = Team::start() else { return };
    let machine = team.machine("ada", "full", json!({}));
    machine.talk();
    let agent = team.agent(&machine, "s1", |agent| agent["status"] == "attention");
    let id = agent["id"].as_str().unwrap();
    for query in ["q=%00", "q=make%00", "type=%00,Stop", "limit=-5", "before=0", "after=-9223372036854775808"]
    {
        for path in [format!("/api/agents/{id}/events"), "/api/events".into()] {
            let events = team.get(&format!("{path}?{query}"), &machine.token);
            assert!(events["events"].is_array(), "{path}?{query}: {events}");
        }
    }
    let bearer = format!("Bearer {}", machine.token);
    for last in ["18446744073709551615", "9223372036854775807", "0", "-1", "x", "1e9", "\u{0}", ""] {
        let mut stream = team.hub.connect();
        let head = format!(
            "GET /api/events/stream HTTP/1.1\r\nHost: localhost\r\nAuthorization: {bearer}\r\nLast-Event-ID: {}\r\n\r\n",
            last.replace('\0', "%00")
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 200"), "{last:?}: {line}");
    }
    assert!(!team.hub.log().contains("could not answer"), "{}", team.hub.log());
    // A browser that never logged in, or no longer counts, is told what to do.
    let stranger = team.hub.request("GET", "/hook/status", &[], None);
    assert!(stranger.status == 401 && stranger.text().contains("headspace hub login"), "{}", stranger.text());
}

/// PostgreSQL holds the statistics of a connection back for ten seconds while it does nothing: autovacuum would learn of a
/// burst so much later.
#[test]
fn the_statistics_of_a_burst_are_complete_soon_although_the_hub_rests() {
    const MACHINES: usize = 6;
    const BATCHES: i64 = 15;
    let Some(team) = Team::start() else { return };
    let machines: Vec<Posting> =
        (0..MACHINES).map(|number| Posting::join(&team, &format!("machine{number}"))).collect();
    std::thread::scope(|scope| {
        for machine in &machines {
            scope.spawn(|| {
                for pos in 1..=BATCHES {
                    assert_eq!(machine.post(&team.hub, pos, pos, &[agent(pos)]), 200);
                }
            });
        }
    });
    let rested = Instant::now();
    // One listens, one sends notices, and one of the others is asked every second whether the database is there.
    let connections =
        team.postgres.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'headspace hub'");
    assert!(connections.parse::<usize>().unwrap() >= 4, "{connections} connections: the burst used only one");
    let counted = || {
        let sql = "SELECT n_tup_ins FROM pg_stat_user_tables WHERE relname = 'agents'";
        team.postgres.query(sql).parse::<i64>().unwrap()
    };
    let all = MACHINES as i64 * BATCHES;
    let after = wait_for("the statistics", || (counted() == all).then(|| rested.elapsed()));
    assert!(after < Duration::from_millis(9500), "{after:?}");
}

#[test]
fn what_nobody_can_see_any_more_is_tidied_away() {
    if !cfg!(debug_assertions) {
        return skip("only builds for development tidy without delay");
    }
    let Some(mut team) = Team::start() else { return };
    let machine = team.machine("ada", "full", json!({}));
    machine.talk();
    team.agent(&machine, "s1", |agent| agent["status"] == "attention");
    machine.hook("session-start", json!({"session_id": "s2", "source": "startup"}));
    machine.hook("session-end", json!({"session_id": "s2", "reason": "exit"}));
    let ended = team.agent(&machine, "s2", |agent| agent["ended_at"].is_string());
    let kept = team.agent(&machine, "s1", |_| true);
    for agent in [&ended, &kept] {
        let path = format!("/api/agents/{}/seen", agent["id"].as_str().unwrap());
        let bearer = format!("Bearer {}", machine.token);
        assert_eq!(team.hub.request("POST", &path, &[("Authorization", &bearer)], Some(b"{}")).status, 200);
    }
    team.postgres.query(
        "UPDATE agents SET changed_at = now() - interval '20 days' WHERE ended_at IS NOT NULL;
         INSERT INTO tokens (hash, usr, edge, kind, ends_at) VALUES ('\\x01', 1, 1, 3, now() - interval '2 days');
         INSERT INTO tokens (hash, usr, edge, kind, revoked_at) VALUES ('\\x02', 1, 1, 1, now() - interval '31 days');
         INSERT INTO invites (hash, team, usr, role, ends_at) VALUES ('\\x03', 1, 1, 3, now() - interval '8 days');
         INSERT INTO teams (name, days_events) VALUES ('longer', 30);
         INSERT INTO events (edge, epoch_no, pos, session_id, name, at, source, flags, received_at)
           VALUES (1, 1, 0, 's', 'Stop', 0, 'hook', 0, now() - interval '20 days')",
    );
    team.home.set("HEADSPACE_HUB_TIDIES", "1");
    let mut team = team.kill_hub();
    team.home.unset("HEADSPACE_HUB_TIDIES");
    let rows = "SELECT (SELECT string_agg(doc::json->>'session_id', ' ') FROM agents), (SELECT count(*) FROM seen),
        (SELECT count(*) FROM tokens WHERE length(hash) = 1), (SELECT count(*) FROM invites WHERE length(hash) = 1),
        (SELECT count(*) FROM events WHERE pos = 0), (SELECT count(*) > 2 FROM events)";
    wait_until("old rows to go", || team.postgres.query(rows) == "s1|1|0|0|0|t");
    assert!(!team.hub.log().contains("could not tidy"), "{}", team.hub.log());
}

/// One machine cannot fill the board of a team.
#[test]
fn the_board_keeps_the_newest_agents_of_a_machine_that_has_too_many() {
    let Some(mut team) = Team::start() else { return };
    let eve = Posting::join(&team, "eve");
    let (most, surplus) = (2_000, 150);
    let at = |id: i64| {
        let mut agent = agent(id);
        agent["last_active_at"] =
            json!(format!("2026-11-17T10:{:02}:{:02}.{:03}Z", id / 600, id / 10 % 60, id % 10));
        agent
    };
    let mut pos = 0;
    for ids in (1..=most + surplus).collect::<Vec<i64>>().chunks(500) {
        let agents: Vec<Value> = ids.iter().map(|id| at(*id)).collect();
        assert_eq!(eve.post(&team.hub, pos + 1, pos + 1, &agents), 200);
        pos += 1;
    }
    let ada = team.machine("ada", "full", json!({}));
    ada.talk();
    team.agent(&ada, "s1", |agent| agent["status"] == "attention");
    let shown = |team: &Team| {
        let agents = team.get("/api/agents", &ada.token)["agents"].as_array().unwrap().clone();
        let (theirs, others): (Vec<Value>, Vec<Value>) =
            agents.into_iter().partition(|agent| agent["edge"] == eve.edge);
        let mut ids: Vec<i64> = theirs
            .iter()
            .map(|agent| agent["id"].as_str().unwrap().split_once('/').unwrap().1.parse().unwrap())
            .collect();
        ids.sort_unstable();
        (ids, others.len())
    };
    let newest: Vec<i64> = (surplus + 1..=most + surplus).collect();
    assert_eq!(shown(&team), (newest, 1), "at once, and only that machine's");
    if !cfg!(debug_assertions) {
        return skip("only builds for development tidy without delay");
    }
    team.home.set("HEADSPACE_HUB_TIDIES", "1");
    let mut team = team.kill_hub();
    team.home.unset("HEADSPACE_HUB_TIDIES");
    let present = format!("SELECT count(*) FROM agents WHERE edge = {} AND ended_at IS NULL", eve.edge);
    wait_until("the rest to be folded away", || team.postgres.query(&present) == most.to_string());
    wait_until("the log to say so", || team.hub.log().contains("has 2150 agents that have not ended"));
    // One of them is heard of again.
    let mut back = agent(1);
    back["last_active_at"] = json!("2026-11-17T11:00:00Z");
    assert_eq!(eve.post(&team.hub, pos + 1, pos + 1, &[back]), 200);
    let (ids, _) = shown(&team);
    assert_eq!((ids.len(), ids.first(), ids.contains(&(surplus + 1))), (most as usize, Some(&1), false));
}
