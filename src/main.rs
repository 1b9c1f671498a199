use std::process::ExitCode;

/// `notify` goes straight to work: no argument parser, no allocation it does not need.
fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        Some(command) if command == "notify" => claude_headspace::notify::main(args.next()),
        _ => claude_headspace::cli::main(),
    }
}
