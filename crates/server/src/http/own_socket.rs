//! `<state>/headspace.sock`: the socket for hooks and the command line. Only its user can create it, and only its user
//! and root are let in, so no one can sit in between.
//!
//! A separate thread takes the connections. It answers plain events of hooks without the server's runtime
//! ([`crate::ingest::direct`]): handing one to another thread and back costs more than storing an event. All other
//! requests, and slow clients, are passed to the runtime with what has been read so far.

use crate::app_state::SharedState;
use crate::ledger::writer::SharedWriter;
use std::io;
use tokio::sync::mpsc;

#[cfg(unix)]
pub use unix::{HandedOver, SocketThread};

/// Systems without such sockets have no connections here.
#[cfg(not(unix))]
pub use elsewhere::{HandedOver, SocketThread};

/// Connections for the runtime, or why one could not be accepted.
pub type Handed = mpsc::UnboundedReceiver<io::Result<HandedOver>>;

#[cfg(unix)]
mod unix {
    use super::*;
    use crate::ingest::direct::Direct;
    use headspace_platform::net::{local, peer_uid, socket};
    use headspace_platform::{config, files, log};
    use std::os::fd::AsFd;
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::{Path, PathBuf};
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use std::thread::JoinHandle;
    use std::time::{Duration, Instant};
    use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

    /// The file, or the whole directory, may be removed while the server runs.
    const LOOK_AFTER_FILE_EVERY: Duration = Duration::from_secs(2);
    /// Without free descriptors no connection can be accepted; the runtime frees some meanwhile.
    const WAIT_AFTER_FAILURE: Duration = Duration::from_millis(50);

    /// At most this many connections are accepted before those already here have been answered.
    const MAX_AT_ONCE: usize = 64;

    /// Accepts connections until it is dropped.
    #[derive(Debug)]
    pub struct SocketThread {
        thread: Option<JoinHandle<()>>,
        /// Closing it tells the thread to stop.
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
                while let Some((arrived, readable)) = own.wait(&ended, &direct) {
                    let failure = arrived.failure.map(Err);
                    let handed = direct.take(arrived.streams, &readable).into_iter().map(Ok);
                    for handed in handed.chain(failure) {
                        let failed = handed.is_err();
                        if to_runtime.send(handed).is_err() {
                            return;
                        }
                        if failed {
                            std::thread::sleep(WAIT_AFTER_FAILURE);
                        }
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

    /// The connections that were accepted, and why another could not be.
    #[derive(Debug, Default)]
    struct Arrivals {
        streams: Vec<UnixStream>,
        failure: Option<io::Error>,
    }

    /// The socket, if it could be bound; without one, all clients use the port.
    #[derive(Debug)]
    struct OwnSocket {
        path: PathBuf,
        listening: Option<(UnixListener, u64)>,
        /// When its file was last checked.
        looked_at: Instant,
        said: Option<String>,
    }

    impl OwnSocket {
        fn open() -> OwnSocket {
            let path = local::socket_path();
            let mut socket = OwnSocket { path, listening: None, looked_at: Instant::now(), said: None };
            socket.look_after_file();
            socket
        }

        /// Waits until a client connects or something can be read; `None` when `ended` says to stop.
        fn wait(&mut self, ended: &UnixStream, direct: &Direct) -> Option<(Arrivals, Vec<bool>)> {
            let listening = self.listening.as_ref().map(|(listener, _)| listener.as_fd());
            let sockets = [ended.as_fd()].into_iter().chain(listening).chain(direct.sockets());
            let patience = LOOK_AFTER_FILE_EVERY.min(direct.patience());
            let mut readable = socket::wait_readable(sockets, patience);
            let kept = readable.split_off(1 + usize::from(listening.is_some()));
            if readable[0] {
                return None;
            }
            let arrived = match readable.get(1) {
                Some(true) => self.accept(),
                _ => Arrivals::default(),
            };
            if self.looked_at.elapsed() >= LOOK_AFTER_FILE_EVERY {
                self.look_after_file();
            }
            Some((arrived, kept))
        }

        /// Accepts the waiting clients that belong to our own user or root.
        fn accept(&self) -> Arrivals {
            let mut arrived = Arrivals::default();
            let Some((listener, _)) = &self.listening else { return arrived };
            while arrived.streams.len() < MAX_AT_ONCE {
                match listener.accept() {
                    Ok((stream, _)) if peer_uid::of_socket(&stream).is_some_and(local::is_trusted) => {
                        match stream.set_nonblocking(true) {
                            Ok(()) => arrived.streams.push(stream),
                            Err(error) => arrived.failure = Some(error),
                        }
                    }
                    Ok(_) => {}
                    // No more clients, or they have left again.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => {
                        arrived.failure = Some(error);
                        break;
                    }
                }
            }
            arrived
        }

        /// Binds if nothing is bound, or if the file is no longer ours.
        fn look_after_file(&mut self) {
            self.looked_at = Instant::now();
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
        /// Removes the file: if it stayed, every hook would try it first.
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
            // A killed server leaves a socket of ours on which nothing answers.
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
        // A client that leaves between the poll and the accept must not hold up the others.
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

    /// The same on the runtime: what has been read already is read first.
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

    /// Never constructed: there are no such connections.
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
