//! System calls, made directly.

use core::arch::asm;
use core::mem::MaybeUninit;

pub type Descriptor = i32;

/// Why the kernel refused a call, as its number for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused(pub i32);

pub const NO_SUCH_FILE: Refused = Refused(2);
pub const INTERRUPTED: Refused = Refused(4);

mod number {
    pub const READ: usize = 0;
    pub const OPEN: usize = 2;
    pub const CLOSE: usize = 3;
    pub const STAT: usize = 4;
    pub const POLL: usize = 7;
    pub const SIGNAL_ACTION: usize = 13;
    pub const SIGNAL_MASK: usize = 14;
    pub const SOCKET: usize = 41;
    pub const CONNECT: usize = 42;
    pub const SEND_MESSAGE: usize = 46;
    pub const GET_SOCKET_OPTION: usize = 55;
    pub const SYSTEM_NAME: usize = 63;
    pub const EFFECTIVE_USER: usize = 107;
    pub const CLOCK: usize = 228;
    pub const EXIT: usize = 231;
    pub const RANDOM: usize = 318;
}

/// # Safety
/// The arguments are what the call asks for: pointers to memory of the right length that is ours to read or write.
#[inline(never)]
unsafe fn call(number: usize, arguments: [usize; 5]) -> Result<usize, Refused> {
    let [first, second, third, fourth, fifth] = arguments;
    let answer: isize;
    // SAFETY: the kernel keeps every register but these; the rest is the caller's promise.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => answer,
            in("rdi") first, in("rsi") second, in("rdx") third, in("r10") fourth, in("r8") fifth,
            lateout("rcx") _, lateout("r11") _,
            options(nostack)
        );
    }
    usize::try_from(answer).map_err(|_| Refused(answer.unsigned_abs() as i32))
}

pub fn exit() -> ! {
    loop {
        // SAFETY: ends the process.
        let _ = unsafe { call(number::EXIT, [0; 5]) };
    }
}

pub fn read(from: Descriptor, room: &mut [u8]) -> Result<usize, Refused> {
    // SAFETY: pointer and length are the room's.
    unsafe { call(number::READ, [from as usize, room.as_mut_ptr() as usize, room.len(), 0, 0]) }
}

/// Opens a file for reading, without waiting for whatever it may be. `path` ends with a zero.
pub fn open(path: &[u8]) -> Result<Descriptor, Refused> {
    const READ_NONBLOCKING_NO_TERMINAL_CLOSED_ON_EXEC: usize = 0o4000 | 0o400 | 0o2_000_000;
    if path.last() != Some(&0) {
        return Err(NO_SUCH_FILE);
    }
    let arguments = [path.as_ptr() as usize, READ_NONBLOCKING_NO_TERMINAL_CLOSED_ON_EXEC, 0, 0, 0];
    // SAFETY: the path ends with a zero.
    unsafe { call(number::OPEN, arguments) }.map(|descriptor| descriptor as Descriptor)
}

pub fn close(descriptor: Descriptor) {
    // SAFETY: only what this crate has opened is closed.
    let _ = unsafe { call(number::CLOSE, [descriptor as usize, 0, 0, 0, 0]) };
}

/// The start of a file.
pub fn read_file<'a>(path: &[u8], room: &'a mut [u8]) -> Result<&'a [u8], Refused> {
    let file = open(path)?;
    let length = read(file, room);
    close(file);
    Ok(room.get(..length?).unwrap_or_default())
}

/// The mode and the owner of what a path leads to. `path` ends with a zero.
pub fn mode_and_owner(path: &[u8]) -> Result<(u32, u32), Refused> {
    if path.last() != Some(&0) {
        return Err(NO_SUCH_FILE);
    }
    // The kernel's `struct stat`, of which the fourth word has both.
    let mut status = MaybeUninit::<[u64; 18]>::uninit();
    // SAFETY: the path ends with a zero; if the call succeeds, the kernel has filled the room.
    let [_, _, _, both, ..] = unsafe {
        call(number::STAT, [path.as_ptr() as usize, status.as_mut_ptr() as usize, 0, 0, 0])?;
        status.assume_init_ref()
    };
    Ok((*both as u32, (*both >> 32) as u32))
}

