//! The program's entry point, and the short way from there.

use crate::answer::{self, Answer};
use crate::bytes::{Places, Text, number, same};
use crate::handed_over::{HandedOver, Sent};
use crate::request::{self, Facts, plain_text};
use crate::scan::{Progress, Scanner};
use crate::system::{self, Address, Descriptor, INTERRUPTED, NO_SUCH_FILE, SystemName};
use crate::variables::{Variables, text_at};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicUsize, Ordering};

/// Whatever takes longer than this is left to `notify`.
const DEADLINE_MILLISECONDS: i64 = 1500;

/// Standard input, output and errors have the numbers below this.
const FIRST_OWN_DESCRIPTOR: Descriptor = 3;

/// The length of the id that distinguishes this machine from others with the same name.
const HOST_ID_DIGITS: usize = 32;
/// What others must not do to the state directory.
const OTHERS_WRITE: u32 = 0o022;

/// Root could read everything anyway.
const ROOT: u32 = 0;

/// What the kernel passed, for the C library.
static STACK: AtomicUsize = AtomicUsize::new(0);
static AT_EXIT: AtomicUsize = AtomicUsize::new(0);

/// Where the kernel begins the program.
///
/// # Safety
/// Only the kernel may come here, with the arguments on the stack.
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn headspace_entry() -> ! {
    core::arch::naked_asm!(
        "mov qword ptr [rip + {stack}], rsp",
        "mov qword ptr [rip + {at_exit}], rdx",
        "xor ebp, ebp",
        "mov rdi, rsp",
        "call {run}",
        "jmp {ordinary_way}",
        stack = sym STACK,
        at_exit = sym AT_EXIT,
        run = sym run,
        ordinary_way = sym ordinary_way,
    )
}

/// Starts the C library as the kernel would have.
#[unsafe(naked)]
extern "C" fn ordinary_way() -> ! {
    core::arch::naked_asm!(
        "mov rsp, qword ptr [rip + {stack}]",
        "mov rdx, qword ptr [rip + {at_exit}]",
        "jmp _start",
        stack = sym STACK,
        at_exit = sym AT_EXIT,
    )
}

/// All memory that is written to, in a few pages that cost nothing until they are used.
struct Room {
    handed: Handed,
    variables: Variables<'static>,
    places: Places,
    system_name: SystemName,
    address: Address,
    path: [u8; 512],
    head: [u8; 512],
    fields: [u8; 2048],
    answer: [u8; 2048],
    input: [u8; request::MAX_BODY],
}

struct Handed {
    begun: i64,
    sent_at: i64,
    random: u64,
    signals: u64,
    read: usize,
    socket: Option<Descriptor>,
    answered: usize,
}

struct Alone(UnsafeCell<Room>);

// SAFETY: only one thread exists while the short way lasts, and `hand_over` gives what it left to one caller.
unsafe impl Sync for Alone {}

static ROOM: Alone = Alone(UnsafeCell::new(Room {
    handed: Handed { begun: 0, sent_at: 0, random: 0, signals: 0, read: 0, socket: None, answered: 0 },
    variables: Variables::NONE,
    places: Places::NONE,
    system_name: SystemName::NONE,
    address: Address::NONE,
    path: [0; 512],
    head: [0; 512],
    fields: [0; 2048],
    answer: [0; 2048],
    input: [0; request::MAX_BODY],
}));

/// What the short way left, for the first caller; `None` for any other.
pub(crate) fn hand_over() -> Option<HandedOver> {
    if STACK.swap(0, Ordering::Relaxed) == 0 {
        return None;
    }
    // SAFETY: the short way is over, and the swap above lets only one caller come here.
    let room: &'static Room = unsafe { &*ROOM.0.get() };
    let Handed { begun, sent_at, random, signals, read, socket, answered } = room.handed;
    if begun == 0 {
        return None;
    }
    let answer = room.answer.get(..answered).unwrap_or_default();
    let sent = socket.map(|socket| Sent { socket, answer });
    let input = room.input.get(..read).unwrap_or_default();
    Some(HandedOver { input, sent_at, random, sent, begun, signals })
}

