//! What Linux says: `sock_diag(7)`, the tables in /proc, and who holds which descriptor.

use crate::net::peer_uid::{Holders, Owner};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// A connection that was not accepted yet has nobody, and netlink says so. The table would say the same, after
/// milliseconds: a thousand hooks that wait to be accepted must not read it a thousand times.
pub fn uid(peer: SocketAddr, local: SocketAddr) -> Option<u32> {
    row(peer, local)?.owner()
}

/// A client's end that is in the tables and that nobody holds was closed, whatever our end says: it hears of that only
/// after everything that was sent before.
pub fn owner(peer: SocketAddr, local: SocketAddr) -> Owner {
    match row(peer, local) {
        Some(row) => row.owner().map_or(Owner::Nobody, Owner::User),
        None if is_open(local, peer) => Owner::Unknown,
        None => Owner::Nobody,
    }
}

/// Whether the end at `from` is connected: it has not heard that the other side closed or reset the connection.
fn is_open(from: SocketAddr, to: SocketAddr) -> bool {
    const ESTABLISHED: u8 = 1;
    row(from, to).is_some_and(|row| row.state == ESTABLISHED)
}

fn row(from: SocketAddr, to: SocketAddr) -> Option<Row> {
    by_netlink(from, to).or_else(|| by_proc(from, to))
}

/// What the kernel says about one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Row {
    state: u8,
    uid: u32,
    /// 0: no process holds it.
    inode: u32,
}

impl Row {
    fn owner(self) -> Option<u32> {
        (self.inode != 0).then_some(self.uid)
    }
}

pub fn holders(peer: SocketAddr, local: SocketAddr) -> Option<Holders> {
    let Row { uid, inode, .. } = by_proc(peer, local).filter(|row| row.inode != 0)?;
    let link = format!("socket:[{inode}]");
    let mut holders = Holders::default();
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        match std::fs::read_dir(entry.path().join("fd")) {
            Ok(files) => {
                let holds = |file: std::fs::DirEntry| {
                    std::fs::read_link(file.path()).is_ok_and(|to| to.as_os_str() == link.as_str())
                };
                if files.flatten().any(holds) {
                    holders.pids.push(pid);
                }
            }
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                if owner_of(pid) == Some(uid.into()) {
                    holders.hidden.push(pid);
                }
            }
            Err(_) => {}
        }
    }
    Some(holders)
}

/// The user a process runs as, even one whose files in /proc belong to root.
fn owner_of(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// The kernel looks for the socket that a connection to `address` would reach; one that listens has no other end.
pub fn of_listener(address: SocketAddr) -> Option<u32> {
    let ip: IpAddr = match address.ip() {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let no_peer = SocketAddr::new(ip, 0);
    let everywhere = SocketAddr::new(ip, address.port());
    let owner = |address, no_peer| by_proc(address, no_peer)?.owner();
    by_netlink(address, no_peer)
        .and_then(Row::owner)
        .or_else(|| owner(address, no_peer))
        .or_else(|| owner(everywhere, no_peer))
        // A socket for both kinds of addresses is in the table of the longer ones.
        .or_else(|| {
            let both = (address.is_ipv4()).then(|| SocketAddr::from((Ipv6Addr::UNSPECIFIED, address.port())));
            owner(both?, SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)))
        })
}

/// One question to the kernel, one answer: `sock_diag(7)`. `None`: it does not answer, or knows no such socket.
fn by_netlink(peer: SocketAddr, local: SocketAddr) -> Option<Row> {
    use std::io::{Read, Write};
    use std::os::fd::FromRawFd;
    // SAFETY: plain system call; the descriptor is checked and owned by `file` from here on.
    let fd = unsafe {
        libc::socket(libc::AF_NETLINK, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, libc::NETLINK_SOCK_DIAG)
    };
    if fd < 0 {
        return None;
    }
    // SAFETY: `fd` is open and used only here.
    let mut file = unsafe { std::fs::File::from_raw_fd(fd) };
    let wait = libc::timeval { tv_sec: 0, tv_usec: 200_000 };
    // SAFETY: the pointer and the length describe `wait`.
    unsafe {
        libc::setsockopt(
            fd,
            libc::SOL_SOCKET,
            libc::SO_RCVTIMEO,
            std::ptr::from_ref(&wait).cast(),
            size_of_val(&wait) as libc::socklen_t,
        )
    };
    file.write_all(&request(peer, local)).ok()?;
    let mut answer = [0; 512];
    let length = file.read(&mut answer).ok()?;
    row_in(answer.get(..length)?)
}

