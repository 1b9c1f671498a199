//! The most frequent request: a hook's event on its way through the server's own socket. The server recognizes it by its
//! bytes and needs no HTTP framework for it. Only the headers that every client sends are understood here; anything else in
//! a request (an `Origin`, a token, a body in chunks) makes it an ordinary one. Begin with [`recognize`].

/// Longer bodies take the ordinary way, which decodes them on another thread.
pub const MAX_BODY: usize = 60 << 10;
/// A longer head takes the ordinary way, too: a hook's has about 150 bytes.
const MAX_HEAD: usize = 1 << 10;
/// The longest request that is read whole before it is handled.
pub const MAX_REQUEST: usize = MAX_HEAD + MAX_BODY;
/// No hook sends more headers than this.
const MAX_HEADERS: usize = 8;
const START: &[u8] = b"POST /hook/";

/// What a request is, by its first bytes.
#[derive(Debug, PartialEq, Eq)]
pub enum Recognized<'a> {
    /// A hook's request. `keeps_open`: its sender may send more on the same connection.
    Whole { slug: &'a str, body: &'a [u8], keeps_open: bool },
    /// The beginning of one, perhaps.
    Part,
    /// Something else.
    Other,
}

pub fn recognize(bytes: &[u8]) -> Recognized<'_> {
    let beginning = &bytes[..bytes.len().min(START.len())];
    if !START.starts_with(beginning) {
        return Recognized::Other;
    }
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    let head = match request.parse(&bytes[..bytes.len().min(MAX_HEAD)]) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < MAX_HEAD => return Recognized::Part,
        _ => return Recognized::Other,
    };
    let slug = request.path.and_then(|path| path.strip_prefix("/hook/")).unwrap_or_default();
    let Some(Head { length, keeps_open }) = Head::of(&request).filter(|_| is_plain(slug)) else {
        return Recognized::Other;
    };
    let body = &bytes[head..];
    match body.len().cmp(&length) {
        std::cmp::Ordering::Equal => Recognized::Whole { slug, body, keeps_open },
        std::cmp::Ordering::Less => Recognized::Part,
        // A second request follows at once: hooks do not do that.
        std::cmp::Ordering::Greater => Recognized::Other,
    }
}

/// What the headers of a hook's request say.
struct Head {
    length: usize,
    keeps_open: bool,
}

impl Head {
    /// `None`: there is a header that only the ordinary way understands, or a header is missing or occurs twice.
    fn of(request: &httparse::Request<'_, '_>) -> Option<Head> {
        if request.version != Some(1) {
            return None;
        }
        let (mut host, mut kind, mut length, mut connection) = (None, None, None, None);
        for header in request.headers.iter() {
            let name = |name: &str| header.name.eq_ignore_ascii_case(name);
            let place = match header.name.len() {
                4 if name("host") => &mut host,
                12 if name("content-type") => &mut kind,
                14 if name("content-length") => &mut length,
                10 if name("connection") => &mut connection,
                6 if name("accept") => continue,
                10 if name("user-agent") => continue,
                _ => return None,
            };
            if place.replace(header.value).is_some() {
                return None;
            }
        }
        let keeps_open = match connection {
            None => true,
            Some(value) if value.eq_ignore_ascii_case(b"keep-alive") => true,
            Some(value) if value.eq_ignore_ascii_case(b"close") => false,
            Some(_) => return None,
        };
        let length = number(length?).filter(|length| *length <= MAX_BODY)?;
        let is_plain = is_loopback(host?) && kind?.eq_ignore_ascii_case(b"application/json");
        is_plain.then_some(Head { length, keeps_open })
    }
}

/// Whether this is one of the names that every server has; only the ordinary way knows the others.
fn is_loopback(host: &[u8]) -> bool {
    let (name, port) = match host.iter().rposition(|byte| *byte == b':') {
        Some(colon) => (&host[..colon], Some(&host[colon + 1..])),
        None => (host, None),
    };
    matches!(name, b"localhost" | b"127.0.0.1")
        && port.is_none_or(|port| number(port).is_some_and(|port| port <= usize::from(u16::MAX)))
}

