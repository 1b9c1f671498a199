//! What a hub lives through: machines that never come back, days that pass, databases that cannot serve, homes that were copied.

use super::{Machine, Team};
use headspace_test_support::{Home, Process, Server, free_port, skip, succeeded, wait_until};
use serde_json::{Value, json};

impl Team {
    fn is_ready(&self) -> bool {
        self.hub.request("GET", "/health", &[], None).status == 200
    }

    fn restarted(self) -> Team {
        let team = self.kill_hub();
        wait_until("the hub to be ready", || team.is_ready());
        team
    }

    /// The sessions on the board, or with `?all=1` also those that were folded away.
    fn sessions(&self, path: &str, token: &str) -> Vec<String> {
        let agents = self.get(path, token);
        let name = |agent: &Value| agent["session_id"].as_str().unwrap_or_default().to_owned();
        agents["agents"].as_array().unwrap().iter().map(name).collect()
    }
}

#[test]
fn a_machine_that_never_comes_back_is_folded_away_after_a_day_and_not_ended() {
    let Some(team) = Team::start() else { return };
    let machine = team.machine("ada", "states", json!({}));
    machine.talk();
    team.agent(&machine, "s1", |agent| agent["status"] == "attention");
    let Machine { home, server, edge, token } = machine;
    server.kill();
    // A day by the database's clock, which is the one that counts: what it last heard moves back by so much. Again, if the
    // machine's last words come only now.
    wait_until("it to be folded away", || {
        team.postgres.query("UPDATE edges SET seen_at = now() - interval '25 hours'");
        team.sessions("/api/agents", &token).is_empty()
    });
    assert_eq!(team.get("/api/board", &token)["rows"], json!([]));
    let folded = team.get("/api/agents?all=1", &token)["agents"][0].clone();
    assert_eq!((&folded["session_id"], &folded["status"]), (&json!("s1"), &json!("attention")), "{folded}");
    assert!(folded["ended_at"].is_null() && folded["not_heard_since"].is_string(), "{folded}");
    // It was only away for long.
    let machine = Machine { server: Server::start(home.command(&["serve"])), home, edge, token };
    wait_until("it to be back", || team.sessions("/api/agents", &machine.token) == ["s1"]);
}

#[test]
fn days_get_their_partitions_ahead_and_lose_them_when_they_are_old() {
    let Some(team) = Team::start() else { return };
    let machine = team.machine("ada", "full", json!({}));
    machine.talk();
    wait_until("the events", || team.postgres.query("SELECT count(*) FROM events") == "3");
    let partitions = |team: &Team| {
        let sql = "SELECT string_agg(inhrelid::regclass::text, ' ' ORDER BY 1) FROM pg_inherits WHERE inhparent = 'events'::regclass";
        team.postgres.query(sql)
    };
    let named = |team: &Team, days: i32| {
        team.postgres.query(&format!(
            "SELECT to_char(now() AT TIME ZONE 'UTC' + interval '{days} days', '\"events_\"YYYYMMDD')"
        ))
    };
    for days in [0, 1, 2, 3] {
        assert!(partitions(&team).contains(&named(&team, days)), "{}", partitions(&team));
    }
    let place = team.postgres.query("SELECT DISTINCT tableoid::regclass FROM events");
    assert!(place == named(&team, 0) || place == named(&team, -1), "{place}");
    // Days that have passed already, with an event in each.
    for days in [5, 20] {
        let (day, name) = (-days, named(&team, -days));
        team.postgres.query(&format!(
            "DO $$ DECLARE day date := (now() AT TIME ZONE 'UTC')::date + {day}; BEGIN
               EXECUTE format('CREATE TABLE {name} PARTITION OF events FOR VALUES FROM (%L) TO (%L)', day || ' 00:00+00', day + 1 || ' 00:00+00');
               INSERT INTO events (edge, epoch_no, pos, session_id, name, at, source, flags, received_at)
               VALUES (1, 1, 0, 's', 'Stop', 0, 'hook', 0, (day || ' 12:00+00')::timestamptz);
             END $$"
        ));
    }
    let team = team.restarted();
    let left = partitions(&team);
    assert!(left.contains(&named(&team, -5)) && !left.contains(&named(&team, -20)), "{left}");
    assert!(team.hub.log().contains("dropped the events of"), "{}", team.hub.log());
    team.postgres.query("UPDATE teams SET days_events = 2");
    let team = team.restarted();
    assert!(!partitions(&team).contains(&named(&team, -5)), "{}", partitions(&team));
    assert_eq!(team.postgres.query("SELECT count(*) FROM events"), "3");
}

