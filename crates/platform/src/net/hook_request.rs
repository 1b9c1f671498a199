//! The one request that matters most: a hook's event on its way through the server's own socket. The hook writes it, and
//! the server recognizes it by its bytes, without a parser for all of HTTP. Whatever differs in a single byte is an
//! ordinary request.

/// What the hook writes around the event's name,
pub const START: &str = "POST /hook/";
/// between it and the length of the body,
pub const MIDDLE: &str = " HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ";
/// and between that and the body.
pub const END: &str = "\r\nconnection: close\r\n\r\n";

/// Longer bodies take the ordinary way, which decodes them on another thread.
pub const MAX_BODY: usize = 60 << 10;
/// No event has a longer name in its path; also what the head may be longer by.
const MAX_SLUG: usize = 200;
/// A request that is read whole before anything is done about it.
pub const MAX_REQUEST: usize = START.len() + MAX_SLUG + MIDDLE.len() + 5 + END.len() + MAX_BODY;

/// What the first bytes of a connection are.
#[derive(Debug, PartialEq, Eq)]
pub enum Recognized<'a> {
    /// A hook's request.
    Whole { slug: &'a str, body: &'a [u8] },
    /// The beginning of one, perhaps.
    Part,
    /// Something else.
    Other,
}

pub fn recognize(bytes: &[u8]) -> Recognized<'_> {
    let Some(rest) = after(bytes, START) else { return part_of(bytes, START) };
    let slug = &rest[..rest.iter().position(|byte| !is_plain(*byte)).unwrap_or(rest.len())];
    let rest = &rest[slug.len()..];
    if slug.is_empty() || slug.len() > MAX_SLUG {
        return if rest.is_empty() && slug.is_empty() { Recognized::Part } else { Recognized::Other };
    }
    let Some(rest) = after(rest, MIDDLE) else { return part_of(rest, MIDDLE) };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits > 5 || rest.first() == Some(&b'0') || digits == 0 && !rest.is_empty() {
        return Recognized::Other;
    }
    let (digits, rest) = rest.split_at(digits);
    let length = digits.iter().fold(0, |length, digit| length * 10 + usize::from(digit - b'0'));
    if length > MAX_BODY {
        return Recognized::Other;
    }
    let Some(body) = after(rest, END) else { return part_of(rest, END) };
    match (std::str::from_utf8(slug), body.len().cmp(&length)) {
        (Ok(slug), std::cmp::Ordering::Equal) => Recognized::Whole { slug, body },
        (Ok(_), std::cmp::Ordering::Less) => Recognized::Part,
        // A second request right behind: hooks do not do that.
        _ => Recognized::Other,
    }
}

fn after<'a>(bytes: &'a [u8], text: &str) -> Option<&'a [u8]> {
    bytes.strip_prefix(text.as_bytes())
}

fn part_of<'a>(bytes: &[u8], text: &str) -> Recognized<'a> {
    if text.as_bytes().starts_with(bytes) { Recognized::Part } else { Recognized::Other }
}

/// What the hook writes as it is; everything else it escapes.
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(slug: &str, length: &str, body: &str) -> String {
        [START, slug, MIDDLE, length, END, body].concat()
    }

    #[test]
    fn a_hooks_request_is_recognized_when_it_is_whole() {
        let whole = request("pre-tool-use", "7", r#"{"a":1}"#);
        assert_eq!(
            recognize(whole.as_bytes()),
            Recognized::Whole { slug: "pre-tool-use", body: br#"{"a":1}"# }
        );
        for end in 0..whole.len() {
            assert_eq!(recognize(&whole.as_bytes()[..end]), Recognized::Part, "{:?}", &whole[..end]);
        }
        let large = "x".repeat(MAX_BODY);
        let large = request(&"s".repeat(MAX_SLUG), &large.len().to_string(), &large);
        assert!(matches!(recognize(large.as_bytes()), Recognized::Whole { .. }));
        assert_eq!(large.len(), MAX_REQUEST);
    }

    #[test]
    fn everything_else_is_an_ordinary_request() {
        for other in [
            request("stop", "7", "{\"a\":1} "),
            request("stop", "07", "{\"a\":1}"),
            request("stop", "-1", ""),
            request("stop", "99999", ""),
            request("stop", "123456", ""),
            request("a%20b", "2", "{}"),
            request("a/b", "2", "{}"),
            request("", "2", "{}"),
            request(&"s".repeat(MAX_SLUG + 1), "2", "{}"),
            request("stop", "2", "{}").replace("localhost", "evil.example"),
            request("stop", "2", "{}").replace("host:", "Host:"),
            request("stop", "2", "{}").replace("close", "keep-alive"),
            request("stop", "2", "{}").replace("\r\n\r\n", "\r\norigin: http://evil.example\r\n\r\n"),
            "GET /health HTTP/1.1\r\n\r\n".into(),
            "\0".into(),
        ] {
            assert_eq!(recognize(other.as_bytes()), Recognized::Other, "{other:?}");
        }
    }
}
