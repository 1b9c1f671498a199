//! A stage for black-box tests: a home of its own, a server, hook events, a tmux server.
#![allow(dead_code, clippy::unwrap_used)]

pub mod ground;

use ground::free_port;
use serde_json::{Value, json};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

pub struct Stage {
    pub home: tempfile::TempDir,
    pub port: u16,
    server: Option<Child>,
    tmux: Option<String>,
}

/// Waits until `look` finds something; panics with `what` after ten seconds.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

impl Stage {
    /// Without a server.
    pub fn bare(config: Value) -> Stage {
        let home = tempfile::tempdir().unwrap();
        let port = free_port();
        let mut config = config;
        config["port"] = json!(port);
        if config.get("notifications").is_none() {
            config["notifications"] = json!({"desktop": false});
        }
        let dir = home.path().join(".config/headspace");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("config.jsonc"), config.to_string()).unwrap();
        Stage { home, port, server: None, tmux: None }
    }

    pub fn new(config: Value) -> Stage {
        let mut stage = Stage::bare(config);
        stage.start();
        stage
    }

    pub fn start(&mut self) {
        let log = std::fs::File::create(self.home.path().join("serve.log")).unwrap();
        let server =
            self.headspace(&["serve"]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn();
        self.server = Some(server.unwrap());
        wait_for("the server", || self.healthy().then_some(()));
    }

    fn healthy(&self) -> bool {
        use std::io::Read;
        let Ok(mut stream) = std::net::TcpStream::connect(("127.0.0.1", self.port)) else { return false };
        let request = "GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
        let mut answer = String::new();
        stream.write_all(request.as_bytes()).is_ok()
            && stream.read_to_string(&mut answer).is_ok()
            && answer.contains("\"ok\"")
    }

    pub fn stop(&mut self) {
        if let Some(mut server) = self.server.take() {
            // SAFETY: the child was started here and not waited for yet, so its pid is still its own.
            unsafe { libc::kill(i32::try_from(server.id()).unwrap(), libc::SIGTERM) };
            server.wait().unwrap();
        }
    }

    pub fn headspace(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headspace"));
        command
            .args(args)
            .env_clear()
            .env("HOME", self.home.path())
            .env("PATH", self.path())
            .env("LANG", "C.UTF-8");
        command
    }

    /// The stage's own programs first.
    pub fn path(&self) -> String {
        format!("{}/bin:/usr/local/bin:/usr/bin:/bin", self.home.path().display())
    }

    pub fn program(&self, name: &str, script: &str) {
        ground::program(&self.home.path().join("bin").join(name), script);
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.headspace(args).stdin(Stdio::null()).output().unwrap()
    }

    pub fn says(&self, args: &[&str]) -> String {
        let out = self.run(args);
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap()
    }

    /// A project directory with a git branch.
    pub fn project(&self, name: &str, branch: &str) -> PathBuf {
        let dir = self.home.path().join(name);
        std::fs::create_dir_all(dir.join(".git")).unwrap();
        std::fs::write(dir.join(".git/HEAD"), format!("ref: refs/heads/{branch}\n")).unwrap();
        dir
    }

    /// One hook event, the way the client sends it.
    pub fn event(&self, name: &str, session: &str, cwd: &Path, more: Value) {
        self.event_with(name, session, cwd, more, &[]);
    }

    pub fn event_with(&self, name: &str, session: &str, cwd: &Path, more: Value, env: &[(&str, &str)]) {
        let mut body = json!({"session_id": session, "hook_event_name": name, "cwd": cwd});
        for (key, value) in more.as_object().unwrap() {
            body[key] = value.clone();
        }
        let mut child = self
            .headspace(&["notify"])
            .env("CLAUDE_CODE_ENTRYPOINT", "cli")
            .envs(env.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(body.to_string().as_bytes()).unwrap();
        assert!(child.wait().unwrap().success());
    }

    /// Runs tmux on a server of this stage's own.
    pub fn tmux(&mut self, args: &[&str]) -> String {
        let socket = self.home.path().join("tmux.sock").display().to_string();
        self.tmux = Some(socket.clone());
        let out = Command::new("tmux")
            .args(["-S", &socket, "-f", "/dev/null"])
            .args(args)
            .env_clear()
            .env("HOME", self.home.path())
            .env("PATH", self.path())
            .env("LANG", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .output()
            .unwrap();
        assert!(out.status.success(), "tmux {args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).trim_end().to_owned()
    }

    pub fn socket(&self) -> String {
        format!("{},1,0", self.home.path().join("tmux.sock").display())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(socket) = &self.tmux {
            let _ = Command::new("tmux").args(["-S", socket, "kill-server"]).output();
        }
        self.stop();
    }
}
