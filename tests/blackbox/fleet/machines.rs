//! Agents of other machines: what `machines add` brings onto the board, over a command and over a real sshd.

use headspace_test_support::{
    Home, Server, binary, event, free_port, on_terminal, skip, wait_for, wait_until,
};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A machine of its own: a home, and a server in it.
struct FarMachine {
    home: Home,
    server: Option<Server>,
}

impl FarMachine {
    fn new() -> FarMachine {
        let home = Home::with_port(json!({}));
        let server = Some(home.serve());
        FarMachine { home, server }
    }

    fn server(&self) -> &Server {
        self.server.as_ref().unwrap()
    }

    /// A shell command that runs headspace there.
    fn headspace(&self) -> String {
        let (home, path) = (self.home.path().display(), self.home.search_path());
        format!("env -i HOME='{home}' PATH='{path}' '{}'", binary())
    }

    fn hook(&self, slug: &str, session: &str, fields: Value) {
        self.server().hook(slug, event(session, fields));
    }

    fn works(&self, session: &str, prompt: &str) {
        self.hook("session-start", session, json!({"source": "startup"}));
        self.hook("user-prompt-submit", session, json!({"prompt": prompt}));
    }

    fn asks(&self, session: &str) {
        self.hook(
            "permission-request",
            session,
            json!({"tool_name": "Bash", "tool_input": {"command": "npm test"}}),
        );
    }
}

/// The agent of this session on the board, once it is as wanted.
fn shown(server: &Server, session: &str, wanted: impl Fn(&Value) -> bool) -> Value {
    wait_for(&format!("{session} on the board"), || {
        let agents = server.get("/api/agents?all=1");
        let agent = agents["agents"].as_array()?.iter().find(|agent| agent["session_id"] == session)?.clone();
        wanted(&agent).then_some(agent)
    })
}

fn status_of(server: &Server, name: &str) -> Value {
    let machines = server.get("/api/machines");
    machines["machines"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["name"] == name)
        .cloned()
        .unwrap_or_default()
}

#[test]
fn the_agents_of_another_machine_stand_on_every_surface_and_in_no_file() {
    let far = FarMachine::new();
    far.works("far1", "FARWORD far away");
    let home = Home::with_port(json!({}));
    let here = home.serve();
    here.hook("session-start", event("near1", json!({})));
    let script = home.write("box.sh", format!("#!/bin/sh\nexec {} relay\n", far.headspace()));
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    let said = home.ok(&["machines", "add", "box", "--", script.to_str().unwrap()]);
    assert!(said.contains(script.to_str().unwrap()), "{said}");
    let listed = home.json(&["machines", "list"]);
    assert_eq!(listed["machines"][0]["command"], json!([script]));

    let agent = shown(&here, "far1", |agent| agent["status"] == "working");
    assert_eq!(
        (&agent["id"], &agent["machine"], &agent["not_heard_since"]),
        (&json!("box/1"), &json!("box"), &Value::Null)
    );
    assert!(agent["host"].is_string(), "{agent}");
    // The same number here and there is two agents.
    assert_eq!(
        (&shown(&here, "near1", |_| true)["id"], here.get("/api/agents/1")["session_id"].as_str()),
        (&json!(1), Some("near1"))
    );
    assert_eq!(here.get("/api/agents/box/1")["session_id"], "far1");

    far.asks("far1");
    let asking = shown(&here, "far1", |agent| agent["status"] == "attention");
    let answer = &asking["interactions"][0]["answer"];
    assert_eq!((&answer["can"], &answer["why"]), (&json!([]), &json!("answer on box")));
    let board = here.get("/api/board");
    let row = board["rows"].as_array().unwrap().iter().find(|row| row["id"] == "box/1").unwrap().clone();
    assert_eq!((&row["group"], &row["machine"]), (&json!("needs_you"), &json!("box")));
    let status = home.ok(&["status"]);
    assert!(status.contains("box: ") && status.contains("Allow Bash: npm test"), "{status}");
    assert!(home.ok(&["status", "--tmux"]).contains("!1"));
    assert!(home.ok(&["status", "--waybar"]).contains("box: "));
    assert!(home.ok(&["next", "--print"]).contains("box: "));

    // Its past is asked for over there; what acts on it is refused, with where to do it.
    let turns = here.get("/api/agents/box/1/turns");
    assert!(turns["turns"][0]["text"].as_str().unwrap().contains("FARWORD"), "{turns}");
    assert!(!here.get("/api/agents/box/1/events?limit=2")["events"].as_array().unwrap().is_empty());
    assert!(home.ok(&["events", "--agent", "box/1"]).contains("PermissionRequest"));
    for verb in ["name", "jump", "reply", "stop"] {
        let refused = here.post(&format!("/api/agents/box/1/{verb}"), &json!({}));
        assert_eq!(
            (refused.status, refused.text().contains("box")),
            (409, true),
            "{verb}: {}",
            refused.text()
        );
    }
    far.hook("post-tool-use", "far1", json!({"tool_name": "Bash", "tool_input": {"command": "npm test"}}));
    far.hook("stop", "far1", json!({"last_assistant_message": "Done."}));
    shown(&here, "far1", |agent| agent["unseen"] == true);
    assert_eq!(here.post("/api/agents/box/1/seen", &json!({})).status, 200);
    shown(&here, "far1", |agent| agent["unseen"] == false);
    far.hook("session-end", "far1", json!({"reason": "other"}));
    wait_until("its end", || !here.get("/api/agents").to_string().contains("far1"));

    here.stop();
    for entry in std::fs::read_dir(home.state()).unwrap().flatten() {
        if let Ok(bytes) = std::fs::read(entry.path()) {
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains("FARWORD") && !text.contains("far1"), "{:?}", entry.path());
        }
    }
}

