//! The one place that creates private directories and replaces files atomically. Begin with [`replace`].

#[cfg(unix)]
use crate::net::peer_uid::own_uid;
use anyhow::{Context, Result};
use fs_err as fs;
use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Creates `dir` and its parents; new directories are accessible only to their owner.
pub fn private_dir(dir: &Path) -> Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir).with_context(|| format!("could not create the directory {}", dir.display()))
}

/// Which file it is, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId(u64, u64);

/// The id of the file that is at `path` now; `None` if there is none, or the system has no numbers for files.
pub fn id(path: &Path) -> Option<FileId> {
    id_in(&std::fs::metadata(path).ok()?)
}

/// The id of the file that this is about.
pub fn id_in(meta: &std::fs::Metadata) -> Option<FileId> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some(FileId(meta.dev(), meta.ino()))
    }
    #[cfg(not(unix))]
    {
        let _ = meta;
        None
    }
}

/// The path does not lead to a regular file: opening a FIFO would wait forever, reading a device may never end.
#[derive(Debug)]
pub struct NotRegular(&'static str);

impl std::fmt::Display for NotRegular {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "it is {}, not a regular file", self.0)
    }
}

impl std::error::Error for NotRegular {}

pub fn is_not_regular(error: &std::io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<NotRegular>())
}

/// Fails with [`NotRegular`] unless `meta` is a regular file's.
pub fn check_regular(meta: &std::fs::Metadata) -> std::io::Result<()> {
    if meta.is_file() {
        return Ok(());
    }
    #[cfg(unix)]
    let kind = {
        use std::os::unix::fs::FileTypeExt;
        match meta.file_type() {
            kind if kind.is_dir() => "a directory",
            kind if kind.is_fifo() => "a FIFO",
            kind if kind.is_socket() => "a socket",
            kind if kind.is_block_device() || kind.is_char_device() => "a device",
            _ => "something else",
        }
    };
    #[cfg(not(unix))]
    let kind = if meta.is_dir() { "a directory" } else { "something else" };
    Err(std::io::Error::other(NotRegular(kind)))
}

/// Opens a file with `options`, without blocking, and only if it is regular.
pub fn open_regular(path: &Path, options: &mut std::fs::OpenOptions) -> std::io::Result<std::fs::File> {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = options.open(path).map_err(|error| {
        // No file is the usual case for the hook's configuration, and needs no second look.
        if error.kind() == ErrorKind::NotFound {
            return error;
        }
        // Opening fails for a socket, and for writing to a FIFO without readers: report what it is instead.
        let known = std::fs::metadata(path).ok().and_then(|meta| check_regular(&meta).err());
        known.unwrap_or(error)
    })?;
    check_regular(&file.metadata()?)?;
    Ok(file)
}

/// No file that headspace reads as a whole is longer: neither settings nor a spooled event.
const MAX_READ: u64 = 64 << 20;

/// All of a regular file. Like all reading of files that others may have put there, it never blocks and has a bound.
pub fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    read_up_to(path, MAX_READ)
}

/// Like [`read`], for files that are never longer than `most`.
pub fn read_up_to(path: &Path, most: u64) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = open_regular(path, std::fs::OpenOptions::new().read(true))?;
    // A file of holes takes no room on the disk, and would take all the memory.
    if file.metadata()?.len() <= most {
        std::io::Read::read_to_end(&mut std::io::Read::take(file, most + 1), &mut bytes)?;
        if bytes.len() as u64 <= most {
            return Ok(bytes);
        }
    }
    Err(std::io::Error::new(ErrorKind::InvalidData, format!("it is longer than {most} bytes")))
}

/// Like [`read`], for text.
pub fn read_text(path: &Path) -> std::io::Result<String> {
    String::from_utf8(read(path)?).map_err(|error| std::io::Error::new(ErrorKind::InvalidData, error))
}

/// What others must not do to a directory of ours.
pub const OTHERS_WRITE: u32 = 0o022;

/// Fails if another user can access what is ours, and says what to do. `Ok` if it does not exist.
pub fn check_ours(path: &Path, forbidden: u32) -> Result<()> {
    let Ok(meta) = std::fs::metadata(path) else { return Ok(()) };
    check_owner_and_mode(path, &meta, forbidden)
}