/// Delivers the event and ends the process, if the command is `notify` and the event is plain. Otherwise returns.
///
/// # Safety
/// `stack` is as the kernel laid it out: the number of arguments, the arguments, the environment, each list with a null
/// pointer behind it.
unsafe extern "C" fn run(stack: *const usize) {
    // SAFETY: the stack is as the caller promises, and no other thread exists yet.
    let room = unsafe {
        let count = *stack;
        let arguments: *const *const u8 = stack.add(1).cast();
        if count != 2 || !same(text_at(*arguments.add(1)), b"notify") {
            return;
        }
        system::on_crash(ordinary_way);
        let room = &mut *ROOM.0.get();
        room.variables.read(arguments.add(count + 1));
        room
    };
    if room.variables.are_plain() && deliver(room).is_some() {
        system::exit();
    }
}

/// Delivers the event. `None`: take the ordinary way; what must not be done twice is in `room.handed`.
fn deliver(room: &mut Room) -> Option<()> {
    let Room { handed, variables, places, system_name, address, path, head, fields, answer, input } = room;
    handed.random = system::random()?;
    handed.signals = system::hold_signals();
    (handed.sent_at, handed.begun) = (system::wall_clock(), system::steady_clock());

    let (start, end) = read_payload(handed, places, input)?;
    let (text, rest) = input.split_at_mut_checked(end)?;
    let text = &*text;
    if places.has_escaped_key(text) {
        return None;
    }
    let name = plain_text(places.get(text, b"hook_event_name")?)?;
    if !matches!(places.get(text, b"session_id")?, [b'"', _, .., b'"']) {
        return None;
    }

    let room_for_configuration = rest.len();
    match system::read_file(CONFIG.path(variables, b"/headspace/config.jsonc\0", path)?, rest) {
        Err(NO_SUCH_FILE) => {}
        // One that fills the room may be longer.
        Ok(read) if read.len() < room_for_configuration && request::is_plain_configuration(read, name) => {}
        _ => return None,
    }
    let process = match variables.get("CLAUDE_PID") {
        Some(pid) => Some(process(pid, path, answer)?),
        None => None,
    };
    system_name.read();
    // Where other users can write, nothing is read.
    let (mode, owner) = system::mode_and_owner(STATE.path(variables, b"/headspace\0", path)?).ok()?;
    if owner != system::effective_user() || mode & OTHERS_WRITE != 0 {
        return None;
    }
    let mut digits = [0; HOST_ID_DIGITS];
    let host_id =
        system::read_file(STATE.path(variables, b"/headspace/host_id\0", path)?, &mut digits).ok()?;
    if host_id.len() != HOST_ID_DIGITS
        || !host_id.iter().all(u8::is_ascii_hexdigit)
        || system_name.host().is_empty()
    {
        return None;
    }
    let facts = Facts {
        variables,
        host: system_name.host(),
        host_id,
        process,
        sent_at: handed.sent_at,
        random: handed.random,
    };
    let mut added = Text::new(fields);
    request::fields(&mut added, text, places, &facts)?;
    // The client's object up to its last brace, which the added fields end with.
    let object = text.get(start..end - 1)?;
    let mut first = Text::new(head);
    request::head(&mut first, name, object.len() + added.len())?;

    STATE.path(variables, b"/headspace/headspace.sock\0", address.path())?;
    let socket = connect(address)?;
    let parts = [first.into_bytes(), object, added.into_bytes()];
    let length: usize = parts.iter().map(|part| part.len()).sum();
    if system::send(socket, parts) != Ok(length) {
        system::close(socket);
        return None;
    }
    handed.socket = Some(socket);
    loop {
        wait(handed, socket)?;
        let room = answer.get_mut(handed.answered..)?;
        match system::read(socket, room) {
            Ok(0) => return None,
            Ok(length) => handed.answered += length,
            Err(INTERRUPTED) => continue,
            Err(_) => return None,
        }
        match answer::read(answer.get(..handed.answered)?, places) {
            Answer::Stored => return Some(()),
            Answer::Part => {}
            Answer::Other => return None,
        }
    }
}

