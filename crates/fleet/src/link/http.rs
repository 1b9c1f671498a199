//! How a machine talks to its hub: HTTP/1.1 by hand over one kept connection, TLS by rustls. Responses are bounded.

use crate::tls;
use anyhow::{Context, Result, anyhow, bail, ensure};
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{IpAddr, TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

const CONNECT_WITHIN: Duration = Duration::from_secs(5);
const MAX_HEAD: u64 = 64 << 10;
const MAX_ANSWER: u64 = 256 << 20;

/// `https://host[:port][/prefix]`, or plain http on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HubUrl {
    pub secure: bool,
    pub host: String,
    pub port: u16,
    pub prefix: String,
}

impl HubUrl {
    /// Plain http is only for this machine: anyone on the network can read a token sent in the clear.
    pub fn parse(text: &str) -> Result<HubUrl> {
        let (secure, rest) = match text.split_once("://") {
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            _ => bail!("could not read the hub's address: it begins with https://"),
        };
        let rest = rest.split(['?', '#']).next().unwrap_or(rest);
        let (authority, prefix) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        ensure!(!authority.contains('@'), "could not read the hub's address: it has no user");
        let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
        };
        let port = match port {
            Some(port) => port.parse().context("could not read the hub's port")?,
            None if secure => 443,
            None => 80,
        };
        let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        ensure!(!host.is_empty() && plain(host) && plain(prefix), "could not read the hub's address");
        let url =
            HubUrl { secure, host: host.to_owned(), port, prefix: prefix.trim_end_matches('/').to_owned() };
        ensure!(
            secure || url.is_here(),
            "plain http is refused beyond this machine: the hub's address must begin with https:// (TLS)"
        );
        Ok(url)
    }

    fn is_here(&self) -> bool {
        self.host.eq_ignore_ascii_case("localhost")
            || self.host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    }

    fn authority(&self) -> String {
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        match (self.secure, self.port) {
            (true, 443) | (false, 80) => host,
            (_, port) => format!("{host}:{port}"),
        }
    }
}

/// The link of an invitation: the hub, and the code to join with.
pub fn invitation(link: &str) -> Result<(HubUrl, &str)> {
    let (base, code) = link
        .split_once("#join=")
        .context("the link of an invitation is like https://hub.example.org/#join=CODE")?;
    let url = HubUrl::parse(base)?;
    let code = code.trim();
    ensure!(!code.is_empty(), "the link has no code: it ends in #join=CODE");
    Ok((url, code))
}

impl std::fmt::Display for HubUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.prefix)
    }
}

trait Pipe: Read + Write + Send {}
impl<T: Read + Write + Send> Pipe for T {}

/// A client of one hub.
pub struct HubClient {
    url: HubUrl,
    token: Option<String>,
    roots: Option<PathBuf>,
    tls: Option<Arc<rustls::ClientConfig>>,
    answer_within: Duration,
    kept: Option<BufReader<Box<dyn Pipe>>>,
}

#[derive(Debug)]
pub struct HubAnswer {
    pub status: u16,
    pub body: Vec<u8>,
}

impl HubAnswer {
    /// Reads one answer, and whether another may follow on the same connection.
    pub fn read(pipe: &mut impl BufRead) -> Result<(HubAnswer, bool)> {
        let head = Head::read(pipe)?;
        let mut answer = HubAnswer { status: head.status, body: Vec::new() };
        let whole = head.body(pipe, &mut answer.body)?;
        Ok((answer, whole && head.keeps))
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The answer's message, for a person.
    pub fn message(&self) -> String {
        let said = self.json()["message"].as_str().map(|text| headspace_core::text::one_line(text, 200));
        said.unwrap_or_else(|| format!("it answered {}", self.status))
    }
}

impl HubClient {
    pub fn new(
        url: HubUrl,
        token: Option<String>,
        roots: Option<PathBuf>,
        answer_within: Duration,
    ) -> HubClient {
        HubClient { url, token, roots, tls: None, answer_within, kept: None }
    }

    pub fn request(&mut self, method: &str, path: &str, body: Option<&[u8]>) -> Result<HubAnswer> {
        let reused = self.kept.is_some();
        match self.exchange(method, path, body) {
            // The other side may close an idle connection at any time.
            Err(error) if reused && error.is::<Closed>() => self.exchange(method, path, body),
            other => other,
        }
    }

