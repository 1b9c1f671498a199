//! Parses a server's address. The hook does this on every event: no formatter and no memchr unless it fails.

use std::net::IpAddr;

/// The parts of `http://host[:port][/prefix]`.
#[derive(Debug, PartialEq, Eq)]
pub struct Url<'a> {
    /// As the `Host` header wants it.
    pub authority: &'a str,
    pub host: &'a str,
    pub port: u16,
    pub prefix: &'a str,
}

impl Url<'_> {
    /// What a request through the server's own socket says.
    pub const LOCAL: Url<'static> = Url { authority: "localhost", host: "localhost", port: 80, prefix: "" };

    pub fn parse(text: &str) -> Result<Url<'_>, String> {
        let rest = match find(text.as_bytes(), b"://") {
            Some(at) if text[..at].eq_ignore_ascii_case("http") => &text[at + 3..],
            Some(_) => return Err("could not use the server's address: only http is spoken here".into()),
            // A single word is a typing error, not a host with the default port.
            None if !text.contains(':') => return Err("could not read the server's address".into()),
            None => text,
        };
        let rest = &rest[..rest.bytes().position(|b| b == b'?' || b == b'#').unwrap_or(rest.len())];
        let (authority, prefix) = rest.split_at(rest.bytes().position(|b| b == b'/').unwrap_or(rest.len()));
        let authority = &authority[authority.bytes().rposition(|b| b == b'@').map_or(0, |at| at + 1)..];
        let port_at = authority
            .bytes()
            .rposition(|b| b == b':' || b == b']')
            .filter(|&at| authority.as_bytes()[at] == b':');
        let (host, port) = match port_at {
            Some(at) => (
                &authority[..at],
                authority[at + 1..].parse().map_err(|e| format!("could not read the server's port: {e}"))?,
            ),
            None => (authority, 80),
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let plain = |text: &str| text.bytes().all(|b| b.is_ascii_graphic());
        if host.is_empty() || !plain(authority) || !plain(prefix) {
            return Err("could not read the server's address".into());
        }
        Ok(Url { authority, host, port, prefix: prefix.trim_end_matches('/') })
    }

    /// Loopback, or all addresses of this machine.
    pub fn is_local(&self) -> bool {
        let ip = self.host.parse::<IpAddr>();
        self.host.eq_ignore_ascii_case("localhost")
            || ip.is_ok_and(|ip| ip.is_loopback() || ip.is_unspecified())
    }
}

/// Where `what` begins. Not memchr's function: that first asks the processor what it supports, which traps under a
/// hypervisor.
pub fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_servers_are_read() {
        let read = |text| Url::parse(text).map(|url| (url.host, url.port, url.prefix, url.authority)).ok();
        for (text, expected) in [
            ("http://127.0.0.1:5055", Some(("127.0.0.1", 5055, "", "127.0.0.1:5055"))),
            ("HTTP://localhost:1/", Some(("localhost", 1, "", "localhost:1"))),
            ("http://[::1]:5055/a/b/?x#y", Some(("::1", 5055, "/a/b", "[::1]:5055"))),
            ("http://[::1]", Some(("::1", 80, "", "[::1]"))),
            ("box.lan:70", Some(("box.lan", 70, "", "box.lan:70"))),
            ("http://user:secret@h:2", Some(("h", 2, "", "h:2"))),
            ("https://h", None),
            ("nonsense", None),
            ("box.lan/x", None),
            ("http://", None),
            ("http://h:99999", None),
            ("http://h\r\nx: y", None),
            ("", None),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn only_addresses_of_this_machine_are_local() {
        for (url, local) in [
            ("http://127.0.0.1:5055", true),
            ("http://localhost:1/x", true),
            ("http://[::1]:5055", true),
            ("http://0.0.0.0:5055", true),
            ("http://user:pw@10.0.0.7", false),
            ("http://127.0.0.1.example.org:5055", false),
            ("https://127.0.0.1", false),
            ("http://:5055", false),
        ] {
            assert_eq!(Url::parse(url).is_ok_and(|url| url.is_local()), local, "{url}");
        }
    }
}
