//! `<state>/headspace.sock`: where hooks and the command line come in. Only its user can create it, and only its user
//! and root are let in, so nobody can sit in between.

use headspace_platform::{config, files, log, net::local};
use std::io;
use std::time::Duration;

#[cfg(unix)]
pub use unix::{LocalStream, OwnSocket};

/// Where there are no such sockets, nobody comes in through one.
#[cfg(not(unix))]
pub use elsewhere::{LocalStream, OwnSocket};

/// Somebody may remove the file, or the whole directory, while the server runs.
const LOOK_AFTER_FILE_EVERY: Duration = Duration::from_secs(2);

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
    use std::os::unix::net::UnixListener as StdListener;
    use std::path::{Path, PathBuf};
    use tokio::net::{UnixListener, UnixStream};

    pub type LocalStream = UnixStream;

    /// The socket, if it could be had; without one everybody uses the port.
    #[derive(Debug)]
    pub struct OwnSocket {
        path: PathBuf,
        listening: Option<(UnixListener, u64)>,
        look: tokio::time::Interval,
        said: Option<String>,
    }

    impl OwnSocket {
        /// To be called on the server's runtime.
        pub fn open() -> OwnSocket {
            let mut look = tokio::time::interval(LOOK_AFTER_FILE_EVERY);
            look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            let mut socket = OwnSocket { path: local::socket_path(), listening: None, look, said: None };
            socket.look_after_file();
            socket
        }

        /// The next of our own user or root.
        pub async fn accept(&mut self) -> io::Result<UnixStream> {
            loop {
                let Some((listener, _)) = &self.listening else {
                    self.look.tick().await;
                    self.look_after_file();
                    continue;
                };
                let accepted = tokio::select! {
                    accepted = listener.accept() => accepted,
                    _ = self.look.tick() => {
                        self.look_after_file();
                        continue;
                    }
                };
                let (stream, _) = accepted?;
                if stream.peer_cred().is_ok_and(|peer| local::is_trusted(peer.uid())) {
                    return Ok(stream);
                }
            }
        }

        /// Binds if nothing is bound, or if the file is not ours any more.
        fn look_after_file(&mut self) {
            let there = std::fs::symlink_metadata(&self.path).ok().map(|meta| meta.ino());
            if self.listening.as_ref().is_some_and(|(_, inode)| there == Some(*inode)) {
                return;
            }
            self.listening = None;
            match bind(&self.path) {
                Ok(listening) => (self.listening, self.said) = (Some(listening), None),
                Err(error) => {
                    let why =
                        format!("could not listen on {}: {error}; hooks use the port", self.path.display());
                    if self.said.as_deref() != Some(&why) {
                        log::line(&why);
                        self.said = Some(why);
                    }
                }
            }
        }
    }

    impl Drop for OwnSocket {
        /// What is left behind would make every hook try it first.
        fn drop(&mut self) {
            let there = std::fs::symlink_metadata(&self.path).ok().map(|meta| meta.ino());
            if self.listening.as_ref().is_some_and(|(_, inode)| there == Some(*inode)) {
                let _ = std::fs::remove_file(&self.path);
            }
        }
    }

    fn bind(path: &Path) -> io::Result<(UnixListener, u64)> {
        files::private_dir(&config::state_dir()).map_err(io::Error::other)?;
        if let Ok(meta) = std::fs::symlink_metadata(path) {
            // What a server left that was killed: a socket of ours on which nobody answers.
            let is_ours = meta.file_type().is_socket() && local::is_trusted(meta.uid());
            if !is_ours {
                return Err(io::Error::other("something else is there; remove it"));
            }
            if std::os::unix::net::UnixStream::connect(path).is_ok() {
                return Err(io::Error::other("another server of yours answers there"));
            }
            std::fs::remove_file(path)?;
        }
        let listener = StdListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        let inode = std::fs::symlink_metadata(path)?.ino();
        Ok((UnixListener::from_std(listener)?, inode))
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use super::*;

    pub type LocalStream = tokio::net::TcpStream;

    #[derive(Debug)]
    pub struct OwnSocket;

    impl OwnSocket {
        pub fn open() -> OwnSocket {
            OwnSocket
        }

        pub async fn accept(&mut self) -> io::Result<LocalStream> {
            std::future::pending().await
        }
    }
}