    fn exchange(&mut self, method: &str, path: &str, body: Option<&[u8]>) -> Result<HubAnswer> {
        let mut pipe = match self.kept.take() {
            Some(pipe) => pipe,
            None => self.connect()?,
        };
        pipe.get_mut().write_all(&self.head(method, path, body)).map_err(closed)?;
        pipe.get_mut().write_all(body.unwrap_or_default()).map_err(closed)?;
        pipe.get_mut().flush().map_err(closed)?;
        let (answer, keeps) = HubAnswer::read(&mut pipe)?;
        if keeps {
            self.kept = Some(pipe);
        }
        Ok(answer)
    }

    fn head(&self, method: &str, path: &str, body: Option<&[u8]>) -> Vec<u8> {
        let mut head = format!(
            "{method} {}{path} HTTP/1.1\r\nhost: {}\r\nuser-agent: headspace\r\n",
            self.url.prefix,
            self.url.authority()
        );
        if let Some(token) = &self.token {
            head += &format!("authorization: Bearer {token}\r\n");
        }
        if method != "GET" {
            head += &format!(
                "content-type: application/json\r\ncontent-length: {}\r\n",
                body.map_or(0, <[u8]>::len)
            );
        }
        head += "\r\n";
        head.into_bytes()
    }

    /// A stream that is read line by line until it ends.
    pub fn stream(&mut self, path: &str) -> Result<impl BufRead + use<>> {
        self.answer_within = Duration::from_secs(60);
        let mut pipe = self.connect()?;
        pipe.get_mut().write_all(&self.head("GET", path, None)).map_err(closed)?;
        let head = Head::read(&mut pipe)?;
        ensure!(head.status == 200, "the hub answered {}", head.status);
        Ok(BufReader::new(Unchunked { pipe, left: 0, chunked: head.chunked, ended: false }))
    }

    fn connect(&mut self) -> Result<BufReader<Box<dyn Pipe>>> {
        let HubUrl { host, port, .. } = &self.url;
        let addresses: Vec<_> = (host.as_str(), *port)
            .to_socket_addrs()
            .with_context(|| format!("could not find {host}"))?
            .collect();
        let mut failed = anyhow!("could not find {host}");
        for address in addresses {
            match TcpStream::connect_timeout(&address, CONNECT_WITHIN) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    stream.set_read_timeout(Some(self.answer_within))?;
                    stream.set_write_timeout(Some(self.answer_within))?;
                    return Ok(BufReader::with_capacity(16 << 10, self.secured(stream)?));
                }
                Err(error) => {
                    failed = anyhow!("could not reach the hub at {}: {error}", self.url.authority())
                }
            }
        }
        Err(failed)
    }

    fn secured(&mut self, stream: TcpStream) -> Result<Box<dyn Pipe>> {
        if !self.url.secure {
            return Ok(Box::new(stream));
        }
        let config = match &self.tls {
            Some(config) => Arc::clone(config),
            None => Arc::clone(self.tls.insert(tls::client(self.roots.as_deref())?)),
        };
        let name = ServerName::try_from(self.url.host.clone()).context("the hub's name makes no sense")?;
        let mut session = ClientConnection::new(config, name).context("could not begin TLS")?;
        let mut stream = stream;
        while session.is_handshaking() {
            session
                .complete_io(&mut stream)
                .map_err(|error| anyhow!("could not speak TLS with the hub: {}", tls::why(&error)))?;
        }
        Ok(Box::new(StreamOwned::new(session, stream)))
    }
}

/// The connection ended before an answer came.
#[derive(Debug)]
struct Closed(String);

impl std::fmt::Display for Closed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Closed {}

fn closed(error: std::io::Error) -> anyhow::Error {
    match error.kind() {
        std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => {
            anyhow!("the hub did not answer in time")
        }
        _ => Closed(format!("the hub closed the connection: {error}")).into(),
    }
}

struct Head {
    status: u16,
    length: Option<u64>,
    chunked: bool,
    keeps: bool,
}

