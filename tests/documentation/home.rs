//! A home directory of its own for the program, and a server in it.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

pub struct Home(tempfile::TempDir);

impl Home {
    /// Nothing in it is the machine's user's; no server is found by chance.
    pub fn new() -> Home {
        let home = Home(tempfile::tempdir().unwrap());
        home.configure(&json!({"port": 9, "notifications": {"enabled": false}}).to_string());
        home
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn configure(&self, text: &str) {
        let directory = self.path().join(".config/headspace");
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join("config.jsonc"), text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_headspace"));
        command.args(args).env_clear().env("HOME", self.path()).env("PATH", "/usr/bin:/bin");
        command.current_dir(self.path()).stdin(Stdio::null());
        command
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// What `doctor` finds, check by check.
    pub fn findings(&self) -> Vec<Value> {
        let output = self.run(&["doctor", "--json"]);
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        said["checks"].as_array().unwrap().clone()
    }

    /// A server on a free port.
    pub fn serve(&self) -> Server {
        let mut child = self.command(&["serve", "--port", "0"]).stderr(Stdio::piped()).spawn().unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let mut lines = log.lines().map_while(Result::ok);
        let address = lines.find_map(|line| Some(line.split_once("listening on http://")?.1.to_owned()));
        let port = address.and_then(|address| address.rsplit(':').next()?.parse().ok());
        // What else it says must not stop it.
        std::thread::spawn(move || lines.for_each(drop));
        Server { child, port: port.unwrap() }
    }
}

/// Ends with the test.
pub struct Server {
    child: Child,
    pub port: u16,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
