//! One HTTP/1.1 POST, by hand: connect, write once, read the answer.
//!
//! Everything else in headspace speaks HTTP through ureq. Here ureq, tuned as well as it can be (fixed resolver, 4 KiB
//! buffers, no proxy, no thread), used up the whole budget of 1.6 × a do-nothing process by itself. Measured, with
//! nothing else in the program but read, post, read the answer:
//!
//! | | cost of a do-nothing process | instructions | page faults | system calls |
//! |---|---|---|---|---|
//! | do-nothing static C program | 1.0 × | 36,000 | 26 | 15 |
//! | these lines, from a C `main` | 1.2 × | 39,000 | 27 | 22 |
//! | these lines, from a Rust `main` | 1.4 × | 88,000 | 34 | 46 |
//! | ureq, from a Rust `main` | 1.6 × | 135,000 | 46 | 53 |
//!
//! Most of it is not computing but code that has to be mapped and fetched for the first time (about 4 µs for each 64 KiB
//! of the binary that is touched): hence also no formatter, no serde_json and no memchr between standard input and the
//! answer, here and in `envelope`. No call has a timeout: the alarm interrupts whatever blocks.

use crate::alarm;
use headspace_platform::config::{self, Config, DEFAULT_HOST};
use headspace_platform::net::address::{Url, find};
use headspace_platform::net::local;
use headspace_platform::process::decimal;
use headspace_shortcut::handed_over::Sent;
use std::fmt::Display;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// An answer longer than this is not from our server.
const MAX_ANSWER: usize = 256 * 1024;

/// The error says why there is no answer, for the debug log. It is not anyhow's: with `RUST_BACKTRACE` set, that would
/// unwind the stack for every event while the server is away, which takes milliseconds.
type Result<T> = std::result::Result<T, String>;

/// An HTTP answer, perhaps from another program than our server.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
}

/// Posts `body` to the user's server: through its socket, else to a port that this user's process listens on, else to the
/// machine that the configuration names together with a token. No other program gets a byte.
pub fn post(config: Option<&Config>, slug: &str, body: &[u8]) -> Result<Answer> {
    #[cfg(unix)]
    if !config::is_named(config)
        && let Ok(mut stream) = local::connect()
    {
        // No token: through the socket, the server knows its own user.
        return exchange(&mut stream, &request(&Url::LOCAL, slug, None, body));
    }
    let named = Config::server_url_of(config);
    let url = Url::parse(&named)?;
    let mut stream = connect(&url)?;
    let token = if is_ours(&stream)? {
        config::token()
    } else {
        let token = config.and_then(|config| config.token_for(&named));
        Some(token.ok_or_else(|| local::not_named(url.host).to_string())?.to_owned())
    };
    exchange(&mut stream, &request(&url, slug, token.as_deref(), body))
}

/// Whether the server's end is on this machine. An error if it is here and belongs to another user.
fn is_ours(stream: &TcpStream) -> Result<bool> {
    if !local::is_here(stream).map_err(|e| because("could not connect", e))? {
        return Ok(false);
    }
    let owner = local::check_owner(stream).map_err(|e| because("could not connect", e))?;
    owner.map_err(|stranger| because("could not trust the server", stranger))?;
    Ok(true)
}

/// The answer to an event that the shortcut has sent: what it has read of it, and the rest.
#[cfg(unix)]
pub fn answer_to(sent: Sent) -> Result<Answer> {
    use std::os::fd::FromRawFd;
    // SAFETY: the short way opened it, and left it to us alone.
    let mut stream = unsafe { std::os::unix::net::UnixStream::from_raw_fd(sent.socket) };
    stream.set_nonblocking(false).map_err(|e| because("could not read the answer", e))?;
    read_answer(&mut stream, sent.answer)
}

#[cfg(not(unix))]
pub fn answer_to(_: Sent) -> Result<Answer> {
    Err("could not read the answer: this system has no such sockets".into())
}

/// A connection to the user's own server on this machine, for more than one answer (`headspace wait`).
#[cfg(unix)]
#[derive(Debug)]
pub struct OwnStream {
    stream: OwnSocket,
    authority: String,
    prefix: String,
    token: Option<String>,
}

#[cfg(unix)]
#[derive(Debug)]
enum OwnSocket {
    Local(std::os::unix::net::UnixStream),
    Port(TcpStream),
}

