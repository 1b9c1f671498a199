//! `<state>/headspace.sock`: where hooks and the command line come in. Only its user can create it, and only its user
//! and root are let in, so nobody can sit in between.
//!
//! A thread of its own takes the connections. What is a hook's plain event it records and answers itself
//! ([`crate::ingest::direct`]): a hand-over to another thread and back costs more than storing the event does. Everything
//! else, and whoever is slow, goes on to the server's runtime with what has been read so far.

use crate::app_state::SharedState;
use crate::ledger::writer::SharedWriter;
use std::io;
use tokio::sync::mpsc;

#[cfg(unix)]
pub use unix::{HandedOver, SocketThread};

/// Where there are no such sockets, nobody comes in through one.
#[cfg(not(unix))]
pub use elsewhere::{HandedOver, SocketThread};

/// Connections for the runtime, or why one could not be taken.
pub type Handed = mpsc::UnboundedReceiver<io::Result<HandedOver>>;

#[cfg(unix)]
mod unix {
    use super::*;
    use crate::ingest::direct::{Direct, Next};
    use headspace_platform::net::{local, peer_uid, socket};
    use headspace_platform::{config, files, log};
    use std::os::fd::AsFd;
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::{Path, PathBuf};
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use std::thread::JoinHandle;
    use std::time::Duration;
    use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

    /// Somebody may remove the file, or the whole directory, while the server runs.
    const LOOK_AFTER_FILE_EVERY: Duration = Duration::from_secs(2);
    /// Without descriptors nobody can be let in; the runtime makes room meanwhile.
    const WAIT_AFTER_FAILURE: Duration = Duration::from_millis(50);

    /// Takes connections until it is dropped.
    #[derive(Debug)]
    pub struct SocketThread {
        thread: Option<JoinHandle<()>>,
        /// Its end is the sign to stop.
        alive: Option<UnixStream>,
    }

    impl SocketThread {
        /// `writer`: where plain events can be recorded at once.
        pub fn start(app: SharedState, writer: Option<SharedWriter>) -> io::Result<(SocketThread, Handed)> {
            let (alive, ended) = UnixStream::pair()?;
            let (to_runtime, handed) = mpsc::unbounded_channel();
            let mut own = OwnSocket::open();
            let mut direct = Direct::new(app, writer);
            let take = move || {
                while let Some(accepted) = own.accept(&ended) {
                    let failed = accepted.is_err();
                    let next = match accepted.map(|stream| direct.answer(stream)) {
                        Ok(Next::Answered) => continue,
                        Ok(Next::HandOver(handed)) => Ok(handed),
                        Err(error) => Err(error),
                    };
                    if to_runtime.send(next).is_err() {
                        return;
                    }
                    if failed {
                        std::thread::sleep(WAIT_AFTER_FAILURE);
                    }
                }
            };
            let thread = std::thread::Builder::new().name("socket".into()).spawn(take)?;
            Ok((SocketThread { thread: Some(thread), alive: Some(alive) }, handed))
        }
    }

    impl Drop for SocketThread {
        fn drop(&mut self) {
            self.alive = None;
            if let Some(thread) = self.thread.take() {
                let _ = thread.join();
            }
        }
    }

    /// The socket, if it could be had; without one everybody uses the port.
    #[derive(Debug)]
    struct OwnSocket {
        path: PathBuf,
        listening: Option<(UnixListener, u64)>,
        said: Option<String>,
    }

    impl OwnSocket {
        fn open() -> OwnSocket {
            let mut socket = OwnSocket { path: local::socket_path(), listening: None, said: None };
            socket.look_after_file();
            socket
        }

        /// The next of our own user or root; `None` when `ended` says that it is over.
        fn accept(&mut self, ended: &UnixStream) -> Option<io::Result<UnixStream>> {
            loop {
                let listening = self.listening.as_ref().map(|(listener, _)| listener.as_fd());
                let waiting = [Some(ended.as_fd()), listening];
                let [over, somebody] = socket::wait_readable(waiting, LOOK_AFTER_FILE_EVERY);
                if over {
                    return None;
                }
                let Some((listener, _)) = self.listening.as_ref().filter(|_| somebody) else {
                    self.look_after_file();
                    continue;
                };
                match listener.accept() {
                    Ok((stream, _)) if peer_uid::of_socket(&stream).is_some_and(local::is_trusted) => {
                        return Some(Ok(stream));
                    }
                    Ok(_) => {}
                    // Gone again before it was let in.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                    Err(error) => return Some(Err(error)),
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
            if UnixStream::connect(path).is_ok() {
                return Err(io::Error::other("another server of yours answers there"));
            }
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        // A client that left between the sign and the call must not hold up the others.
        listener.set_nonblocking(true)?;
        let inode = std::fs::symlink_metadata(path)?.ino();
        Ok((listener, inode))
    }

    /// A connection whose first bytes have been read already.
    #[derive(Debug)]
    pub struct HandedOver {
        pub read: Vec<u8>,
        pub stream: UnixStream,
    }

    impl HandedOver {
        /// The connection, and the process at its other end. To be called on the server's runtime.
        pub fn resume(self) -> io::Result<(ResumedStream, Option<u32>)> {
            let stream = tokio::net::UnixStream::from_std(self.stream)?;
            let pid = stream.peer_cred().ok().and_then(|peer| peer.pid()?.try_into().ok());
            Ok((ResumedStream { read: io::Cursor::new(self.read), stream }, pid))
        }
    }

    /// The same on the runtime: what has been read is read again from its start.
    #[derive(Debug)]
    pub struct ResumedStream {
        read: io::Cursor<Vec<u8>>,
        stream: tokio::net::UnixStream,
    }

    impl AsyncRead for ResumedStream {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            if (self.read.position() as usize) < self.read.get_ref().len() {
                return Pin::new(&mut self.read).poll_read(context, buffer);
            }
            Pin::new(&mut self.stream).poll_read(context, buffer)
        }
    }

    impl AsyncWrite for ResumedStream {
        fn poll_write(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            Pin::new(&mut self.stream).poll_write(context, bytes)
        }

        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            parts: &[io::IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            Pin::new(&mut self.stream).poll_write_vectored(context, parts)
        }

        fn is_write_vectored(&self) -> bool {
            self.stream.is_write_vectored()
        }

        fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.stream).poll_flush(context)
        }

        fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
            Pin::new(&mut self.stream).poll_shutdown(context)
        }
    }
}

#[cfg(not(unix))]
mod elsewhere {
    use super::*;

    /// Nobody.
    #[derive(Debug)]
    pub enum HandedOver {}

    impl HandedOver {
        pub fn resume(self) -> io::Result<(tokio::net::TcpStream, Option<u32>)> {
            match self {}
        }
    }

    #[derive(Debug)]
    pub struct SocketThread(
        #[allow(dead_code, reason = "keeps the line open")] mpsc::UnboundedSender<io::Result<HandedOver>>,
    );

    impl SocketThread {
        pub fn start(_: SharedState, _: Option<SharedWriter>) -> io::Result<(SocketThread, Handed)> {
            let (sender, handed) = mpsc::unbounded_channel();
            Ok((SocketThread(sender), handed))
        }
    }
}
