use std::io::Write;
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
