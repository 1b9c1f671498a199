//! The one place that makes private directories and replaces files atomically.

use anyhow::{Context, Result};
use fs_err as fs;
use std::io::Write;
use std::path::{Path, PathBuf};

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
    let target = resolve(path)?;
    let dir = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = target.file_name().context("could not write: the path has no file name")?;
    let mut temp_name = std::ffi::OsString::from(".");
    temp_name.push(name);
    temp_name.push(format!(".headspace-{}.tmp", std::process::id()));
    let temp = dir.join(temp_name);
    let _ = fs::remove_file(&temp);
    let result = (|| -> Result<()> {
        let mut file = create_private(&temp)?;
        file.write_all(bytes)?;
        if let Ok(old) = fs::metadata(&target) {
            keep_mode_and_owner(&file, &old)?;
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

#[cfg(not(unix))]
fn keep_mode_and_owner(_: &fs::File, _: &std::fs::Metadata) -> Result<()> {
    Ok(())
}
