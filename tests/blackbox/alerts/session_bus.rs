//! Notifications over D-Bus, where there is no notify-send: a real dbus-daemon, and a server of notifications that speaks the
//! protocol by itself.

use super::line_in;
use headspace_test_support::{Installation, Process, skip, wait_for, wait_until};
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};

/// A bus with a server of notifications, in the home directory.
struct Bus {
    socket: PathBuf,
    said: PathBuf,
    stdin: ChildStdin,
    notifications: Process,
    _daemon: Process,
}

impl Bus {
    /// `None`, aloud, if this machine has none.
    fn start(home: &Installation) -> Option<Bus> {
        for program in ["dbus-daemon", "python3"] {
            if Command::new(program).arg("--version").output().is_err() {
                skip(&format!("{program} is not installed"));
                return None;
            }
        }
        let socket = home.at("bus");
        let daemon = Process::spawn(
            Command::new("dbus-daemon")
                .args(["--session", "--nofork", "--nopidfile"])
                .arg(format!("--address=unix:path={}", socket.display()))
                .stdout(Stdio::null())
                .stderr(Stdio::null()),
        );
        wait_until("the bus", || socket.exists());
        let (notifications, stdin, said) = serve_notifications(home, &socket);
        Some(Bus { socket, said, stdin, notifications, _daemon: daemon })
    }

    fn lines(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.said).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// The notifications, in the order they came.
    fn shown(&self) -> Vec<Value> {
        self.lines().into_iter().filter(|line| line["id"].is_u64()).collect()
    }

    fn closed(&self) -> Vec<u64> {
        self.lines().iter().filter_map(|line| line["closed"].as_u64()).collect()
    }

    fn click(&mut self, id: &Value, action: &str) {
        writeln!(self.stdin, "click {id} {action}").unwrap();
    }
}

fn serve_notifications(home: &Installation, socket: &Path) -> (Process, ChildStdin, PathBuf) {
    let said = home.at("said");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/notification_server.py");
    let mut process = Process::spawn(
        Command::new("python3")
            .arg(script)
            .arg(socket)
            .stdin(Stdio::piped())
            .stdout(std::fs::File::create(&said).unwrap()),
    );
    let stdin = process.stdin();
    wait_until("the server of notifications", || {
        std::fs::read_to_string(&said).is_ok_and(|text| text.contains("ready"))
    });
    (process, stdin, said)
}

/// A home where nothing but the bus can notify.
fn home(notifications: Value) -> Installation {
    let mut home = Installation::without_server(json!({"notifications": notifications}));
    let bin = home.at("bin");
    home.home.set("PATH", bin);
    home.home.set("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={},guid=0", home.at("bus").display()));
    home.home.set("DISPLAY", ":7");
    home.program("xdg-open", "#!/bin/sh\necho \"$1\" > \"$HOME/opened\"\n");
    home
}

const ASK: fn(&str) -> Value =
    |command| json!({"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "t1"});

#[test]
fn without_notify_send_the_bus_shows_replaces_and_withdraws_them_and_hears_clicks() {
    let mut home = home(json!({"finished_after": 0, "sound": {"attention": "bell"}}));
    let Some(mut bus) = Bus::start(&home) else { return };
    home.start();
    let dir = home.project("api", "fix-auth");
    home.send("PermissionRequest", "s1", &dir, ASK("echo '<b>\u{202e}$(id)'"));
    let first = wait_for("the ask", || bus.shown().pop());
    assert_eq!(first["title"], "api · fix-auth needs you");
    assert_eq!(first["body"], "Allow Bash: echo '&lt;b&gt;$(id)'");
    assert_eq!(first["actions"], json!(["default", "Open", "jump", "Go to its terminal"]));
    assert_eq!(first["hints"], json!({"urgency": 2, "sound-name": "bell"}));

    home.send("PostToolUse", "s1", &dir, ASK("x"));
    wait_until("it to be taken away", || bus.closed() == [first["id"].as_u64().unwrap()]);

    for error in ["rate_limit", "overloaded"] {
        home.send("UserPromptSubmit", "s1", &dir, json!({"prompt": "go"}));
        home.send("StopFailure", "s1", &dir, json!({"error": error}));
        wait_until(error, || bus.shown().iter().any(|shown| shown["body"] == error));
    }
    let failed: Vec<Value> =
        bus.shown().into_iter().filter(|shown| shown["title"] == "api · fix-auth failed").collect();
    assert_eq!(
        (&failed[1]["replaces"], &failed[1]["id"]),
        (&failed[0]["id"], &failed[0]["id"]),
        "{failed:?}"
    );

    home.send("UserPromptSubmit", "s1", &dir, json!({"prompt": "go"}));
    home.send("Stop", "s1", &dir, json!({"last_assistant_message": "All 12 tests pass."}));
    let done = wait_for("the end", || {
        bus.shown().into_iter().find(|shown| shown["title"] == "api · fix-auth is done")
    });
    assert!(done["body"].as_str().unwrap().ends_with("All 12 tests pass."), "{done}");
    assert_eq!(done["hints"], json!({"urgency": 1}));

    // Somebody else's notification opens nothing; the click after it does.
    bus.click(&json!(4711), "default");
    bus.click(&done["id"], "default");
    let page = line_in(&home, "opened");
    let page = std::fs::read_to_string(page.trim().trim_start_matches("file://")).unwrap();
    assert!(page.contains("/login?code=") && page.contains("&amp;agent=1\""), "{page}");
}

#[test]
fn a_server_of_notifications_that_was_restarted_and_a_bus_that_talks_nonsense() {
    let mut home = home(json!({}));
    let Some(bus) = Bus::start(&home) else { return };
    home.start();
    let dir = home.project("api", "main");
    home.send("PermissionRequest", "s1", &dir, ASK("one"));
    wait_until("the first", || bus.shown().len() == 1);
    let Bus { socket, notifications, _daemon: daemon, .. } = bus;
    drop(notifications);
    drop(daemon);
    std::fs::remove_file(&socket).ok();
    // Where the bus was, something answers that is none.
    let listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let talks = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"OK 1\r\n").unwrap();
        stream.write_all(&[b'l'; 4096]).unwrap();
        stream
    });
    home.send("PermissionRequest", "s2", &dir, ASK("two"));
    drop(talks.join().unwrap());
    std::fs::remove_file(&socket).unwrap();
    let again = Bus::start(&home).expect("a bus, as before");
    home.send("PermissionRequest", "s3", &dir, ASK("three"));
    wait_until("the next one on the new bus", || {
        again.shown().iter().any(|shown| shown["body"] == "Allow Bash: three")
    });
}
