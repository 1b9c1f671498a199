//! The buttons of a notification, with an ntfy server that keeps what it is sent and a phone that presses what it reads.

use super::{ALLOW, Desk, Waiter, below_an_agent};
use headspace_test_support::{Response, request, wait_for, wait_until};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

const TOPIC: &str = "/asks";
/// Only the phone has it.
const OWNER: &str = "Bearer the-owners";
/// It is in the configuration, where every program of the user can read it.
const WRITER: &str = "the-writers";

/// An ntfy server with one topic: its owner reads it, and whoever `open` and `writer_reads` let.
#[derive(Clone, Default)]
struct Ntfy {
    port: u16,
    open: Arc<AtomicBool>,
    writer_reads: Arc<AtomicBool>,
    kept: Arc<Mutex<Vec<Message>>>,
}

#[derive(Clone, Debug)]
struct Message {
    actions: Option<String>,
    text: String,
}

impl Ntfy {
    fn start() -> Ntfy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let ntfy = Ntfy { port: listener.local_addr().unwrap().port(), ..Ntfy::default() };
        let own = ntfy.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let own = own.clone();
                std::thread::spawn(move || own.serve(stream));
            }
        });
        ntfy
    }

    fn serve(&self, mut stream: TcpStream) -> Option<()> {
        let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
        let (head, body) = loop {
            let read = stream.read(&mut piece).ok().filter(|read| *read > 0)?;
            bytes.extend_from_slice(&piece[..read]);
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = header(head, "content-length").map_or(0, |length| length.parse().unwrap());
            if body.len() >= length {
                break (head.to_owned(), body.to_owned());
            }
        };
        let who = header(&head, "authorization").unwrap_or_default();
        let reads = head.starts_with(&format!("GET {TOPIC}/json?poll=1 "));
        let writes = head.starts_with(&format!("POST {TOPIC} "));
        let status = match (reads, writes) {
            (true, _) => match who.as_str() {
                OWNER => "200 OK",
                "" if self.open.load(Ordering::Relaxed) => "200 OK",
                who if who == format!("Bearer {WRITER}") && self.writer_reads.load(Ordering::Relaxed) => {
                    "200 OK"
                }
                _ => "403 Forbidden",
            },
            (_, true) => "200 OK",
            _ => "404 Not Found",
        };
        if writes {
            let actions = header(&head, "x-actions");
            self.kept.lock().unwrap().push(Message { actions, text: body });
        }
        let answer = if reads && status.starts_with("200") { self.as_lines() } else { String::new() };
        let length = answer.len();
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{answer}")
            .ok()
    }

    /// What a reader gets.
    fn as_lines(&self) -> String {
        let kept = self.kept.lock().unwrap();
        kept.iter()
            .map(|one| json!({"message": one.text, "actions": one.actions}).to_string() + "\n")
            .collect()
    }

    /// What somebody with this authorization can read of the topic.
    fn read_as(&self, who: &str) -> Response {
        let headers = [("Authorization", who)];
        let bytes = request(self.port, "GET", &format!("{TOPIC}/json?poll=1"), &headers, None);
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.write_all(&bytes).unwrap();
        Response::read(&mut stream).unwrap()
    }

    /// The newest notification that has this text, as the owner's phone gets it.
    fn on_the_phone(&self, text: &str) -> Message {
        wait_for(&format!("the notification about {text}"), || {
            let read = self.read_as(OWNER).text();
            let lines = read.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
            lines.rev().find(|line| line["message"].as_str().unwrap().contains(text)).map(|line| Message {
                actions: line["actions"].as_str().map(String::from),
                text: line["message"].as_str().unwrap().to_owned(),
            })
        })
    }

    fn webhook(&self, more: Value) -> Value {
        let url = format!("http://127.0.0.1:{}{TOPIC}", self.port);
        let mut hook = json!({"url": url, "format": "ntfy", "include_text": true, "token": WRITER});
        hook.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        hook
    }
}

fn header(head: &str, name: &str) -> Option<String> {
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
}

/// A button as ntfy's server reads it from the header: `http, Label, URL, key=value, …; …`.
#[derive(Clone, Debug)]
struct Button {
    label: String,
    url: String,
    method: String,
    kind: String,
    body: String,
}

