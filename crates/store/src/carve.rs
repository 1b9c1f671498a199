//! Reads events from the pages of a database whose schema can no longer be read: page by page, without SQLite.
//!
//! Only the schema says which page belongs to which table. But an event looks like nothing else here: eleven columns,
//! with texts and numbers in fixed places and a JSON object at the end. Every page that holds rows is examined, in the
//! log's version if that is newer. Rows that do not fit are skipped; untrusted bytes affect only what is found.

use anyhow::{Context, Result};
use headspace_core::model::Source;
use headspace_platform::files;
use std::collections::{HashMap, HashSet};
use std::fs::OpenOptions;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// SQLite's default, which headspace never changes.
const USUAL_PAGE: usize = 4096;
/// No event is larger than what a hook may send.
const MAX_ROW: usize = 32 << 20;
/// No id is higher: in a damaged page, an id may be any number.
pub(crate) const LAST_ID: i64 = 1 << 53;

const ROWS: u8 = 13;
const KEYS: u8 = 10;

/// Where an event was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    pub id: i64,
    page: u32,
    cell: u16,
}

/// An event as it is stored.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    pub id: i64,
    pub name: String,
    pub session_id: String,
    pub at: i64,
    pub received_at: i64,
    pub source: String,
    pub delivery_id: Option<String>,
    pub flags: i64,
    pub facts: Option<String>,
    pub body: String,
}

/// Bytes that can be read from any offset.
pub trait Bytes: Read + Seek {}

impl<T: Read + Seek> Bytes for T {}

/// A database file as a list of pages.
pub struct Pages {
    file: Box<dyn Bytes>,
    log: Option<Box<dyn Bytes>>,
    size: usize,
    /// Bytes reserved at the end of every page.
    reserved: usize,
    count: u32,
    /// Pages whose newest version is in the log, and its offset there.
    in_log: HashMap<u32, u64>,
}

impl Pages {
    pub fn open(path: &Path) -> Result<Pages> {
        let context = || format!("could not read {}", path.display());
        let file = files::open_regular(path, OpenOptions::new().read(true)).with_context(context)?;
        let log = crate::open_log(path).ok();
        Pages::of(Box::new(file), log.map(|log| Box::new(log) as Box<dyn Bytes>)).with_context(context)
    }

    /// A file and the log beside it.
    pub fn of(mut file: Box<dyn Bytes>, log: Option<Box<dyn Bytes>>) -> Result<Pages> {
        let length = file.seek(SeekFrom::End(0))?;
        let mut header = [0; 100];
        let read = read_at(&mut *file, 0, &mut header);
        let named = usize::from(u16::from_be_bytes([header[16], header[17]]));
        let named = if named == 1 { 65_536 } else { named };
        let sane =
            read && header.starts_with(b"SQLite format 3\0") && named.is_power_of_two() && named >= 512;
        let mut pages = Pages {
            file,
            log,
            size: if sane { named } else { USUAL_PAGE },
            // SQLite leaves at least this much of a page usable.
            reserved: if sane { usize::from(header[20]).min(named - 480) } else { 0 },
            count: 0,
            in_log: HashMap::new(),
        };
        pages.count = u32::try_from(length / pages.size as u64).unwrap_or(u32::MAX);
        pages.read_log();
        Ok(pages)
    }

    /// Finds the newest committed version of every page in the log.
    fn read_log(&mut self) {
        const HEADER: u64 = 32;
        const FRAME: u64 = 24;
        let Some(log) = &mut self.log else { return };
        let mut header = [0; HEADER as usize];
        if !read_at(&mut **log, 0, &mut header) || !matches!(header[..4], [0x37, 0x7f, 0x06, 0x82 | 0x83]) {
            return;
        }
        if be32(&header, 8) as usize != self.size {
            return;
        }
        let little = header[3] == 0x82;
        let mut sum = checksum((0, 0), &header[..24], little);
        let mut waiting = Vec::new();
        let mut frame = vec![0; FRAME as usize + self.size];
        for number in 0_u64.. {
            let at = HEADER + number * (FRAME + self.size as u64);
            if !read_at(&mut **log, at, &mut frame) || frame[8..16] != header[16..24] {
                break;
            }
            sum = checksum(checksum(sum, &frame[..8], little), &frame[FRAME as usize..], little);
            if (be32(&frame, 16), be32(&frame, 20)) != sum {
                break;
            }
            waiting.push((be32(&frame, 0), at + FRAME));
            // The number of pages after a COMMIT; zero in a frame that does not end one.
            let committed = be32(&frame, 4);
            if committed > 0 {
                self.in_log.extend(waiting.drain(..));
                // No further than the pages that are actually there.
                self.count = self.count.max(committed.min(self.in_log.keys().copied().max().unwrap_or(0)));
            }
        }
    }