/// Like [`check_ours`], for what has been looked at already.
pub fn check_owner_and_mode(path: &Path, meta: &std::fs::Metadata, forbidden: u32) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let shown = path.display();
        if meta.uid() != own_uid() {
            anyhow::bail!(
                "could not trust {shown}: it belongs to another user ({}), who could read and change what is in it; \
                 move it away, or `chown` it to yourself if it is yours",
                meta.uid()
            );
        }
        if meta.mode() & forbidden != 0 {
            let mode = if meta.is_dir() { "700" } else { "600" };
            let what = if meta.mode() & forbidden & 0o022 != 0 { "change" } else { "read" };
            anyhow::bail!(
                "could not trust {shown}: other users can {what} it; `chmod {mode} {shown}` fixes that"
            );
        }
    }
    #[cfg(not(unix))]
    let _ = (path, meta, forbidden);
    Ok(())
}

/// Whether this error says that the disk takes nothing now: it is full, read-only or failing, or a quota or a limit is
/// reached. It may take something later.
pub fn is_no_room(error: &anyhow::Error) -> bool {
    use ErrorKind::{FileTooLarge, QuotaExceeded, ReadOnlyFilesystem, StorageFull};
    let io = |cause: &std::io::Error| {
        matches!(cause.kind(), StorageFull | QuotaExceeded | ReadOnlyFilesystem | FileTooLarge)
            || cause.raw_os_error() == Some(FAILING_DISK)
    };
    error.chain().any(|cause| cause.downcast_ref().is_some_and(io))
}

/// Whether it belongs to our own user.
pub fn is_ours(meta: &std::fs::Metadata) -> bool {
    #[cfg(unix)]
    return std::os::unix::fs::MetadataExt::uid(meta) == own_uid();
    #[cfg(not(unix))]
    {
        let _ = meta;
        true
    }
}

/// Whether this open file is ours and no other user can read or change it. Costs nothing beyond opening it.
pub fn is_ours_alone(meta: &std::fs::Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        meta.uid() == own_uid() && meta.mode() & 0o077 == 0
    }
    #[cfg(not(unix))]
    {
        let _ = meta;
        true
    }
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
/// A symbolic link stays a link: its target is replaced. Mode and owner of an existing file are kept;
/// a new file gets `0600`.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<()> {
    Replacement::of(path)?.write(bytes, None, |new| Ok(fs::rename(&new.temp, &new.target)?))
}

/// Like [`replace`], but only if the file is still `before` (`None`: does not exist). `false`: it has changed, and stays
/// as it is. Where the system can exchange files, nothing that another program writes meanwhile is lost.
pub fn replace_if(path: &Path, before: Option<&[u8]>, bytes: &[u8]) -> Result<bool> {
    let mut done = false;
    Replacement::of(path)?.write(bytes, None, |new| {
        done = new.take_the_place_of(before, bytes)?;
        Ok(())
    })?;
    Ok(done)
}

/// Like [`replace`], for programs: every user who may read the file may also run it, from the first moment.
pub fn replace_executable(path: &Path, bytes: &[u8]) -> Result<()> {
    Replacement::of(path)?.write(bytes, Some(0o755), |new| Ok(fs::rename(&new.temp, &new.target)?))
}

/// A new file beside the one it is to replace.
struct Replacement {
    target: PathBuf,
    temp: PathBuf,
}

impl Replacement {
    fn of(path: &Path) -> Result<Replacement> {
        let target = resolve(path)?;
        let dir = directory(&target);
        let name = target.file_name().context("could not write: the path has no file name")?;
        sweep(dir, name);
        Ok(Replacement { temp: dir.join(temp_name(name)), target })
    }

