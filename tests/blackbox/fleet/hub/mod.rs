//! A team's board: hubs on a real PostgreSQL, machines that join them, and what may leave.

mod life;
mod live;
mod privacy;
mod tls;

use headspace_fleet::hub::http::access::Access;
use headspace_fleet::hub::http::routes::TABLE;
use headspace_test_support::{
    Home, Postgres, Server, Tmux, binary, free_port, skip, succeeded, wait_for, wait_until,
};
use serde_json::{Value, json};

/// A database and a hub on it.
pub(crate) struct Team {
    postgres: Postgres,
    pub(crate) hub: Server,
    home: Home,
}

impl Team {
    /// `None`: there is no PostgreSQL here, and that was said.
    pub(crate) fn start() -> Option<Team> {
        let postgres = match Postgres::start() {
            Ok(postgres) => postgres,
            Err(why) => {
                skip(&why);
                return None;
            }
        };
        let home = Home::new();
        let hub = Team::hub(&home, &postgres, free_port());
        let team = Team { postgres, hub, home };
        wait_until("the hub to be ready", || team.hub.request("GET", "/health", &[], None).status == 200);
        Some(team)
    }

    /// Kills the hub, and starts another in its place.
    fn kill_hub(self) -> Team {
        let Team { postgres, hub, home } = self;
        let port = hub.port;
        hub.kill();
        Team { hub: Team::hub(&home, &postgres, port), postgres, home }
    }

    fn hub(home: &Home, postgres: &Postgres, port: u16) -> Server {
        let listen = format!("127.0.0.1:{port}");
        Server::start(home.command(&["hub", "serve", "--database-url", &postgres.url(), "--listen", &listen]))
    }

    pub(crate) fn invite(&self, name: &str, role: &str) -> String {
        let args = ["hub", "invite", name, "--role", role, "--json", "--database-url", &self.postgres.url()];
        let invited: Value = serde_json::from_str(&succeeded(self.home.run(&args))).unwrap();
        invited["url"].as_str().unwrap().to_owned()
    }

    /// A machine that has joined, with its server.
    fn machine(&self, name: &str, share: &str, config: Value) -> Machine {
        let home = Home::with_port(config);
        succeeded(home.run(&["hub", "join", &self.invite(name, "full"), "--share", share]));
        let file: Value =
            serde_json::from_slice(&std::fs::read(home.state().join("hub.json")).unwrap()).unwrap();
        let text = |field: &str| file[field].as_str().unwrap().to_owned();
        let (edge, token) = (text("edge"), text("token"));
        let server = Server::start(home.command(&["serve"]));
        Machine { home, server, edge, token }
    }

    pub(crate) fn get(&self, path: &str, token: &str) -> Value {
        let bearer = format!("Bearer {token}");
        let response = self.hub.request("GET", path, &[("Authorization", &bearer)], None);
        assert_eq!(response.status, 200, "{path}: {}", response.text());
        response.json()
    }

    /// The hub's agent of this session, once it is as it should be.
    fn agent(&self, machine: &Machine, session: &str, is: impl Fn(&Value) -> bool) -> Value {
        wait_for("the hub to show the agent", || {
            let agents = self.get("/api/agents?all=1", &machine.token)["agents"].as_array().unwrap().clone();
            agents
                .into_iter()
                .find(|agent| agent["edge"] == *machine.edge && agent["session_id"] == session && is(agent))
        })
    }
}

struct Machine {
    home: Home,
    server: Server,
    edge: String,
    token: String,
}

impl Machine {
    fn hook(&self, slug: &str, fields: Value) {
        let mut body = json!({"session_id": "s1", "cwd": self.home.project("PATHWORD/proj", "BRANCHWORD")});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        self.server.hook(slug, body);
    }

