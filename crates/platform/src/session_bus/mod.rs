//! The session's D-Bus, for notifications where no command can show them: one connection, calls and signals, nothing else.
//! It is used only if it is a Unix socket of this user or of root.

pub mod message;

use crate::config::{env, env_path};
use crate::net::peer_uid;
use message::{Body, Kind, Malformed, Message, Method};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How long the bus, or who is called on it, may take to answer. A notification server may have to be started first.
const ANSWERS_WITHIN: Duration = Duration::from_secs(5);
/// The longest line of the bus's greeting.
const MAX_GREETING: usize = 512;

const BUS: Method<'_> = Method {
    destination: "org.freedesktop.DBus",
    path: "/org/freedesktop/DBus",
    interface: "org.freedesktop.DBus",
    member: "",
};

/// A connection. A thread of its own reads it until it breaks.
pub struct SessionBus {
    writer: Mutex<UnixStream>,
    serial: AtomicU32,
    waiting: Mutex<HashMap<u32, SyncSender<Message>>>,
    broken: AtomicBool,
}

impl SessionBus {
    /// Connects. `on_signal` is called for every signal, on the reading thread: it must not call back.
    pub fn connect(on_signal: impl Fn(&Message) + Send + 'static) -> io::Result<Arc<SessionBus>> {
        let mut stream = addresses()
            .iter()
            .find_map(|address| address.connect().ok())
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no session bus"))?;
        let uid = peer_uid::own_uid();
        if !peer_uid::of_socket(&stream).is_some_and(|peer| peer == uid || peer == 0) {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the session bus belongs to another user",
            ));
        }
        stream.set_write_timeout(Some(ANSWERS_WITHIN))?;
        greet(&mut stream, uid)?;
        let reader = stream.try_clone()?;
        reader.set_read_timeout(None)?;
        let bus = Arc::new(SessionBus {
            writer: Mutex::new(stream),
            serial: AtomicU32::new(0),
            waiting: Mutex::default(),
            broken: AtomicBool::new(false),
        });
        let reading = bus.clone();
        std::thread::Builder::new().name("session-bus".into()).spawn(move || {
            let _ = reading.read(reader, on_signal);
            reading.broken.store(true, Ordering::Release);
            // A caller that waits for an answer sees that none comes.
            reading.waiting().clear();
        })?;
        bus.call(Method { member: "Hello", ..BUS }, &Body::default())?;
        Ok(bus)
    }

    /// Signals that match the rule come, too.
    pub fn subscribe(&self, rule: &str) -> io::Result<()> {
        self.call(Method { member: "AddMatch", ..BUS }, &Body::default().text(rule)).map(|_| ())
    }

    /// Whether the other end is gone.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }

    /// Calls, and waits for the answer.
    pub fn call(&self, method: Method<'_>, body: &Body) -> io::Result<Message> {
        // Zero is not a serial.
        let serial = self.serial.fetch_add(1, Ordering::Relaxed).wrapping_add(1).max(1);
        let (sender, answer): (SyncSender<Message>, Receiver<Message>) = sync_channel(1);
        self.waiting().insert(serial, sender);
        let sent = {
            let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            writer.write_all(&method.call(serial, body))
        };
        let answered = sent.and_then(|()| {
            if self.is_broken() {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            answer
                .recv_timeout(ANSWERS_WITHIN)
                .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "no answer"))
        });
        self.waiting().remove(&serial);
        match answered? {
            Message { kind: Kind::Error, error_name, .. } => Err(io::Error::other(error_name)),
            message => Ok(message),
        }
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<u32, SyncSender<Message>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, mut reader: UnixStream, on_signal: impl Fn(&Message)) -> io::Result<()> {
        let malformed = |error: Malformed| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
        let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
        loop {
            while let Some((message, length)) = Message::read(&bytes).map_err(malformed)? {
                bytes.drain(..length);
                match (message.kind, message.reply_serial) {
                    (Kind::Signal, _) => on_signal(&message),
                    (_, Some(serial)) => {
                        if let Some(caller) = self.waiting().remove(&serial) {
                            let _ = caller.try_send(message);
                        }
                    }
                    _ => {}
                }
            }
            match reader.read(&mut chunk) {
                Ok(0) => return Ok(()),
                Ok(length) => bytes.extend_from_slice(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Says who we are, the way the bus can check.
fn greet(stream: &mut UnixStream, uid: u32) -> io::Result<()> {
    stream.set_read_timeout(Some(ANSWERS_WITHIN))?;
    let digits: String = uid.to_string().bytes().map(|digit| format!("{digit:02x}")).collect();
    stream.write_all(format!("\0AUTH EXTERNAL {digits}\r\n").as_bytes())?;
    let (mut line, mut byte) = (Vec::new(), [0; 1]);
    while !line.ends_with(b"\r\n") {
        stream.read_exact(&mut byte)?;
        line.push(byte[0]);
        if line.len() > MAX_GREETING {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "not a D-Bus greeting"));
        }
    }
    if !line.starts_with(b"OK ") {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the session bus does not know this user",
        ));
    }
    stream.write_all(b"BEGIN\r\n")
}

