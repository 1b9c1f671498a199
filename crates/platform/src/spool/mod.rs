//! Events that no server acknowledged, kept until one does.
//!
//! One file per event in `spool/`, written under a temporary name and renamed: hundreds of hooks may end at once,
//! and none of them can mix its bytes with another's, wait for another's `fsync`, or leave the others a broken log
//! when it is killed half-way. A file is called `<stamp>-<random>-<size>.event` (hex, hex, decimal), so a listing alone
//! gives order, number and bytes. The first line is a small header, the rest is the body as it would have been posted.
//!
//! The file gets its final name *before* it is flushed to disk: a slow disk can then cost the guarantee against a power
//! cut, but not the event when the hook's time is up. What a power cut leaves is caught by the size.
//!
//! **Bounds.** Listing a full spool takes tens of milliseconds, so writers keep a meter (`.meter`, locked for the
//! moment it takes to read and write three numbers): an upper bound, because the server removes files without
//! updating it. Only when the meter says "full" is the spool listed; then the oldest events are dropped until 15/16 of the
//! bounds are left, and the meter is corrected.

pub mod delivery;

use crate::clock::WallClock;
use crate::config::Durability;
use crate::files;
use crate::spool::delivery::Delivery;
use anyhow::{Context, Result, bail, ensure};
use headspace_core::stamp::Stamp;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A batch is not filled beyond this many bytes, so that draining a full spool needs little memory.
const MAX_BATCH_BYTES: u64 = 4 << 20;

/// This many broken files are kept for a look; more are deleted.
const MAX_BAD_KEPT: usize = 100;

/// A temporary file this old has no writer any more.
const ABANDONED_AFTER: Duration = Duration::from_secs(60);

/// What the spool may hold.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub events: u64,
    pub bytes: u64,
}

const BOUNDS: Bounds = Bounds { events: 100_000, bytes: 64 << 20 };

/// What waits in the spool, and what was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pending {
    pub count: u64,
    pub bytes: u64,
    /// Events dropped because the spool was full, ever.
    pub dropped: u64,
    /// Files that could not be read and were moved to `bad/`.
    pub bad: u64,
}

/// One spooled event.
#[derive(Debug)]
pub struct Record {
    /// As in the path it would have been posted to.
    pub slug: String,
    /// What would have been posted.
    pub body: Vec<u8>,
    /// When the hook was called.
    pub sent_at: Stamp,
    path: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    slug: String,
    bytes: usize,
}

/// A file's name, taken apart. Sorts by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    stamp: i64,
    random: u64,
    size: u64,
}

impl Name {
    fn parse(text: &str) -> Option<Name> {
        let mut parts = text.strip_suffix(".event")?.split('-');
        let (stamp, random, size) = (parts.next()?, parts.next()?, parts.next()?);
        let hex = |part: &str| (part.len() == 16).then(|| u64::from_str_radix(part, 16).ok())?;
        let name =
            Name { stamp: i64::try_from(hex(stamp)?).ok()?, random: hex(random)?, size: size.parse().ok()? };
        (name.text() == text).then_some(name)
    }

    fn text(&self) -> String {
        format!("{:016x}-{:016x}-{}.event", self.stamp, self.random, self.size)
    }
}

/// The spool of one state directory. `notify` writes, `serve` reads; any number of both at once.
#[derive(Debug)]
pub struct Spool {
    dir: PathBuf,
    bounds: Bounds,
    queue: VecDeque<Name>,
}

impl Spool {
    /// The directory need not exist.
    pub fn open(dir: &Path) -> Spool {
        Spool::with_bounds(dir, BOUNDS)
    }

    pub fn with_bounds(dir: &Path, bounds: Bounds) -> Spool {
        Spool { dir: dir.to_owned(), bounds, queue: VecDeque::new() }
    }

