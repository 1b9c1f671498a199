//! The hook's short way: a plain event from standard input to the server's socket before the C library has started.
//!
//! A static program's start-up code asks the processor about itself some eighty times. On a virtual machine each of those
//! questions is answered by the host, and together they take four times as long as starting the process did (measured: a
//! static C program that does nothing 453 µs, one that never starts its C library 80 µs). A hook is started for every
//! event of every session and needs none of it: it reads, connects, writes, reads and ends.
//!
//! So the program's entry point comes here first. This code talks to the kernel alone: no C library, no allocator, no
//! thread-local variable, no panic that could be caught. It handles only plain events. Everything else (another command, a
//! variable that asks for more, an odd payload, no server, an answer with a text for the client, even a crash in here)
//! takes the ordinary way: the C library is started as if nothing had happened, and `notify` takes over what was read and
//! sent so far ([`handed_over`]). Both ways send the same bytes; a test compares them.
//!
//! `memcpy`, `memset`, `strlen` and similar functions of the C library are not ready yet, but the compiler may insert calls
//! to them anywhere. Hence no large value is moved or created here (large values are statics), bytes are copied by a
//! processor instruction, and texts are measured byte by byte. Such a call would crash, and the hook would take the ordinary
//! way; a test watches the system calls of both builds for it. (`#![no_builtins]` would forbid the calls, but it takes the
//! crate out of link-time optimization, and then the parts of `core` it uses are missing.)

#![cfg_attr(not(test), no_std)]

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod answer;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod bytes;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod entry;
pub mod handed_over;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod request;
pub mod scan;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod system;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod variables;
