//! What tests that run side by side must not take from each other: ports, and programs that are being written.
#![allow(dead_code, clippy::unwrap_used)]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// A port that stays free until we take it: below those that the kernel gives to connections and to `--port 0`, each
/// asked for once.
pub fn free_port() -> u16 {
    static ASKED: AtomicU32 = AtomicU32::new(0);
    loop {
        let turn = std::process::id().wrapping_mul(61).wrapping_add(ASKED.fetch_add(1, Ordering::Relaxed));
        let port = 20_000 + (turn % 12_000) as u16;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Writes a program. Not with our own hands: a child that another test starts meanwhile would have the file open for
/// writing too, and what is open for writing cannot be run ("text file busy").
pub fn program(path: &Path, script: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut writer = Command::new("sh")
        .args(["-c", r#"cat > "$0" && chmod 755 "$0""#])
        .arg(path)
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    writer.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
}

/// Copies a program, for the same reason by a program.
pub fn copy(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    let copied = Command::new("cp").arg(from.as_ref()).arg(to.as_ref()).status();
    assert!(copied.unwrap().success());
}
