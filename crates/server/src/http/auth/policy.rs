//! Access control: the rules every request passes before anything else looks at it.
//!
//! A page of another origin must not reach the server through the user's browser (`Host`, `Origin`,
//! `Sec-Fetch-Site`, JSON only), and another user of the machine must not reach it at all (token, cookie, or the
//! owner of the connection).

use headspace_page::connection::cookies;
use headspace_platform::net::local;
use headspace_platform::net::peer_uid::{self, Owner};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderMap, HeaderName, ORIGIN};
use hyper::{Method, StatusCode, Uri};
use std::net::{IpAddr, SocketAddr};
use std::sync::OnceLock;

pub const COOKIE_NAME: &str = "headspace";

/// A refusal, with its message.
pub type Refusal = (StatusCode, String);

/// Where a request comes from; the owner of the other end is asked for once, and only if it matters.
#[derive(Debug)]
pub enum Connection {
    /// Through the server's own socket, which lets in only its user and root; which process, if the system says so.
    Socket {
        pid: Option<u32>,
    },
    Port {
        peer: SocketAddr,
        local: SocketAddr,
        owner: OnceLock<Owner>,
    },
}

impl Connection {
    pub fn port(peer: SocketAddr, local: SocketAddr) -> Connection {
        Connection::Port { peer, local, owner: OnceLock::new() }
    }

    /// Neither the server's own user nor root is at the other end. Nobody counts as another user: who hangs up at once
    /// cannot be seen any more.
    pub fn is_of_another_user(&self) -> bool {
        match self.owner() {
            Owner::User(uid) => !local::is_trusted(uid),
            // Elsewhere than on Linux, those of other machines cannot be told from those who hung up.
            Owner::Nobody => cfg!(target_os = "linux") || self.has_address_of_here(),
            Owner::Unknown => false,
        }
    }

    /// From a process of this machine. Whoever connects to an address of his own machine may come from any other one of
    /// them; the system knows.
    pub fn is_from_here(&self) -> bool {
        self.has_address_of_here() || matches!(self.owner(), Owner::User(_))
    }

    fn has_address_of_here(&self) -> bool {
        let Connection::Port { peer, local, .. } = self else { return true };
        let (peer, local) = (peer.ip().to_canonical(), local.ip().to_canonical());
        peer.is_loopback() || local.is_loopback() || peer == local
    }

    /// The server's own user, or root, who could read the token anyway.
    fn same_user(&self) -> bool {
        let loopback = match self {
            Connection::Socket { .. } => return true,
            Connection::Port { peer, .. } => peer.ip().to_canonical().is_loopback(),
        };
        loopback && matches!(self.owner(), Owner::User(uid) if local::is_trusted(uid))
    }

    fn owner(&self) -> Owner {
        match self {
            Connection::Socket { .. } => Owner::User(peer_uid::own_uid()),
            Connection::Port { peer, local, owner } => *owner.get_or_init(|| peer_uid::owner(*peer, *local)),
        }
    }
}

/// What is let in by name.
#[derive(Clone, Debug)]
pub struct Names {
    /// Besides loopback; lower case.
    names: Vec<String>,
    /// The name under which a tunnel or a proxy brings the requests of other machines.
    public: Option<String>,
    port: u16,
}

impl Names {
    /// `bound` is where the server listens. Its address is one of the server's names, unless it means all addresses.
    pub fn new(configured: &[String], bound: SocketAddr) -> Names {
        let mut names: Vec<String> = configured.iter().map(|name| name.to_ascii_lowercase()).collect();
        if !bound.ip().is_unspecified() {
            names.push(bound.ip().to_string());
        }
        Names { names, public: None, port: bound.port() }
    }

    /// The same, with an address at which other machines reach this server: its host name is served, and requests to it do
    /// not count as this user's, even though this user runs the tunnel.
    pub fn reached_at(mut self, url: Option<&str>) -> Names {
        let authority = url.and_then(|url| url.split_once("://")?.1.split('/').next());
        let name = authority.and_then(split_port).map(|(name, _)| name.to_ascii_lowercase());
        self.public = name.filter(|name| !self.is_loopback(name));
        self.names.extend(self.public.clone());
        self
    }

    /// Whether this is the name under which other machines reach this server.
    pub fn is_public(&self, host: &str) -> bool {
        let name = split_port(host).map(|(name, _)| name.to_ascii_lowercase());
        name.is_some() && name == self.public
    }