/// Waits until there is something to read, or the other end is gone. `false`: not within `milliseconds`.
pub fn wait_readable(descriptor: Descriptor, milliseconds: u32) -> Result<bool, Refused> {
    const POLLIN: i16 = 1;
    #[repr(C)]
    struct Poll {
        descriptor: Descriptor,
        asked: i16,
        answered: i16,
    }
    let mut poll = Poll { descriptor, asked: POLLIN, answered: 0 };
    // SAFETY: one entry, as announced.
    unsafe { call(number::POLL, [&raw mut poll as usize, 1, milliseconds as usize, 0, 0]) }
        .map(|ready| ready > 0)
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Time {
    seconds: i64,
    nanoseconds: i64,
}

fn clock(which: usize) -> i64 {
    let mut time = Time { seconds: 0, nanoseconds: 0 };
    // SAFETY: the kernel fills in the time.
    let _ = unsafe { call(number::CLOCK, [which, &raw mut time as usize, 0, 0, 0]) };
    time.seconds * 1_000_000_000 + time.nanoseconds
}

/// Nanoseconds since 1970.
pub fn wall_clock() -> i64 {
    clock(0)
}

/// Nanoseconds since some moment, never set back.
pub fn steady_clock() -> i64 {
    clock(1)
}

/// 64 bits that differ with every call.
pub fn random() -> Option<u64> {
    let mut bytes = [0; 8];
    // SAFETY: eight bytes, as announced.
    let length = unsafe { call(number::RANDOM, [bytes.as_mut_ptr() as usize, bytes.len(), 0, 0, 0]) };
    (length == Ok(bytes.len())).then(|| u64::from_ne_bytes(bytes))
}

pub fn effective_user() -> u32 {
    // SAFETY: it has no arguments.
    unsafe { call(number::EFFECTIVE_USER, [0; 5]) }.map_or(u32::MAX, |user| user as u32)
}

/// What `uname` says about the system: six texts, each in a field of the same size.
#[derive(Debug)]
pub struct SystemName([u8; SystemName::PLACE * 6]);

impl SystemName {
    const PLACE: usize = 65;
    pub const NONE: SystemName = SystemName([0; SystemName::PLACE * 6]);

    pub fn read(&mut self) {
        // SAFETY: room for all six texts.
        let _ = unsafe { call(number::SYSTEM_NAME, [self.0.as_mut_ptr() as usize, 0, 0, 0, 0]) };
    }

    /// The machine's name.
    pub fn host(&self) -> &[u8] {
        let place = self.0.get(SystemName::PLACE..SystemName::PLACE * 2).unwrap_or_default();
        let end = place.iter().position(|byte| *byte == 0).unwrap_or_default();
        place.get(..end).unwrap_or_default()
    }
}

const UNIX: u16 = 1;

/// The address of a socket in the file system.
#[repr(C)]
#[derive(Debug)]
pub struct Address {
    family: u16,
    path: [u8; 108],
}

impl Address {
    pub const NONE: Address = Address { family: 0, path: [0; 108] };

    /// Where the path goes, its zero included.
    pub fn path(&mut self) -> &mut [u8] {
        self.family = UNIX;
        &mut self.path
    }
}

/// A connection that never blocks: neither until the server accepts it, nor later.
pub fn connect(address: &Address) -> Result<Descriptor, Refused> {
    const STREAM_NONBLOCKING_CLOSED_ON_EXEC: usize = 1 | 0o4000 | 0o2_000_000;
    // SAFETY: numbers only; then the address with its own length.
    unsafe {
        let socket = call(number::SOCKET, [UNIX.into(), STREAM_NONBLOCKING_CLOSED_ON_EXEC, 0, 0, 0])?;
        let arguments = [socket, core::ptr::from_ref(address) as usize, size_of::<Address>(), 0, 0];
        call(number::CONNECT, arguments).inspect_err(|_| close(socket as Descriptor))?;
        Ok(socket as Descriptor)
    }
}

/// The user at the other end.
pub fn peer(socket: Descriptor) -> Option<u32> {
    const SOCKET_LEVEL: usize = 1;
    const PEER_CREDENTIALS: usize = 17;
    let (mut peer, mut length) = ([u32::MAX; 3], size_of::<[u32; 3]>() as u32);
    let arguments =
        [socket as usize, SOCKET_LEVEL, PEER_CREDENTIALS, &raw mut peer as usize, &raw mut length as usize];
    // SAFETY: three numbers and their length.
    let answered = unsafe { call(number::GET_SOCKET_OPTION, arguments) };
    let [_process, user, _group] = peer;
    (answered.is_ok() && length as usize == size_of_val(&peer)).then_some(user)
}

/// Sends the parts one after the other; returns how many bytes were sent.
pub fn send(socket: Descriptor, parts: [&[u8]; 3]) -> Result<usize, Refused> {
    const NO_SIGNAL: usize = 0x4000;
    #[repr(C)]
    struct Message {
        name: usize,
        name_length: usize,
        parts: usize,
        count: usize,
        control: usize,
        control_length: usize,
        flags: usize,
    }
    let parts: [[usize; 2]; 3] = parts.map(|part| [part.as_ptr() as usize, part.len()]);
    let message = Message {
        name: 0,
        name_length: 0,
        parts: parts.as_ptr() as usize,
        count: parts.len(),
        control: 0,
        control_length: 0,
        flags: 0,
    };
    // SAFETY: every part is named with its own length, and the list of them with its count.
    unsafe { call(number::SEND_MESSAGE, [socket as usize, &raw const message as usize, NO_SIGNAL, 0, 0]) }
}

/// Signals, a bit for each.
pub type Signals = u64;

const CRASHES: [u32; 3] = [4, 7, 11];

/// Every signal but those of a crash, which must not be blocked.
const ALL_BUT_CRASHES: Signals = {
    let (mut signals, mut at) = (u64::MAX, 0);
    while at < CRASHES.len() {
        signals &= !(1 << (CRASHES[at] - 1));
        at += 1;
    }
    signals
};

fn signal_mask(how: usize, new: Signals) -> Signals {
    let mut old: Signals = 0;
    let arguments = [how, &raw const new as usize, &raw mut old as usize, size_of::<Signals>(), 0];
    // SAFETY: both masks have the announced size.
    let _ = unsafe { call(number::SIGNAL_MASK, arguments) };
    old
}

/// Blocks signals, so that a request to end does not end the hook. Returns those that were blocked before.
pub fn hold_signals() -> Signals {
    const BLOCK: usize = 0;
    signal_mask(BLOCK, ALL_BUT_CRASHES)
}

pub fn set_signals(signals: Signals) {
    const SET: usize = 2;
    signal_mask(SET, signals);
}

/// Calls `handler`, which must not return, when this process crashes.
pub fn on_crash(handler: extern "C" fn() -> !) {
    const RESTORER_GIVEN: usize = 0x0400_0000;
    // The kernel wants to know how a handler returns, even if it never does.
    let action: [usize; 4] =
        [handler as *const () as usize, RESTORER_GIVEN, handler as *const () as usize, 0];
    for signal in CRASHES {
        let arguments = [signal as usize, &raw const action as usize, 0, size_of::<Signals>(), 0];
        // SAFETY: handler, flags, restorer and mask, as the kernel wants them.
        let _ = unsafe { call(number::SIGNAL_ACTION, arguments) };
    }
}