fn buttons(message: &Message) -> Vec<Button> {
    let Some(actions) = &message.actions else { return Vec::new() };
    let read = |action: &str| {
        let parts: Vec<&str> = action.split(',').map(str::trim).collect();
        assert_eq!(parts[0], "http", "{action}");
        let value = |key: &str| {
            let given = parts[3..].iter().find_map(|part| part.strip_prefix(key)?.strip_prefix('='));
            given.unwrap_or_else(|| panic!("no {key} in {action}")).to_owned()
        };
        Button {
            label: parts[1].into(),
            url: parts[2].into(),
            method: value("method"),
            kind: value("headers.Content-Type"),
            body: value("body"),
        }
    };
    actions.split(';').map(read).collect()
}

/// What the phone's app sends when the button is pressed.
fn press(button: &Button, more: &[(&str, &str)]) -> Response {
    let rest = button.url.strip_prefix("http://127.0.0.1:").unwrap_or_else(|| panic!("{}", button.url));
    let (port, path) = rest.split_once('/').unwrap();
    let headers: Vec<(&str, &str)> =
        [("Content-Type", button.kind.as_str())].into_iter().chain(more.iter().copied()).collect();
    let port = port.parse().unwrap();
    let bytes = request(port, &button.method, &format!("/{path}"), &headers, Some(button.body.as_bytes()));
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(&bytes).unwrap();
    Response::read(&mut stream).unwrap()
}

fn desk(ntfy: &Ntfy, more: Value) -> Desk {
    let config = json!({"notifications": {"desktop": false}, "webhooks": [ntfy.webhook(more)]});
    let mut desk = Desk::locked(config);
    desk.unlock();
    desk
}

fn labels(buttons: &[Button]) -> Vec<&str> {
    buttons.iter().map(|button| button.label.as_str()).collect()
}

fn held(desk: &Desk, session: &str, command: &str) -> Waiter {
    let waiter = desk.ask(session, command);
    desk.card(session);
    waiter
}

#[test]
fn deny_is_in_every_notification_and_works_once() {
    if below_an_agent() {
        return;
    }
    let ntfy = Ntfy::start();
    let desk = desk(&ntfy, json!({}));
    let waiter = held(&desk, "one", "npm publish");
    let message = ntfy.on_the_phone("npm publish");
    let offered = buttons(&message);
    assert_eq!(labels(&offered), ["Deny"], "a topic that anybody may read has no Allow");
    let deny = &offered[0];
    let from_page = press(deny, &[("Origin", "https://ntfy.example")]);
    assert_eq!(from_page.status, 403, "{}", from_page.text());
    let first = press(deny, &[]);
    assert_eq!((first.status, first.json()["state"].clone()), (200, json!("claimed")), "{}", first.text());
    assert!(waiter.printed().contains("\"behavior\":\"deny\""));
    assert_eq!(press(deny, &[]).status, 403, "its secret is used up");
    let steps = desk.headspace.server().get("/api/events?type=Answer");
    let claimed = steps["events"].as_array().unwrap().iter().find(|step| step["body"]["state"] == "claimed");
    let claimed = &claimed.unwrap()["body"];
    assert_eq!((&claimed["by"], &claimed["choice"]), (&json!("ntfy"), &json!("deny")), "{claimed}");
    let secret = serde_json::from_str::<Value>(&deny.body).unwrap()["press"].as_str().unwrap().to_owned();
    assert!(!steps.to_string().contains(&secret), "no secret in the audit");

    // Another surface was first: the button says so, and nothing happens.
    let waiter = held(&desk, "two", "npm test");
    let deny = buttons(&ntfy.on_the_phone("npm test")).remove(0);
    let card = desk.card("two");
    assert_eq!(desk.answer(&card, "allow").status, 200);
    let late = press(&deny, &[]);
    assert_eq!((late.status, late.json()["by"].clone()), (409, json!("web")), "{}", late.text());
    assert_eq!(waiter.printed(), ALLOW);

    // What was locked cannot be answered from the phone either; and a guess is nothing.
    let mut waiter = held(&desk, "three", "npm ci");
    let deny = buttons(&ntfy.on_the_phone("npm ci")).remove(0);
    let guess = Button { body: json!({"press": "0".repeat(64)}).to_string(), ..deny.clone() };
    assert_eq!(press(&guess, &[]).status, 403);
    desk.headspace.ok(&["answer", "lock"]);
    assert_eq!(press(&deny, &[]).status, 403);
    assert!(waiter.runs());
}