/// Reads standard input until an object is complete; says where it begins and ends.
fn read_payload(handed: &mut Handed, places: &mut Places, input: &mut [u8]) -> Option<(usize, usize)> {
    const STANDARD_INPUT: Descriptor = 0;
    let mut scanner = Scanner::with(places);
    loop {
        wait(handed, STANDARD_INPUT)?;
        match system::read(STANDARD_INPUT, input.get_mut(handed.read..)?) {
            // The end of the input, or of the room for it.
            Ok(0) => return None,
            Ok(length) => handed.read += length,
            Err(INTERRUPTED) => continue,
            Err(_) => return None,
        }
        match scanner.feed(input.get(..handed.read)?) {
            Progress::More => {}
            Progress::Done(end) => return Some((scanner.start(), end)),
            Progress::Bad => return None,
        }
    }
}

/// Waits for something to read, no longer than a hook may.
fn wait(handed: &Handed, descriptor: Descriptor) -> Option<()> {
    // Usually something comes at once or soon, and the clock need not be read again.
    let mut left = DEADLINE_MILLISECONDS;
    loop {
        match system::wait_readable(descriptor, u32::try_from(left).ok()?) {
            Ok(true) => return Some(()),
            Ok(false) | Err(INTERRUPTED) => {}
            Err(_) => return None,
        }
        left = DEADLINE_MILLISECONDS - (system::steady_clock() - handed.begun) / 1_000_000;
        if left <= 0 {
            return None;
        }
    }
}

/// The client's process, and when it started if it still runs.
fn process(pid: &[u8], path: &mut [u8], room: &mut [u8]) -> Option<(u64, Option<u64>)> {
    let pid = number(pid).filter(|pid| *pid <= u32::MAX.into())?;
    let mut line = Text::new(path);
    line.put(b"/proc/")?;
    line.decimal(pid)?;
    line.put(b"/stat\0")?;
    let stat = system::read_file(line.into_bytes(), room);
    Some((pid, stat.ok().and_then(request::start_time)))
}

/// A connection to the server's socket, if our own user or root holds it.
fn connect(address: &Address) -> Option<Descriptor> {
    let socket = system::connect(address).ok()?;
    let trusted = system::peer(socket).is_some_and(|user| user == ROOT || user == system::effective_user());
    // A lower number would be that of a standard descriptor that was closed: what is printed would go to the server.
    if trusted && socket >= FIRST_OWN_DESCRIPTOR {
        return Some(socket);
    }
    system::close(socket);
    None
}

/// A directory of the user's: the one that a variable names, or else the usual one at home. Relative paths are ignored.
struct Home {
    variable: &'static str,
    at_home: &'static [u8],
}

const CONFIG: Home = Home { variable: "XDG_CONFIG_HOME", at_home: b"/.config" };
const STATE: Home = Home { variable: "XDG_STATE_HOME", at_home: b"/.local/state" };

impl Home {
    fn path<'a>(&self, variables: &Variables<'_>, file: &[u8], room: &'a mut [u8]) -> Option<&'a [u8]> {
        let mut path = Text::new(room);
        let absolute = |name: &str| variables.get(name).filter(|path| path.first() == Some(&b'/'));
        match absolute(self.variable) {
            Some(named) => path.put_all(&[named, file])?,
            None => path.put_all(&[absolute("HOME")?, self.at_home, file])?,
        }
        Some(path.into_bytes())
    }
}
