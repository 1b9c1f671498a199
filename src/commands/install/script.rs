//! `notify-headspace.sh`: for clients and configurations written by hand. Its path stays the same wherever the binary is,
//! and it does no harm after headspace was removed.

use anyhow::Result;
use fs_err as fs;
use headspace_hooks::client_settings::entry::{NOTIFY_SCRIPT, quote};
use headspace_platform::files;
use std::path::{Path, PathBuf};

/// The line by which the script is recognized.
const MARK: &str = "# Written by `headspace install`; `headspace uninstall` removes it.";

/// What is at the script's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScriptState {
    Missing,
    Current,
    /// A script of ours with other content.
    Outdated,
    /// A file that headspace did not write.
    Foreign,
}

pub fn path_in(config_dir: &Path) -> PathBuf {
    config_dir.join("hooks").join(NOTIFY_SCRIPT)
}

pub fn text(program: &str) -> String {
    format!(
        "#!/bin/sh\n{MARK}\n# Hands the hook event on standard input to headspace; quiet when headspace is gone.\n\
         headspace={}\n[ -x \"$headspace\" ] || exit 0\nexec \"$headspace\" notify \"$@\"\n",
        quote(program)
    )
}

pub fn state(path: &Path, program: &str) -> ScriptState {
    match files::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => ScriptState::Missing,
        Ok(bytes) if bytes == text(program).as_bytes() && is_executable(path) => ScriptState::Current,
        Ok(bytes) if is_ours(&bytes) => ScriptState::Outdated,
        _ => ScriptState::Foreign,
    }
}

pub fn write(path: &Path, program: &str) -> Result<()> {
    files::replace_executable(path, text(program).as_bytes())
}

/// Removes the script if it is ours; whether it did.
pub fn remove(path: &Path) -> Result<bool> {
    match files::read(path) {
        Ok(bytes) if is_ours(&bytes) => {
            fs::remove_file(path)?;
            Ok(true)
        }
        _ => Ok(false),
    }
}

fn is_ours(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, MARK.as_bytes()).is_some()
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    true
}