    /// A session with a word of its own in every kind of text, left with an open question.
    fn talk(&self) {
        self.hook("session-start", json!({"source": "startup"}));
        self.hook(
            "user-prompt-submit",
            json!({"prompt": format!("TITLEWORD {} PROMPTWORD", "please ".repeat(80))}),
        );
        self.hook(
            "permission-request",
            json!({"tool_name": "Bash", "tool_input": {"command": "make ASKWORD"}, "tool_use_id": "t"}),
        );
    }

    fn status(&self) -> Value {
        serde_json::from_str(&succeeded(self.home.run(&["hub", "status", "--json"]))).unwrap()
    }
}

fn words(text: &str) -> Vec<&'static str> {
    let all = ["PATHWORD", "BRANCHWORD", "TITLEWORD", "PROMPTWORD", "ASKWORD"];
    all.into_iter().filter(|word| text.contains(word)).collect()
}

#[test]
fn a_team_sees_who_waits_and_only_what_was_shared() {
    let Some(team) = Team::start() else { return };
    let machine = team.machine("ada", "states", json!({}));
    machine.talk();
    let agent = team.agent(&machine, "s1", |agent| agent["status"] == "attention");
    assert_eq!((&agent["user"], &agent["project"]), (&json!("ada"), &json!("proj")));
    assert_eq!(agent["name"], "proj", "what is not shared has the project's name on the board");
    assert_eq!(agent["id"], format!("{}/1", machine.edge));
    wait_until("the position to follow", || machine.status()["lag_events"] == 0);
    assert_eq!(words(&team.postgres.dump()), Vec::<&str>::new());
    assert_eq!(team.postgres.query("SELECT count(*) FROM events"), "0");
    let preview = succeeded(machine.home.run(&["hub", "preview", "--json"]));
    assert_eq!(words(&preview), Vec::<&str>::new());
    let board = succeeded(machine.home.run(&["status", "--hub"]));
    assert!(board.contains("ada@") && board.contains("proj"), "{board}");

    let sharing = team.machine("bob", "full", json!({}));
    sharing.talk();
    let agent = team.agent(&sharing, "s1", |agent| agent["status_detail"] == "Allow Bash: make ASKWORD");
    let id = agent["id"].as_str().unwrap();
    let events = team.get(&format!("/api/agents/{id}/events"), &machine.token);
    assert_eq!(events["events"].as_array().unwrap().len(), 3);
    let turns = team.get(&format!("/api/agents/{id}/turns"), &machine.token);
    assert!(turns["turns"].to_string().contains("PROMPTWORD"), "{turns}");
    // What one answers, the other's board shows.
    sharing.hook("post-tool-use", json!({"tool_name": "Bash", "tool_use_id": "t", "tool_response": {}}));
    team.agent(&sharing, "s1", |agent| agent["status"] == "working");
}

#[test]
fn top_shows_the_team_and_follows_it() {
    let Some(team) = Team::start() else { return };
    let (ada, bob) = (team.machine("ada", "asks", json!({})), team.machine("bob", "asks", json!({})));
    let Some(tmux) = Tmux::new(&ada.home, "tmux.sock") else { return };
    bob.talk();
    team.agent(&bob, "s1", |agent| agent["status"] == "attention");
    let top = format!("exec '{}' top --hub", binary());
    let pane = tmux.run(&["new-session", "-d", "-x", "120", "-y", "30", "-P", "-F", "#{pane_id}", &top]);
    wait_until("bob's question", || {
        let screen = tmux.screen(&pane);
        screen.contains("bob@") && screen.contains("Allow Bash: make ASKWORD")
    });
    bob.hook("post-tool-use", json!({"tool_name": "Bash", "tool_use_id": "t", "tool_response": {}}));
    wait_until("its answer", || {
        let screen = tmux.screen(&pane);
        screen.contains("bob@") && screen.contains("working") && !screen.contains("Allow Bash")
    });
    // A team's board is only read: nothing else is offered, and a key that does more elsewhere says so.
    let screen = tmux.screen(&pane);
    assert!(
        screen.contains("n next") && !screen.contains("r reply") && !screen.contains("c changes"),
        "{screen}"
    );
    tmux.run(&["send-keys", "-t", &pane, "r"]);
    wait_until("the reason", || tmux.screen(&pane).contains("not from a team's board"));
    tmux.run(&["send-keys", "-t", &pane, "?"]);
    wait_until("the help", || tmux.screen(&pane).contains("next, previous agent"));
    assert!(!tmux.screen(&pane).contains("deny it"), "{}", tmux.screen(&pane));
    tmux.run(&["send-keys", "-t", &pane, "Escape"]);
    team.postgres.down();
    wait_until("what to do", || tmux.screen(&pane).contains("`headspace hub status` says why"));
}

