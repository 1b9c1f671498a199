//! Who is at the other end of a loopback connection: the operating system knows the socket's owner.
//!
//! An owner is only believed while a process holds the socket (it has an inode): the kernel shows orphaned and
//! waiting sockets as root's, and every user could leave such a one behind.

use std::net::SocketAddr;

/// Who has the client's end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    User(u32),
    /// Nobody: it was closed. Whoever closes it at once must not pass for somebody who cannot be seen. On macOS also
    /// another user, whose processes do not show what they hold.
    Nobody,
    /// The connection is open, and its other end is not in this system's tables: they show the connections of one
    /// network namespace only. On Windows always.
    Unknown,
}

/// Who has the client's end of this connection. Where nobody can be known, a request needs the token or the browser's
/// cookie.
pub fn owner(peer: SocketAddr, local: SocketAddr) -> Owner {
    #[cfg(target_os = "linux")]
    return linux::owner(peer, local);
    #[cfg(not(target_os = "linux"))]
    match uid(peer, local) {
        Some(uid) => Owner::User(uid),
        None if cfg!(target_os = "macos") => Owner::Nobody,
        None => Owner::Unknown,
    }
}

/// The user that owns the client's end of this connection; `None` if that cannot be known.
pub fn uid(peer: SocketAddr, local: SocketAddr) -> Option<u32> {
    #[cfg(target_os = "linux")]
    return linux::uid(peer, local);
    #[cfg(target_os = "macos")]
    return macos::uid(peer, local);
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    {
        let _ = (peer, local);
        None
    }
}

/// The processes that hold the client's end of this connection, as far as they can be seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holders {
    pub pids: Vec<u32>,
    /// Processes of the same user that do not show what they hold, as in a browser's sandbox. If no other process holds the
    /// connection, one of these does.
    pub hidden: Vec<u32>,
}

/// Who holds the client's end of this connection; `None` where the system does not say, and if it was closed.
pub fn holders(peer: SocketAddr, local: SocketAddr) -> Option<Holders> {
    #[cfg(target_os = "linux")]
    return linux::holders(peer, local);
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (peer, local);
        None
    }
}

/// The user whose process listens at this address of this machine; `None` if none does, or it cannot be known.
pub fn of_listener(address: SocketAddr) -> Option<u32> {
    #[cfg(target_os = "linux")]
    return linux::of_listener(address);
    #[cfg(target_os = "macos")]
    return macos::of_listener(address);
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    {
        let _ = address;
        None
    }
}

/// The user at the other end of a Unix socket.
#[cfg(unix)]
pub fn of_socket(stream: &impl std::os::fd::AsRawFd) -> Option<u32> {
    #[cfg(target_os = "linux")]
    {
        let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
        let mut length = size_of_val(&peer) as libc::socklen_t;
        // SAFETY: the pointer and the length describe `peer`; the descriptor is open.
        let failed = unsafe {
            libc::getsockopt(
                stream.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERCRED,
                std::ptr::from_mut(&mut peer).cast(),
                &mut length,
            )
        };
        (failed == 0).then_some(peer.uid)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let (mut uid, mut gid) = (0, 0);
        // SAFETY: both pointers are to living values; the descriptor is open.
        let failed = unsafe { libc::getpeereid(stream.as_raw_fd(), &mut uid, &mut gid) };
        (failed == 0).then_some(uid)
    }
}

/// The user this server runs as.
pub fn own_uid() -> u32 {
    #[cfg(unix)]
    // SAFETY: geteuid has no arguments and cannot fail.
    return unsafe { libc::geteuid() };
    #[cfg(not(unix))]
    0
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{Holders, Owner};
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
                let both =
                    (address.is_ipv4()).then(|| SocketAddr::from((Ipv6Addr::UNSPECIFIED, address.port())));
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
}

/// macOS has no table of connections with their owners, but a user can see what each of their own processes holds.
#[cfg(target_os = "macos")]
mod macos {
    use super::socket;
    use std::net::SocketAddr;
    use std::ptr::null_mut;

