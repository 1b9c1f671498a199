//! The one place that makes private directories and replaces files atomically.

use anyhow::{Context, Result};
use fs_err as fs;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Makes `dir` and its parents; what did not exist before is open to its owner only.
pub fn private_dir(dir: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).with_context(|| format!("could not make the directory {}", dir.display()))
}

/// Opens a new file that only its owner can read; fails if it exists.
pub fn create_private(path: &Path) -> std::io::Result<fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    Ok(fs::File::from_parts(file, path))
}

/// Replaces `path` by `bytes` in one step: readers see the old file or the new one, also after a crash.
/// A symbolic link stays a link: what it points at is replaced. Mode and owner of an existing file are kept;
/// a new file gets `0600`.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    replace_if(path, bytes, || Ok(()))
}

/// As [`replace`], but asks `still_ok` right before the rename, when the new content is already on disk.
pub fn replace_if(path: &Path, bytes: &[u8], still_ok: impl FnOnce() -> Result<()>) -> Result<()> {
    swap(path, bytes, None, still_ok)
}

/// As [`replace`], for programs: whoever may read the file may run it, from its first moment on.
pub fn replace_executable(path: &Path, bytes: &[u8]) -> Result<()> {
    swap(path, bytes, Some(0o755), || Ok(()))
}

fn swap(path: &Path, bytes: &[u8], mode: Option<u32>, still_ok: impl FnOnce() -> Result<()>) -> Result<()> {
    let target = resolve(path)?;
    let dir = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = target.file_name().context("could not write: the path has no file name")?;
    sweep(dir, name);
    let temp = dir.join(temp_name(name));
    let result = (|| -> Result<()> {
        let mut file = create_private(&temp)?;
        file.write_all(bytes)?;
        if let Ok(old) = fs::metadata(&target) {
            keep_mode_and_owner(&file, &old)?;
        }
        if let Some(mode) = mode {
            set_mode(&file, mode)?;
        }
        file.sync_all()?;
        drop(file);
        still_ok()?;
        fs::rename(&temp, &target)?;
        Ok(())
    })();
    if result.is_err() {
        let _ = fs::remove_file(&temp);
        return result;
    }
    // The rename itself must survive a power cut.
    if let Ok(dir) = fs::File::open(dir) {
        let _ = dir.sync_all();
    }
    Ok(())
}

/// `.NAME.headspace-PID-N.tmp`: the process says who may still be at work on it.
fn temp_name(name: &OsStr) -> OsString {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let mut temp = temp_prefix(name);
    temp.push(format!("{}-{}.tmp", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
    temp
}

fn temp_prefix(name: &OsStr) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".headspace-");
    prefix
}

/// Removes what a killed predecessor left behind. A minute is longer than any write takes.
fn sweep(dir: &Path, name: &OsStr) {
    let prefix = temp_prefix(name);
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let file = entry.file_name();
        let ours = file.as_encoded_bytes().starts_with(prefix.as_encoded_bytes())
            && file.as_encoded_bytes().ends_with(b".tmp");
        let age = || entry.metadata().ok()?.modified().ok()?.elapsed().ok();
        if ours && age().is_some_and(|age| age > Duration::from_secs(60)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Follows symbolic links to the file that is really meant, which need not exist yet.
pub fn resolve(path: &Path) -> Result<PathBuf> {
    let mut target = path.to_path_buf();
    for _ in 0..40 {
        match std::fs::read_link(&target) {
            Ok(next) if next.is_absolute() => target = next,
            Ok(next) => target = target.parent().unwrap_or(Path::new("")).join(next),
            Err(_) => return Ok(target),
        }
    }
    anyhow::bail!("could not follow {}: too many symbolic links", path.display())
}

#[cfg(unix)]
fn keep_mode_and_owner(file: &fs::File, old: &std::fs::Metadata) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata()?;
    if (ours.uid(), ours.gid()) != (old.uid(), old.gid()) {
        std::os::unix::fs::fchown(file.file(), Some(old.uid()), Some(old.gid()))
            .context("could not keep the file's owner")?;
    }
    file.set_permissions(old.permissions())?;
    Ok(())
}

#[cfg(unix)]
fn set_mode(file: &fs::File, mode: u32) -> Result<()> {
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(mode))?;
    Ok(())
}

#[cfg(not(unix))]
fn set_mode(_: &fs::File, _: u32) -> Result<()> {
    Ok(())
}

#[cfg(not(unix))]
fn keep_mode_and_owner(_: &fs::File, _: &std::fs::Metadata) -> Result<()> {
    Ok(())
}
