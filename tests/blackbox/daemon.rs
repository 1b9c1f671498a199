//! `up`, `down` and `service`, through the binary, with a server on a port of its own.

use serde_json::Value;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const BIN: &str = env!("CARGO_BIN_EXE_headspace");

/// A user whose server is expected on a free port. Whatever server is left is stopped at the end.
struct User {
    dir: tempfile::TempDir,
    port: u16,
    path: String,
}

impl User {
    fn new() -> User {
        let port = crate::stage::ground::free_port();
        User { dir: tempfile::tempdir().unwrap(), port, path: "/usr/bin:/bin".into() }
    }

    fn home(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    fn run(&self, bin: impl AsRef<Path>, args: &[&str]) -> Output {
        Command::new(bin.as_ref())
            .args(args)
            .env_clear()
            .env("HOME", self.home())
            .env("PATH", &self.path)
            .env("CLAUDE_HEADSPACE_URL", format!("http://127.0.0.1:{}", self.port))
            .current_dir(self.home())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// A stand-in for a service manager's program.
    #[cfg(target_os = "linux")]
    fn program(&mut self, name: &str, script: &str) {
        crate::stage::ground::program(&self.home().join("bin").join(name), script);
        self.path = format!("{}:/usr/bin:/bin", self.home().join("bin").display());
    }
}

impl Drop for User {
    fn drop(&mut self) {
        let _ = self.run(BIN, &["down"]);
    }
}

fn succeeded(output: Output) -> String {
    let (out, err) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(output.status.success(), "{}\n{out}\n{err}", output.status);
    out
}

#[test]
fn up_settles_installs_starts_and_says_where_down_stops() {
    let user = User::new();
    let told = succeeded(user.run(BIN, &["up"]));
    let settled = user.home().join(".local/bin/headspace");
    for part in ["~/.local/bin/headspace", "28 events added", "started", "headspace down"] {
        assert!(told.contains(part), "{part:?} is missing:\n{told}");
    }
    assert!(told.contains(&format!("http://127.0.0.1:{}/", user.port)), "{told}");
    assert_eq!(fs::metadata(&settled).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(fs::read(&settled).unwrap(), fs::read(BIN).unwrap());
    let settings = fs::read_to_string(user.home().join(".claude/settings.json")).unwrap();
    assert!(settings.contains(settled.to_str().unwrap()) && !settings.contains("/target/"));
    let log = user.home().join(".local/state/headspace/serve.log");
    assert_eq!(fs::metadata(&log).unwrap().permissions().mode() & 0o777, 0o600);

    let again: Value = serde_json::from_str(&succeeded(user.run(&settled, &["up", "--json"]))).unwrap();
    assert_eq!((&again["started"], &again["installed"]), (&Value::Bool(false), &Value::Null));
    let pid = again["pid"].as_u64().unwrap();

    let told = succeeded(user.run(&settled, &["down"]));
    assert!(told.contains(&format!("stopped (pid {pid})")), "{told}");
    assert!(succeeded(user.run(&settled, &["down"])).contains("no server is running"));
    succeeded(user.run(&settled, &["uninstall"]));
    assert!(!user.home().join(".claude").exists());
}

#[test]
fn up_keeps_to_the_events_that_were_chosen() {
    let user = User::new();
    succeeded(user.run(BIN, &["install", "--events", "Stop"]));
    let told = succeeded(user.run(BIN, &["up"]));
    assert!(told.contains("1 event updated"), "{told}");
    let settings = fs::read_to_string(user.home().join(".claude/settings.json")).unwrap();
    assert_eq!(settings.matches("\"notify\"").count(), 1, "{settings}");
}

#[test]
fn up_says_why_the_server_does_not_start() {
    let user = User::new();
    let taken = TcpListener::bind(("127.0.0.1", user.port)).unwrap();
    // Something else answers there: it is not taken for a server of ours.
    std::thread::spawn(move || {
        for stream in taken.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
        }
    });
    let output = user.run(BIN, &["up"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("could not start the server: ") && told.contains(&user.port.to_string()), "{told}");
    let output = user.run(BIN, &["down"]);
    assert!(String::from_utf8(output.stdout).unwrap().contains("no server is running"));
}

/// A process that only claims to be a server is not signalled.
#[test]
fn down_signals_nobody_who_is_not_a_server_of_ours() {
    let user = User::new();
    let mut innocent = Command::new("/bin/sleep").arg("60").spawn().unwrap();
    let listener = TcpListener::bind(("127.0.0.1", user.port)).unwrap();
    let body = format!(r#"{{"status":"ok","name":"headspace","version":"0.0.1","pid":{}}}"#, innocent.id());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 1024]);
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
        }
    });
    let output = user.run(BIN, &["down"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("is not a headspace server of yours"), "{told}");
    assert!(innocent.try_wait().unwrap().is_none());
    innocent.kill().unwrap();
    innocent.wait().unwrap();
}

/// A stand-in for systemctl writes down how it is called and starts the unit's command line on `restart`.
#[test]
#[cfg(target_os = "linux")]
fn a_service_is_written_started_shown_and_removed() {
    let mut user = User::new();
    let calls = user.home().join("calls");
    let unit = user.home().join(".config/systemd/user/headspace.service");
    user.program(
        "systemctl",
        &format!(
            "#!/bin/sh\necho \"$*\" >> '{}'\ncase $2 in\n  restart) sh -c \"$(sed -n 's/^ExecStart=//p' '{}')\" </dev/null >/dev/null 2>&1 & ;;\n  is-active) exit 0 ;;\nesac\n",
            calls.display(),
            unit.display()
        ),
    );
    let bin = user.home().join("bin/headspace");
    crate::stage::ground::copy(BIN, &bin);
    let told = succeeded(user.run(&bin, &["service", "install"]));
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
        serde_json::from_str(&succeeded(user.run(&bin, &["service", "status", "--json"]))).unwrap();
    assert_eq!((&status["installed"], &status["active"]), (&Value::Bool(true), &Value::Bool(true)));
    assert!(succeeded(user.run(&bin, &["service", "uninstall"])).contains("removed"));
    assert!(!unit.exists());
    assert!(fs::read_to_string(&calls).unwrap().contains("--user disable --now headspace.service"));
    assert!(succeeded(user.run(&bin, &["service", "uninstall"])).contains("nothing changed"));
}

#[test]
#[cfg(target_os = "linux")]
fn without_a_service_manager_there_is_advice() {
    let mut user = User::new();
    user.path = user.home().join("empty").to_str().unwrap().to_owned();
    let output = user.run(BIN, &["service", "install"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && told.contains("headspace up"), "{told}");
    user.program("systemctl", "#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n");
    let output = user.run(BIN, &["service", "status"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.code() == Some(1) && told.contains("login session") && told.contains("headspace up"),
        "{told}"
    );
}
