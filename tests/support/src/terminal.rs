use crate::{Home, skip};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Runs a command on a terminal of its own, types `input`, and gives what it showed and its exit code.
pub fn on_terminal(command: Command, input: &str) -> (String, Option<i32>) {
    on_terminal_of(80, command, input)
}

/// The same on a terminal with this many columns.
pub fn on_terminal_of(columns: u16, mut command: Command, input: &str) -> (String, Option<i32>) {
    let (ours, theirs) = open_terminal();
    let size = libc::winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the pointer is to a living size; the descriptor is a terminal.
    assert_eq!(unsafe { libc::ioctl(std::os::fd::AsRawFd::as_raw_fd(&ours), libc::TIOCSWINSZ, &size) }, 0);
    command.stdin(theirs.try_clone().unwrap()).stdout(theirs.try_clone().unwrap()).stderr(theirs);
    // The systems do not agree how wide the number is.
    #[allow(clippy::unnecessary_cast)]
    let own_terminal = libc::TIOCSCTTY as _;
    // SAFETY: only system calls between fork and exec. Standard input is the terminal, and the child becomes its owner.
    unsafe {
        command.pre_exec(move || match libc::setsid() >= 0 && libc::ioctl(0, own_terminal, 0) == 0 {
            true => Ok(()),
            false => Err(std::io::Error::last_os_error()),
        })
    };
    let mut child = command.spawn().unwrap();
    // It holds the other side of the terminal, which would keep it open.
    drop(command);
    let mut terminal = File::from(ours);
    terminal.write_all(input.as_bytes()).unwrap();
    let mut shown = Vec::new();
    // The last one to leave makes reading fail on Linux.
    let _ = terminal.read_to_end(&mut shown);
    (String::from_utf8_lossy(&shown).into_owned(), child.wait().unwrap().code())
}

/// Both sides of a new terminal. `openpty` would leave both open in whatever child another test starts meanwhile, and
/// a terminal that a stranger's server holds never closes.
fn open_terminal() -> (OwnedFd, File) {
    // `ptsname` answers in memory that all threads share.
    static NAMING: Mutex<()> = Mutex::new(());
    let close_on_exec = if cfg!(target_os = "linux") { libc::O_CLOEXEC } else { 0 };
    // SAFETY: the flags are constants; the descriptor is checked and owned by nobody else; the name is copied while
    // the lock keeps it.
    let (ours, name) = unsafe {
        let ours = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | close_on_exec);
        assert!(ours >= 0, "no terminal: {}", std::io::Error::last_os_error());
        let ours = OwnedFd::from_raw_fd(ours);
        let raw = std::os::fd::AsRawFd::as_raw_fd(&ours);
        libc::fcntl(raw, libc::F_SETFD, libc::FD_CLOEXEC);
        assert_eq!(libc::grantpt(raw), 0);
        assert_eq!(libc::unlockpt(raw), 0);
        let _naming = NAMING.lock().unwrap();
        let name = libc::ptsname(raw);
        assert!(!name.is_null());
        (ours, std::ffi::CStr::from_ptr(name).to_str().unwrap().to_owned())
    };
    let theirs = std::os::unix::fs::OpenOptionsExt::custom_flags(
        OpenOptions::new().read(true).write(true),
        libc::O_NOCTTY,
    )
    .open(name)
    .unwrap();
    (ours, theirs)
}

/// A tmux server of its own, which ends with the test.
pub struct Tmux {
    socket: PathBuf,
    home: PathBuf,
    path: String,
}

impl Tmux {
    /// Its socket, of this name, is in the home directory. Nothing runs before the first [`Tmux::run`]. Where tmux is
    /// not installed, the test is skipped.
    pub fn new(home: &Home, socket: &str) -> Option<Tmux> {
        if Command::new("tmux").arg("-V").output().is_err() {
            skip("tmux is not installed");
            return None;
        }
        Some(Tmux { socket: home.at(socket), home: home.path().to_owned(), path: home.search_path() })
    }

    /// Runs a tmux command, which must succeed, and gives what it printed.
    pub fn run(&self, args: &[&str]) -> String {
        let out = self.command(args).output().unwrap();
        assert!(out.status.success(), "tmux {args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8_lossy(&out.stdout).trim_end().to_owned()
    }

    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("tmux");
        command
            .arg("-S")
            .arg(&self.socket)
            .args(["-f", "/dev/null"])
            .args(args)
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", &self.path)
            .env("LANG", "C.UTF-8")
            .env("TERM", "xterm-256color");
        command
    }

    /// What a pane shows.
    pub fn screen(&self, pane: &str) -> String {
        self.run(&["capture-pane", "-p", "-t", pane])
    }

    pub fn socket(&self) -> &std::path::Path {
        &self.socket
    }

    /// The value of `TMUX` inside.
    pub fn variable(&self) -> String {
        format!("{},1,0", self.socket.display())
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        if self.socket.exists() {
            let _ = self.command(&["kill-server"]).output();
            // Whoever starts another one of this name at once may meet the one that ends.
            let gone = |said: std::process::Output| {
                let said = String::from_utf8_lossy(&said.stderr).into_owned();
                said.contains("no server running") || said.contains("error connecting")
            };
            let end = Instant::now() + Duration::from_secs(5);
            while !self.command(&["list-sessions"]).output().is_ok_and(gone) && Instant::now() < end {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}
