//! Answering from anywhere, the user's whole way: the hook that waits, the card, the code, the answer, and everything that
//! can die in between. In all of those the terminal's own dialog stays in charge, which here means: `wait` prints nothing.

mod bad_cases;
mod clock;
mod elsewhere;
mod hook;
mod ntfy;
mod top;

use headspace_clients::lineage;
use headspace_test_support::{
    Installation, Response, answer, as_another_user, binary, listen, on_terminal, skip, succeeded, wait_for,
    wait_until,
};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

const SESSION: &str = "answer-session";

/// These tests play a person. Below a coding agent headspace rightly refuses them.
fn below_an_agent() -> bool {
    let why = lineage::agent_behind(std::process::id(), |_| false);
    if let Some(why) = &why {
        skip(&format!("a coding agent runs this test, and only a person may answer: {why}"));
    }
    why.is_some()
}

/// A home with hooks installed, answering on, a server, and a page that was unlocked.
struct Desk {
    headspace: Installation,
    cookie: String,
}

impl Desk {
    fn new() -> Desk {
        let mut desk = Desk::locked(json!({}));
        desk.unlock();
        desk
    }

    /// The same with this configuration, before anybody was let in.
    fn locked(config: Value) -> Desk {
        let headspace = Installation::new(config);
        headspace.ok(&["install"]);
        headspace.ok(&["answer", "on"]);
        wait_until("the server knows that answering is on", || {
            headspace.server().get("/api/answer")["on"] == true
        });
        Desk { headspace, cookie: String::new() }
    }

    fn code(&self) -> String {
        let (shown, code) = on_terminal(self.headspace.command(&["answer", "unlock"]), "");
        assert_eq!(code, Some(0), "{shown}");
        let word = |word: &&str| word.len() == 9 && word.as_bytes()[4] == b'-' && word.is_ascii();
        shown.split_whitespace().find(word).unwrap_or_else(|| panic!("no code: {shown}")).to_owned()
    }

    fn unlock(&mut self) {
        let response = self.browser("/api/answer/unlock", &json!({"code": self.code()}), "");
        assert_eq!(response.status, 204, "{}", response.text());
        let cookie = response.header("set-cookie").unwrap().to_owned();
        self.cookie = cookie.split(';').next().unwrap().strip_prefix("headspace_answer=").unwrap().to_owned();
    }

    /// What a page of ours posts.
    fn browser(&self, path: &str, body: &Value, cookie: &str) -> Response {
        let origin = format!("http://127.0.0.1:{}", self.headspace.port());
        let cookie = format!("headspace_answer={cookie}");
        let headers =
            [("Origin", origin.as_str()), ("Cookie", cookie.as_str()), ("Sec-Fetch-Site", "same-origin")];
        self.headspace.server().request("POST", path, &headers, Some(body.to_string().as_bytes()))
    }

    fn answer(&self, card: &Value, choice: &str) -> Response {
        let body = json!({"digest": card["answer"]["digest"], "choice": choice});
        self.browser(&format!("/api/interactions/{}/answer", card["id"]), &body, &self.cookie)
    }

    fn send(&self, name: &str, session: &str, fields: Value) {
        self.headspace.send(name, session, self.headspace.path(), fields);
    }

    fn payload(&self, session: &str, command: &str) -> Value {
        json!({"session_id": session, "hook_event_name": "PermissionRequest", "cwd": self.headspace.path(),
            "permission_mode": "default", "tool_name": "Bash", "tool_input": {"command": command}})
    }

    fn wait_for(&self, payload: &Value) -> Waiter {
        self.wait_with(payload, &[("CLAUDECODE", "1")])
    }

    /// `wait` with variables that the client would have set. Its debug log tells when the server holds it.
    fn wait_with(&self, payload: &Value, variables: &[(&str, &str)]) -> Waiter {
        let mut command = self.headspace.command(&["wait"]);
        command.env("CLAUDE_CODE_ENTRYPOINT", "cli").env("HEADSPACE_DEBUG", "1");
        command.envs(variables.iter().copied());
        Waiter::spawn(command, payload)
    }

    /// A `wait` that the server holds. On a busy machine the server may be late for it: then it leaves, as it must, and
    /// another one comes. Not for an ask that is already open: one that nobody waits for any more is not held again.
    fn hold(&self, payload: &Value, variables: &[(&str, &str)]) -> Waiter {
        let mut waiter = self.wait_with(payload, variables);
        wait_until("the server holds `wait`", || {
            if !waiter.runs() {
                waiter = self.wait_with(payload, variables);
            }
            let log = std::fs::read_to_string(self.headspace.state().join("notify.log")).unwrap_or_default();
            log.lines().any(|line| line.ends_with(&format!(" {} waiting", waiter.0.id())))
        });
        waiter
    }

