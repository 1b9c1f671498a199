use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, TcpStream, UdpSocket};
use std::os::fd::FromRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// Somebody who is not root, for limits and permissions that do not bind root.
pub const NOBODY: u32 = 65_534;

pub fn is_root() -> bool {
    // SAFETY: geteuid has no arguments and cannot fail.
    unsafe { libc::geteuid() == 0 }
}

/// Sends `bytes` to this port as another user of the machine, through bash, and returns the first line of the response
/// if `wait`. `None` where we cannot become another user.
pub fn as_another_user(port: u16, bytes: &[u8], wait: bool) -> Option<String> {
    if !is_root() || !Path::new("/bin/bash").exists() {
        return None;
    }
    let read = if wait { "head -n 1 <&3" } else { ":" };
    let mut child = Command::new("/bin/bash")
        .args(["-c", &format!("exec 3<>/dev/tcp/127.0.0.1/{port}; cat >&3; {read}")])
        .uid(NOBODY)
        .gid(NOBODY)
        .current_dir("/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take()?.write_all(bytes).ok()?;
    let output = child.wait_with_output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The address of this machine in its network; `None` if it has none.
pub fn network_address() -> Option<Ipv4Addr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    // Sends nothing.
    socket.connect("192.0.2.1:9").ok()?;
    match socket.local_addr().ok()?.ip() {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    }
}

/// A connection of another user of the machine to this port, which comes from this address. `None` where we cannot become
/// another user.
#[cfg(target_os = "linux")]
pub fn connection_of_another_user(from: Ipv4Addr, port: u16) -> Option<TcpStream> {
    if !is_root() {
        return None;
    }
    // A socket belongs to the user with whose rights on files it is made. They are a thread's own.
    let connect = move || {
        let address = |ip: Ipv4Addr, port: u16| libc::sockaddr_in {
            sin_family: libc::AF_INET as libc::sa_family_t,
            sin_port: port.to_be(),
            sin_addr: libc::in_addr { s_addr: u32::from(ip).to_be() },
            sin_zero: [0; 8],
        };
        let (from, to) = (address(from, 0), address(Ipv4Addr::LOCALHOST, port));
        let length = size_of_val(&from) as libc::socklen_t;
        // SAFETY: plain system calls; the pointers are to living addresses of this length, and the descriptor is ours.
        unsafe {
            libc::setfsuid(NOBODY);
            let socket = libc::socket(libc::AF_INET, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
            assert!(socket >= 0, "a socket");
            assert_eq!(libc::bind(socket, std::ptr::from_ref(&from).cast(), length), 0, "bound");
            assert_eq!(libc::connect(socket, std::ptr::from_ref(&to).cast(), length), 0, "connected");
            TcpStream::from_raw_fd(socket)
        }
    };
    std::thread::spawn(connect).join().ok()
}