    fn is_loopback(&self, bare: &str) -> bool {
        bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.to_canonical().is_loopback())
    }

    fn knows(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        self.is_loopback(bare) || self.names.iter().any(|name| name == bare)
    }
}

/// The rules that do not depend on the user.
pub fn check(names: &Names, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Refusal> {
    let host = host_of(names, uri, headers)?;
    if let Some(origin) = one(headers, &ORIGIN)?
        && !own_origin(names, origin, host)
    {
        return Err(forbidden("a page of another origin may not use this server"));
    }
    let site = headers.get("sec-fetch-site").map(|value| value.as_bytes());
    let navigation =
        headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate") && method == Method::GET;
    // "same-site" is another port of this machine: it may link here, not more.
    if site == Some(b"cross-site") || (site == Some(b"same-site") && !navigation) {
        return Err(forbidden("a page of another site may not use this server"));
    }
    if method == Method::POST && !is_json(headers) {
        return Err((
            StatusCode::BAD_REQUEST,
            "the content type is not JSON: send `Content-Type: application/json`".into(),
        ));
    }
    Ok(())
}

/// The `Host` this request is for, which must be one of ours: what DNS rebinding cannot fake.
fn host_of<'a>(names: &Names, uri: &'a Uri, headers: &'a HeaderMap) -> Result<&'a str, Refusal> {
    let header = one(headers, &HOST)?;
    let host = header.or_else(|| uri.authority().map(|authority| authority.as_str()));
    let Some(host) = host else {
        return Err((StatusCode::BAD_REQUEST, "the `Host` header is missing".into()));
    };
    let named = |authority: &str| split_port(authority).is_some_and(|(name, _)| names.knows(name));
    let authority = uri.authority().map(|authority| authority.as_str());
    if !named(host) || !authority.is_none_or(named) {
        return Err(forbidden(
            "this server is not known by that name: use 127.0.0.1, localhost, or add it to `names`",
        ));
    }
    Ok(host)
}

/// The header's one value; twice, or not text, is refused.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Refusal> {
    let bad = || {
        (StatusCode::BAD_REQUEST, format!("the `{name}` header is there twice or is not text: send it once"))
    };
    let mut values = headers.get_all(name).iter();
    let Some(first) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(bad());
    }
    first.to_str().map(Some).map_err(|_| bad())
}

/// `name`, `name:port`, `[::1]:port`; anything else is not an authority.
fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let (name, port) = match authority.rfind(']') {
        Some(end) if authority.starts_with('[') => {
            let (name, rest) = authority.split_at(end + 1);
            (name, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
        }
        Some(_) => return None,
        None => match authority.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (authority, None),
        },
    };
    match port {
        None => Some((name, None)),
        Some(port) => Some((name, Some(port.parse().ok()?))),
    }
}

/// The origin this very request is for, or ours under another of our names. Another port is another program.
fn own_origin(names: &Names, origin: &str, host: &str) -> bool {
    let Some((scheme, authority)) = origin.split_once("://") else { return false };
    let default = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return false,
    };
    let Some((name, port)) = split_port(authority) else { return false };
    let port = port.unwrap_or(default);
    if authority.eq_ignore_ascii_case(host) {
        return true;
    }
    if split_port(host).is_some_and(|(n, p)| n.eq_ignore_ascii_case(name) && p.unwrap_or(default) == port) {
        return true;
    }
    names.knows(name) && port == names.port
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

fn forbidden(why: &str) -> Refusal {
    (StatusCode::FORBIDDEN, why.into())
}

/// The secrets that give access.
pub trait DoorKeys {
    fn token_fits(&self, given: &str) -> bool;
    fn cookie_fits(&self, given: &str) -> bool;
}

/// Headers that show that a request was forwarded.
const PASSED_ON: [&str; 5] =
    ["forwarded", "x-forwarded-for", "x-real-ip", "cf-connecting-ip", "tailscale-user-login"];

/// Whether a tunnel or a proxy forwarded the request: the proxy runs as this user, but the person behind it may be another.
fn is_passed_on(names: &Names, headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    host.is_some_and(|host| names.is_public(host)) || PASSED_ON.iter().any(|name| headers.contains_key(*name))
}