    /// Writes it to disk, then puts it in place.
    fn write(
        &self,
        bytes: &[u8],
        mode: Option<u32>,
        take_place: impl FnOnce(&Replacement) -> Result<()>,
    ) -> Result<()> {
        let result = (|| -> Result<()> {
            // As root, a rename would replace even a device.
            match fs::metadata(&self.target) {
                Ok(old) => check_regular(&old)
                    .with_context(|| format!("could not replace {}", self.target.display()))?,
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
            let mut file = create_private(&self.temp)?;
            file.write_all(bytes)?;
            if let Ok(old) = fs::metadata(&self.target) {
                keep_mode_and_owner(&file, &old)?;
            }
            if let Some(mode) = mode {
                set_mode(&file, mode)?;
            }
            file.sync_all()?;
            drop(file);
            take_place(self)
        })();
        // Whatever is still there is not needed any longer.
        let _ = std::fs::remove_file(&self.temp);
        result?;
        // The rename itself must survive a power cut.
        if let Ok(dir) = fs::File::open(directory(&self.target)) {
            let _ = dir.sync_all();
        }
        Ok(())
    }

    fn take_the_place_of(&self, before: Option<&[u8]>, bytes: &[u8]) -> Result<bool> {
        if content(&self.target)?.as_deref() != before {
            return Ok(false);
        }
        let how = if before.is_some() { Rename::Exchange } else { Rename::New };
        match rename(&self.temp, &self.target, how) {
            Ok(()) => {}
            // What was written since the last check is lost: tens of microseconds.
            Err(error) if is_unknown(&error) => {
                fs::rename(&self.temp, &self.target)?;
                return Ok(true);
            }
            // Created or removed meanwhile.
            Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) => {
                return Ok(false);
            }
            Err(error) => return Err(error).context("could not replace the file"),
        }
        let Some(before) = before else { return Ok(true) };
        let found = match read(&self.temp) {
            Ok(found) => found,
            Err(error) => {
                // What cannot be read is not ours to replace.
                rename(&self.temp, &self.target, Rename::Exchange)?;
                return Err(error.into());
            }
        };
        if found == before {
            return Ok(true);
        }
        self.give_back(found, bytes.to_vec())?;
        Ok(false)
    }

    /// Puts what was `found` at the target back there, in place of what was `put`. If another program has written there
    /// meanwhile, what it wrote stays.
    fn give_back(&self, mut found: Vec<u8>, mut put: Vec<u8>) -> Result<()> {
        loop {
            if rename(&self.temp, &self.target, Rename::Exchange).is_err() {
                return Ok(fs::rename(&self.temp, &self.target)?);
            }
            let now = read(&self.temp)?;
            if now == put {
                return Ok(());
            }
            (put, found) = (found, now);
        }
    }
}

fn directory(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// `None` if there is no such file.
fn content(path: &Path) -> Result<Option<Vec<u8>>> {
    match read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("could not read {}", path.display())),
    }
}

#[derive(Clone, Copy)]
enum Rename {
    /// Swaps the two files.
    Exchange,
    /// Fails if the new name exists.
    New,
}

/// The system, or this file system, does not support it.
fn is_unknown(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::PermissionDenied | ErrorKind::Unsupported)
        || error.raw_os_error() == Some(UNKNOWN_CALL)
}

#[cfg(unix)]
const UNKNOWN_CALL: i32 = libc::ENOSYS;
#[cfg(not(unix))]
const UNKNOWN_CALL: i32 = -1;

#[cfg(unix)]
const FAILING_DISK: i32 = libc::EIO;
#[cfg(not(unix))]
const FAILING_DISK: i32 = -1;

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn rename(from: &Path, to: &Path, how: Rename) -> std::io::Result<()> {
    use std::os::unix::ffi::OsStrExt;
    let [from, to] = [from, to].map(|path| std::ffi::CString::new(path.as_os_str().as_bytes()));
    let (from, to) = (from?, to?);
    #[cfg(target_os = "linux")]
    // SAFETY: both are strings that end with NUL and outlive the call.
    let done = unsafe {
        let flags = match how {
            Rename::Exchange => libc::RENAME_EXCHANGE,
            Rename::New => libc::RENAME_NOREPLACE,
        };
        libc::renameat2(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), flags)
    };
    #[cfg(target_os = "macos")]
    // SAFETY: as above.
    let done = unsafe {
        let flags = match how {
            Rename::Exchange => libc::RENAME_SWAP,
            Rename::New => libc::RENAME_EXCL,
        };
        libc::renamex_np(from.as_ptr(), to.as_ptr(), flags)
    };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn rename(_: &Path, _: &Path, _: Rename) -> std::io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// `.NAME.headspace-PID-N.tmp`: the pid says which process may still be using it.
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

/// Removes what a killed process left behind. A minute is longer than any write takes.
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

