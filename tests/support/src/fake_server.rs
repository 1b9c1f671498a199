use crate::LONG_ENOUGH;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// A request that a fake server was sent. A body that is not JSON is a string.
pub struct Request {
    pub head: String,
    pub body: Value,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }
}

/// The requests of a fake server, in the order they came.
pub struct Requests(Receiver<Request>);

impl Requests {
    /// Waits for the next one.
    pub fn next(&self) -> Request {
        self.0.recv_timeout(LONG_ENOUGH).expect("a request")
    }

    /// The next one, if it comes within this time.
    pub fn next_within(&self, limit: Duration) -> Option<Request> {
        self.0.recv_timeout(limit).ok()
    }

    /// Whether none has come that was not taken yet.
    pub fn is_empty(&self) -> bool {
        self.0.try_recv().is_err()
    }
}

/// Listens on a port of its own, hands every request to the test, and lets `answer` do what it likes with the
/// connection. Returns the address and the requests.
pub fn listen(answer: impl Fn(TcpStream) + Send + Sync + Clone + 'static) -> (String, Requests) {
    listen_on(0, answer)
}

/// Listens on this port.
pub fn listen_on(
    port: u16,
    answer: impl Fn(TcpStream) + Send + Sync + Clone + 'static,
) -> (String, Requests) {
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (sender, answer) = (sender.clone(), answer.clone());
            std::thread::spawn(move || {
                if let Some(request) = read_request(&stream) {
                    let _ = sender.send(request);
                }
                answer(stream);
            });
        }
    });
    (url, Requests(receiver))
}

/// An answer for [`listen`]: this status line and this body.
pub fn answer(status: &str, body: &str) -> impl Fn(TcpStream) + Send + Sync + Clone + 'static {
    let text =
        format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    move |mut stream: TcpStream| {
        let _ = stream.write_all(text.as_bytes());
    }
}

fn read_request(mut stream: &TcpStream) -> Option<Request> {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
    loop {
        let read = stream.read(&mut chunk).ok().filter(|&read| read > 0)?;
        bytes.extend_from_slice(&chunk[..read]);
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let length: usize = header(&head, "content-length").map_or(Some(0), |length| length.parse().ok())?;
        let body = &bytes[end + 4..];
        if body.len() >= length {
            let text = || Value::from(String::from_utf8_lossy(body).into_owned());
            return Some(Request { head, body: serde_json::from_slice(body).unwrap_or_else(|_| text()) });
        }
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut fields = head.lines().filter_map(|line| line.split_once(':'));
    fields.find(|(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
}