#[test]
fn what_one_machine_posts_does_not_spoil_the_board_of_the_others() {
    let Some(team) = Team::start() else { return };
    let ada = team.machine("ada", "full", json!({}));
    ada.talk();
    team.agent(&ada, "s1", |agent| agent["status"] == "attention");
    // A machine without a server: the test posts in its place.
    let invitation = team.invite("eve", "full");
    let code = invitation.split_once("#join=").unwrap().1;
    let joined = json!({"code": code, "host": "\u{1b}[2J"}).to_string();
    let eve = team.hub.request("POST", "/v1/join", &[], Some(joined.as_bytes())).json();
    let edge = eve["edge"].as_str().unwrap();
    let bearer = format!("Bearer {}", eve["token"].as_str().unwrap());
    let post = |to: Value, sent_at: &str, agents: Value| {
        let epoch = "00000000-0000-4000-8000-00000000000e";
        let body = json!({"epoch": epoch, "from": 1, "to": to, "sent_at": sent_at, "level": "full", "agents": agents});
        let path = format!("/v1/edges/{edge}/log");
        let answer =
            team.hub.request("POST", &path, &[("Authorization", &bearer)], Some(body.to_string().as_bytes()));
        answer.status
    };
    let (now, odd) = ("2026-11-18T00:00:00Z", "\u{1b}[2J\u{7}\nrow\u{202e}");
    let agent = json!([{
        "id": 1, "session_id": "evil", "status": "attention", "last_active_at": "2260-01-01T00:00:00Z", "group": "of tomorrow", "state": 7,
        "interactions": "none", "subagents": [7], "summary": {"order": 5}, "name": odd, "project": odd, "host": odd,
        "edge": ada.edge, "user": "ada", "machine": "here", "not_heard_since": 3, "share": "full",
    }]);
    assert_eq!(post(json!(i64::MAX), now, json!([])), 400);
    // A clock that is wrong by centuries, either way.
    assert_eq!(post(json!(1), "1700-01-01T00:00:00Z", agent.clone()), 200);
    assert_eq!(post(json!(1), "2260-01-01T00:00:00Z", agent), 200);
    let agents = team.get("/api/agents", &ada.token)["agents"].as_array().unwrap().clone();
    let evil = agents.iter().find(|agent| agent["session_id"] == "evil").unwrap();
    assert_eq!(
        (&evil["id"], &evil["user"]),
        (&json!(format!("{edge}/1")), &json!("eve")),
        "it is its own agent"
    );
    for args in [&["status", "--hub"][..], &["status", "--hub", "--all"]] {
        let printed = succeeded(ada.home.run(args));
        assert!(printed.contains("Allow Bash: make ASKWORD"), "{args:?}: {printed}");
        assert!(!printed.contains(['\u{1b}', '\u{7}', '\u{202e}']), "{args:?}: {printed:?}");
    }
    let listed: Value =
        serde_json::from_str(&succeeded(ada.home.run(&["status", "--hub", "--json"]))).unwrap();
    assert_eq!(listed["agents"].as_array().unwrap().len(), 2);
    assert!(!team.hub.log().contains("panicked"), "{}", team.hub.log());
}

