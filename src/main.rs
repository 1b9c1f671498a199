//! The hooks, `notify` and `guard hook`, go straight to work: no argument parser, and no start-up of the standard library's either.
//!
//! What that start-up does before a Rust `main` (read `/proc/self/maps` to find the stack's end, set up an alternate stack
//! and two handlers, look at three descriptors) costs a fifth of a do-nothing process, on every hook of every
//! session. So where the C library hands the arguments to the standard library by itself, this file is the C `main`,
//! and does what is needed of the rest.

#![cfg_attr(any(all(target_os = "linux", target_env = "gnu"), target_os = "macos"), no_main)]

use claude_headspace::cli;
use headspace_notify as notify;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: notify::alarm::QuietAllocator = notify::alarm::QuietAllocator;

/// What runs on every tool call goes first.
fn run() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        Some(command) if command == "notify" => match args.next() {
            Some(word) if word == "--help" || word == "-h" => cli::main(),
            first => notify::main(first.into_iter().chain(args)),
        },
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
/// For the C library alone, which passes `argc` texts in `argv`.
#[cfg(any(all(target_os = "linux", target_env = "gnu"), target_os = "macos"))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn main(argc: libc::c_int, argv: *const *const libc::c_char) -> libc::c_int {
    headspace_platform::process::prepare();
    // SAFETY: with two arguments there is a second one, and it ends with a zero.
    if argc == 2 && unsafe { std::ffi::CStr::from_ptr(*argv.add(1)) } == c"notify" {
        notify::main(std::iter::empty());
        return 0;
    }
    // A panic must not unwind into C; it has told its story already.
    let Ok(code) = std::panic::catch_unwind(run) else { return 101 };
    // An `ExitCode` does not tell its number, but can be compared.
    (0..=u8::MAX).find(|&number| ExitCode::from(number) == code).unwrap_or(1).into()
}
