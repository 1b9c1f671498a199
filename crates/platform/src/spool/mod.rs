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
//!
//! **A full disk.** What the disk does not take goes to a [second place](second_place), in memory; so does everything while
//! something else is in the directory's place. The server reads both as one spool, in the order of the events.

pub mod delivery;
pub mod second_place;

use crate::clock::WallClock;
use crate::config::{self, Durability};
use crate::files;
use crate::spool::delivery::Delivery;
use crate::spool::second_place::SecondPlace;
use anyhow::{Context, Result, bail, ensure};
use headspace_core::stamp::Stamp;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
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

/// Less, because the second place is in memory, and other programs of the user need room there.
const SECOND_BOUNDS: Bounds = Bounds { events: 20_000, bytes: 16 << 20 };

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

impl Pending {
    fn and(self, more: Pending) -> Pending {
        Pending {
            count: self.count + more.count,
            bytes: self.bytes + more.bytes,
            dropped: self.dropped + more.dropped,
            bad: self.bad + more.bad,
        }
    }
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
    first: Place,
    /// Looked up only when it is needed: most hooks that spool do not need it.
    second: OnceLock<Vec<SecondPlace>>,
    /// What the last listing found and has not been read yet, and where.
    queue: VecDeque<(Name, usize)>,
    /// The directories of the last listing.
    listed: Vec<Place>,
}

/// One directory with events.
#[derive(Clone, Debug)]
struct Place {
    dir: PathBuf,
    bounds: Bounds,
}

impl Spool {
    /// The spool of this user's state directory, which need not exist.
    pub fn open() -> Spool {
        Spool::at(Place { dir: config::spool_dir(), bounds: BOUNDS })
    }

    fn at(first: Place) -> Spool {
        Spool { first, second: OnceLock::new(), queue: VecDeque::new(), listed: Vec::new() }
    }

    /// They come and go with the user's logins. The best one is the first.
    fn second(&self) -> &[SecondPlace] {
        self.second.get_or_init(config::second_spool_places)
    }

    /// Keeps an event. It is safe once its file exists, so what fails after that is not an error. Returns where it is.
    pub fn append(
        &self,
        delivery: &Delivery,
        slug: &str,
        body: &[u8],
        durability: Durability,
    ) -> Result<PathBuf> {
        let mut content = serde_json::to_vec(&Header { slug: slug.to_owned(), bytes: body.len() })?;
        content.push(b'\n');
        content.extend_from_slice(body);
        let size = content.len() as u64;
        let name = Name { stamp: delivery.sent_at.0.max(0), random: delivery.random, size };
        let error = match self.first.append(name, &content, durability) {
            Ok(path) => return Ok(path),
            Err(error) => error,
        };
        // The best one only: others are read for hooks that know no better.
        let is_elsewhere_better = || files::is_no_room(&error) || is_in_the_way(&error);
        let elsewhere = self.second().first().filter(|_| is_elsewhere_better()).and_then(trusted);
        elsewhere.and_then(|place| place.append(name, &content, durability).ok()).ok_or(error)
    }

    fn places(&self) -> Vec<Place> {
        [self.first.clone()].into_iter().chain(self.second().iter().filter_map(trusted)).collect()
    }

    /// Number and size of what waits. Costs one listing of each directory.
    pub fn pending(&self) -> Pending {
        self.places().iter().map(Place::pending).fold(Pending::default(), Pending::and)
    }

    /// The same for each directory.
    pub fn pending_by_place(&self) -> Vec<(PathBuf, Pending)> {
        self.places().into_iter().map(|place| (place.dir.clone(), place.pending())).collect()
    }

    /// Why a second place that was made for us is not used.
    pub fn distrusted(&self) -> Vec<String> {
        let ours = self.second().iter().filter(|place| place.is_made_for_us());
        ours.filter_map(|place| place.check().err()).map(|error| format!("{error:#}")).collect()
    }

    /// The oldest events, at most `max` of them, in the order of their stamps; empty when there are none. They
    /// stay in the spool until they are [removed](Spool::remove): an event that could not be committed comes again after
    /// all others. What cannot be read is moved to `bad/` and does not hold up the rest.
    pub fn read_batch(&mut self, max: usize) -> Vec<Record> {
        if self.queue.is_empty() {
            self.list();
        }
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < max && bytes < MAX_BATCH_BYTES {
            let Some((name, place)) = self.queue.pop_front() else { break };
            let path = self.listed[place].dir.join(name.text());
            match read_record(&path, name) {
                Ok(record) => {
                    bytes += name.size;
                    batch.push(record);
                }
                // Gone, or not readable now (out of descriptors, say), which is not the event's fault.
                Err(error) if error.is::<std::io::Error>() => {}
                Err(_) => set_aside(&path),
            }
        }
        batch
    }

    fn list(&mut self) {
        self.listed = self.places();
        let mut found = Vec::new();
        for (index, place) in self.listed.iter().enumerate() {
            found.extend(place.list().into_iter().map(|name| (name, index)));
        }
        found.sort_unstable();
        self.queue = found.into();
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
        set_aside(&record.path);
    }
}

/// Whether there is something else where the spool's directory should be.
fn is_in_the_way(error: &anyhow::Error) -> bool {
    use std::io::ErrorKind::{AlreadyExists, NotADirectory};
    let io = |cause: &std::io::Error| matches!(cause.kind(), AlreadyExists | NotADirectory);
    error.chain().any(|cause| cause.downcast_ref().is_some_and(io))
}

/// The place, if no one else can have put anything there.
fn trusted(place: &SecondPlace) -> Option<Place> {
    place.check().ok().map(|()| Place { dir: place.dir(), bounds: SECOND_BOUNDS })
}

/// Moves a file to `bad/` in its directory, or removes it if there are many there.
fn set_aside(path: &Path) {
    let bad = path.with_file_name("bad");
    let full = fs::read_dir(&bad).is_ok_and(|entries| entries.count() >= MAX_BAD_KEPT);
    let moved = !full
        && files::private_dir(&bad).is_ok()
        && path.file_name().is_some_and(|name| fs::rename(path, bad.join(name)).is_ok());
    if !moved {
        let _ = fs::remove_file(path);
    }
}

impl Place {
    fn append(&self, name: Name, content: &[u8], durability: Durability) -> Result<PathBuf> {
        let text = name.text();
        let (path, temp) = (self.dir.join(&text), self.dir.join(format!(".{text}.tmp")));
        let mut file = files::create_private(&temp).or_else(|_| {
            files::private_dir(&self.dir)?;
            files::create_private(&temp).context("could not write to the spool")
        })?;
        let placed = file.write_all(content).and_then(|()| fs::rename(&temp, &path));
        if placed.is_err() {
            let _ = fs::remove_file(&temp);
            placed.context("could not write to the spool")?;
        }
        // The system has it, which is enough for all but a power cut.
        if durability == Durability::Power {
            let _ = file.sync_all();
            let _ = File::open(&self.dir).and_then(|dir| dir.sync_all());
        }
        let _ = self.meter(name.size);
        Ok(path)
    }

    fn pending(&self) -> Pending {
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
                set_aside(&entry.path());
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
        // It will never be an event, so there is no point in trying again. Nor will one that is too long to be read.
        Err(error) if files::is_not_regular(&error) || error.kind() == std::io::ErrorKind::InvalidData => {
            bail!("{error}")
        }
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
mod tests;