#[test]
fn a_revoked_machine_is_refused_and_works_on() {
    let Some(team) = Team::start() else { return };
    let machine = team.machine("ada", "states", json!({}));
    machine.talk();
    team.agent(&machine, "s1", |_| true);
    let revoke = |number: &[&str]| {
        team.home.run(&[&["hub", "revoke", "--database-url", &team.postgres.url()], number].concat())
    };
    let listed = succeeded(revoke(&[]));
    assert!(listed.trim_start().starts_with(&format!("{}  ada@", machine.edge)), "{listed}");
    assert!(String::from_utf8_lossy(&revoke(&["77"]).stderr).contains("`headspace hub revoke` lists them"));
    assert!(String::from_utf8_lossy(&revoke(&["7/1"]).stderr).contains("a machine is a number"));
    succeeded(revoke(&[&machine.edge]));
    assert_eq!(succeeded(revoke(&[])), "", "it is not one of them any more");
    machine.hook("post-tool-use", json!({"tool_name": "Bash", "tool_use_id": "t", "tool_response": {}}));
    wait_until("the link to say why", || {
        machine.status()["error"].as_str().is_some_and(|why| why.contains("revoked"))
    });
    let bearer = format!("Bearer {}", machine.token);
    let refused = team.hub.request("GET", "/api/board", &[("Authorization", &bearer)], None);
    assert_eq!(refused.status, 403);
    assert_eq!(machine.server.get("/api/agents")["agents"][0]["status"], "working");
    let left = succeeded(machine.home.run(&["hub", "leave"]));
    assert!(left.contains("no longer accepted this machine"), "{left}");
    // It may be invited again.
    succeeded(machine.home.run(&["hub", "join", &team.invite("ada", "full")]));
    wait_until("the link to be well again", || machine.status()["error"].is_null());
}

#[test]
fn killed_hubs_and_databases_lose_nothing_and_repeat_nothing() {
    let Some(mut team) = Team::start() else { return };
    let machine = team.machine("ada", "full", json!({}));
    machine.hook("session-start", json!({"source": "startup"}));
    for round in 0..4 {
        for step in 0..10 {
            machine.hook("user-prompt-submit", json!({"prompt": format!("round {round}, step {step}")}));
        }
        match round {
            0 => team = team.kill_hub(),
            1 => {
                team.postgres.down();
                team.postgres.up().unwrap();
            }
            _ => {}
        }
    }
    let newest = machine.server.get("/api/events?limit=1")["events"][0]["id"].as_i64().unwrap();
    wait_until("everything to arrive", || team.postgres.query("SELECT pos FROM edges") == newest.to_string());
    let counts = team.postgres.query("SELECT count(*), count(DISTINCT pos), max(pos) FROM events");
    assert_eq!(counts, format!("{newest}|{newest}|{newest}"));
}

#[test]
fn every_route_of_a_hub_asks_who_is_there() {
    let Some(team) = Team::start() else { return };
    let mut asked = 0;
    for (method, path, access) in TABLE.iter().filter(|(.., access)| *access != Access::Open) {
        let path = path.replace("{edge}", "1").replace("{id}", "1");
        let body = (*method == "post").then_some(&b"{}"[..]);
        for header in ["", "Bearer ", "Bearer wrong", "Basic eDp5"] {
            let response =
                team.hub.request(&method.to_uppercase(), &path, &[("Authorization", header)], body);
            assert!(
                matches!(response.status, 401 | 403),
                "{method} {path} ({access:?}) with {header:?}: {}",
                response.status
            );
            asked += 1;
        }
    }
    assert!(asked >= 50, "{asked}");
    let health = team.hub.request("GET", "/health", &[], None);
    assert_eq!(health.json()["status"], "ok");
    let foreign = team.hub.request("GET", "/", &[("Origin", "http://evil.example")], None);
    assert_eq!(foreign.status, 403);
}