#[test]
fn a_database_that_cannot_serve_is_named_and_waited_for() {
    let Some(team) = Team::start() else { return };
    let machine = team.machine("ada", "full", json!({}));
    machine.talk();
    wait_until("the events", || machine.status()["lag_events"] == 0);
    let troubled = |team: &Team, word: &str| {
        wait_until(&format!("the hub to say {word:?}"), || team.hub.log().contains(word) && !team.is_ready());
    };
    let well = |team: &Team| wait_until("the hub to be well again", || team.is_ready());

    let read_only = |setting: &str| {
        team.postgres.query(&format!("ALTER SYSTEM {setting}"));
        team.postgres.query("SELECT pg_reload_conf()");
    };
    read_only("SET default_transaction_read_only = on");
    troubled(&team, "the database is read-only");
    machine.hook("post-tool-use", json!({"tool_name": "Bash", "tool_use_id": "t", "tool_response": {}}));
    wait_until("the link to say so", || machine.status()["error"].is_string());
    assert_eq!(machine.server.get("/api/agents")["agents"][0]["status"], "working");
    read_only("RESET default_transaction_read_only");
    well(&team);

    team.postgres.down();
    troubled(&team, "could not reach the database postgres on 127.0.0.1");
    let asked = team.hub.request("GET", "/api/agents", &[("Authorization", "Bearer anybody's")], None);
    assert_eq!(asked.status, 503);
    assert!(!asked.text().contains("127.0.0.1"), "only the log says where it is: {}", asked.text());
    team.postgres.up().unwrap();
    well(&team);
    wait_until("everything to arrive", || machine.status()["lag_events"] == 0);
    assert_eq!(team.postgres.query("SELECT count(*), count(DISTINCT pos) FROM events"), "4|4");

    // A newer hub came, and left something that this one does not understand.
    team.postgres.query("INSERT INTO schema_version VALUES (99, 99, now())");
    troubled(&team, "the database is of a newer headspace (version 99");
    machine.hook("stop", json!({}));
    wait_until("the link to say so", || machine.status()["error"].is_string());
    team.postgres.query("UPDATE schema_version SET oldest_reader = 1 WHERE version = 99");
    well(&team);
    wait_until("the last event", || machine.status()["lag_events"] == 0);

    // There is only one PostgreSQL here, so it says that it is another: with a function before the system's own.
    team.postgres.query(
        "CREATE SCHEMA older; CREATE FUNCTION older.current_setting(text) RETURNS text LANGUAGE sql AS
         $$ SELECT CASE $1 WHEN 'server_version_num' THEN '130012' ELSE pg_catalog.current_setting($1) END $$;
         ALTER DATABASE postgres SET search_path = older, public, pg_catalog",
    );
    let team = team.kill_hub();
    troubled(&team, "PostgreSQL 13 is too old: the hub needs 14 or newer");
    let invited = team.home.run(&["hub", "invite", "bob", "--database-url", &team.postgres.url()]);
    assert_eq!(invited.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&invited.stderr).contains("too old"), "{invited:?}");
    team.postgres.query("ALTER DATABASE postgres RESET search_path");
    well(&team);
}

#[test]
fn of_two_homes_that_post_as_one_machine_the_second_is_refused_until_it_joins_itself() {
    let Some(team) = Team::start() else { return };
    let machine = team.machine("ada", "full", json!({}));
    machine.talk();
    wait_until("the events", || machine.status()["lag_events"] == 0);
    let Machine { home, server, edge, token } = machine;
    server.stop();
    let copy = Home::with_port(json!({}));
    std::fs::create_dir_all(copy.state()).unwrap();
    for file in ["hub.json", "headspace.db"] {
        std::fs::copy(home.state().join(file), copy.state().join(file)).unwrap();
    }
    let original =
        Machine { server: Server::start(home.command(&["serve"])), home, edge: edge.clone(), token };
    original.hook("user-prompt-submit", json!({"prompt": "from the original"}));
    wait_until("the original to be heard", || original.status()["lag_events"] == 0);
    let copied =
        Machine { server: Server::start(copy.command(&["serve"])), home: copy, edge, token: String::new() };
    copied.hook("user-prompt-submit", json!({"prompt": "from the copy"}));
    wait_until("the copy to be told", || {
        copied.status()["error"].as_str().is_some_and(|why| why.contains("copied"))
    });
    let doctor = String::from_utf8_lossy(&copied.home.run(&["doctor"]).stdout).into_owned();
    assert!(doctor.lines().any(|line| line.contains("copied") && line.contains("warn")), "{doctor}");
    assert!(doctor.contains("headspace hub join"), "{doctor}");
    original.hook("stop", json!({}));
    wait_until("the original to go on", || original.status()["lag_events"] == 0);
    assert!(original.status()["error"].is_null(), "{}", original.status());
    assert_eq!(team.postgres.query("SELECT count(*), count(DISTINCT pos), max(pos) FROM events"), "5|5|5");
    assert!(!team.postgres.dump().contains("from the copy"));
    // With an invitation of its own the copy is a machine of its own, the same history or not.
    succeeded(copied.home.run(&["hub", "join", &team.invite("ada", "full"), "--share", "full"]));
    wait_until("the copy to be well", || {
        copied.status()["error"].is_null() && copied.status()["lag_events"] == 0
    });
    assert_eq!(team.postgres.query("SELECT count(*), count(DISTINCT edge) FROM events"), "9|2");
}

