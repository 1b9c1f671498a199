//! Reads only the new lines of a growing file: the cost of a reading depends on what was added since the last one.

use fs_err as fs;
use headspace_core::fnv::{START, fnv1a};
use serde::{Deserialize, Serialize};
use std::io::{self, Read as _, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A longer line is skipped: no message of a conversation is that long.
const MAX_LINE: usize = 64 << 20;
/// How much is read before the caller gets a chance to do something else.
const MAX_READ_AT_ONCE: u64 = 8 << 20;
const READ_CHUNK_BYTES: usize = 64 << 10;
/// How many bytes before the offset are compared to see whether this is still the same file.
const CHECKED_BYTES: u64 = 256;

/// A position in a file that lines are appended to.
#[derive(Debug)]
pub struct Tail {
    path: PathBuf,
    offset: u64,
    /// Hash of the bytes just before `offset`; `None` until some were read.
    check: Option<u64>,
    /// Everything up to the next line break belongs to a line that is skipped.
    skipping: bool,
    seen: Option<Stat>,
}

/// What a tail needs to continue after a restart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mark {
    pub path: PathBuf,
    pub offset: u64,
    pub inode: u64,
    pub check: Option<u64>,
}

/// Shows whether a file has changed, without opening it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stat {
    inode: u64,
    size: u64,
    modified: Option<SystemTime>,
}

/// How a reading ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// No such file (yet), or not a file.
    Missing,
    /// Same size, time and inode as last time: not opened.
    Unchanged,
    Done {
        /// There was another file, or a rewritten one: read from its beginning.
        restarted: bool,
        /// There is more; read again.
        more: bool,
    },
}

impl Tail {
    pub fn new(path: impl Into<PathBuf>) -> Tail {
        Tail { path: path.into(), offset: 0, check: None, skipping: false, seen: None }
    }

    pub fn resume(mark: Mark) -> Tail {
        Tail { path: mark.path, offset: mark.offset, check: mark.check, skipping: false, seen: None }
    }

    pub fn mark(&self) -> Mark {
        let inode = self.seen.map_or(0, |stat| stat.inode);
        Mark { path: self.path.clone(), offset: self.offset, inode, check: self.check }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The client moved the file (it follows the session into another directory). The next reading shows whether it is
    /// the same file.
    pub fn moved_to(&mut self, path: PathBuf) {
        if self.path != path {
            self.path = path;
            self.seen = None;
        }
    }

    /// Goes to the last `bytes` of the file; `true` if that is not its beginning.
    pub fn near_end(&mut self, bytes: u64) -> bool {
        let size = stat(&self.path).map_or(0, |stat| stat.size);
        self.offset = size.saturating_sub(bytes);
        self.skipping = self.offset > 0;
        self.check = None;
        self.seen = None;
        self.offset > 0
    }

    /// Passes every new complete line to `each`. A last line without a line break waits for the rest of it.
    pub fn read(&mut self, mut each: impl FnMut(&[u8])) -> io::Result<Read> {
        let Some(now) = stat(&self.path) else {
            return Ok(Read::Missing);
        };
        if self.seen == Some(now) {
            return Ok(Read::Unchanged);
        }
        let mut file = open(&self.path)?;
        let restarted = now.size < self.offset || !self.same_file(&mut file)?;
        if restarted {
            (self.offset, self.check, self.skipping) = (0, None, false);
        }
        let more = self.read_lines(&mut file, now.size, &mut each)?;
        if self.offset > 0 {
            self.check = check(&mut file, self.offset)?;
        }
        self.seen = (!more).then_some(now);
        Ok(Read::Done { restarted, more })
    }

    fn same_file(&self, file: &mut fs::File) -> io::Result<bool> {
        Ok(self.check.is_none() || check(file, self.offset)? == self.check)
    }

    /// Reads from the offset; `true` if it stopped before `size`.
    fn read_lines(
        &mut self,
        file: &mut fs::File,
        size: u64,
        each: &mut impl FnMut(&[u8]),
    ) -> io::Result<bool> {
        let start = self.offset;
        file.seek(SeekFrom::Start(start))?;
        let mut pending: Vec<u8> = Vec::new();
        let mut chunk = vec![0; READ_CHUNK_BYTES];
        let mut read = 0;
        loop {
            let count = match file.read(&mut chunk) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if count == 0 {
                return Ok(false);
            }
            read += count as u64;
            let mut rest = &chunk[..count];
            while let Some(end) = memchr::memchr(b'\n', rest) {
                let (line, after) = (&rest[..end], &rest[end + 1..]);
                rest = after;
                self.offset += (pending.len() + end + 1) as u64;
                if std::mem::take(&mut self.skipping) {
                    continue;
                }
                if pending.is_empty() {
                    each(line);
                } else {
                    pending.extend_from_slice(line);
                    each(&pending);
                    pending.clear();
                }
            }
            if self.skipping {
                self.offset += rest.len() as u64;
            } else {
                pending.extend_from_slice(rest);
                if pending.len() > MAX_LINE {
                    self.offset += pending.len() as u64;
                    self.skipping = true;
                    pending = Vec::new();
                }
            }
            // A partly read line is read again: it waits no longer than a half-written one.
            if read >= MAX_READ_AT_ONCE && self.offset > start {
                return Ok(self.offset < size);
            }
        }
    }
}

/// Only regular files: a path comes from outside and may name a pipe or a device.
fn stat(path: &Path) -> Option<Stat> {
    let data = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&data);
    #[cfg(not(unix))]
    let inode = 0;
    Some(Stat { inode, size: data.len(), modified: data.modified().ok() })
}