#[test]
fn a_cut_line_says_since_when_and_a_line_that_returns_says_what_is_true() {
    let mut far = FarMachine::new();
    far.works("far1", "go");
    far.asks("far1");
    let home = Home::with_port(json!({}));
    let relay = format!(
        "[ -e '{0}/dead' ] && exit 1; echo $$ > '{0}/pid'; exec {1} relay",
        home.path().display(),
        far.headspace()
    );
    home.ok(&["machines", "add", "box", "--", "/bin/sh", "-c", &relay]);
    let here = home.serve();
    shown(&here, "far1", |agent| agent["status"] == "attention" && agent["not_heard_since"].is_null());
    home.write("dead", "");
    let pid = std::fs::read_to_string(home.at("pid")).unwrap();
    assert!(Command::new("kill").args(["-9", pid.trim()]).status().unwrap().success());
    let cut = shown(&here, "far1", |agent| agent["not_heard_since"].is_string());
    assert_eq!(
        (&cut["status"], &cut["ended_at"], &cut["group"]),
        (&json!("attention"), &Value::Null, &json!("needs_you"))
    );
    assert!(home.ok(&["status"]).contains("not heard since"));
    assert!(home.ok(&["machines", "list"]).contains("not heard since"));
    wait_until("the doctor's word", || {
        let findings = home.run(&["doctor", "--json"]);
        let findings: Value = serde_json::from_slice(&findings.stdout).unwrap();
        let line =
            findings["checks"].as_array().unwrap().iter().find(|one| one["check"] == "machines").cloned();
        line.is_some_and(|line| {
            line["level"] == "warn" && line["message"].as_str().unwrap().contains("box: not heard since")
        })
    });
    far.hook("post-tool-use", "far1", json!({"tool_name": "Bash", "tool_input": {"command": "npm test"}}));
    far.hook("stop", "far1", json!({"last_assistant_message": "Done."}));
    std::fs::remove_file(home.at("dead")).unwrap();
    shown(&here, "far1", |agent| agent["status"] == "idle" && agent["not_heard_since"].is_null());
    // The server there stops: the relay ends, and with it the line.
    far.server.take().unwrap().stop();
    shown(&here, "far1", |agent| agent["not_heard_since"].is_string() && agent["ended_at"].is_null());
    assert!(status_of(&here, "box")["error"].as_str().unwrap().contains("could not reach the server"));
    home.ok(&["machines", "remove", "box"]);
    wait_until("its agents to leave", || !here.get("/api/agents?all=1").to_string().contains("far1"));
    assert_eq!(here.get("/api/machines")["machines"], json!([]));
}