    /// Keeps an event. It is safe once its file exists, so what fails after that is not an error.
    pub fn append(&self, delivery: &Delivery, slug: &str, body: &[u8], durability: Durability) -> Result<()> {
        let mut content = serde_json::to_vec(&Header { slug: slug.to_owned(), bytes: body.len() })?;
        content.push(b'\n');
        content.extend_from_slice(body);
        let size = content.len() as u64;
        let name = Name { stamp: delivery.sent_at.0.max(0), random: delivery.random, size }.text();
        let temp = self.dir.join(format!(".{name}.tmp"));
        let create = || files::create_private(&temp);
        let mut file = create().or_else(|_| {
            let _ = files::private_dir(&self.dir);
            create().context("could not write to the spool")
        })?;
        let placed = file.write_all(&content).and_then(|()| fs::rename(&temp, self.dir.join(name)));
        if placed.is_err() {
            let _ = fs::remove_file(&temp);
            return placed.context("could not write to the spool");
        }
        // The system has it, which is enough for all but a power cut.
        if durability == Durability::Power {
            let _ = file.sync_all();
            let _ = File::open(&self.dir).and_then(|dir| dir.sync_all());
        }
        let _ = self.meter(size);
        Ok(())
    }

    /// Number and size of what waits. Costs one listing of the directory.
    pub fn pending(&self) -> Pending {
        let names = self.list();
        let dropped =
            files::read_text(&self.dir.join(".meter")).map_or(0, |text| Meter::parse(&text).dropped);
        Pending {
            count: names.len() as u64,
            bytes: names.iter().map(|name| name.size).sum(),
            dropped,
            bad: fs::read_dir(self.dir.join("bad")).map_or(0, |entries| entries.count() as u64),
        }
    }

    /// The oldest events, at most `max` of them, in the order of their stamps; empty when there are none. They
    /// stay in the spool until they are [removed](Spool::remove): an event that could not be committed comes again after
    /// all others. What cannot be read is moved to `bad/` and does not hold up the rest.
    pub fn read_batch(&mut self, max: usize) -> Vec<Record> {
        if self.queue.is_empty() {
            self.queue = self.list().into();
        }
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < max && bytes < MAX_BATCH_BYTES {
            let Some(name) = self.queue.pop_front() else { break };
            let path = self.dir.join(name.text());
            match read_record(&path, name) {
                Ok(record) => {
                    bytes += name.size;
                    batch.push(record);
                }
                // Gone, or not readable now (out of descriptors, say), which is not the event's fault.
                Err(error) if error.is::<std::io::Error>() => {}
                Err(_) => self.set_aside(&path),
            }
        }
        batch
    }

    /// The event is in the store: it need not be kept.
    pub fn remove(&self, record: &Record) -> Result<()> {
        match fs::remove_file(&record.path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error)
                .with_context(|| format!("could not remove {} from the spool", record.path.display())),
            _ => Ok(()),
        }
    }

    /// The event can never be stored: it goes to `bad/`.
    pub fn reject(&self, record: &Record) {
        self.set_aside(&record.path);
    }

    fn set_aside(&self, path: &Path) {
        let bad = self.dir.join("bad");
        let full = fs::read_dir(&bad).is_ok_and(|entries| entries.count() >= MAX_BAD_KEPT);
        let moved = !full
            && files::private_dir(&bad).is_ok()
            && path.file_name().is_some_and(|name| fs::rename(path, bad.join(name)).is_ok());
        if !moved {
            let _ = fs::remove_file(path);
        }
    }

    /// All events, oldest first. Other files in the directory are set aside, abandoned temporary files removed.
    fn list(&self) -> Vec<Name> {
        let Ok(entries) = fs::read_dir(&self.dir) else { return Vec::new() };
        let mut names = Vec::new();
        for entry in entries.flatten() {
            let file_name = entry.file_name();
            let text = file_name.to_str().unwrap_or_default();
            if let Some(name) = Name::parse(text) {
                names.push(name);
            } else if let Some(temp) = text.strip_prefix('.') {
                let name = temp.strip_suffix(".tmp").and_then(Name::parse);
                if name.is_some_and(|name| Stamp::now().since(Stamp(name.stamp)) > ABANDONED_AFTER) {
                    let _ = fs::remove_file(entry.path());
                }
            } else if entry.file_type().is_ok_and(|kind| !kind.is_dir()) {
                self.set_aside(&entry.path());
            }
        }
        names.sort_unstable();
        names
    }

    /// Counts one more event of `size` bytes, and drops the oldest ones if that is too much.
    fn meter(&self, size: u64) -> std::io::Result<()> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let path = self.dir.join(".meter");
        let open = files::open_regular(&path, &mut options);
        let mut file = open.or_else(|error| {
            if !files::is_not_regular(&error) {
                return Err(error);
            }
            // Whatever it is, it must go: without a meter the spool would grow without bounds.
            let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
            files::open_regular(&path, &mut options)
        })?;
        file.lock()?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let mut meter = Meter::parse(&text);
        meter.events = meter.events.saturating_add(1);
        meter.bytes = meter.bytes.saturating_add(size);
        if meter.events > self.bounds.events || meter.bytes > self.bounds.bytes {
            self.trim(&mut meter);
        }
        file.rewind()?;
        // Always the same length, so nothing of the old text is left.
        file.write_all(meter.text().as_bytes())
    }

    fn trim(&self, meter: &mut Meter) {
        let names = self.list();
        (meter.events, meter.bytes) = (names.len() as u64, names.iter().map(|name| name.size).sum());
        if meter.events <= self.bounds.events && meter.bytes <= self.bounds.bytes {
            return;
        }
        let room = |bound: u64| bound - bound / 16;
        for name in names {
            if meter.events <= room(self.bounds.events) && meter.bytes <= room(self.bounds.bytes) {
                break;
            }
            // One that the server has just removed was not lost.
            if fs::remove_file(self.dir.join(name.text())).is_ok() {
                meter.dropped += 1;
            }
            meter.events -= 1;
            meter.bytes -= name.size;
        }
    }
}

