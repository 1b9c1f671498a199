//! The hook's short way: a plain event from standard input to the server's socket before the C library has started.
//!
//! A static program's start-up code asks the processor about itself some eighty times. On a virtual machine each of those
//! questions is answered by the host, and together they take four times as long as starting the process did (measured: a
//! static C program that does nothing 453 µs, one that never starts its C library 80 µs). A hook is started for every
//! event of every session and needs none of it: it reads, connects, writes, reads and ends.
//!
//! So the program's entry point (in `main.rs`) comes here first. What is here speaks to the kernel alone: no C library, no
//! allocator, no thread-local variable, no panic that anybody could catch. It does only what is plain. Whatever is not
//! (another command, a variable that asks for more, an odd payload, no server, an answer with words for the client, and a
//! crash in here, too) goes the ordinary way: the C library is started as if nothing had happened, and `notify` takes over
//! what was read and sent so far ([`handed_over`]). Both ways send the same bytes; a test compares them.
//!
//! The C library's `memcpy`, `memset`, `strlen` and their like are not there yet, and the compiler calls them for what it
//! likes: hence no large value is moved or made here (they have their place in one static room), bytes are copied by
//! the processor, and texts are measured byte by byte. Such a call would be a crash, and so the ordinary way; a test watches
//! the system calls of both builds for it. (`#![no_builtins]` would be the word for it, but leaves the crate out of link-time
//! optimization, and what it uses of `core` is then missing.)

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
