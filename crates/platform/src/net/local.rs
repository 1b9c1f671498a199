//! The server's own socket in the state directory, and the question who is at the other end of a connection.
//!
//! Another user's program that takes the port first must get neither the token nor an event, and its answer must not count.
//! So the hook and the command line speak to the socket, which only its owner can create, or to a TCP listener of their own user.

use crate::config;
use crate::net::address::Url;
use crate::net::peer_uid;
use std::fmt;
use std::io::{Error, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::PathBuf;

/// `<state>/headspace.sock`
pub fn socket_path() -> PathBuf {
    config::state_dir().join("headspace.sock")
}

/// A program at the server's end of a connection that is not ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stranger {
    address: SocketAddr,
    uid: Option<u32>,
}

impl fmt::Display for Stranger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.uid {
            Some(uid) => write!(f, "a program of {} listens on {}", user(uid), self.address),
            None => write!(f, "the owner of the program that listens on {} cannot be known", self.address),
        }
    }
}

impl std::error::Error for Stranger {}

/// The user's name as the system's own list has it; a static program cannot ask the directory services.
fn user(uid: u32) -> String {
    let named = || {
        let list = std::fs::read_to_string("/etc/passwd").ok()?;
        list.lines().find_map(|line| {
            let mut fields = line.split(':');
            let (name, id) = (fields.next()?, fields.nth(1)?);
            (id.parse() == Ok(uid)).then(|| format!("the user {name}"))
        })
    };
    named().unwrap_or_else(|| format!("the user with id {uid}"))
}

/// This machine's address in its network: the one it would use to reach others. Nothing is sent.
pub fn network_address() -> Option<IpAddr> {
    // Addresses reserved for documentation, which no machine has.
    let own = |bind: &str, to: &str| {
        let socket = std::net::UdpSocket::bind(bind).ok()?;
        socket.connect(to).ok()?;
        Some(socket.local_addr().ok()?.ip()).filter(|ip| !ip.is_loopback() && !ip.is_unspecified())
    };
    own("0.0.0.0:0", "192.0.2.1:9").or_else(|| own("[::]:0", "[2001:db8::1]:9"))
}

/// Whether a server with this `host` can be reached only from its own machine.
pub fn is_loopback_host(host: &str) -> bool {
    let bare = host.trim_matches(['[', ']']);
    bare.eq_ignore_ascii_case("localhost") || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// Ours, or root's, who could read everything anyway.
pub fn is_trusted(uid: u32) -> bool {
    uid == 0 || uid == peer_uid::own_uid()
}

/// Connects to the server's socket, if our own user or root holds it.
#[cfg(unix)]
pub fn connect() -> std::io::Result<std::os::unix::net::UnixStream> {
    let stream = std::os::unix::net::UnixStream::connect(socket_path())?;
    match peer_uid::of_socket(&stream) {
        Some(uid) if is_trusted(uid) => Ok(stream),
        _ => Err(Error::new(ErrorKind::PermissionDenied, "another user holds the server's socket")),
    }
}

#[cfg(not(unix))]
pub fn connect() -> std::io::Result<TcpStream> {
    Err(Error::new(ErrorKind::Unsupported, "this system has no such sockets"))
}

/// Whether the server's end of this connection is on this machine.
pub fn is_here(stream: &TcpStream) -> std::io::Result<bool> {
    let (peer, local) = (stream.peer_addr()?.ip().to_canonical(), stream.local_addr()?.ip().to_canonical());
    Ok(peer.is_loopback() || peer == local)
}

/// Refuses a server on this machine that belongs to another user. Call it after connecting and before the first byte is sent.
///
/// Both ends are checked, because either alone can be deceived: a connection that is not accepted yet has no owner, and the
/// listener may have been replaced since we connected. If the listener is ours, a connection that is not accepted yet is in
/// its queue, because the kernel resets the queue of a listener that closes.
pub fn check_owner(stream: &TcpStream) -> std::io::Result<Result<(), Stranger>> {
    if cfg!(not(any(target_os = "linux", target_os = "macos"))) {
        return Ok(Ok(()));
    }
    // `::ffff:127.0.0.1` leads to the listeners of 127.0.0.1, not to those of IPv6.
    let canonical = |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    let (peer, local) = (canonical(stream.peer_addr()?), canonical(stream.local_addr()?));
    let owners = [peer_uid::of_listener(peer), peer_uid::uid(peer, local)];
    let trusted = match owners {
        [Some(listener), accepted] => is_trusted(listener) && accepted.is_none_or(is_trusted),
        // Listening in another network namespace, or handed over and not listening any more.
        [None, accepted] => accepted.is_some_and(is_trusted),
    };
    if trusted {
        return Ok(Ok(()));
    }
    let uid = owners.into_iter().flatten().find(|uid| !is_trusted(*uid));
    Ok(Err(Stranger { address: peer, uid }))
}

/// Whose program listens at this address of this machine, if it is neither ours nor root's. Nothing is sent.
pub fn stranger_at(url: &str) -> Option<Stranger> {
    let url = Url::parse(url).ok().filter(Url::is_local)?;
    let ip = url.host.parse().ok().filter(|ip: &IpAddr| !ip.is_unspecified());
    let address = SocketAddr::new(ip.unwrap_or(Ipv4Addr::LOCALHOST.into()), url.port);
    let address = SocketAddr::new(address.ip().to_canonical(), address.port());
    let uid = peer_uid::of_listener(address).filter(|uid| !is_trusted(*uid))?;
    Some(Stranger { address, uid: Some(uid) })
}

/// A server on another machine gets nothing unless the user named it, with its token, in the configuration.
pub fn not_named(host: &str) -> Error {
    let why = format!(
        "{host} is another machine: set `url` and `token` in {} to trust its server",
        config::config_file().display()
    );
    Error::new(ErrorKind::PermissionDenied, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_listener_of_ours_is_trusted_whether_it_accepts_or_not() {
        for address in ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let port = listener.local_addr().unwrap().port();
            let host = if address.starts_with('[') { "::1" } else { "127.0.0.1" };
            let stream = TcpStream::connect((host, port)).unwrap();
            assert_eq!(check_owner(&stream).unwrap(), Ok(()), "{address}, not accepted");
            let (_accepted, _) = listener.accept().unwrap();
            assert_eq!(check_owner(&stream).unwrap(), Ok(()), "{address}, accepted");
            assert!(is_here(&stream).unwrap());
        }
    }

    #[test]
    fn a_stranger_is_named() {
        let address = "127.0.0.1:5055".parse().unwrap();
        let said = |uid| Stranger { address, uid }.to_string();
        assert_eq!(said(Some(0)), "a program of the user root listens on 127.0.0.1:5055");
        assert!(said(Some(4_000_000_000)).contains("the user with id 4000000000"));
        assert!(said(None).contains("cannot be known"));
    }
}