/// Follows symbolic links to the actual file, which need not exist yet.
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

/// The path without symbolic links, as far as it exists: what is created there later has the same path.
pub fn canonical_as_far_as_it_exists(path: &Path) -> PathBuf {
    let known = |ancestor: &Path| {
        let mut canonical = ancestor.canonicalize().ok()?;
        // Joined part by part: nothing joined would be a slash.
        canonical.extend(path.strip_prefix(ancestor).ok()?.components());
        Some(canonical)
    };
    path.ancestors().find_map(known).unwrap_or_else(|| path.to_owned())
}

/// The path without `.` and `..`, by its spelling alone: for paths that need not exist here, and for labels. Where links matter,
/// use the canonical path.
pub fn lexically_normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
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

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_path_is_the_same_before_and_after_its_end_exists() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        std::os::unix::fs::symlink(&dir, dir.join("link")).unwrap();
        let canonical = |path: &str| canonical_as_far_as_it_exists(&dir.join(path)).into_os_string();
        let before = canonical("link/a/b");
        assert_eq!(before, dir.join("a/b").into_os_string());
        std::fs::create_dir_all(dir.join("a/b")).unwrap();
        assert_eq!([canonical("link/a/b"), canonical("a/b")], [before.clone(), before]);
    }

    #[cfg(unix)]
    #[test]
    fn only_regular_files_are_read_and_nothing_blocks() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("file"), "text").unwrap();
        std::os::unix::fs::symlink(at("file"), at("link")).unwrap();
        std::fs::create_dir(at("directory")).unwrap();
        let fifo = std::ffi::CString::new(at("fifo").to_str().unwrap()).unwrap();
        // SAFETY: the path ends with NUL and outlives the call.
        assert_eq!(unsafe { libc::mkfifo(fifo.as_ptr(), 0o600) }, 0);
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        assert_eq!(read_text(&at("file")).unwrap(), "text");
        assert_eq!(read_text(&at("link")).unwrap(), "text");
        for (path, what) in [
            (at("directory"), "a directory"),
            (at("fifo"), "a FIFO"),
            (at("socket"), "a socket"),
            ("/dev/zero".into(), "a device"),
        ] {
            let error = read(&path).unwrap_err();
            assert!(is_not_regular(&error) && error.to_string().contains(what), "{path:?}: {error}");
            let error = open_regular(&path, std::fs::OpenOptions::new().append(true)).unwrap_err();
            assert!(is_not_regular(&error), "{path:?}: {error}");
        }
        assert_eq!(read(&at("missing")).unwrap_err().kind(), ErrorKind::NotFound);
    }

    fn names(dir: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(dir).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_replaced_only_if_it_is_what_was_expected() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("settings.json");
        let table: &[(Option<&str>, Option<&str>, bool)] = &[
            (None, None, true),
            (None, Some("other"), false),
            (Some("old"), Some("old"), true),
            (Some("old"), Some("other"), false),
            (Some("old"), None, false),
            (Some("old"), Some(""), false),
        ];
        for (before, there, expected) in table {
            let _ = std::fs::remove_file(&path);
            if let Some(there) = there {
                std::fs::write(&path, there).unwrap();
            }
            let done = replace_if(&path, before.map(str::as_bytes), b"new").unwrap();
            assert_eq!(done, *expected, "{before:?} {there:?}");
            let now = std::fs::read_to_string(&path).ok();
            assert_eq!(now.as_deref(), if *expected { Some("new") } else { *there });
            assert!(names(dir.path()).len() <= 1, "{:?}", names(dir.path()));
        }
    }

    /// What another program wrote in the last moment is restored, and what it wrote after that is kept.
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    #[test]
    fn a_file_replaced_by_mistake_is_restored() {
        for (there, expected) in [("ours", "theirs"), ("theirs, later", "theirs, later")] {
            let dir = tempfile::tempdir().unwrap();
            let new = Replacement::of(&dir.path().join("settings.json")).unwrap();
            std::fs::write(&new.temp, "theirs").unwrap();
            std::fs::write(&new.target, there).unwrap();
            new.give_back(b"theirs".to_vec(), b"ours".to_vec()).unwrap();
            assert_eq!(std::fs::read_to_string(&new.target).unwrap(), expected);
        }
    }
}