const REQUEST_LENGTH: usize = 16 + 56;
const SOCK_DIAG_BY_FAMILY: u16 = 20;

/// `nlmsghdr` and `inet_diag_req_v2` for exactly this socket, seen from the client's side.
fn request(peer: SocketAddr, local: SocketAddr) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(REQUEST_LENGTH);
    bytes.extend((REQUEST_LENGTH as u32).to_ne_bytes());
    bytes.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    bytes.extend(1u16.to_ne_bytes()); // NLM_F_REQUEST
    bytes.extend([0; 8]);
    bytes.push(if peer.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 } as u8);
    bytes.push(libc::IPPROTO_TCP as u8);
    bytes.extend([0; 2]);
    bytes.extend(u32::MAX.to_ne_bytes()); // every state
    bytes.extend(peer.port().to_be_bytes());
    bytes.extend(local.port().to_be_bytes());
    for address in [peer.ip(), local.ip()] {
        match address {
            IpAddr::V4(v4) => {
                bytes.extend(v4.octets());
                bytes.extend([0; 12]);
            }
            IpAddr::V6(v6) => bytes.extend(v6.octets()),
        }
    }
    bytes.extend([0; 4]); // any interface
    bytes.extend([0xff; 8]); // no cookie
    bytes
}

/// The row in an `inet_diag_msg`. `None`: it is another message.
fn row_in(answer: &[u8]) -> Option<Row> {
    let word = |at: usize| answer.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    // Header 16; family, state, timer, retransmits 4; socket id 48; expires, rqueue, wqueue 12.
    let row = Row { state: *answer.get(16 + 1)?, uid: word(16 + 64)?, inode: word(16 + 68)? };
    (kind == SOCK_DIAG_BY_FAMILY).then_some(row)
}

/// The same from `/proc/net/tcp`, where netlink is not allowed.
fn by_proc(peer: SocketAddr, local: SocketAddr) -> Option<Row> {
    let table = if peer.is_ipv4() { "/proc/net/tcp" } else { "/proc/net/tcp6" };
    let (from, to) = (hex(peer), hex(local));
    find(&std::fs::read_to_string(table).ok()?, &from, &to)
}

fn find(table: &str, from: &str, to: &str) -> Option<Row> {
    table.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |at: usize| fields.get(at)?.parse().ok();
        if fields.get(1) != Some(&from) || fields.get(2) != Some(&to) {
            return None;
        }
        let state = u8::from_str_radix(fields.get(3)?, 16).ok()?;
        Some(Row { state, uid: number(7)?, inode: number(9)? })
    })
}