/// What writers know about the spool without listing it: an upper bound of its events and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Meter {
    events: u64,
    bytes: u64,
    dropped: u64,
}

impl Meter {
    /// A missing or broken meter says "full", so that the next writer lists the spool.
    fn parse(text: &str) -> Meter {
        let mut numbers = text.split_whitespace().map(str::parse);
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(Ok(events)), Some(Ok(bytes)), Some(Ok(dropped))) => Meter { events, bytes, dropped },
            _ => Meter { events: u64::MAX, bytes: u64::MAX, dropped: 0 },
        }
    }

    fn text(&self) -> String {
        format!("{:020} {:020} {:020}\n", self.events, self.bytes, self.dropped)
    }
}

fn read_record(path: &Path, name: Name) -> Result<Record> {
    let content = match files::read(path) {
        // It will never be an event, so there is no point in trying again.
        Err(error) if files::is_not_regular(&error) => bail!("{error}"),
        other => other?,
    };
    ensure!(content.len() as u64 == name.size, "the file is cut");
    let end = memchr::memchr(b'\n', &content).context("the file has no header")?;
    let header: Header = serde_json::from_slice(&content[..end])?;
    let body = content[end + 1..].to_vec();
    ensure!(header.bytes == body.len() && !header.slug.is_empty(), "the header does not fit");
    // After a power cut a file may have its length, but not its content.
    ensure!(body.first() == Some(&b'{') && body.last() == Some(&b'}'), "the body is not an object");
    Ok(Record { slug: header.slug, body, sent_at: Stamp(name.stamp), path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delivery(stamp: i64) -> Delivery {
        Delivery { sent_at: Stamp(stamp), random: crate::process::random() }
    }

    fn spool(events: u64, bytes: u64) -> (tempfile::TempDir, Spool) {
        let home = tempfile::tempdir().unwrap();
        let spool = Spool::with_bounds(&home.path().join("state/spool"), Bounds { events, bytes });
        (home, spool)
    }

    fn stamps(records: &[Record]) -> Vec<i64> {
        records.iter().map(|record| record.sent_at.0).collect()
    }

    #[test]
    fn events_come_back_in_the_order_of_their_stamps_until_they_are_removed() {
        let (_home, mut spool) = spool(100, 1 << 20);
        assert_eq!(spool.read_batch(10).len(), 0);
        for stamp in [30, 10, 20] {
            spool
                .append(&delivery(stamp), "stop", format!("{{\"n\":{stamp}}}").as_bytes(), Durability::Crash)
                .unwrap();
        }
        let batch = spool.read_batch(2);
        assert_eq!(stamps(&batch), [10, 20]);
        assert_eq!((batch[0].slug.as_str(), batch[0].body.as_slice()), ("stop", &b"{\"n\":10}"[..]));
        spool.remove(&batch[0]).unwrap();
        spool.remove(&batch[0]).unwrap();
        assert_eq!(stamps(&spool.read_batch(9)), [30]);
        assert_eq!(stamps(&spool.read_batch(9)), [20, 30]);
        assert_eq!(spool.pending().count, 2);
    }

    #[test]
    #[cfg(unix)]
    fn nobody_else_can_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let (home, spool) = spool(100, 1 << 20);
        spool.append(&delivery(1), "stop", b"{}", Durability::Crash).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&home.path().join("state")), 0o700);
        assert_eq!(mode(&spool.dir), 0o700);
        for entry in fs::read_dir(&spool.dir).unwrap() {
            assert_eq!(mode(&entry.unwrap().path()), 0o600);
        }
    }

    #[test]
    fn a_full_spool_drops_the_oldest_and_counts_them() {
        let (_home, mut spool) = spool(32, 1 << 20);
        for stamp in 0..100 {
            spool.append(&delivery(stamp), "stop", b"{}", Durability::Crash).unwrap();
        }
        let pending = spool.pending();
        assert!(pending.count <= 32 && pending.count >= 30, "{pending:?}");
        assert_eq!(pending.count + pending.dropped, 100);
        assert_eq!(stamps(&spool.read_batch(1000)).last(), Some(&99));
    }

    #[test]
    fn bytes_are_bounded_too() {
        let (_home, spool) = spool(1000, 64 * 1024);
        let body = format!("{{\"x\":\"{}\"}}", "x".repeat(10_000));
        for stamp in 0..20 {
            spool.append(&delivery(stamp), "stop", body.as_bytes(), Durability::Crash).unwrap();
        }
        let pending = spool.pending();
        assert!(pending.bytes <= 64 * 1024 && pending.count >= 5, "{pending:?}");
    }

    #[test]
    fn a_meter_that_was_lost_or_lags_behind_the_server_drops_nothing() {
        let (_home, mut spool) = spool(8, 1 << 20);
        for round in 0..10 {
            for stamp in 0..5 {
                spool.append(&delivery(round * 10 + stamp), "stop", b"{}", Durability::Crash).unwrap();
            }
            let batch = spool.read_batch(100);
            assert_eq!(batch.len(), 5);
            batch.iter().for_each(|record| spool.remove(record).unwrap());
            if round == 5 {
                fs::write(spool.dir.join(".meter"), "nonsense").unwrap();
            }
        }
        assert_eq!(spool.pending(), Pending::default());
    }

    #[test]
    fn broken_files_are_set_aside_and_do_not_hold_up_the_rest() {
        let (_home, mut spool) = spool(100, 1 << 20);
        for stamp in 1..=4 {
            spool.append(&delivery(stamp), "stop", b"{\"a\":1}", Durability::Crash).unwrap();
        }
        let names = spool.list();
        let path = |name: &Name| spool.dir.join(name.text());
        fs::write(path(&names[0]), b"").unwrap();
        fs::write(path(&names[1]), vec![0; names[1].size as usize]).unwrap();
        fs::write(spool.dir.join("stranger"), b"?").unwrap();
        fs::write(spool.dir.join(".0000000000000001-0000000000000001-9.event.tmp"), b"half").unwrap();
        assert_eq!(stamps(&spool.read_batch(100)), [3, 4]);
        let pending = spool.pending();
        assert_eq!((pending.count, pending.bad), (2, 3));
        assert!(!spool.dir.join(".0000000000000001-0000000000000001-9.event.tmp").exists());
    }

    #[test]
    fn many_writers_at_once_lose_and_mix_nothing() {
        let (_home, mut spool) = spool(10_000, 1 << 24);
        // Stamped now, because files that look abandoned are removed.
        let now = Stamp::now().0;
        std::thread::scope(|scope| {
            for writer in 0..16 {
                let spool = &spool;
                scope.spawn(move || {
                    for n in 0..20 {
                        let body = format!("{{\"w\":{writer},\"n\":{n}}}");
                        spool
                            .append(
                                &delivery(now + writer * 100 + n),
                                "stop",
                                body.as_bytes(),
                                Durability::Crash,
                            )
                            .unwrap();
                    }
                });
            }
        });
        let batch = spool.read_batch(1000);
        assert_eq!(batch.len(), 320);
        for record in &batch {
            let body: serde_json::Value = serde_json::from_slice(&record.body).unwrap();
            assert_eq!(
                body["w"].as_i64().unwrap() * 100 + body["n"].as_i64().unwrap(),
                record.sent_at.0 - now
            );
        }
    }
}