#[derive(Debug, PartialEq, Eq)]
enum Address {
    Path(PathBuf),
    Abstract(Vec<u8>),
}

impl Address {
    fn connect(&self) -> io::Result<UnixStream> {
        match self {
            Address::Path(path) => UnixStream::connect(path),
            #[cfg(target_os = "linux")]
            Address::Abstract(name) => {
                use std::os::linux::net::SocketAddrExt;
                UnixStream::connect_addr(&std::os::unix::net::SocketAddr::from_abstract_name(name)?)
            }
            #[cfg(not(target_os = "linux"))]
            Address::Abstract(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// Where the session's bus is: the variable that the desktop sets, else its usual place.
fn addresses() -> Vec<Address> {
    match env("DBUS_SESSION_BUS_ADDRESS") {
        Some(listed) => listed.split(';').filter_map(address).collect(),
        None => env_path("XDG_RUNTIME_DIR")
            .map(|directory| Address::Path(directory.join("bus")))
            .into_iter()
            .collect(),
    }
}

/// `unix:path=/run/user/1000/bus,guid=…`, `unix:abstract=/tmp/dbus-x`
fn address(text: &str) -> Option<Address> {
    let pairs = text.strip_prefix("unix:")?;
    pairs.split(',').find_map(|pair| match pair.split_once('=')? {
        ("path", value) => Some(Address::Path(PathBuf::from(String::from_utf8(unescaped(value)?).ok()?))),
        ("abstract", value) => Some(Address::Abstract(unescaped(value)?)),
        _ => None,
    })
}

/// `%20` is a blank.
fn unescaped(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2)?;
        bytes.push(u8::from_str_radix(digits, 16).ok()?);
        bytes.extend_from_slice(rest.as_bytes());
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_as_desktops_write_them() {
        let path = |text: &str| Some(Address::Path(text.into()));
        for (text, expected) in [
            ("unix:path=/run/user/1000/bus", path("/run/user/1000/bus")),
            ("unix:path=/tmp/a%20b,guid=0123", path("/tmp/a b")),
            ("unix:guid=0123,path=/tmp/x", path("/tmp/x")),
            ("unix:abstract=/tmp/dbus-x,guid=0", Some(Address::Abstract(b"/tmp/dbus-x".to_vec()))),
            ("unix:path=/tmp/%zz", None),
            ("unix:path=/tmp/%2", None),
            ("unix:tmpdir=/tmp", None),
            ("tcp:host=localhost,port=1", None),
            ("autolaunch:", None),
            ("", None),
        ] {
            assert_eq!(address(text), expected, "{text}");
        }
    }
}