    /// Of `<sys/proc_info.h>`.
    const PROC_UID_ONLY: u32 = 4;
    const PROC_PIDFDSOCKETINFO: i32 = 3;

    /// Our own user, if a process of ours holds the other end. Root's are not looked at: root has the token.
    pub fn uid(peer: SocketAddr, local: SocketAddr) -> Option<u32> {
        let me = super::own_uid();
        let mut pids = pids_of(me);
        // The newest first: what has just connected was mostly just started.
        pids.sort_unstable_by(|one, other| other.cmp(one));
        let holds = |pid: i32| {
            sockets_of(pid)
                .into_iter()
                .filter_map(|fd| socket_info(pid, fd))
                .any(|info| socket::joins(&info, peer, local))
        };
        pids.into_iter().any(holds).then_some(me)
    }

    /// Our own user, if a process of ours listens there.
    pub fn of_listener(address: SocketAddr) -> Option<u32> {
        let me = super::own_uid();
        let listens = |pid: i32| {
            sockets_of(pid)
                .into_iter()
                .filter_map(|fd| socket_info(pid, fd))
                .any(|info| socket::listens(&info, address.port()))
        };
        pids_of(me).into_iter().any(listens).then_some(me)
    }

    fn pids_of(uid: u32) -> Vec<i32> {
        // SAFETY: without a buffer the call only says how many bytes it would take.
        let bytes = unsafe { libc::proc_listpids(PROC_UID_ONLY, uid, null_mut(), 0) };
        // Some more than there are, for what starts meanwhile.
        let mut pids = vec![0i32; bytes.max(0) as usize / size_of::<i32>() + 64];
        let room = size_of_val(pids.as_slice()) as i32;
        // SAFETY: the pointer and the length describe `pids`.
        let bytes = unsafe { libc::proc_listpids(PROC_UID_ONLY, uid, pids.as_mut_ptr().cast(), room) };
        pids.truncate(bytes.max(0) as usize / size_of::<i32>());
        pids.retain(|pid| *pid > 0);
        pids
    }

    fn sockets_of(pid: i32) -> Vec<i32> {
        // SAFETY: without a buffer the call only says how many bytes it would take.
        let bytes = unsafe { libc::proc_pidinfo(pid, libc::PROC_PIDLISTFDS, 0, null_mut(), 0) };
        let none = libc::proc_fdinfo { proc_fd: 0, proc_fdtype: 0 };
        let mut fds = vec![none; bytes.max(0) as usize / size_of_val(&none) + 16];
        let room = size_of_val(fds.as_slice()) as i32;
        // SAFETY: the pointer and the length describe `fds`.
        let bytes =
            unsafe { libc::proc_pidinfo(pid, libc::PROC_PIDLISTFDS, 0, fds.as_mut_ptr().cast(), room) };
        fds.truncate(bytes.max(0) as usize / size_of_val(&none));
        fds.retain(|fd| fd.proc_fdtype == libc::PROX_FDTYPE_SOCKET as u32);
        fds.into_iter().map(|fd| fd.proc_fd).collect()
    }

    fn socket_info(pid: i32, fd: i32) -> Option<socket::SocketInfo> {
        let mut info = [0; socket::SIZE];
        let room = info.len() as i32;
        // SAFETY: the pointer and the length describe `info`, in which every pattern of bits is fine.
        let got =
            unsafe { libc::proc_pidfdinfo(pid, fd, PROC_PIDFDSOCKETINFO, info.as_mut_ptr().cast(), room) };
        (got == room).then_some(info)
    }

    #[cfg(test)]
    mod tests {
        use std::net::{TcpListener, TcpStream};

        #[test]
        fn the_owner_of_a_living_connection_is_known() {
            for address in ["127.0.0.1:0", "[::1]:0"] {
                let Ok(listener) = TcpListener::bind(address) else { continue };
                let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                let (server, peer) = listener.accept().unwrap();
                let local = server.local_addr().unwrap();
                assert_eq!(super::uid(peer, local), Some(crate::net::peer_uid::own_uid()), "{address}");
                drop(client);
                // A child that another test is just starting holds our descriptors too, until it is what it will be.
                let end = std::time::Instant::now() + std::time::Duration::from_secs(10);
                while super::uid(peer, local).is_some() {
                    assert!(std::time::Instant::now() < end, "an orphan belongs to nobody");
                    std::thread::yield_now();
                }
            }
        }
    }
}