#[test]
fn a_hostile_relay_shows_its_own_agents_and_harms_nobody() {
    let stamp = "2026-11-17T10:00:00Z";
    let agent = |id: Value, name: &str| {
        json!({"agent": {
            "id": id, "session_id": format!("evil-{name}"), "sessions": [], "name": name, "state": "idle",
            "status": "attention", "group": "needs_you", "status_detail": "\u{1b}]0;owned\u{7}$(touch owned)", "unseen": false,
            "stale": false, "headless": false, "started_at": stamp, "last_active_at": stamp, "background": [],
            "interactions": [], "subagents": [], "turn_count": 0, "source": "hook", "source_at": stamp,
            "confidence": "high", "tmux_pane": "%0'; touch owned; '", "cwd": "/x'; touch owned; '",
        }})
    };
    let lines = [
        "Welcome!".to_owned(),
        agent(json!(9), "too-early").to_string(),
        json!({"relay": {"protocol": 1, "version": "\u{1b}[2J", "host": "\u{1b}[31m<b>", "at": stamp}})
            .to_string(),
        agent(json!(1), "\u{1b}[2Jred").to_string(),
        agent(json!("here/1"), "third").to_string(),
        agent(json!(-4), "negative").to_string(),
        "{\"agent\":{\"id\":7".to_owned(),
        format!("{{\"agent\": \"{}\"}}", "x".repeat(3 << 20)),
        "\u{0}\u{ff}{{{{".to_owned(),
        json!({"board": {"agents": 1}}).to_string(),
        json!({"answer": {"ask": 99, "body": {}}}).to_string(),
        json!({"gone": 1000}).to_string(),
    ];
    let home = Home::with_port(json!({}));
    let file = home.write("lines", lines.join("\n") + "\n");
    let flood = format!(
        "cat '{}'; while :; do echo rubbish; echo '{{\"beat\":{{\"at\":\"{stamp}\"}}}}'; sleep 0.01; done",
        file.display()
    );
    home.ok(&["machines", "add", "evil", "--", "/bin/sh", "-c", &flood]);
    let here = home.serve();
    here.hook("session-start", event("near1", json!({})));
    let red = shown(&here, "evil-\u{1b}[2Jred", |_| true);
    assert_eq!((&red["id"], &red["tmux_pane"]), (&json!("evil/1"), &Value::Null));
    let agents = here.get("/api/agents?all=1");
    let ids: Vec<&Value> = agents["agents"].as_array().unwrap().iter().map(|agent| &agent["id"]).collect();
    assert_eq!(ids.len(), 2, "{ids:?}");
    for args in [&["status"][..], &["status", "--tmux"], &["machines", "list"], &["next", "--print"]] {
        let printed = home.ok(args);
        assert!(!printed.contains('\u{1b}') && !printed.contains('\u{7}'), "{args:?}: {printed:?}");
    }
    wait_until("its rubbish to be counted", || {
        let status = status_of(&here, "evil");
        status["not_understood"].as_u64() > Some(3) && status["left_out"].as_u64() >= Some(1)
    });
    // A jump fails closed, and runs nothing the relay said.
    let jump = home.run(&["jump", "evil/1"]);
    assert!(!jump.status.success() && !home.at("owned").exists());
    here.hook("stop", event("near1", json!({})));
    here.stop();
}

#[test]
fn machines_are_checked_before_they_are_added() {
    let home = Home::with_port(json!({}));
    for wrong in [
        &["machines", "add", "-oProxyCommand=touch owned"][..],
        &["machines", "add", "dev box"],
        &["machines", "add", "a;b"],
        &["machines", "add", "a/b", "--", "true"],
        &["machines", "add", "devbox", "--program", "x;y"],
        &["machines", "add", "devbox", "--name", "../x"],
    ] {
        let out = home.run(wrong);
        assert_eq!(out.status.code(), Some(2), "{wrong:?}");
        assert_eq!(
            String::from_utf8_lossy(&out.stderr).lines().next().map(|line| line.is_empty()),
            Some(false)
        );
    }
    let said = home.ok(&["machines", "add", "me@devbox"]);
    assert!(said.contains("ssh -T") && said.contains("me@devbox headspace relay"), "{said}");
    assert!(home.ok(&["machines", "add", "me@devbox"]).contains("nothing changed"));
    assert_eq!(home.run(&["machines", "add", "other@devbox"]).status.code(), Some(1));
    // As the list advises when ssh does not find the program there. What was said before still holds.
    home.ok(&["machines", "add", "me@devbox", "--no-alerts"]);
    let said = home.ok(&["machines", "add", "me@devbox", "--program", "~/bin/headspace"]);
    assert!(said.starts_with("Changed devbox") && said.contains("~/bin/headspace relay"), "{said}");
    let config = std::fs::read_to_string(home.config_file()).unwrap();
    assert!(config.contains("\"alerts\": false") && config.matches("me@devbox").count() == 1, "{config}");
    home.ok(&["machines", "add", "other@devbox", "--name", "second"]);
    assert!(home.ok(&["machines", "list"]).contains("the server is not running"));
    assert_eq!(home.run(&["machines", "remove", "nobody"]).status.code(), Some(1));
    home.ok(&["machines", "remove", "devbox"]);
    assert_eq!(home.json(&["machines", "list"])["machines"].as_array().unwrap().len(), 1);
    // Without a server of its own, a relay ends and says so.
    let relay = home.run(&["relay"]);
    assert_eq!((relay.status.code(), relay.stdout.len()), (Some(1), 0));
    assert!(String::from_utf8_lossy(&relay.stderr).contains("could not reach the server"));
}