    fn page(&mut self, number: u32) -> Option<Vec<u8>> {
        if number == 0 || number > self.count {
            return None;
        }
        let mut page = vec![0; self.size];
        let read = match (self.in_log.get(&number), &mut self.log) {
            (Some(at), Some(log)) => read_at(&mut **log, *at, &mut page),
            _ => read_at(&mut *self.file, u64::from(number - 1) * self.size as u64, &mut page),
        };
        read.then_some(page)
    }

    /// Every readable event, by id; and the highest id used, if known.
    pub fn events(&mut self) -> (Vec<Found>, Option<i64>) {
        let free = self.free();
        let (mut found, mut highest) = (Vec::new(), None);
        for number in (2..=self.count).filter(|number| !free.contains(number)) {
            let Some(page) = self.page(number) else { continue };
            for cell in 0..cells(&page) {
                match page[0] {
                    ROWS => {
                        let event = self.event_in(&page, cell);
                        found.extend(event.map(|event| Found { id: event.id, page: number, cell }));
                    }
                    _ => highest = highest.max(self.mark_in(&page, cell)),
                }
            }
        }
        found.sort_unstable();
        found.dedup_by_key(|found| found.id);
        (found, highest)
    }

    pub fn event(&mut self, found: Found) -> Option<Row> {
        let page = self.page(found.page)?;
        self.event_in(&page, found.cell)
    }

    /// Free pages: their content was deleted. Unknown if the first page is damaged.
    fn free(&mut self) -> HashSet<u32> {
        let mut free = HashSet::new();
        let Some(first) = self.page(1).filter(|page| page.starts_with(b"SQLite format 3\0")) else {
            return free;
        };
        let mut trunk = be32(&first, 32);
        while trunk != 0 && free.insert(trunk) {
            let Some(page) = self.page(trunk) else { break };
            let listed = (be32(&page, 4) as usize).min(self.size / 4 - 2);
            free.extend((0..listed).map(|at| be32(&page, 8 + at * 4)));
            trunk = be32(&page, 0);
        }
        free
    }

