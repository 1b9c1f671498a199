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
mod linux;

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