#[test]
fn a_jump_sends_a_number_through_ssh() {
    let far = FarMachine::new();
    far.works("far1", "go");
    far.asks("far1");
    let home = Home::with_port(json!({}));
    // Stands in for ssh: it notes what it is asked, and is the other machine for the line.
    home.program(
        "ssh",
        &format!(
            "#!/bin/sh\necho \"$*\" >> \"$HOME/asked\"\ncase \"$*\" in *relay) exec {} relay;; esac\n",
            far.headspace()
        ),
    );
    home.ok(&["machines", "add", "me@devbox"]);
    let here = home.serve();
    let agent = shown(&here, "far1", |agent| agent["status"] == "attention");
    assert_eq!(
        (&agent["id"], &agent["resume"]),
        (
            &json!("devbox/1"),
            &json!("ssh -t me@devbox 'cd -- '\\''/somewhere/far1'\\'' && claude --resume far1'")
        )
    );
    let asked = || std::fs::read_to_string(home.at("asked")).unwrap_or_default();
    let jumps =
        || asked().lines().filter(|line| *line == "-t -- me@devbox headspace jump --attach 1").count();
    assert!(asked().lines().next().unwrap().ends_with("-- me@devbox headspace relay"), "{}", asked());
    let refused = home.run(&["jump", "devbox/1"]);
    assert!(!refused.status.success() && jumps() == 0);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("headspace jump devbox/1"));
    assert_eq!(on_terminal(home.command(&["jump", "devbox/1"]), "").1, Some(0));
    assert_eq!(on_terminal(home.command(&["next"]), "").1, Some(0));
    assert_eq!(jumps(), 2, "{}", asked());
}