#[test]
fn a_container_made_again_under_its_name_takes_the_place_of_its_last_life() {
    let Some(team) = Team::start() else { return };
    let args = ["hub", "invite", "ci", "--uses", "5", "--json", "--database-url", &team.postgres.url()];
    let invited: Value = serde_json::from_str(&succeeded(team.home.run(&args))).unwrap();
    let life = |session: &str| {
        let mut home = Home::with_port(json!({}));
        home.set("HEADSPACE_EDGE", "ci-linux");
        succeeded(home.run(&["hub", "join", invited["url"].as_str().unwrap(), "--share", "asks"]));
        let file: Value =
            serde_json::from_slice(&std::fs::read(home.state().join("hub.json")).unwrap()).unwrap();
        let server = Server::start(home.command(&["serve"]));
        server.hook(
            "user-prompt-submit",
            json!({"session_id": session, "cwd": home.project("p", "main"), "prompt": "build"}),
        );
        let text = |field: &str| file[field].as_str().unwrap().to_owned();
        Machine { home, server, edge: text("edge"), token: text("token") }
    };
    let first = life("first");
    let shown = team.agent(&first, "first", |_| true);
    assert_eq!((&shown["host"], &shown["user"]), (&json!("ci-linux"), &json!("ci")));
    first.server.kill();
    let second = life("second");
    assert_eq!(second.edge, first.edge);
    team.agent(&second, "second", |_| true);
    assert_eq!(team.sessions("/api/agents?all=1", &second.token), ["second"]);
    let bearer = format!("Bearer {}", first.token);
    assert_eq!(team.hub.request("GET", "/api/board", &[("Authorization", &bearer)], None).status, 403);
}

#[test]
fn what_was_cut_before_it_left_is_a_gap_and_the_rest_arrives() {
    let Some(team) = Team::start() else { return };
    let machine = team.machine("ada", "full", json!({}));
    machine.talk();
    wait_until("the events", || machine.status()["lag_events"] == 0);
    team.postgres.down();
    for step in 0..4 {
        machine.hook("user-prompt-submit", json!({"prompt": format!("step {step}")}));
    }
    let Machine { home, server, edge, token } = machine;
    server.stop();
    // As retention does with what is old.
    let database = rusqlite::Connection::open(home.database()).unwrap();
    assert_eq!(database.execute("DELETE FROM events WHERE id IN (4, 5)", []).unwrap(), 2);
    drop(database);
    team.postgres.up().unwrap();
    let machine = Machine { server: Server::start(home.command(&["serve"])), home, edge, token };
    wait_until("the rest to arrive", || team.postgres.query("SELECT pos FROM edges") == "7");
    assert_eq!(team.postgres.query("SELECT from_pos, to_pos, why FROM gaps"), "4|5|retention");
    assert_eq!(
        team.postgres.query("SELECT string_agg(pos::text, ' ' ORDER BY pos) FROM events"),
        "1 2 3 6 7"
    );
    assert!(machine.status()["error"].is_null());
}

#[test]
fn a_hub_that_dies_at_the_worst_moments_loses_nothing() {
    if !cfg!(debug_assertions) {
        return skip("only builds for development die on request");
    }
    let Some(team) = Team::start() else { return };
    let machine = team.machine("ada", "full", json!({}));
    machine.talk();
    wait_until("the events", || machine.status()["lag_events"] == 0);
    let Team { postgres, mut hub, mut home } = team;
    let (port, listen) = (hub.port, format!("127.0.0.1:{}", hub.port));
    let mut sent = 3;
    for point in ["before_commit", "after_commit", "before_notice"] {
        hub.kill();
        home.set("HEADSPACE_HUB_DIES", format!("{point}:2"));
        let mut command =
            home.command(&["hub", "serve", "--database-url", &postgres.url(), "--listen", &listen]);
        home.unset("HEADSPACE_HUB_DIES");
        let mut dying = Process::spawn(&mut command);
        wait_until("the hub to die", || {
            machine.hook("user-prompt-submit", json!({"prompt": format!("step {sent}")}));
            sent += 1;
            !dying.runs()
        });
        hub = Team::hub(&home, &postgres, port);
    }
    wait_until("everything to arrive", || postgres.query("SELECT pos FROM edges") == sent.to_string());
    let counts = postgres.query("SELECT count(*), count(DISTINCT pos), max(pos) FROM events");
    assert_eq!(counts, format!("{sent}|{sent}|{sent}"));
    hub.kill();
}