    /// The client asks for a Bash call: the hook that waits, PreToolUse, PermissionRequest.
    fn ask(&self, session: &str, command: &str) -> Waiter {
        self.ask_for(session, "Bash", json!({"command": command}))
    }

    /// The same for any tool.
    fn ask_for(&self, session: &str, tool: &str, input: Value) -> Waiter {
        let call = json!({"tool_name": tool, "tool_input": input});
        let begun = json!({"tool_name": tool, "tool_input": input, "tool_use_id": format!("t-{session}")});
        let mut payload = self.payload(session, "");
        (payload["tool_name"], payload["tool_input"]) = (json!(tool), input);
        self.send("UserPromptSubmit", session, json!({"prompt": "go"}));
        let waiter = self.hold(&payload, &[("CLAUDECODE", "1")]);
        self.send("PreToolUse", session, begun);
        self.send("PermissionRequest", session, call);
        wait_until("the ask can be answered", || {
            self.open(session).is_some_and(|card| card["answer"]["state"] == "open")
        });
        waiter
    }

    fn open(&self, session: &str) -> Option<Value> {
        let agents = self.headspace.server().get("/api/agents?all=1");
        let agent = agents["agents"].as_array()?.iter().find(|agent| agent["session_id"] == session)?.clone();
        agent["interactions"].as_array()?.first().cloned()
    }

    /// The card, once it can be answered.
    fn card(&self, session: &str) -> Value {
        wait_for("a card that can be answered", || {
            self.open(session)
                .filter(|card| card["answer"]["can"].as_array().is_some_and(|can| !can.is_empty()))
        })
    }

    fn states(&self) -> Vec<String> {
        let events = self.headspace.server().get("/api/events?type=Answer&limit=1000");
        let mut events: Vec<Value> = events["events"].as_array().unwrap().clone();
        events.sort_by_key(|event| event["id"].as_i64());
        events.iter().map(|event| event["body"]["state"].as_str().unwrap_or_default().to_owned()).collect()
    }

    fn has(&self, state: &str) {
        wait_until(&format!("the step {state}"), || self.states().iter().any(|one| one == state));
    }
}

/// One `headspace wait`.
struct Waiter(Child);