/// As [`post`] connects, but never to another machine.
#[cfg(unix)]
pub fn open_own(config: Option<&Config>) -> Result<OwnStream> {
    if !config::is_named(config)
        && let Ok(stream) = local::connect()
    {
        let (authority, prefix) = (Url::LOCAL.authority.to_owned(), Url::LOCAL.prefix.to_owned());
        return Ok(OwnStream { stream: OwnSocket::Local(stream), authority, prefix, token: None });
    }
    let named = Config::server_url_of(config);
    let url = Url::parse(&named)?;
    let stream = connect(&url)?;
    if !is_ours(&stream)? {
        return Err("a server on another machine is not asked".into());
    }
    let (authority, prefix) = (url.authority.to_owned(), url.prefix.to_owned());
    Ok(OwnStream { stream: OwnSocket::Port(stream), authority, prefix, token: config::token() })
}

#[cfg(unix)]
impl OwnStream {
    /// The head of a request whose body comes in chunks.
    pub fn head(&self, path: &str) -> String {
        let token = self.token.as_deref().filter(|token| token.bytes().all(|b| b.is_ascii_graphic()));
        let token = token.map_or(String::new(), |token| format!("authorization: Bearer {token}\r\n"));
        format!(
            "POST {}{path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n{token}\r\n",
            self.prefix, self.authority
        )
    }

    pub fn set_nonblocking(&self) -> std::io::Result<()> {
        match &self.stream {
            OwnSocket::Local(stream) => stream.set_nonblocking(true),
            OwnSocket::Port(stream) => stream.set_nonblocking(true),
        }
    }
}

#[cfg(unix)]
impl std::os::fd::AsRawFd for OwnStream {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        match &self.stream {
            OwnSocket::Local(stream) => stream.as_raw_fd(),
            OwnSocket::Port(stream) => stream.as_raw_fd(),
        }
    }
}

#[cfg(unix)]
impl Read for OwnStream {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        match &mut self.stream {
            OwnSocket::Local(stream) => stream.read(bytes),
            OwnSocket::Port(stream) => stream.read(bytes),
        }
    }
}

#[cfg(unix)]
impl Write for OwnStream {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.stream {
            OwnSocket::Local(stream) => stream.write(bytes),
            OwnSocket::Port(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn exchange(stream: &mut (impl Read + Write), request: &[u8]) -> Result<Answer> {
    // A server that refuses early answers and hangs up; its answer says more than the broken pipe.
    let sent = write_all(stream, request);
    match read_answer(stream, &[]) {
        Err(_) if sent.is_err() => Err(sent.err().unwrap_or_default()),
        answer => answer,
    }
}

fn request(url: &Url<'_>, slug: &str, token: Option<&str>, body: &[u8]) -> Vec<u8> {
    let mut request = Vec::with_capacity(body.len() + 512);
    for part in [
        b"POST ",
        url.prefix.as_bytes(),
        b"/hook/",
        escaped(slug).as_bytes(),
        b" HTTP/1.1\r\nhost: ",
        url.authority.as_bytes(),
        b"\r\ncontent-type: application/json\r\ncontent-length: ",
        decimal(body.len() as u64).as_bytes(),
        b"\r\nconnection: close\r\n",
    ] {
        request.extend_from_slice(part);
    }
    // A token with a line break in it would be a second header.
    if let Some(token) = token.filter(|token| token.bytes().all(|b| b.is_ascii_graphic())) {
        for part in ["authorization: Bearer ", token, "\r\n"] {
            request.extend_from_slice(part.as_bytes());
        }
    }
    request.extend_from_slice(b"\r\n");
    request.extend_from_slice(body);
    request
}

/// A slug as part of a path, percent-encoded, because future event names may contain anything.
fn escaped(slug: &str) -> String {
    let mut path = String::with_capacity(slug.len());
    for byte in slug.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => path.push(char::from(byte)),
            _ => path.push_str(&format!("%{byte:02X}")),
        }
    }
    path
}

fn connect(url: &Url<'_>) -> Result<TcpStream> {
    let mut why = String::from("could not connect: the name has no address");
    for address in addresses(url.host, url.port)? {
        match open(&address) {
            Ok(stream) => {
                // The last bytes of a large event must not wait until the first are acknowledged.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Err(error) => why = because("could not connect", error),
        }
    }
    Err(why)
}

fn because(what: &str, why: impl Display) -> String {
    format!("{what}: {why}")
}

/// Literal addresses and `localhost` need no lookup. A host name needs one, in a thread because it cannot be interrupted.
fn addresses(host: &str, port: u16) -> Result<Vec<SocketAddr>> {
    if host == DEFAULT_HOST {
        return Ok(vec![(Ipv4Addr::LOCALHOST, port).into()]);
    }
    if let Ok(ip) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, port)]);
    }
    if host.eq_ignore_ascii_case("localhost") {
        return Ok(vec![(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()]);
    }
    let (sender, receiver) = std::sync::mpsc::channel();
    let name = host.to_owned();
    let look_up = move || {
        let _ = sender.send((name.as_str(), port).to_socket_addrs().map(Iterator::collect::<Vec<_>>));
    };
    std::thread::Builder::new().spawn(look_up).map_err(|e| because("could not look the server up", e))?;
    while !alarm::late() {
        if let Ok(found) = receiver.recv_timeout(Duration::from_millis(20)) {
            return found.map_err(|e| because("could not find the server", e));
        }
    }
    Err("could not find the server in time".into())
}