#[test]
fn allow_is_offered_only_where_nobody_but_its_owner_reads() {
    if below_an_agent() {
        return;
    }
    let ntfy = Ntfy::start();
    let desk = desk(&ntfy, json!({"allow": true}));
    let waiter = held(&desk, "closed", "make deploy");
    let message = ntfy.on_the_phone("make deploy");
    assert!(
        message.text.starts_with("Bash in ") && message.text.ends_with("\ncommand: make deploy"),
        "{message:?}"
    );
    let offered = buttons(&message);
    assert_eq!(labels(&offered), ["Allow once", "Deny"]);
    // An agent has the configuration: with what is in it, and without, the topic stays closed.
    for who in ["", &format!("Bearer {WRITER}")] {
        let read = ntfy.read_as(who);
        assert_eq!((read.status, read.text().as_str()), (403, ""), "{who:?}");
    }
    // And if it had the secret: it is the process that counts.
    let agent = press_as_an_agent(&desk, &offered[0]);
    assert!(agent.contains(" 403 "), "{agent}");
    let yes = press(&offered[0], &[]);
    assert_eq!(yes.status, 200, "{}", yes.text());
    assert_eq!(waiter.printed(), ALLOW);
    assert_eq!(press(&offered[1], &[]).status, 403, "the other button of an answered ask");

    // What must be typed, or cannot be shown whole, can only be denied there.
    for (session, command, shown) in [
        ("guarded", "git push --force origin main".to_owned(), "git push"),
        ("long", format!("echo {}", "x".repeat(4000)), "xxx"),
    ] {
        let _waiter = held(&desk, session, &command);
        let message = ntfy.on_the_phone(shown);
        assert_eq!(labels(&buttons(&message)), ["Deny"], "{session}: {}", message.text);
    }
    // The rules of the topic may change at any time: whoever can read it could press.
    for (session, flag) in [("anybody", &ntfy.open), ("writer", &ntfy.writer_reads)] {
        flag.store(true, Ordering::Relaxed);
        let _waiter = held(&desk, session, &format!("make {session}"));
        let message = ntfy.on_the_phone(&format!("make {session}"));
        assert_eq!(labels(&buttons(&message)), ["Deny"], "{session}");
        flag.store(false, Ordering::Relaxed);
    }
}

/// The press, by a process that is called `claude`.
fn press_as_an_agent(desk: &Desk, button: &Button) -> String {
    let port = desk.headspace.port();
    let request = request(
        port,
        "POST",
        "/api/answer/button",
        &[("Content-Type", "application/json")],
        Some(button.body.as_bytes()),
    );
    let script = format!(
        "exec 3<>/dev/tcp/127.0.0.1/{port}; printf '%s' \"$1\" >&3; IFS= read -r line <&3; printf '%s' \"$line\""
    );
    let script = format!("exec -a claude bash -c '{}' claude \"$1\"", script.replace('\'', "'\\''"));
    let text = String::from_utf8(request).unwrap();
    let mut command = desk.headspace.command_of("/bin/bash", &["-c", &script, "x", &text]);
    String::from_utf8(command.output().unwrap().stdout).unwrap()
}

#[test]
fn without_anybody_unlocked_a_notification_only_opens() {
    if below_an_agent() {
        return;
    }
    let ntfy = Ntfy::start();
    let desk =
        Desk::locked(json!({"notifications": {"desktop": false}, "webhooks": [ntfy.webhook(json!({}))]}));
    desk.send(
        "PermissionRequest",
        "one",
        json!({"tool_name": "Bash", "tool_input": {"command": "npm test"}}),
    );
    assert_eq!(desk.wait_for(&desk.payload("one", "npm test")).printed(), "", "nobody is there to answer");
    assert_eq!(ntfy.on_the_phone("npm test").actions, None);
    wait_until("the card says why", || {
        desk.open("one").is_some_and(|card| card["answer"]["why"].as_str().unwrap().contains("locked"))
    });
}