#[test]
fn hubs_that_start_together_on_an_empty_database_all_come_up() {
    let Some(team) = Team::start() else { return };
    team.postgres.query("DROP SCHEMA public CASCADE; CREATE SCHEMA public");
    let hubs: Vec<Server> = (0..3).map(|_| Team::hub(&team.home, &team.postgres, free_port())).collect();
    for hub in &hubs {
        wait_until("each of them", || hub.request("GET", "/health", &[], None).status == 200);
    }
    assert_eq!(team.postgres.query("SELECT count(*) FROM schema_version WHERE version = 1"), "1");
    hubs.into_iter().for_each(Server::stop);
}

#[test]
fn hubs_are_updated_one_after_the_other_while_machines_post() {
    if !cfg!(debug_assertions) {
        return skip("only builds for development know a later version");
    }
    let Some(mut team) = Team::start() else { return };
    let ada = team.machine("ada", "full", json!({}));
    ada.talk();
    wait_until("the events", || ada.status()["lag_events"] == 0);
    let later = |team: &mut Team, version: &str, port: u16| {
        team.home.set("HEADSPACE_HUB_LATER", version);
        let hub = Team::hub(&team.home, &team.postgres, port);
        team.home.unset("HEADSPACE_HUB_LATER");
        hub
    };
    let is_ready = |hub: &Server| hub.request("GET", "/health", &[], None).status == 200;
    let version = |team: &Team| team.postgres.query("SELECT max(version) FROM schema_version");

    // The first new hub adds to the tables. The old one goes on, and so does one that is started again.
    let newer = later(&mut team, "1", free_port());
    let mut steps = 0;
    wait_until("the tables to be changed", || {
        ada.hook("user-prompt-submit", json!({"prompt": format!("step {steps}")}));
        steps += 1;
        is_ready(&newer) && version(&team) == "2"
    });
    wait_until("what was posted meanwhile", || ada.status()["lag_events"] == 0);
    assert!(ada.status()["error"].is_null() && team.is_ready(), "{}", team.hub.log());
    let mut team = team.restarted();
    ada.hook("stop", json!({}));
    wait_until("an event through the old hub", || ada.status()["lag_events"] == 0);
    let sent = steps + 4;
    assert_eq!(
        team.postgres.query("SELECT count(*), count(DISTINCT pos) FROM events"),
        format!("{sent}|{sent}")
    );

    // One that changes what the others rely on stops them, and they say why.
    let newest = later(&mut team, "2", free_port());
    wait_until("the newest hub", || is_ready(&newest));
    let why = "the database is of a newer headspace (version 3, this hub knows";
    for (hub, knows) in [(&team.hub, 1), (&newer, 2)] {
        let why = format!("{why} {knows}): update this hub");
        // It may not be ready for a moment before it knows why.
        wait_until("an older hub to stop and say why", || !is_ready(hub) && hub.log().contains(&why));
    }
    ada.hook("user-prompt-submit", json!({"prompt": "while nobody takes it"}));
    wait_until("the link to say why", || {
        ada.status()["error"].as_str().is_some_and(|error| error.contains("update this hub"))
    });
    let refused = team.home.run(&["hub", "invite", "bob", "--database-url", &team.postgres.url()]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("update this hub"), "{refused:?}");

    // Updated in its place, it takes what waited.
    let port = team.hub.port;
    std::mem::replace(&mut team.hub, newer).kill();
    let updated = later(&mut team, "2", port);
    wait_until("the rest", || ada.status()["lag_events"] == 0 && ada.status()["error"].is_null());
    let sent = sent + 1;
    assert_eq!(
        team.postgres.query("SELECT count(*), count(DISTINCT pos) FROM events"),
        format!("{sent}|{sent}")
    );
    [updated, newest].into_iter().for_each(Server::kill);
}

