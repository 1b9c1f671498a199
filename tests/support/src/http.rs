use serde_json::{Value, json};
use std::io::Read;
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};

/// The bytes of a request: what is not among `headers` is filled in, and a header with an empty value is left out.
pub fn request(
    port: u16,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: Option<&[u8]>,
) -> Vec<u8> {
    let mut lines = vec![format!("{method} {path} HTTP/1.1"), "Connection: close".into()];
    let has = |name: &str| headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name));
    if !has("host") {
        lines.push(format!("Host: 127.0.0.1:{port}"));
    }
    if let Some(body) = body {
        if !has("content-type") {
            lines.push("Content-Type: application/json".into());
        }
        if !has("content-length") && !has("transfer-encoding") {
            lines.push(format!("Content-Length: {}", body.len()));
        }
    }
    lines.extend(
        headers.iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| format!("{name}: {value}")),
    );
    let mut bytes = format!("{}\r\n\r\n", lines.join("\r\n")).into_bytes();
    bytes.extend_from_slice(body.unwrap_or_default());
    bytes
}

#[derive(Debug)]
pub struct Response {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Response {
    /// Reads one response; `None` if the other side hangs up before it is whole.
    pub fn read(stream: &mut TcpStream) -> Option<Response> {
        let mut bytes = Vec::new();
        let mut piece = [0; 8192];
        loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
                let length_in =
                    |line: &str| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok();
                // "Not modified" and "no content" have neither a body nor a length.
                let bare = head.contains(" 304 ") || head.starts_with("HTTP/1.1 204");
                let length = if bare { Some(0) } else { head.lines().find_map(length_in) };
                if let Some(length) = length.filter(|length: &usize| bytes.len() >= end + 4 + length) {
                    let status = head.split(' ').nth(1)?.parse().ok()?;
                    return Some(Response { status, head, body: bytes[end + 4..end + 4 + length].to_vec() });
                }
            }
            match stream.read(&mut piece) {
                Ok(0) | Err(_) => return None,
                Ok(count) => bytes.extend_from_slice(&piece[..count]),
            }
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (given, value) = line.split_once(':')?;
            given.eq_ignore_ascii_case(name).then_some(value.trim())
        })
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {}", self.text()))
    }
}

/// The body of a hook event of this session, with a delivery id of its own.
pub fn event(session: &str, fields: Value) -> Value {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let mut body = json!({
        "session_id": session, "cwd": format!("/somewhere/{session}"),
        "delivery_id": format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)),
    });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    body
}