impl Head {
    fn read(pipe: &mut impl BufRead) -> Result<Head> {
        let mut limited = pipe.take(MAX_HEAD);
        let mut line = String::new();
        let read = limited.read_line(&mut line).map_err(closed)?;
        if read == 0 {
            return Err(Closed("the hub closed the connection".into()).into());
        }
        let status =
            line.strip_prefix("HTTP/1.").and_then(|rest| rest.get(2..5)).and_then(|code| code.parse().ok());
        let status = status.context("what answers there is not a hub")?;
        let mut head = Head { status, length: None, chunked: false, keeps: line.starts_with("HTTP/1.1") };
        loop {
            line.clear();
            ensure!(limited.read_line(&mut line).map_err(closed)? > 0, "the hub's answer has no end");
            let text = line.trim_end();
            if text.is_empty() {
                return Ok(head);
            }
            let Some((name, value)) = text.split_once(':') else { bail!("the hub's answer makes no sense") };
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "content-length" => {
                    head.length = Some(value.parse().context("the hub's answer has no length")?)
                }
                "transfer-encoding" => head.chunked = value.eq_ignore_ascii_case("chunked"),
                "connection" => head.keeps &= !value.eq_ignore_ascii_case("close"),
                _ => {}
            }
        }
    }

    /// `true`: the body was read to its end, and another answer may follow.
    fn body(&self, pipe: &mut impl BufRead, into: &mut Vec<u8>) -> Result<bool> {
        if self.chunked {
            let mut body = Unchunked { pipe, left: 0, chunked: true, ended: false };
            (&mut body).take(MAX_ANSWER).read_to_end(into).map_err(closed)?;
            return Ok(body.ended);
        }
        match self.length {
            Some(length) => {
                ensure!(length <= MAX_ANSWER, "the hub's answer is too large");
                let read = pipe.take(length).read_to_end(into).map_err(closed)?;
                ensure!(read as u64 == length, "the hub's answer ended early");
                Ok(true)
            }
            None if matches!(self.status, 204 | 304) => Ok(true),
            None => pipe.take(MAX_ANSWER).read_to_end(into).map(|_| false).map_err(closed),
        }
    }
}

/// A chunked body as plain bytes.
struct Unchunked<R> {
    pipe: R,
    left: u64,
    chunked: bool,
    ended: bool,
}

impl<R: BufRead> Read for Unchunked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if !self.chunked {
            return self.pipe.read(buffer);
        }
        if self.ended || buffer.is_empty() {
            return Ok(0);
        }
        while self.left == 0 {
            let mut line = String::new();
            (&mut self.pipe).take(1024).read_line(&mut line)?;
            let text = line.trim();
            if text.is_empty() {
                if line.is_empty() {
                    return Err(std::io::ErrorKind::UnexpectedEof.into());
                }
                continue;
            }
            let size = text.split(';').next().unwrap_or_default().trim();
            self.left = u64::from_str_radix(size, 16).map_err(std::io::Error::other)?;
            if self.left == 0 {
                let mut rest = String::new();
                (&mut self.pipe).take(1024).read_line(&mut rest)?;
                self.ended = true;
                return Ok(0);
            }
        }
        let many = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.pipe.read(&mut buffer[..many])?;
        self.left -= read as u64;
        if read == 0 { Err(std::io::ErrorKind::UnexpectedEof.into()) } else { Ok(read) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_alone() {
        for good in [
            "http://127.0.0.1:5056",
            "http://127.8.9.1/x",
            "http://[::1]:5056/",
            "http://localhost",
            "https://hub.example.org/team",
        ] {
            let url = HubUrl::parse(good).unwrap();
            assert_eq!(HubUrl::parse(&url.to_string()).unwrap(), url, "{good}");
        }
        for bad in [
            "http://192.0.2.1:5056",
            "http://hub.example.org",
            "http://127.0.0.1.example.org",
            "http://[2001:db8::1]:5056",
            "http://localhost@evil.example",
            "ftp://hub",
            "hub.example.org",
            "https://",
            "https://a b",
            "https://hub:99999",
        ] {
            assert!(HubUrl::parse(bad).is_err(), "{bad}");
        }
    }

    fn read(text: &str) -> Result<(u16, Vec<u8>, bool)> {
        let (answer, keeps) = HubAnswer::read(&mut BufReader::new(text.as_bytes()))?;
        Ok((answer.status, answer.body, keeps))
    }

    #[test]
    fn an_answer_is_read_to_its_end_and_not_beyond() {
        let plain = read("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokrest").unwrap();
        assert_eq!(plain, (200, b"ok".to_vec(), true));
        let chunked = read(
            "HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\nrest",
        )
        .unwrap();
        assert_eq!(chunked, (503, b"abcde".to_vec(), true));
        let closing = read("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nuntil the end").unwrap();
        assert_eq!(closing, (200, b"until the end".to_vec(), false));
        for odd in [
            "",
            "nonsense",
            "HTTP/1.1",
            "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab",
            "HTTP/1.1 200 OK\r\n\u{1}\r\n\r\n",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        ] {
            assert!(read(odd).is_err(), "{odd:?}");
        }
        assert!(read(&format!("HTTP/1.1 200 OK\r\nx: {}", "y".repeat(100_000))).is_err());
    }
}
