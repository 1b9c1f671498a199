use crate::{LONG_ENOUGH, Response, request};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

/// A server process, and a client that sends it exactly what it is told to. It is killed with the test at the latest.
pub struct Server {
    child: Child,
    pub port: u16,
    log: Arc<Mutex<String>>,
}

impl Server {
    /// Starts `command` and returns when it listens.
    pub fn start(mut command: Command) -> Server {
        let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let log = Arc::new(Mutex::new(String::new()));
        let port = loop {
            let Some(line) = lines.next() else {
                let _ = child.wait();
                panic!("the server did not start: {}", log.lock().unwrap());
            };
            let line = line.unwrap();
            log.lock().unwrap().push_str(&format!("{line}\n"));
            let address = line.split_once("listening on ").and_then(|(_, address)| address.split_once("://"));
            if let Some((_, address)) = address {
                break address.rsplit(':').next().unwrap().parse().unwrap();
            }
        };
        let written = log.clone();
        // Somebody has to read on, or the server would write into a full pipe.
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                written.lock().unwrap().push_str(&format!("{line}\n"));
            }
        });
        Server { child, port, log }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What it wrote to stderr so far.
    pub fn log(&self) -> String {
        self.log.lock().unwrap().clone()
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(LONG_ENOUGH)).unwrap();
        stream
    }

    /// Sends these bytes and reads one response; `None` if the server hangs up instead.
    pub fn raw(&self, bytes: &[u8]) -> Option<Response> {
        let mut stream = self.connect();
        // Whoever is refused may be told so before everything is sent.
        let _ = stream.write_all(bytes);
        Response::read(&mut stream)
    }

    pub fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Response {
        let bytes = request(self.port, method, path, headers, body);
        self.raw(&bytes).unwrap_or_else(|| panic!("no response to {method} {path}: {}", self.log()))
    }

    /// Like [`Server::request`], but `None` while nobody listens or whoever does hangs up: the server may be restarting.
    pub fn try_request(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> Option<Response> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(LONG_ENOUGH)).ok()?;
        stream.write_all(&request(self.port, method, path, headers, None)).ok()?;
        Response::read(&mut stream)
    }

    /// The JSON at this path, which must be there.
    pub fn get(&self, path: &str) -> Value {
        let response = self.request("GET", path, &[], None);
        assert_eq!(response.status, 200, "{path}: {}", response.text());
        response.json()
    }

    pub fn post(&self, path: &str, body: &Value) -> Response {
        self.request("POST", path, &[], Some(body.to_string().as_bytes()))
    }

    /// Posts an event that must be accepted.
    pub fn hook(&self, slug: &str, body: Value) -> Value {
        let response = self.post(&format!("/hook/{slug}"), &body);
        assert_eq!(response.status, 200, "{slug}: {}", response.text());
        response.json()
    }

    /// Stops it as a service manager does; it must end well.
    pub fn stop(mut self) {
        // SAFETY: the child is ours and has not been waited for, so the pid is still its own.
        unsafe { libc::kill(self.child.id() as i32, libc::SIGTERM) };
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}: {}", self.log());
    }

    /// Ends it without a warning.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