impl Waiter {
    fn spawn(mut command: Command, payload: &Value) -> Waiter {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // SAFETY: one system call between fork and exec. The client starts its hooks in sessions of their own.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                Ok(())
            })
        };
        let mut child = command.spawn().unwrap();
        // One that leaves at once may be gone before all of it is written.
        let _ = writeln!(child.stdin.take().unwrap(), "{payload}");
        Waiter(child)
    }

    /// What it printed; it must have ended by itself with 0 and no complaint.
    fn printed(mut self) -> String {
        wait_until("`wait` ends", || self.0.try_wait().unwrap().is_some());
        assert!(self.0.wait().unwrap().success());
        let mut said = [String::new(), String::new()];
        self.0.stdout.take().unwrap().read_to_string(&mut said[0]).unwrap();
        self.0.stderr.take().unwrap().read_to_string(&mut said[1]).unwrap();
        assert_eq!(said[1], "");
        said[0].clone()
    }

    fn runs(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }

    fn signal(&self, signal: i32) {
        // SAFETY: the child is ours and has not been waited for.
        unsafe { libc::kill(self.0.id() as i32, signal) };
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const ALLOW: &str = "{\"hookSpecificOutput\":{\"hookEventName\":\"PermissionRequest\",\"decision\":{\"behavior\":\"allow\"}}}\n";

#[test]
fn an_answer_from_the_page_reaches_the_dialog_that_waits_for_it() {
    if below_an_agent() {
        return;
    }
    let desk = Desk::new();
    let waiter = desk.ask(SESSION, "make -j2\nmake install");
    let card = desk.card(SESSION);
    assert_eq!((&card["text"], &card["kind"]), (&json!("make -j2\nmake install"), &json!("permission")));
    assert_eq!(card["answer"]["can"], json!(["allow", "deny", "stop"]));
    let stale = json!({"digest": "0".repeat(64), "choice": "allow"});
    let path = format!("/api/interactions/{}/answer", card["id"]);
    assert_eq!(desk.browser(&path, &stale, &desk.cookie).status, 422);
    assert_eq!(desk.browser(&path, &stale, "not-a-key").status, 403);
    let first = desk.answer(&card, "allow");
    assert_eq!((first.status, first.json()["state"].clone()), (200, json!("claimed")), "{}", first.text());
    let second = desk.answer(&card, "deny");
    assert_eq!((second.status, second.json()["by"].clone()), (409, json!("web")));
    assert_eq!(waiter.printed(), ALLOW);
    desk.has("delivered");
    assert_eq!(desk.open(SESSION), None);
    let over = json!({"tool_name": "Bash", "tool_input": {}, "tool_use_id": format!("t-{SESSION}")});
    desk.send("PostToolUse", SESSION, over);
    desk.has("confirmed");
    assert_eq!(desk.states(), ["open", "claimed", "delivered", "confirmed"]);
    let told = desk.headspace.ok(&["events", "--type", "Answer", "--json"]);
    assert_eq!(told.lines().count(), 4, "{told}");
    assert!(!told.contains(&desk.cookie), "no key in the audit");
}

#[test]
fn a_terminal_answers_and_answers_all_that_is_alike() {
    if below_an_agent() {
        return;
    }
    let desk = Desk::new();
    let sessions = ["one", "two", "three"];
    let mut waiters: Vec<Waiter> = sessions.iter().map(|session| desk.ask(session, "npm test")).collect();
    let other = desk.ask("four", "npm publish");
    let keys: Vec<Value> = sessions
        .iter()
        .chain(&["four"])
        .map(|session| {
            desk.card(session);
            desk.open(session).unwrap()["answer"]["alike"].clone()
        })
        .collect();
    assert!(keys[0].is_string() && keys[..3].iter().all(|key| *key == keys[0]), "{keys:?}");
    assert!(keys[3].is_string() && keys[3] != keys[0], "another command: {keys:?}");
    let (shown, code) = on_terminal(desk.headspace.command(&["answer", "one", "allow", "--all"]), "4\n");
    assert_eq!(code, Some(1), "not the number that was listed: {shown}");
    let (shown, code) = on_terminal(desk.headspace.command(&["answer", "one", "allow", "--all"]), "3\n");
    assert_eq!(code, Some(0), "{shown}");
    for waiter in waiters.drain(..) {
        assert_eq!(waiter.printed(), ALLOW);
    }
    let (shown, code) = on_terminal(desk.headspace.command(&["answer", "four", "deny", "not", "now"]), "");
    assert_eq!(code, Some(0), "{shown}");
    assert!(other.printed().contains("\"message\":\"not now\""));
    let (shown, code) = on_terminal(desk.headspace.command(&["answer", "four", "allow"]), "");
    assert_eq!(code, Some(1), "nothing is asked any more: {shown}");
}

/// An agent that opens a terminal of its own can pretend to be a person, but not unseen.
#[test]
fn a_terminal_that_answers_is_told_once_and_can_be_shut_out() {
    if below_an_agent() {
        return;
    }
    let (url, alerts) = listen(answer("200 OK", ""));
    let mut desk = Desk::locked(json!({"webhooks": [{"url": url, "include_text": true}]}));
    desk.unlock();
    let told = |words: &str| {
        let alert = std::iter::repeat_with(|| alerts.next().body).find(|alert| alert["cause"] == "unlocked");
        let text = alert.unwrap()["text"].as_str().unwrap().to_owned();
        assert!(text.contains(words), "{text}");
    };
    let terminals = || {
        let mut keys = desk.headspace.server().get("/api/answer")["keys"].as_array().unwrap().clone();
        keys.retain(|key| key["surface"] == "cli");
        keys
    };
    told("a page was unlocked");
    let waiters = ["one", "two", "three"].map(|session| desk.ask(session, "make"));
    let [one, two, three] = waiters;
    let answer =
        |script: &str| on_terminal(desk.headspace.command_of("/bin/sh", &["-c", script, binary()]), "");
    let go_on = desk.headspace.at("go-on");
    let script = format!(
        "$0 answer one allow && $0 answer two allow && until [ -e {} ]; do sleep 0.05; done; $0 answer three allow",
        go_on.display()
    );
    std::thread::scope(|scope| {
        let terminal = scope.spawn(|| answer(&script));
        assert_eq!((one.printed().as_str(), two.printed().as_str()), (ALLOW, ALLOW));
        told("`headspace answer` is used on pts/");
        let key = terminals();
        assert_eq!(key.len(), 1, "one terminal, though two commands: {key:?}");
        assert!(desk.headspace.ok(&["answer", "status"]).contains("`headspace answer` is used on pts/"));
        assert_eq!(desk.browser("/api/answer/lock", &json!({"id": key[0]["id"]}), "").status, 204);
        std::fs::write(&go_on, "").unwrap();
        let (shown, code) = terminal.join().unwrap();
        assert!(code == Some(1) && shown.contains("was taken back"), "{shown}");
    });
    assert!(terminals().is_empty());
    // The next terminal is told, too.
    assert_eq!(answer("$0 answer three allow").1, Some(0));
    assert_eq!(three.printed(), ALLOW);
    told("`headspace answer` is used on pts/");
}

#[test]
fn whatever_dies_the_terminal_stays_in_charge() {
    if below_an_agent() {
        return;
    }
    let mut desk = Desk::new();
    // The hook is killed: the card stays, for the terminal.
    let waiter = desk.ask("killed", "a");
    desk.card("killed");
    waiter.signal(libc::SIGKILL);
    desk.has("withdrawn");
    let card = desk.open("killed").unwrap();
    assert!(
        card["answer"]["can"].as_array().unwrap().is_empty() && card["answer"]["why"].is_string(),
        "{card}"
    );
    // No or Esc in the terminal: the client ends the hook.
    let waiter = desk.ask("refused", "b");
    desk.card("refused");
    waiter.signal(libc::SIGTERM);
    desk.has("refused_in_terminal");
    wait_until("nobody is asked any more", || desk.open("refused").is_none());
    // Yes in the terminal: known when the tool has ended.
    let waiter = desk.ask("first", "c");
    let card = desk.card("first");
    desk.send("PostToolUse", "first", json!({"tool_name": "Bash", "tool_use_id": "t-first"}));
    assert_eq!(waiter.printed(), "");
    desk.has("answered_in_terminal");
    let late = desk.answer(&card, "allow");
    assert_eq!((late.status, late.json()["by"].clone()), (409, json!("terminal")));
    // The client dies: its end of the hook's output closes.
    let mut waiter = desk.ask("orphan", "d");
    desk.card("orphan");
    drop(waiter.0.stdout.take());
    wait_until("the orphan goes", || !waiter.runs());
    // The server hangs: who comes now leaves, who waits goes on waiting.
    let mut waiting = desk.ask("hung", "e");
    desk.card("hung");
    let server = desk.headspace.server().pid() as i32;
    // SAFETY: the server is ours and runs.
    unsafe { libc::kill(server, libc::SIGSTOP) };
    assert_eq!(desk.wait_for(&desk.payload("hung", "f")).printed(), "");
    assert!(waiting.runs());
    // SAFETY: as above.
    unsafe { libc::kill(server, libc::SIGKILL) };
    assert_eq!(waiting.printed(), "");
    // After a restart neither the old key nor the old ask counts.
    let old = desk.open_without_server("hung");
    desk.headspace.start();
    wait_until("answering is on", || desk.headspace.server().get("/api/answer")["on"] == true);
    assert_eq!(desk.answer(&old, "allow").status, 403);
    desk.unlock();
    assert_eq!(desk.answer(&old, "allow").status, 409);
    // In order, too, everybody is sent home.
    let waiter = desk.ask("stopped", "g");
    desk.card("stopped");
    desk.headspace.stop();
    assert_eq!(waiter.printed(), "");
}

#[test]
fn an_agent_cannot_answer_for_itself() {
    if below_an_agent() {
        return;
    }
    let desk = Desk::new();
    let mut waiter = desk.ask(SESSION, "rm -r build");
    let card = desk.card(SESSION);
    let port = desk.headspace.port();
    let body = json!({"digest": card["answer"]["digest"], "choice": "allow"}).to_string();
    let token = std::fs::read_to_string(desk.headspace.state().join("token")).unwrap();
    // With everything a page has, and the token: it is the process that counts.
    let script = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}; printf '%s' \"$1\" >&3; IFS= read -r line <&3; printf '%s' \"$line\""
    );
    let request = format!(
        "POST /api/interactions/{}/answer HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nOrigin: http://127.0.0.1:{port}\r\n\
         Content-Type: application/json\r\nCookie: headspace_answer={}\r\nAuthorization: Bearer {}\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        card["id"],
        desk.cookie,
        token.trim(),
        body.len()
    );
    let agent = format!("exec -a claude bash -c '{}' claude \"$1\"", script.replace('\'', "'\\''"));
    let run = |script: &str, variables: &[(&str, &str)]| {
        let mut command = desk.headspace.command_of("/bin/bash", &["-c", script, "x", &request]);
        succeeded(command.envs(variables.iter().copied()).output().unwrap())
    };
    assert!(run(&agent, &[]).contains(" 403 "), "a process that is an agent");
    assert!(run(&script, &[("CLAUDECODE", "1")]).contains(" 403 "), "a process that an agent started");
    for args in [&["answer", "unlock"][..], &["answer", SESSION, "allow"], &["open", "--unlock", "--print"]] {
        let output = desk.headspace.run(args);
        assert_eq!(output.status.code(), Some(1), "{args:?} without a terminal");
        let mut below = desk.headspace.command(args);
        below.env("CLAUDECODE", "1");
        assert_eq!(on_terminal(below, "").1, Some(1), "{args:?} below an agent");
    }
    assert!(waiter.runs(), "nobody has answered");
    // A page from elsewhere, and another user, with the right cookie.
    let path = format!("/api/interactions/{}/answer", card["id"]);
    let cookie = format!("headspace_answer={}", desk.cookie);
    for origin in ["", "http://evil.example", "null"] {
        let headers = [("Origin", origin), ("Cookie", cookie.as_str())];
        let response = desk.headspace.server().request("POST", &path, &headers, Some(body.as_bytes()));
        assert_eq!(response.status, 403, "origin {origin:?}");
    }
    if let Some(answer) = as_another_user(port, request.replace(token.trim(), "x").as_bytes(), true) {
        assert!(answer.contains(" 403 "), "{answer}");
    }
    assert!(run(&script, &[]).contains(" 200 "), "a person's process with the key");
    assert_eq!(waiter.printed(), ALLOW);
}

