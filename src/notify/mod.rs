use std::ffi::OsString;
use std::process::ExitCode;

pub fn main(_event: Option<OsString>) -> ExitCode {
    ExitCode::SUCCESS
}

/// `headspace` without a command: a hook payload on stdin is delivered, a person gets the help.
pub fn bare() -> ExitCode {
    ExitCode::SUCCESS
}
