//! The hooks, `notify` and `guard hook`, start working at once: they skip the argument parser and the start-up code of the
//! standard library.
//!
//! Before a Rust `main`, that start-up code reads `/proc/self/maps` to find the end of the stack, sets up an alternate stack
//! and two signal handlers, and checks three descriptors. That is a fifth of the cost of an empty process, on every hook of
//! every session. Where the C library passes the arguments to the standard library by itself, this file is therefore the C
//! `main`, and does the part of the start-up that is needed. The only `unsafe` code of the program is here, because a C
//! `main` gets raw pointers.

#![cfg_attr(any(all(target_os = "linux", target_env = "gnu"), target_os = "macos"), no_main)]

use claude_headspace::cli;
use headspace_notify as notify;
#[cfg(all(target_os = "linux", target_env = "gnu", target_arch = "x86_64"))]
use headspace_shortcut as _;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: notify::alarm::QuietAllocator = notify::alarm::QuietAllocator;

/// Commands that run on every tool call are matched first.
fn run() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        Some(command) if command == "notify" => match args.next() {
            Some(word) if word == "--help" || word == "-h" => cli::main(),
            first => notify::main(first.into_iter().chain(args)),
        },
        Some(command) if command == "wait" && args.len() == 0 => notify::wait::main(),
        Some(command) if command == "guard" => {
            claude_headspace::commands::guard::direct(args).unwrap_or_else(cli::main)
        }
        Some(_) => cli::main(),
        None => notify::without_command(cli::help),
    }
}

#[cfg(not(any(all(target_os = "linux", target_env = "gnu"), target_os = "macos")))]
fn main() -> ExitCode {
    run()
}

/// # Safety
/// Only the C library may call it; it passes `argc` texts in `argv`.
#[cfg(any(all(target_os = "linux", target_env = "gnu"), target_os = "macos"))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn main(argc: libc::c_int, argv: *const *const libc::c_char) -> libc::c_int {
    headspace_platform::process::prepare();
    // SAFETY: with two arguments there is a second one, and it ends with a zero.
    if argc == 2 && unsafe { std::ffi::CStr::from_ptr(*argv.add(1)) } == c"notify" {
        notify::main(std::iter::empty());
        return 0;
    }
    // A panic must not unwind into C; its message is printed already.
    let Ok(code) = std::panic::catch_unwind(run) else { return 101 };
    // An `ExitCode` does not reveal its number, but can be compared.
    (0..=u8::MAX).find(|&number| ExitCode::from(number) == code).unwrap_or(1).into()
}