#[test]
fn nobody_is_held_where_that_would_hide_the_dialog() {
    if below_an_agent() {
        return;
    }
    let desk = Desk::new();
    let base = desk.payload(SESSION, "ls");
    let with = |key: &str, value: &str| {
        let mut payload = base.clone();
        payload[key] = json!(value);
        payload
    };
    let mut waits = desk.hold(&base, &[("CLAUDECODE", "1")]);
    for payload in [
        with("agent_id", "a1"),
        with("hook_event_name", "Elicitation"),
        with("hook_event_name", "PreToolUse"),
        with("permission_mode", "bypassPermissions"),
        with("permission_mode", "dontAsk"),
        json!({"hook_event_name": "PermissionRequest"}),
    ] {
        assert_eq!(desk.wait_for(&payload).printed(), "", "{payload}");
    }
    for (name, value) in [("CLAUDE_CODE_ENTRYPOINT", "sdk-cli"), ("CLAUDE_CODE_SESSION_ATTENDED", "0")] {
        let mut command = desk.headspace.command(&["wait"]);
        command.env("CLAUDE_CODE_ENTRYPOINT", "cli").env(name, value);
        assert_eq!(Waiter::spawn(command, &base).printed(), "", "{name}={value}");
    }
    desk.headspace.ok(&["answer", "lock"]);
    assert_eq!(desk.wait_for(&base).printed(), "", "nobody is unlocked");
    assert!(waits.runs(), "who was held stays");
    desk.headspace.ok(&["answer", "off"]);
    assert_eq!(waits.printed(), "", "off sends everybody home");
}