    fn event_in(&mut self, page: &[u8], cell: u16) -> Option<Row> {
        let mut at = usize::from(be16(page, 8 + usize::from(cell) * 2)?);
        let length = usize::try_from(varint(page, &mut at)?).ok().filter(|length| *length <= MAX_ROW)?;
        let id = varint(page, &mut at)?;
        let usable = self.size - self.reserved;
        let payload = self.payload(page, at, length, usable - 35)?;
        let values: [Value<'_>; 11] = values(&payload)?.try_into().ok()?;
        use Value::{Null, Number, Text};
        let [
            Null,
            Text(name),
            Text(session_id),
            _,
            Number(at),
            Number(received_at),
            Text(source),
            delivery,
            Number(flags),
            facts,
            Text(body),
        ] = values
        else {
            return None;
        };
        let known: Result<Source, _> = serde_json::from_value(source.into());
        let whole = serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(body);
        let fits = (1..LAST_ID).contains(&id) && !name.is_empty() && !session_id.is_empty();
        if !fits || known.is_err() || whole.is_err() {
            return None;
        }
        Some(Row {
            id,
            name: name.to_owned(),
            session_id: session_id.to_owned(),
            at,
            received_at,
            source: source.to_owned(),
            delivery_id: delivery.text()?,
            flags,
            facts: facts.text()?,
            body: body.to_owned(),
        })
    }

    /// The id of the newest event, from the table of marks.
    fn mark_in(&mut self, page: &[u8], cell: u16) -> Option<i64> {
        let mut at = usize::from(be16(page, 8 + usize::from(cell) * 2)?);
        let length = usize::try_from(varint(page, &mut at)?).ok().filter(|length| *length <= MAX_ROW)?;
        let usable = self.size - self.reserved;
        let payload = self.payload(page, at, length, (usable - 12) * 64 / 255 - 23)?;
        let [Value::Text("marks"), Value::Text(marks)] = values(&payload)?[..] else { return None };
        let marks: serde_json::Value = serde_json::from_str(marks).ok()?;
        marks.get("event")?.as_i64().filter(|id| (1..LAST_ID).contains(id))
    }

    /// A row's bytes: the part on its page, up to `most`, and the part on overflow pages.
    fn payload(&mut self, page: &[u8], at: usize, length: usize, most: usize) -> Option<Vec<u8>> {
        let usable = self.size - self.reserved;
        if length <= most {
            return Some(page.get(at..at + length)?.to_vec());
        }
        let least = (usable - 12) * 32 / 255 - 23;
        let here = least + (length - least) % (usable - 4);
        let here = if here <= most { here } else { least };
        let mut payload = page.get(at..at + here)?.to_vec();
        let mut next = be32(page.get(at + here..at + here + 4)?, 0);
        // Reads as many pages as the length needs, so a chain that leads back to itself ends too.
        while payload.len() < length {
            let more = self.page(next)?;
            let end = usable.min(4 + length - payload.len());
            payload.extend_from_slice(more.get(4..end)?);
            next = be32(&more, 0);
        }
        Some(payload)
    }
}

/// How many rows or keys a page says it has; none if it is another kind of page.
fn cells(page: &[u8]) -> u16 {
    let most = (page.len() - 8) / 2;
    match page[0] {
        ROWS | KEYS => be16(page, 3).filter(|count| usize::from(*count) <= most).unwrap_or(0),
        _ => 0,
    }
}

#[derive(Debug)]
enum Value<'a> {
    Null,
    Number(i64),
    Text(&'a str),
}

impl Value<'_> {
    /// A text or nothing; `None` for anything else.
    fn text(&self) -> Option<Option<String>> {
        match self {
            Value::Null => Some(None),
            Value::Text(text) => Some(Some((*text).to_owned())),
            Value::Number(_) => None,
        }
    }
}

/// The columns of a row. `None` if it has other types than those above, or more columns than any table here.
fn values(payload: &[u8]) -> Option<Vec<Value<'_>>> {
    const MOST_COLUMNS: usize = 32;
    let mut at = 0;
    let head = usize::try_from(varint(payload, &mut at)?).ok()?;
    let (mut from, mut values) = (head, Vec::new());
    while at < head {
        let kind = varint(payload, &mut at)?;
        let length = match kind {
            0 | 8 | 9 => 0,
            1..=4 => kind as usize,
            5 => 6,
            6 => 8,
            13.. if kind % 2 == 1 => usize::try_from((kind - 13) / 2).ok()?,
            _ => return None,
        };
        let bytes = payload.get(from..from.checked_add(length)?)?;
        from += length;
        values.push(match kind {
            0 => Value::Null,
            8 => Value::Number(0),
            9 => Value::Number(1),
            13.. => Value::Text(std::str::from_utf8(bytes).ok()?),
            // The first byte has the sign.
            _ => Value::Number(bytes.iter().enumerate().fold(0, |number, (place, byte)| {
                if place == 0 { i64::from(byte.cast_signed()) } else { number << 8 | i64::from(*byte) }
            })),
        });
        if values.len() > MOST_COLUMNS {
            return None;
        }
    }
    Some(values)
}

