use std::process::ExitCode;

/// `notify` and the guard's hook go straight to work: no argument parser, no allocation they do not need.
fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        Some(command) if command == "notify" => claude_headspace::notify::main(args.next()),
        Some(command) if command == "guard" => {
            claude_headspace::guard::command::direct(args).unwrap_or_else(claude_headspace::cli::main)
        }
        _ => claude_headspace::cli::main(),
    }
}