#[test]
fn a_link_for_the_browser_works_once_and_never_writes() {
    let Some(team) = Team::start() else { return };
    let machine = team.machine("ada", "states", json!({}));
    let link: Value =
        serde_json::from_str(&succeeded(machine.home.run(&["hub", "login", "--json"]))).unwrap();
    let url = link["url"].as_str().unwrap();
    let path = &url[url.find("/login/").unwrap()..];
    let first = team.hub.request("GET", path, &[], None);
    let cookie = first.header("set-cookie").unwrap().to_owned();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert_eq!(team.hub.request("GET", path, &[], None).status, 403);
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(team.hub.request("GET", "/api/board", &[("Cookie", cookie)], None).status, 200);
    let log = format!("/v1/edges/{}/log", machine.edge);
    assert_eq!(team.hub.request("POST", &log, &[("Cookie", cookie)], Some(b"{}")).status, 403);
}

#[test]
fn plain_http_beyond_this_machine_is_refused_before_anything_is_sent() {
    let home = Home::new();
    for url in [
        "http://192.0.2.1:5056/#join=x",
        "http://hub.example.org/#join=x",
        "http://127.0.0.1.example.org/#join=x",
    ] {
        let output = home.run(&["hub", "join", url]);
        assert_eq!(output.status.code(), Some(1), "{url}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("https"), "{url}");
    }
    assert!(!home.state().join("hub.json").exists());
    let output =
        home.run(&["hub", "serve", "--database-url", "postgres://x@127.0.0.1/x", "--listen", "0.0.0.0:0"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("TLS"));
}

/// What starts a hub elsewhere names commands and options that there are.
#[test]
fn the_files_that_start_a_hub_make_sense() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |name: &str| std::fs::read_to_string(root.join("install").join(name)).unwrap();
    let unit = read("headspace-hub.service");
    for section in ["[Unit]", "[Service]", "[Install]"] {
        assert!(unit.lines().any(|line| line == section), "{section}");
    }
    let odd =
        unit.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', '[']) && !line.contains('='));
    assert_eq!(odd.collect::<Vec<_>>(), Vec::<&str>::new());
    assert!(unit.contains("ExecStart=/usr/bin/headspace hub serve"));
    let (image, compose) = (read("Dockerfile"), read("compose.yaml"));
    assert!(image.contains("FROM scratch") && image.contains("USER 65532"));
    assert!(!image.lines().any(|line| line.starts_with("COPY --")), "COPY's options need BuildKit");
    use headspace_platform::config::var;
    for variable in [var::DATABASE_URL, var::DATABASE_PASSWORD_FILE] {
        assert!(
            compose.contains(&format!("      {variable}: ")),
            "{variable}, for `hub serve` and `hub invite` alike"
        );
    }
    let help = succeeded(Home::new().run(&["hub", "serve", "--help"]));
    let options = compose.lines().filter_map(|line| line.trim().strip_prefix("- --"));
    let options: Vec<&str> = options.collect();
    assert!(options.len() >= 2, "{options:?}");
    for option in options {
        assert!(help.contains(&format!("--{option}")), "compose.yaml names --{option}");
    }
    assert!(
        compose.contains("healthcheck")
            && compose.contains("database_password")
            && !compose.contains("POSTGRES_PASSWORD:")
    );
    // The secret is mounted with its owner and mode: one that only its owner may read would be out of the hub's reach.
    assert!(compose.contains("chmod 644 secrets/") && compose.contains("mkdir -m 700 secrets"));
    if std::process::Command::new("python3")
        .args(["-c", "import yaml"])
        .status()
        .is_ok_and(|status| status.success())
    {
        let parse = "import sys, yaml; d = yaml.safe_load(open(sys.argv[1])); assert set(d['services']) == {'database', 'hub'}";
        let parsed = std::process::Command::new("python3")
            .args(["-c", parse])
            .arg(root.join("install/compose.yaml"))
            .status();
        assert!(parsed.unwrap().success());
    }
}