/// A number of at most five digits without leading zeros.
fn number(text: &[u8]) -> Option<usize> {
    let plain =
        matches!(text, [b'1'..=b'9', ..] | b"0") && text.len() <= 5 && text.iter().all(u8::is_ascii_digit);
    plain.then(|| text.iter().fold(0, |number, digit| number * 10 + usize::from(digit - b'0')))
}

/// Whether a hook writes the slug as it is; it escapes anything else.
fn is_plain(slug: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    !slug.is_empty() && slug.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(slug: &str, length: &str, body: &str) -> String {
        format!(
            "POST /hook/{slug} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )
    }

    #[test]
    fn a_hooks_request_is_recognized_when_it_is_whole() {
        let whole = request("pre-tool-use", "7", r#"{"a":1}"#);
        let recognized = Recognized::Whole { slug: "pre-tool-use", body: br#"{"a":1}"#, keeps_open: false };
        assert_eq!(recognize(whole.as_bytes()), recognized);
        for end in 0..whole.len() {
            assert_eq!(recognize(&whole.as_bytes()[..end]), Recognized::Part, "{:?}", &whole[..end]);
        }
        let large = "x".repeat(MAX_BODY);
        let large = request(&"s".repeat(200), &large.len().to_string(), &large);
        assert!(matches!(recognize(large.as_bytes()), Recognized::Whole { .. }));
        assert!(large.len() <= MAX_REQUEST);
    }

    #[test]
    fn the_headers_of_other_http_clients_are_understood() {
        let whole = request("stop", "2", "{}");
        for (same, open) in [
            (whole.replace("host: localhost", "Host: 127.0.0.1:5055"), false),
            (whole.replace("content-type: application/json", "Content-Type:application/json"), false),
            (whole.replace("connection: close", "Connection: keep-alive"), true),
            (whole.replace("connection: close", "user-agent: curl/8.0\r\naccept: */*"), true),
        ] {
            let recognized = Recognized::Whole { slug: "stop", body: b"{}", keeps_open: open };
            assert_eq!(recognize(same.as_bytes()), recognized, "{same:?}");
        }
    }

    #[test]
    fn everything_else_is_an_ordinary_request() {
        let whole = request("stop", "2", "{}");
        let with = |header: &str| whole.replace("\r\n\r\n", &format!("\r\n{header}\r\n\r\n"));
        for other in [
            request("stop", "7", "{\"a\":1} "),
            request("stop", "07", "{\"a\":1}"),
            request("stop", "+7", "{\"a\":1}"),
            request("stop", "-1", ""),
            request("stop", "99999", ""),
            request("stop", "123456", ""),
            request("a%20b", "2", "{}"),
            request("a/b", "2", "{}"),
            request("", "2", "{}"),
            request("stop?x=1", "2", "{}"),
            request(&"s".repeat(MAX_HEAD), "2", "{}"),
            whole.replace("localhost", "evil.example"),
            whole.replace("localhost", "localhost.evil.example"),
            whole.replace("localhost", "localhost:99999"),
            whole.replace("host: localhost\r\n", ""),
            whole.replace("content-type: application/json\r\n", ""),
            whole.replace("application/json", "text/plain"),
            whole.replace("content-length: 2\r\n", ""),
            whole.replace("connection: close", "connection: upgrade"),
            whole.replace("HTTP/1.1", "HTTP/1.0"),
            whole.replace("POST", "PUT"),
            with("origin: http://evil.example"),
            with("sec-fetch-site: cross-site"),
            with("authorization: Bearer x"),
            with("transfer-encoding: chunked"),
            with("expect: 100-continue"),
            with("host: localhost"),
            with("content-length: 2"),
            "GET /health HTTP/1.1\r\n\r\n".into(),
            "\0".into(),
        ] {
            assert_eq!(recognize(other.as_bytes()), Recognized::Other, "{other:?}");
        }
    }
}