#[test]
fn a_question_on_another_machine_rings_here_once_with_its_name() {
    let (loud, quiet) = (FarMachine::new(), FarMachine::new());
    let home = Home::with_port(json!({"notifications": {"desktop": true}}));
    home.program("notify-send", "#!/bin/sh\necho \"$*\" >> \"$HOME/rung\"\n");
    let rung = || {
        let text = std::fs::read_to_string(home.at("rung")).unwrap_or_default();
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    loud.works("before", "asked already");
    loud.asks("before");
    for (name, far, more) in [("loud", &loud, None), ("quiet", &quiet, Some("--no-alerts"))] {
        let relay =
            format!("echo $$ > '{}/pid-{name}'; exec {} relay", home.path().display(), far.headspace());
        let args = ["machines", "add", name].into_iter().chain(more).chain(["--", "/bin/sh", "-c", &relay]);
        home.ok(&args.collect::<Vec<_>>());
    }
    let here = home.serve();
    shown(&here, "before", |agent| agent["status"] == "attention");
    for far in [&quiet, &loud] {
        far.works("asks", "go");
        far.asks("asks");
    }
    wait_until("the question to ring", || !rung().is_empty());
    assert!(
        rung()[0].contains("on loud needs you") && rung()[0].contains("Allow Bash: npm test"),
        "{:?}",
        rung()
    );
    // The same question over a line that was cut is not another one.
    let pid = std::fs::read_to_string(home.at("pid-loud")).unwrap();
    assert!(Command::new("kill").args(["-9", pid.trim()]).status().unwrap().success());
    wait_until("the line to be back", || {
        std::fs::read_to_string(home.at("pid-loud")).is_ok_and(|now| now != pid)
    });
    shown(&here, "before", |agent| agent["not_heard_since"].is_null());
    loud.works("more", "go");
    loud.asks("more");
    wait_until("another question to ring", || rung().len() > 1);
    // What waited before the first line is known, and a machine without alerts is silent.
    assert_eq!(rung().len(), 2, "{:?}", rung());
    here.stop();
}

/// An sshd of its own on loopback, which lets one key in and runs everything in the other machine's home.
struct Sshd(Child);

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn keygen(path: &Path) -> bool {
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(path).status();
    made.is_ok_and(|made| made.success())
}

fn sshd(home: &Home, far: &FarMachine, port: u16) -> Option<Sshd> {
    let program = ["/usr/sbin/sshd", "/usr/bin/sshd"].into_iter().find(|path| Path::new(path).exists())?;
    let (host_key, key) = (home.at("host_key"), home.at("key"));
    if !keygen(&host_key) || !keygen(&key) {
        return None;
    }
    let run = home.write("there.sh", format!("#!/bin/sh\nHEADSPACE=\"{}\"\ncase \"$SSH_ORIGINAL_COMMAND\" in \"headspace \"*) exec $HEADSPACE ${{SSH_ORIGINAL_COMMAND#headspace }};; esac\nexit 127\n", far.headspace().replace('\'', "")));
    std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o755)).unwrap();
    let config = home.write(
        "sshd_config",
        format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}.pub\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nPermitRootLogin prohibit-password\nPidFile none\nForceCommand {}\n",
            host_key.display(),
            key.display(),
            run.display()
        ),
    );
    // Where it keeps privileges apart; only root can make it.
    let _ = std::fs::create_dir_all("/run/sshd");
    let child = Command::new(program)
        .args(["-D", "-e", "-f"])
        .arg(config)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let sshd = Sshd(child);
    // ssh looks for its configuration in the home that the system knows, not in $HOME.
    home.program(
        "ssh",
        "#!/bin/sh\n[ \"$1\" = -T ] && echo $$ > \"$HOME/line\"\nexec /usr/bin/ssh -F \"$HOME/ssh_config\" \"$@\"\n",
    );
    home.write(
        "ssh_config",
        format!(
            "Host devbox\n  HostName 127.0.0.1\n  Port {port}\n  IdentityFile {}\n  IdentitiesOnly yes\n  UserKnownHostsFile /dev/null\n  \
             StrictHostKeyChecking no\n  LogLevel ERROR\n",
            key.display()
        ),
    );
    for _ in 0..50 {
        let answer =
            home.command_of(home.at("bin/ssh"), &["-o", "BatchMode=yes", "devbox", "true"]).output().ok()?;
        if answer.status.code() == Some(127) {
            return Some(sshd);
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    None
}

#[test]
fn a_line_over_real_ssh() {
    let mut far = FarMachine::new();
    far.works("far1", "go");
    let home = Home::with_port(json!({}));
    let Some(_sshd) = sshd(&home, &far, free_port()) else { return skip("no sshd could be started here") };
    let here = home.serve();
    home.ok(&["machines", "add", "devbox"]);
    shown(&here, "far1", |agent| agent["status"] == "working" && agent["id"] == "devbox/1");
    far.asks("far1");
    shown(&here, "far1", |agent| agent["status"] == "attention");
    assert!(home.ok(&["status"]).contains("devbox: "));
    let listed: Value = serde_json::from_str(&home.ok(&["machines", "list", "--json"])).unwrap();
    assert_eq!(
        (&listed["machines"][0]["ssh"], &listed["machines"][0]["state"]),
        (&json!("devbox"), &json!("up"))
    );
    assert!(!here.get("/api/agents/devbox/1/turns")["turns"].as_array().unwrap().is_empty());
    // The number goes there and the other machine speaks: its agent sits in no terminal that could be shown.
    let (said, code) = on_terminal(home.command(&["jump", "devbox/1"]), "");
    assert!(code != Some(0) && said.contains("tmux"), "{code:?}: {said}");
    // ssh itself dies; the next one finds the same agents.
    let line = || std::fs::read_to_string(home.at("line")).unwrap_or_default();
    let first = line();
    assert!(Command::new("kill").args(["-9", first.trim()]).status().unwrap().success());
    wait_until("another ssh", || line() != first);
    shown(&here, "far1", |agent| agent["not_heard_since"].is_null() && agent["status"] == "attention");
    // Its server dies, and comes back.
    far.server.take().unwrap().kill();
    shown(&here, "far1", |agent| agent["not_heard_since"].is_string() && agent["status"] == "attention");
    far.server = Some(far.home.serve());
    shown(&here, "far1", |agent| agent["not_heard_since"].is_null() && agent["status"] == "attention");
    home.ok(&["machines", "remove", "devbox"]);
    wait_until("its agents to leave", || !here.get("/api/agents?all=1").to_string().contains("far1"));
    let last = line();
    wait_until("its ssh to end", || {
        !Path::new("/proc/self").exists() || !Path::new("/proc").join(last.trim()).exists()
    });
    here.stop();
}