#[test]
fn a_hundred_dialogs_can_wait() {
    if below_an_agent() {
        return;
    }
    const MANY: usize = 100;
    let desk = Desk::new();
    let memory = || {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", desk.headspace.server().pid())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?.trim();
        line.split_whitespace().next()?.parse::<usize>().ok()
    };
    let before = memory();
    let come = |n| desk.wait_for(&desk.payload(&format!("many-{n}"), &format!("echo {n}")));
    let mut waiters: Vec<Waiter> = (0..MANY).map(come).collect();
    wait_until("all of them wait", || {
        // The server may be late for some of so many: they leave, as they must, and others come.
        for (n, waiter) in waiters.iter_mut().enumerate() {
            if !waiter.runs() {
                *waiter = come(n);
            }
        }
        desk.headspace.server().get("/api/answer")["waiting"] == MANY
    });
    if let (Some(before), Some(after)) = (before, memory()) {
        println!("memory per waiter: {} KiB", after.saturating_sub(before) / MANY);
        assert!(after.saturating_sub(before) / MANY < 256, "{before} ▶ {after} KiB for {MANY} waiters");
    }
    desk.headspace.ok(&["answer", "off"]);
    for waiter in waiters {
        assert_eq!(waiter.printed(), "");
    }
}

impl Desk {
    /// What was asked, while no server runs.
    fn open_without_server(&self, session: &str) -> Value {
        let agents = self.headspace.json(&["status"]);
        let agents = agents["agents"].as_array().unwrap().clone();
        let agent = agents.iter().find(|agent| agent["session_id"] == session).unwrap();
        agent["interactions"][0].clone()
    }
}