/// As the table writes it: the address in words of the machine's byte order, then the port.
fn hex(address: SocketAddr) -> String {
    let octets = match address.ip() {
        IpAddr::V4(v4) => v4.octets().to_vec(),
        IpAddr::V6(v6) => v6.octets().to_vec(),
    };
    let mut text = String::new();
    for word in octets.chunks_exact(4) {
        let word = u32::from_ne_bytes([word[0], word[1], word[2], word[3]]);
        text.push_str(&format!("{word:08X}"));
    }
    format!("{text}:{:04X}", address.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::peer_uid::{Owner, owner};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    fn pair(address: &str) -> Option<(TcpStream, TcpStream)> {
        let listener = TcpListener::bind(address).ok()?;
        let client = TcpStream::connect(listener.local_addr().ok()?).ok()?;
        Some((client, listener.accept().ok()?.0))
    }

    #[test]
    fn both_tables_know_the_owner_of_a_living_connection() {
        let me = crate::net::peer_uid::own_uid();
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Some((client, server)) = pair(address) else { continue };
            let (peer, local) = (server.peer_addr().unwrap(), server.local_addr().unwrap());
            assert_eq!(by_proc(peer, local).and_then(Row::owner), Some(me), "{address}");
            assert!(by_netlink(peer, local).is_none_or(|row| row.owner() == Some(me)));
            assert_eq!(uid(peer, local), Some(me));
            assert!(is_open(local, peer));
            drop(client);
            // A child that another test is just starting holds our descriptors too, until it is what it will be.
            let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
            while uid(peer, local).is_some() {
                assert!(std::time::Instant::now() < end, "an orphan belongs to nobody");
                std::thread::yield_now();
            }
            assert_eq!(owner(peer, local), Owner::Nobody, "{address}");
            assert_eq!(holders(peer, local), None, "{address}");
        }
    }

    #[test]
    fn a_connection_that_was_closed_before_all_was_sent_belongs_to_nobody() {
        use std::io::Write;
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Some((mut client, server)) = pair(address) else { continue };
            let (peer, local) = (server.peer_addr().unwrap(), server.local_addr().unwrap());
            client.set_nonblocking(true).unwrap();
            // Until neither end has room for more.
            while client.write(&[0; 64 << 10]).is_ok() {}
            drop(client);
            let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
            while uid(peer, local).is_some() {
                assert!(std::time::Instant::now() < end, "an orphan belongs to nobody");
                std::thread::yield_now();
            }
            assert!(is_open(local, peer), "our end does not know yet");
            assert_eq!(owner(peer, local), Owner::Nobody, "{address}");
        }
    }

    #[test]
    fn a_connection_that_was_reset_belongs_to_nobody() {
        let Some((client, server)) = pair("127.0.0.1:0") else { return };
        let (peer, local) = (server.peer_addr().unwrap(), server.local_addr().unwrap());
        // SAFETY: the pointer and the length describe a `linger`; the descriptor is open.
        unsafe {
            let at_once = libc::linger { l_onoff: 1, l_linger: 0 };
            let length = size_of_val(&at_once) as libc::socklen_t;
            let at_once = std::ptr::from_ref(&at_once).cast();
            libc::setsockopt(client.as_raw_fd(), libc::SOL_SOCKET, libc::SO_LINGER, at_once, length);
        }
        drop(client);
        let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while owner(peer, local) != Owner::Nobody {
            assert!(std::time::Instant::now() < end, "{:?}", owner(peer, local));
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_half_closed_connection_still_has_its_owner() {
        let Some((client, server)) = pair("127.0.0.1:0") else { return };
        let (peer, local) = (server.peer_addr().unwrap(), server.local_addr().unwrap());
        assert!(is_open(local, peer));
        client.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(owner(peer, local), Owner::User(crate::net::peer_uid::own_uid()), "half closed");
    }

    #[test]
    fn a_connection_that_was_not_accepted_yet_belongs_to_nobody() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (peer, local) = (client.peer_addr().unwrap(), client.local_addr().unwrap());
        assert_eq!(uid(peer, local), None);
        let _accepted = listener.accept().unwrap();
        assert_eq!(uid(peer, local), Some(crate::net::peer_uid::own_uid()));
    }

    #[test]
    fn the_process_behind_a_connection_is_found() {
        let Some((_client, server)) = pair("127.0.0.1:0") else { return };
        let found = holders(server.peer_addr().unwrap(), server.local_addr().unwrap()).unwrap();
        assert!(found.pids.contains(&std::process::id()), "{found:?}");
    }

    #[test]
    fn a_row_without_an_inode_is_not_believed() {
        let row = |inode| {
            let row = format!("head\n  0: 0100007F:A000 0100007F:13BF 05 0:0 0:0 0 7 0 {inode} 1 0");
            find(&row, "0100007F:A000", "0100007F:13BF").unwrap()
        };
        assert_eq!(row("4711"), Row { state: 5, uid: 7, inode: 4711 });
        assert_eq!(row("4711").owner(), Some(7));
        assert_eq!(row("0").owner(), None);
    }
}