/// Like `TcpStream::connect`, but an interruption ends it instead of starting it over.
#[cfg(unix)]
fn open(address: &SocketAddr) -> std::io::Result<TcpStream> {
    use std::io::Error;
    use std::mem::{size_of, zeroed};
    use std::os::fd::FromRawFd;

    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    // SAFETY: a new descriptor that nothing else uses.
    let (fd, stream) = unsafe {
        let fd = libc::socket(family, libc::SOCK_STREAM, 0);
        if fd < 0 {
            return Err(Error::last_os_error());
        }
        (fd, TcpStream::from_raw_fd(fd))
    };
    // SAFETY: all-zero is a valid sockaddr, each is passed with its own size and outlives the call.
    let failed = unsafe {
        match address {
            SocketAddr::V4(v4) => {
                let mut raw: libc::sockaddr_in = zeroed();
                raw.sin_family = libc::AF_INET as libc::sa_family_t;
                raw.sin_port = v4.port().to_be();
                raw.sin_addr.s_addr = u32::from_ne_bytes(v4.ip().octets());
                libc::connect(fd, (&raw const raw).cast(), size_of::<libc::sockaddr_in>() as libc::socklen_t)
            }
            SocketAddr::V6(v6) => {
                let mut raw: libc::sockaddr_in6 = zeroed();
                raw.sin6_family = libc::AF_INET6 as libc::sa_family_t;
                raw.sin6_port = v6.port().to_be();
                raw.sin6_addr.s6_addr = v6.ip().octets();
                raw.sin6_scope_id = v6.scope_id();
                libc::connect(fd, (&raw const raw).cast(), size_of::<libc::sockaddr_in6>() as libc::socklen_t)
            }
        }
    };
    if failed == 0 { Ok(stream) } else { Err(Error::last_os_error()) }
}

#[cfg(not(unix))]
fn open(address: &SocketAddr) -> std::io::Result<TcpStream> {
    let limit = Duration::from_millis(1000);
    let stream = TcpStream::connect_timeout(address, limit)?;
    stream.set_read_timeout(Some(limit))?;
    stream.set_write_timeout(Some(limit))?;
    Ok(stream)
}

fn write_all(stream: &mut impl Write, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() && !alarm::late() {
        match stream.write(bytes) {
            Ok(0) => return Err("could not send: the connection was closed".into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(because("could not send", error)),
        }
    }
    if bytes.is_empty() { Ok(()) } else { Err("could not send in time".into()) }
}

/// Reads until the answer is complete, the connection ends, or it is too long or too late to be ours. `begun`: what has
/// come of it.
fn read_answer(stream: &mut impl Read, begun: &[u8]) -> Result<Answer> {
    let mut bytes = Vec::with_capacity(begun.len().max(2048));
    bytes.extend_from_slice(begun);
    if !begun.is_empty()
        && let Some(answer) = parse_answer(&bytes, false)?
    {
        return Ok(answer);
    }
    let mut chunk = [0u8; 2048];
    while !alarm::late() && bytes.len() < MAX_ANSWER {
        let read = match stream.read(&mut chunk) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(because("could not read the answer", error)),
        };
        bytes.extend_from_slice(&chunk[..read]);
        if let Some(answer) = parse_answer(&bytes, read == 0)? {
            return Ok(answer);
        }
        if read == 0 {
            return Err("could not read the answer: it was cut off".into());
        }
    }
    Err(format!("could not get an answer: {} bytes in time", bytes.len()))
}