fn open(path: &Path) -> io::Result<fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true);
    // Whatever replaced the file since the check must not block us.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    Ok(fs::File::from_parts(options.open(path)?, path))
}

fn check(file: &mut fs::File, offset: u64) -> io::Result<Option<u64>> {
    let from = offset.saturating_sub(CHECKED_BYTES);
    let mut bytes = Vec::with_capacity(CHECKED_BYTES as usize);
    file.seek(SeekFrom::Start(from))?;
    file.take(offset - from).read_to_end(&mut bytes)?;
    Ok(Some(fnv1a(START, &bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    struct Lines {
        dir: tempfile::TempDir,
        tail: Tail,
    }

    impl Lines {
        fn new() -> Lines {
            let dir = tempfile::tempdir().unwrap();
            let tail = Tail::new(dir.path().join("t.jsonl"));
            Lines { dir, tail }
        }

        fn append(&self, text: &str) {
            let path = self.dir.path().join("t.jsonl");
            let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
            file.write_all(text.as_bytes()).unwrap();
        }

        fn replace(&self, text: &str) {
            std::fs::write(self.dir.path().join("t.jsonl"), text).unwrap();
        }

        fn read(&mut self) -> (Read, Vec<String>) {
            let mut lines = Vec::new();
            let read = self.tail.read(|line| lines.push(String::from_utf8_lossy(line).into_owned())).unwrap();
            (read, lines)
        }

        fn lines(&mut self) -> Vec<String> {
            self.read().1
        }
    }

    #[test]
    fn only_new_lines_are_read_and_a_half_written_one_waits() {
        let mut file = Lines::new();
        assert_eq!(file.read().0, Read::Missing);
        file.append("a\nb\n{\"half\":");
        assert_eq!(file.lines(), ["a", "b"]);
        assert_eq!(file.read(), (Read::Unchanged, vec![]));
        file.append("1}\nc\n");
        assert_eq!(file.lines(), ["{\"half\":1}", "c"]);
        assert_eq!(file.read(), (Read::Unchanged, vec![]));
    }

    #[test]
    fn a_truncated_file_is_read_from_its_start() {
        let mut file = Lines::new();
        file.append("first\nsecond\n");
        file.lines();
        file.replace("third\n");
        assert_eq!(file.read(), (Read::Done { restarted: true, more: false }, vec!["third".into()]));
    }

    #[test]
    fn a_longer_file_in_its_place_is_read_from_its_start() {
        let mut file = Lines::new();
        file.append("first\n");
        file.lines();
        file.replace("something else\nentirely\n");
        let (read, lines) = file.read();
        assert_eq!(read, Read::Done { restarted: true, more: false });
        assert_eq!(lines, ["something else", "entirely"]);
    }

    #[test]
    fn reading_continues_after_a_file_was_moved() {
        let mut file = Lines::new();
        file.append("a\n");
        file.lines();
        let there = file.dir.path().join("elsewhere.jsonl");
        std::fs::rename(file.dir.path().join("t.jsonl"), &there).unwrap();
        file.tail.moved_to(there.clone());
        std::fs::OpenOptions::new().append(true).open(there).unwrap().write_all(b"b\n").unwrap();
        assert_eq!(file.lines(), ["b"]);
    }

    #[test]
    fn reading_continues_at_a_mark() {
        let mut file = Lines::new();
        file.append("a\nb\n");
        file.lines();
        let mark: Mark = serde_json::from_str(&serde_json::to_string(&file.tail.mark()).unwrap()).unwrap();
        file.append("c\n");
        file.tail = Tail::resume(mark.clone());
        assert_eq!(file.lines(), ["c"]);
        file.replace("x\nyyyyyyyy\n");
        file.tail = Tail::resume(mark);
        assert_eq!(file.lines(), ["x", "yyyyyyyy"]);
    }

    #[test]
    fn the_end_of_a_long_file_starts_at_a_complete_line() {
        let mut file = Lines::new();
        file.append(&format!("{}\nlast but one\nlast\n", "x".repeat(300_000)));
        assert!(file.tail.near_end(30));
        assert_eq!(file.lines(), ["last but one", "last"]);
        assert!(!file.tail.near_end(1 << 30));
        assert_eq!(file.lines().len(), 3);
    }

    #[test]
    fn long_lines_are_read_completely_and_long_files_in_parts() {
        let mut file = Lines::new();
        let long = "y".repeat(5 << 20);
        file.append(&format!("{long}\n{long}\n{long}\nend\n"));
        let mut lines = Vec::new();
        let mut readings = 0;
        loop {
            let (read, some) = file.read();
            lines.extend(some);
            readings += 1;
            if matches!(read, Read::Done { more: false, .. }) {
                break;
            }
        }
        assert!(readings > 1);
        assert_eq!(lines.iter().map(String::len).collect::<Vec<_>>(), [5 << 20, 5 << 20, 5 << 20, 3]);
    }

    #[test]
    fn a_directory_or_a_device_counts_as_missing() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Tail::new(dir.path()).read(|_| ()).unwrap(), Read::Missing);
        assert_eq!(Tail::new("/dev/zero").read(|_| ()).unwrap(), Read::Missing);
    }
}