/// Requires the token, the cookie, or the server's own user.
pub fn admit(
    names: &Names,
    keys: &impl DoorKeys,
    headers: &HeaderMap,
    connection: &Connection,
) -> Result<(), Refusal> {
    let bearer = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = bearer.and_then(|value| value.strip_prefix("Bearer "));
    // A wrong token counts as none: the same user may have several state directories.
    // A browser sends a cookie to every port of its host, so a program of another user may have been given it.
    let mut cookie = cookies(headers, COOKIE_NAME);
    if token.is_some_and(|token| keys.token_fits(token.trim()))
        || connection.same_user() && !is_passed_on(names, headers)
        || cookie.any(|value| keys.cookie_fits(value)) && !connection.is_of_another_user()
    {
        return Ok(());
    }
    Err(forbidden("this server belongs to another user: send its token, or run `headspace open` to log in"))
}

/// Whether both are equal. How long this takes does not depend on where they differ.
pub fn same_secret(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let difference = a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b));
    a.len() == b.len() && std::hint::black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(method: &str, given: &[(&str, &str)]) -> u16 {
        let names = Names::new(&["box.lan".into()], "127.0.0.1:5055".parse().unwrap());
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            headers.append(HeaderName::try_from(*name).unwrap(), value.parse().unwrap());
        }
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        check(&names, &method, &Uri::from_static("/"), &headers)
            .map_or_else(|(status, _)| status.as_u16(), |()| 200)
    }

    #[test]
    fn only_our_names_are_served() {
        for host in
            ["127.0.0.1", "127.0.0.1:1", "localhost:5055", "LOCALHOST", "[::1]:5055", "box.lan", "127.8.9.1"]
        {
            assert_eq!(verdict("GET", &[("host", host)]), 200, "{host}");
        }
        for host in [
            "evil.example",
            "evil.example:5055",
            "127.0.0.1.evil.example",
            "localhost.evil.example",
            "10.0.0.7:5055",
            "",
            "0.0.0.0",
            "[::1",
            "localhost:5055:1",
            "evil@localhost",
        ] {
            assert_eq!(verdict("GET", &[("host", host)]), 403, "{host}");
        }
        assert_eq!(verdict("GET", &[]), 400);
        assert_eq!(verdict("GET", &[("host", "localhost"), ("host", "evil.example")]), 400);
    }

    #[test]
    fn only_our_own_origin_may_ask() {
        for (origin, host, expected) in [
            ("http://127.0.0.1:5055", "127.0.0.1:5055", 200),
            ("http://localhost:5055", "127.0.0.1:5055", 200),
            ("http://localhost:8080", "localhost:8080", 200), // a forwarded port
            ("https://box.lan", "box.lan", 200),
            ("http://localhost:3000", "localhost:5055", 403),
            ("http://127.0.0.1", "127.0.0.1:5055", 403),
            ("http://evil.example", "localhost:5055", 403),
            ("http://evil.example:5055", "localhost:5055", 403),
            ("http://localhost:5055.evil.example", "localhost:5055", 403),
            ("null", "localhost:5055", 403),
            ("file://", "localhost:5055", 403),
        ] {
            assert_eq!(verdict("GET", &[("host", host), ("origin", origin)]), expected, "{origin} at {host}");
        }
    }

    #[test]
    fn pages_of_other_sites_are_kept_out() {
        let host = ("host", "localhost:5055");
        assert_eq!(verdict("GET", &[host, ("sec-fetch-site", "cross-site")]), 403);
        assert_eq!(verdict("GET", &[host, ("sec-fetch-site", "same-site")]), 403);
        let link = [host, ("sec-fetch-site", "same-site"), ("sec-fetch-mode", "navigate")];
        assert_eq!(verdict("GET", &link), 200);
        for site in ["same-origin", "none"] {
            assert_eq!(verdict("GET", &[host, ("sec-fetch-site", site)]), 200);
        }
    }

    #[test]
    fn only_json_is_posted() {
        let host = ("host", "localhost");
        for kind in ["application/json", "APPLICATION/JSON", "application/json; charset=utf-8"] {
            assert_eq!(verdict("POST", &[host, ("content-type", kind)]), 200, "{kind}");
        }
        for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""] {
            assert_eq!(verdict("POST", &[host, ("content-type", kind)]), 400, "{kind}");
        }
        assert_eq!(verdict("POST", &[host]), 400);
    }

    #[test]
    fn secrets_are_compared_whole() {
        assert!(same_secret("abc", "abc"));
        assert!(!same_secret("abc", "abd") && !same_secret("abc", "ab") && !same_secret("", "a"));
    }
}
