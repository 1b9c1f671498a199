//! `up`, `down` and `service`, through the binary, with a server on a port of its own.

use headspace_test_support::{Home, Process, answer, binary, copy_program, free_port, listen_on, succeeded};
use serde_json::Value;
use std::fs;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

/// A home whose server is expected on a free port. Whatever server is left is stopped at the end.
struct User {
    home: Home,
    port: u16,
}

impl User {
    fn new() -> User {
        let (mut home, port) = (Home::new(), free_port());
        home.set("CLAUDE_HEADSPACE_URL", format!("http://127.0.0.1:{port}"));
        User { home, port }
    }

    /// Runs a copy of the program.
    fn run_copy(&self, copy: &Path, args: &[&str]) -> Output {
        self.command_of(copy, args).output().unwrap()
    }
}

impl Deref for User {
    type Target = Home;

    fn deref(&self) -> &Home {
        &self.home
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let _ = self.run(&["down"]);
    }
}

#[test]
fn up_copies_the_binary_installs_hooks_and_starts_the_server_and_down_stops_it() {
    let user = User::new();
    let told = user.ok(&["up"]);
    let settled = user.at(".local/bin/headspace");
    for part in ["~/.local/bin/headspace", "28 events added", "started", "headspace down"] {
        assert!(told.contains(part), "{part:?} is missing:\n{told}");
    }
    assert!(told.contains(&format!("http://127.0.0.1:{}/", user.port)), "{told}");
    assert_eq!(fs::metadata(&settled).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(fs::read(&settled).unwrap(), fs::read(binary()).unwrap());
    let settings = fs::read_to_string(user.at(".claude/settings.json")).unwrap();
    assert!(settings.contains(settled.to_str().unwrap()) && !settings.contains("/target/"));
    let log = user.at(".local/state/headspace/serve.log");
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);

    let again: Value = serde_json::from_str(&succeeded(user.run_copy(&settled, &["up", "--json"]))).unwrap();
    assert_eq!((&again["started"], &again["installed"]), (&Value::Bool(false), &Value::Null));
    let pid = again["pid"].as_u64().unwrap();

    let told = succeeded(user.run_copy(&settled, &["down"]));
    assert!(told.contains(&format!("stopped (pid {pid})")), "{told}");
    assert!(succeeded(user.run_copy(&settled, &["down"])).contains("no server is running"));
    succeeded(user.run_copy(&settled, &["uninstall"]));
    assert!(!user.at(".claude").exists());
}

#[test]
fn up_keeps_the_chosen_events() {
    let user = User::new();
    user.ok(&["install", "--events", "Stop"]);
    let told = user.ok(&["up"]);
    assert!(told.contains("1 event updated"), "{told}");
    let settings = fs::read_to_string(user.at(".claude/settings.json")).unwrap();
    assert_eq!(settings.matches("\"notify\"").count(), 1, "{settings}");
}

#[test]
fn up_says_why_the_server_does_not_start() {
    let user = User::new();
    // Another program answers on the port, and is not mistaken for our server.
    listen_on(user.port, answer("200 OK", "{}"));
    let output = user.run(&["up"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("could not start the server: ") && told.contains(&user.port.to_string()), "{told}");
    let output = user.run(&["down"]);
    assert!(String::from_utf8(output.stdout).unwrap().contains("no server is running"));
}

/// A process that only claims to be a server is not signaled.
#[test]
fn down_does_not_signal_a_process_that_is_not_our_server() {
    let user = User::new();
    let mut innocent = Process::idle();
    let body = format!(r#"{{"status":"ok","name":"headspace","version":"0.0.1","pid":{}}}"#, innocent.id());
    listen_on(user.port, answer("200 OK", &body));
    let output = user.run(&["down"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("is not a headspace server of yours"), "{told}");
    assert!(innocent.runs());
}

/// A stand-in for systemctl writes down how it is called and starts the unit's command line on `restart`.
#[test]
#[cfg(target_os = "linux")]
fn a_service_is_written_started_shown_and_removed() {
    let user = User::new();
    let calls = user.at("calls");
    let unit = user.at(".config/systemd/user/headspace.service");
    user.program(
        "systemctl",
        &format!(
            "#!/bin/sh\necho \"$*\" >> '{}'\ncase $2 in\n  restart) sh -c \"$(sed -n 's/^ExecStart=//p' '{}')\" </dev/null >/dev/null 2>&1 & ;;\n  is-active) exit 0 ;;\nesac\n",
            calls.display(),
            unit.display()
        ),
    );
    let bin = user.at("bin/headspace");
    copy_program(binary(), &bin);
    let told = succeeded(user.run_copy(&bin, &["service", "install"]));
    assert!(told.contains("headspace.service") && told.contains("running"), "{told}");
    let text = fs::read_to_string(&unit).unwrap();
    let exec = format!("ExecStart={} serve --host 127.0.0.1 --port {}\n", bin.display(), user.port);
    assert!(text.contains(&exec) && text.contains("Restart=on-failure"), "{text}");
    let called = fs::read_to_string(&calls).unwrap();
    for call in
        ["--user daemon-reload", "--user enable headspace.service", "--user restart headspace.service"]
    {
        assert!(called.lines().any(|line| line == call), "{call}: {called}");
    }
    let status: Value =
        serde_json::from_str(&succeeded(user.run_copy(&bin, &["service", "status", "--json"]))).unwrap();
    assert_eq!((&status["installed"], &status["active"]), (&Value::Bool(true), &Value::Bool(true)));
    assert!(succeeded(user.run_copy(&bin, &["service", "uninstall"])).contains("removed"));
    assert!(!unit.exists());
    assert!(fs::read_to_string(&calls).unwrap().contains("--user disable --now headspace.service"));
    assert!(succeeded(user.run_copy(&bin, &["service", "uninstall"])).contains("nothing changed"));
}

#[test]
#[cfg(target_os = "linux")]
fn without_a_service_manager_the_error_says_what_to_do() {
    let mut user = User::new();
    let path = user.search_path();
    user.home.set("PATH", user.at("empty"));
    let output = user.run(&["service", "install"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && told.contains("headspace up"), "{told}");
    user.home.set("PATH", path);
    user.program("systemctl", "#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n");
    let output = user.run(&["service", "status"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(1) && told.contains("login session") && told.contains("headspace up"),
        "{told}"
    );
}

#[test]
fn up_on_a_port_that_is_taken_says_where_another_one_is_chosen() {
    let home = Home::with_port(serde_json::json!({}));
    let _taken = std::net::TcpListener::bind(("127.0.0.1", home.port())).unwrap();
    let out = home.run(&["up"]);
    let said = String::from_utf8_lossy(&out.stderr);
    let config = home.at(".config/headspace/config.jsonc").display().to_string();
    let way = format!("choose another port: \"port\" in {config}");
    assert!(!out.status.success() && said.contains(&way) && !said.contains("--port"), "{out:?}");
}