/// A number of one to nine bytes.
fn varint(bytes: &[u8], at: &mut usize) -> Option<i64> {
    let mut number: u64 = 0;
    for place in 0..9 {
        let byte = *bytes.get(*at)?;
        *at += 1;
        if place == 8 {
            return Some((number << 8 | u64::from(byte)).cast_signed());
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(number.cast_signed())
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// Zero if there are not four bytes.
fn be32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_be_bytes)
}

/// SQLite's running checksum of a log; the length is a multiple of eight.
fn checksum(sum: (u32, u32), bytes: &[u8], little: bool) -> (u32, u32) {
    bytes.chunks_exact(8).fold(sum, |(one, two), eight| {
        let word = |at: usize| match little {
            true => be32(eight, at).swap_bytes(),
            false => be32(eight, at),
        };
        let one = one.wrapping_add(word(0)).wrapping_add(two);
        (one, two.wrapping_add(word(4)).wrapping_add(one))
    })
}

fn read_at(file: &mut dyn Bytes, at: u64, into: &mut [u8]) -> bool {
    file.seek(SeekFrom::Start(at)).is_ok() && file.read_exact(into).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::Connection;
    use std::io::Cursor;

    fn body(n: i64) -> String {
        // Some fit in one page, some span many.
        serde_json::json!({"n": n, "text": "wörd ".repeat((n as usize % 7) * 400)}).to_string()
    }

    /// A database with these events, and its log if it is still open.
    fn database(dir: &Path, events: i64) -> (Connection, std::path::PathBuf) {
        let path = dir.join("events.db");
        let db = crate::open(&path).unwrap();
        for n in 1..=events {
            db.execute(
                "INSERT INTO events(id, name, session_id, at, received_at, source, delivery_id, facts, body, flags)
                 VALUES (?1, 'Stop', 's', ?2, -5, 'hook', ?3, NULL, ?4, 8)",
                rusqlite::params![n, 1_700_000_000_000_000_000_i64 + n, format!("d{n}"), body(n)],
            )
            .unwrap();
        }
        (db, path)
    }

    fn found(file: &[u8], log: Option<&[u8]>) -> Vec<Row> {
        let boxed = |bytes: &[u8]| Box::new(Cursor::new(bytes.to_vec())) as Box<dyn Bytes>;
        let mut pages = Pages::of(boxed(file), log.map(boxed)).unwrap();
        let (places, _) = pages.events();
        places.into_iter().map(|place| pages.event(place).unwrap()).collect()
    }

    #[test]
    fn every_event_is_found_without_the_schema() {
        let dir = tempfile::tempdir().unwrap();
        let (db, path) = database(dir.path(), 300);
        let log = std::fs::read(crate::with_suffix(&path, "-wal")).unwrap();
        let before = std::fs::read(&path).unwrap();
        assert_eq!(found(&before, Some(&log)).len(), 300, "from the log");
        db.execute_batch("DELETE FROM events WHERE id <= 20; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        drop(db);
        let whole = std::fs::read(&path).unwrap();
        let mut without_first_page = whole.clone();
        without_first_page[..USUAL_PAGE].fill(0xa5);
        let mut without_schema = whole.clone();
        without_schema[100..USUAL_PAGE].fill(0);
        for (name, bytes) in
            [("whole", whole), ("schema", without_schema), ("first page", without_first_page)]
        {
            let rows: Vec<Row> = found(&bytes, None).into_iter().filter(|row| row.id > 20).collect();
            assert_eq!(rows.len(), 280, "{name}");
            for row in rows {
                assert_eq!((row.body, row.at), (body(row.id), 1_700_000_000_000_000_000 + row.id), "{name}");
                assert_eq!((row.received_at, row.flags, row.facts), (-5, 8, None));
                assert_eq!(row.delivery_id, Some(format!("d{}", row.id)));
            }
        }
    }

    #[test]
    fn reading_ends_whatever_the_bytes_are() {
        let dir = tempfile::tempdir().unwrap();
        let (db, path) = database(dir.path(), 60);
        let log = std::fs::read(crate::with_suffix(&path, "-wal")).unwrap();
        db.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        drop(db);
        let whole = std::fs::read(&path).unwrap();
        // The same changes in every run.
        let mut dice: u64 = 7;
        let mut roll = |sides: usize| {
            dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (dice >> 33) as usize % sides
        };
        for _ in 0..60 {
            let (mut file, mut log) = (whole.clone(), log.clone());
            for _ in 0..200 {
                let (at, in_log) = (roll(file.len()), roll(log.len()));
                file[at] = roll(256) as u8;
                log[in_log] = roll(256) as u8;
            }
            file.truncate(roll(file.len()));
            found(&file, Some(&log));
        }
        assert!(found(b"", None).is_empty() && found(b"x", Some(b"y")).is_empty());
    }
}