/// What macOS says about a socket: `struct socket_fdinfo` of `<sys/proc_info.h>`, the same on both processors.
#[cfg(any(target_os = "macos", test))]
mod socket {
    use std::net::{IpAddr, SocketAddr};

    pub const SIZE: usize = 792;
    pub type SocketInfo = [u8; SIZE];

    /// The offsets of the fields that are read: `psi.soi_kind`, and in `psi.soi_proto.pri_tcp.tcpsi_ini` the ports, the
    /// kinds of address and the addresses, "foreign" and "local" as the holder sees them.
    const KIND: usize = 256;
    const FOREIGN_PORT: usize = 264;
    const LOCAL_PORT: usize = 268;
    const FAMILIES: usize = 288;
    const FOREIGN: usize = 296;
    const LOCAL: usize = 312;

    const TCP: [u8; 4] = 2i32.to_ne_bytes();
    const IPV4: u8 = 1;
    const IPV6: u8 = 2;

    /// It is the end at `from` of the connection to `to`.
    pub fn joins(info: &SocketInfo, from: SocketAddr, to: SocketAddr) -> bool {
        // A port is kept as a number whose bytes are in the network's order.
        let port = |at: usize, port: u16| info[at..at + 2] == port.to_be_bytes();
        // An address of four bytes is at the end of the sixteen.
        let address = |at: usize, ip: IpAddr| match ip.to_canonical() {
            IpAddr::V4(v4) => info[FAMILIES] & IPV4 != 0 && info[at + 12..at + 16] == v4.octets(),
            IpAddr::V6(v6) => info[FAMILIES] & IPV6 != 0 && info[at..at + 16] == v6.octets(),
        };
        info[KIND..KIND + 4] == TCP
            && port(LOCAL_PORT, from.port())
            && port(FOREIGN_PORT, to.port())
            && address(LOCAL, from.ip())
            && address(FOREIGN, to.ip())
    }

    /// It waits for connections on this port.
    pub fn listens(info: &SocketInfo, port: u16) -> bool {
        info[KIND..KIND + 4] == TCP
            && info[LOCAL_PORT..LOCAL_PORT + 2] == port.to_be_bytes()
            && info[FOREIGN_PORT..FOREIGN_PORT + 2] == [0, 0]
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_connection_is_known_by_both_its_ends() {
            let at = |text: &str| text.parse::<SocketAddr>().unwrap();
            let mut four = [0; SIZE];
            four[KIND..KIND + 4].copy_from_slice(&TCP);
            four[LOCAL_PORT..LOCAL_PORT + 2].copy_from_slice(&[0xC0, 0x01]);
            four[FOREIGN_PORT..FOREIGN_PORT + 2].copy_from_slice(&[0x13, 0xBF]);
            let mut six = four;
            four[FAMILIES] = IPV4;
            six[FAMILIES] = IPV6;
            for place in [LOCAL, FOREIGN] {
                four[place + 12..place + 16].copy_from_slice(&[127, 0, 0, 1]);
                six[place + 15] = 1;
            }
            let (client, server) = (at("127.0.0.1:49153"), at("127.0.0.1:5055"));
            assert!(joins(&four, client, server) && !listens(&four, 49153));
            assert!(
                joins(&four, at("[::ffff:127.0.0.1]:49153"), server),
                "as a server for both kinds sees it"
            );
            assert!(joins(&six, at("[::1]:49153"), at("[::1]:5055")));
            assert!(!joins(&four, server, client), "the server's own end");
            assert!(!joins(&four, at("127.0.0.1:49154"), server));
            assert!(!joins(&four, at("127.0.0.2:49153"), server));
            assert!(!joins(&six, client, server) && !joins(&[0; SIZE], client, server));
            let mut unix = four;
            unix[KIND] = 3;
            assert!(!joins(&unix, client, server));
        }
    }
}