/// The answer, once it is complete; `ended`: nothing follows.
fn parse_answer(bytes: &[u8], ended: bool) -> Result<Option<Answer>> {
    let probe = &bytes[..bytes.len().min(5)];
    if !b"HTTP/".starts_with(probe) {
        return Err("could not read the answer: it is not HTTP".into());
    }
    let Some(end) = find(bytes, b"\r\n\r\n") else { return Ok(None) };
    let (head, body) = (&bytes[..end], &bytes[end + 4..]);
    let status = head.split(|&b| b == b' ').nth(1).and_then(|code| number(code.get(..3)?, 10));
    let status = status.ok_or("could not read the answer: it has no status")?;
    let (mut length, mut chunked) = (None, false);
    for line in head.split(|&b| b == b'\n').skip(1) {
        let Some(colon) = line.iter().position(|&b| b == b':') else { continue };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            length = Some(number(value, 10).ok_or("could not read the answer's length")?);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            chunked = value.eq_ignore_ascii_case(b"chunked");
        }
    }
    let body = match (chunked, length) {
        (true, _) => dechunked(body)?,
        (false, Some(length)) => body.get(..length).map(<[u8]>::to_vec),
        (false, None) => ended.then(|| body.to_vec()),
    };
    Ok(body.map(|body| Answer { status: status as u16, body }))
}

/// The body that was sent in chunks, if the last one is there.
fn dechunked(mut rest: &[u8]) -> Result<Option<Vec<u8>>> {
    let mut body = Vec::new();
    loop {
        let Some(end) = find(rest, b"\r\n") else { return Ok(None) };
        let size = rest[..end].split(|&b| b == b';').next().and_then(|size| number(size.trim_ascii(), 16));
        let size = size.filter(|&size| size <= MAX_ANSWER).ok_or("could not read the answer's chunks")?;
        if size == 0 {
            return Ok(Some(body));
        }
        let Some(chunk) = rest.get(end + 2..end + 2 + size) else { return Ok(None) };
        body.extend_from_slice(chunk);
        rest = rest.get(end + 4 + size..).unwrap_or_default();
    }
}

/// At least one digit, and nothing but digits.
fn number(text: &[u8], base: u32) -> Option<usize> {
    let mut value = (!text.is_empty()).then_some(0usize)?;
    for &byte in text {
        let digit = char::from(byte).to_digit(base)?;
        value = value.checked_mul(base as usize)?.checked_add(digit as usize)?;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headspace_platform::net::hook_request;

    #[test]
    fn the_server_recognizes_what_comes_through_its_socket() {
        let written = request(&Url::LOCAL, "pre-tool-use", None, br#"{"a":1}"#);
        let (slug, body) = ("pre-tool-use", &br#"{"a":1}"#[..]);
        let whole = hook_request::Recognized::Whole { slug, body, keeps_open: false };
        assert_eq!(hook_request::recognize(&written), whole);
    }

    #[test]
    fn nothing_foreign_reaches_the_head_of_the_request() {
        let url = Url::parse("http://h:1/p").unwrap();
        let text = String::from_utf8(request(&url, "stop x\r\ny: z/..", Some("a\r\nb: c"), b"{}")).unwrap();
        assert_eq!(
            text,
            "POST /p/hook/stop%20x%0D%0Ay%3A%20z%2F%2E%2E HTTP/1.1\r\nhost: h:1\r\ncontent-type: application/json\r\n\
             content-length: 2\r\nconnection: close\r\n\r\n{}"
        );
        assert!(
            String::from_utf8(request(&url, "s", Some("t0"), b""))
                .unwrap()
                .contains("authorization: Bearer t0\r\n")
        );
    }

    #[test]
    fn answers_are_read_in_every_form_and_at_every_cut() {
        let ok = |body: &str| Some(Answer { status: 200, body: body.into() });
        for (text, expected) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", ok("{}")),
            ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", ok("")),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\n\r\n",
                ok("{}"),
            ),
        ] {
            let parsed = (0..=text.len()).map(|end| parse_answer(&text.as_bytes()[..end], false).unwrap());
            let first = parsed.into_iter().flatten().next();
            assert_eq!(first, expected, "{text}");
        }
        assert_eq!(parse_answer(b"HTTP/1.0 200 OK\r\n\r\n{}", false).unwrap(), None);
        assert_eq!(parse_answer(b"HTTP/1.0 200 OK\r\n\r\n{}", true).unwrap(), ok("{}"));
    }

    #[test]
    fn what_is_not_http_is_refused() {
        for bad in [
            &b"SSH-2.0-x\r\n"[..],
            b"\x00\x01",
            b"HTTP/1.1 abc\r\n\r\n",
            b"HTTP/1.1 2\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: +2\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999999\r\n\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffffff\r\n",
        ] {
            assert!(parse_answer(bad, false).is_err(), "{}", String::from_utf8_lossy(bad));
        }
    }
}