/// A batch that had to wait for another one's transaction finds everything as that one left it.
#[test]
fn a_batch_that_waited_for_another_looks_again() {
    let Some(team) = Team::start() else { return };
    let invitation = team.invite("eve", "full");
    let code = invitation.split_once("#join=").unwrap().1;
    let joined = json!({"code": code, "host": "here"}).to_string();
    let eve = team.hub.request("POST", "/v1/join", &[], Some(joined.as_bytes())).json();
    let (edge, token) = (eve["edge"].as_str().unwrap(), eve["token"].as_str().unwrap());
    let post = |from: i64, to: i64, share: &str| {
        let at = "2026-11-17T10:00:00Z";
        let events: Vec<Value> = (from..=to)
            .map(|pos| json!({"pos": pos, "agent_id": 1, "session_id": "s", "name": "Stop", "at": at, "source": "hook", "body": {}}))
            .collect();
        let agent = json!({"id": 1, "status": "idle", "last_active_at": at, "share": share});
        let body = json!({"epoch": "00000000-0000-4000-8000-00000000000e", "from": from, "to": to, "level": "full",
                          "events": if share == "full" { events } else { Vec::new() }, "agents": [agent]});
        let (path, bearer) = (format!("/v1/edges/{edge}/log"), format!("Bearer {token}"));
        let answer =
            team.hub.request("POST", &path, &[("Authorization", &bearer)], Some(body.to_string().as_bytes()));
        (answer.status, answer.json()["pos"].as_i64())
    };
    assert_eq!(post(1, 2, "full"), (200, Some(2)));
    let rows =
        || team.postgres.query("SELECT count(*), count(DISTINCT pos), (SELECT pos FROM edges) FROM events");
    let holding = |changes: &str, meanwhile: &dyn Fn() -> (u16, Option<i64>)| {
        let held = format!("BEGIN; {changes}; SELECT pg_sleep(1.5); COMMIT");
        std::thread::scope(|scope| {
            let other = scope.spawn(|| team.postgres.query(&held));
            let waits = "SELECT count(*) > 0 FROM pg_stat_activity WHERE wait_event = 'PgSleep'";
            wait_until("the other one to hold the row", || team.postgres.query(waits) == "t");
            let answer = meanwhile();
            other.join().unwrap();
            answer
        })
    };
    // The same batch at another hub.
    let same = "UPDATE edges SET pos = 3, seen_at = clock_timestamp();
         INSERT INTO events SELECT edge, epoch_no, 3, agent_id, session_id, name, at, source, flags, received_at, body FROM events WHERE pos = 2";
    assert_eq!(holding(same, &|| post(3, 3, "full")), (200, Some(3)));
    assert_eq!(rows(), "3|3|3");
    // Only the documents changed, so the position did not: what was lowered before is shared again, and is then lowered.
    assert_eq!(post(4, 3, "states"), (200, Some(3)));
    assert_eq!(rows(), "0|0|3", "what is no longer shared is gone");
    let raised = format!(
        "UPDATE edges SET seen_at = clock_timestamp(); UPDATE agents SET share = 3;
         INSERT INTO events VALUES ({edge}, 1, 3, 1, 's', 'Stop', 0, 'hook', 0, now(), '{{}}')"
    );
    assert_eq!(holding(&raised, &|| post(4, 3, "states")), (200, Some(3)));
    assert_eq!(rows(), "0|0|3", "what was shared while it waited is gone, too");
    // Revoked meanwhile.
    let revoked =
        "UPDATE edges SET left_at = now(), changed_at = now(); UPDATE tokens SET revoked_at = now()";
    assert_eq!(holding(revoked, &|| post(4, 4, "full")).0, 403);
    assert_eq!(rows(), "0|0|3");
}

#[test]
fn a_database_removed_under_the_running_server_begins_another_history() {
    let Some(team) = Team::start() else { return };
    let machine = team.machine("ada", "full", json!({}));
    machine.talk();
    machine.hook("session-start", json!({"session_id": "s2", "source": "startup"}));
    wait_until("the first history", || machine.status()["lag_events"] == 0);
    for name in ["headspace.db", "headspace.db-wal", "headspace.db-shm"] {
        let _ = std::fs::remove_file(machine.home.state().join(name));
    }
    machine.hook("session-start", json!({"session_id": "after", "source": "startup"}));
    team.agent(&machine, "after", |_| true);
    assert_eq!(
        team.sessions("/api/agents", &machine.token),
        ["after"],
        "nobody of the old history is on the board"
    );
    wait_until("the second history", || {
        team.postgres
            .query("SELECT epoch_no, count(*), count(DISTINCT pos) FROM events GROUP BY 1 ORDER BY 1")
            == "1|4|4\n2|1|1"
    });
}
