//! The lines of a session in a client's SQLite database, read without ever blocking the client: read-only, in one short
//! query that does not wait for locks, and only after something was written.

use headspace_clients::Rows;
use headspace_platform::tail::{Mark, Read};
use rusqlite::{Connection, OpenFlags, params};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How many rows are read before the caller gets a chance to do something else.
const MAX_ROWS_AT_ONCE: u32 = 500;
/// A row is about this long: how far to go back is given in bytes.
const BYTES_OF_A_ROW: u64 = 1 << 10;
/// The client writes for a few milliseconds at a time; what is locked for longer is read in the next round.
const WAIT_FOR_WRITER: Duration = Duration::from_millis(50);

/// A position in the rows of a session.
#[derive(Debug)]
pub(super) struct DatabaseTail {
    path: PathBuf,
    rows: Rows,
    session_id: String,
    /// The number of the next row.
    next: u64,
    /// Start this many rows before the newest.
    rows_back: Option<u64>,
    seen: Option<WrittenAt>,
}

/// Shows whether something was written, without opening the database: its own file and its log.
type WrittenAt = [Option<(u64, SystemTime)>; 2];

/// The number of a row, and what is in it.
type Line = (u64, String);

impl DatabaseTail {
    pub(super) fn new(path: PathBuf, rows: Rows, session_id: &str) -> DatabaseTail {
        DatabaseTail { path, rows, session_id: session_id.to_owned(), next: 0, rows_back: None, seen: None }
    }

    pub(super) fn from(mut self, next: u64) -> DatabaseTail {
        self.next = next;
        self
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { path: self.path.clone(), offset: self.next, inode: 0, check: None }
    }

    pub(super) fn moved_to(&mut self, path: PathBuf) {
        if self.path != path {
            (self.path, self.seen) = (path, None);
        }
    }

    pub(super) fn near_end(&mut self, bytes: u64) -> bool {
        (self.rows_back, self.seen) = (Some(bytes / BYTES_OF_A_ROW), None);
        let end = open(&self.path).and_then(|database| Ok(self.end(&database)?));
        end.is_ok_and(|end| end > bytes / BYTES_OF_A_ROW)
    }

    /// The number after that of the newest row.
    fn end(&self, database: &Connection) -> rusqlite::Result<u64> {
        let newest: Option<i64> =
            database.query_row(self.rows.newest, [&self.session_id], |row| row.get(0))?;
        Ok(newest.map_or(0, |newest| unsigned(newest).saturating_add(1)))
    }

    pub(super) fn read(&mut self, mut each: impl FnMut(&[u8])) -> io::Result<Read> {
        let now = written(&self.path);
        if now[0].is_none() {
            return Ok(Read::Missing);
        }
        if self.seen == Some(now) {
            return Ok(Read::Unchanged);
        }
        let (start, restarted, lines) =
            self.query().map_err(|error| io::Error::other(format!("{error:#}")))?;
        // Without a log, the database was opened as a file that does not change.
        if now[1].is_none() && written(&self.path) != now {
            return Ok(Read::Unchanged);
        }
        let more = lines.len() == MAX_ROWS_AT_ONCE as usize;
        self.next = lines.last().map_or(start, |(number, _)| number.saturating_add(1));
        self.rows_back = None;
        self.seen = (!more).then_some(now);
        for (_, line) in &lines {
            each(line.as_bytes());
        }
        Ok(Read::Done { restarted, more })
    }

    /// From where it was read, whether that is the beginning of something else, and the lines.
    fn query(&self) -> anyhow::Result<(u64, bool, Vec<Line>)> {
        let database = open(&self.path)?;
        let after_newest = self.end(&database)?;
        // Fewer rows than were read: the session was removed and made again, or the database was.
        let restarted = self.next > after_newest;
        let start = match self.rows_back {
            Some(back) => after_newest.saturating_sub(back),
            None if restarted => 0,
            None => self.next,
        };
        let mut statement = database.prepare(self.rows.read)?;
        let first = i64::try_from(start).unwrap_or(i64::MAX);
        let rows = statement.query_map(params![self.session_id, first, MAX_ROWS_AT_ONCE], |row| {
            Ok((unsigned(row.get(0)?), row.get::<_, Option<String>>(1)?.unwrap_or_default()))
        })?;
        Ok((start, restarted, rows.collect::<rusqlite::Result<_>>()?))
    }
}

/// SQLite's numbers have a sign, those of rows have none.
fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn written(path: &Path) -> WrittenAt {
    let stat = |path: &Path| {
        let meta = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
        Some((meta.len(), meta.modified().ok()?))
    };
    [stat(path), stat(&beside(path, "-wal"))]
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// Opens it read-only. If there is no log, no program has it open, and it is opened as immutable: otherwise SQLite would
/// create the log's files beside it.
fn open(path: &Path) -> anyhow::Result<Connection> {
    headspace_store::check_regular(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let in_use = beside(path, "-wal").exists() && beside(path, "-shm").exists();
    let database = match in_use {
        true => Connection::open_with_flags(path, flags)?,
        false => Connection::open_with_flags(unchanging(path), flags | OpenFlags::SQLITE_OPEN_URI)?,
    };
    database.busy_timeout(WAIT_FOR_WRITER)?;
    Ok(database)
}

/// The path as an address that SQLite opens without locks and without a log.
fn unchanging(path: &Path) -> String {
    let mut address = String::from("file:");
    for byte in path.to_string_lossy().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                address.push(char::from(byte))
            }
            other => address.push_str(&format!("%{other:02X}")),
        }
    }
    address + "?immutable=1"
}

#[cfg(test)]
mod tests {
    use super::*;
    use headspace_core::transcript::Seen;

    /// What the real opencode stored for two sessions.
    const STORED: &str = include_str!("../../../../../tests/fixtures/clients/opencode/opencode.sql");
    const REFUSED_THEN_ANSWERED: &str = "ses_e14dfe84effehr9Fz5NfJH8Z0r";
    const INTERRUPTED: &str = "ses_e14dec660ffeoHlU8YEuFLYzhA";

    /// The database as its client left it, with the connection of the client, if that still runs.
    fn stored(running: bool) -> (tempfile::TempDir, PathBuf, Option<Connection>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("opencode.db");
        let client = Connection::open(&path).unwrap();
        client.execute_batch(STORED).unwrap();
        (directory, path, running.then_some(client))
    }

    fn tail(path: &Path, session_id: &str) -> DatabaseTail {
        DatabaseTail::new(path.to_owned(), headspace_clients::rows(path).unwrap(), session_id)
    }

    fn lines_of(tail: &mut DatabaseTail) -> Vec<String> {
        let classify = headspace_clients::reader(tail.path());
        let mut entries = Vec::new();
        tail.read(|line| entries.extend(classify(line))).unwrap();
        let words = |seen: &Seen| match seen {
            Seen::Prompt { text, prompt_id } => {
                format!("prompt {text} {}", prompt_id.is_some())
            }
            Seen::Text { text, stop_reason, .. } => {
                format!("{} {text}", if stop_reason.is_some() { "answer" } else { "text" })
            }
            Seen::ToolUse { name, input, .. } => format!("{name} {}", input.as_ref().unwrap()),
            Seen::ToolResult { refused, error, .. } => format!("result {error} {refused}"),
            Seen::Interrupted { .. } => "interrupted".into(),
            Seen::TurnEnd => "end".into(),
            Seen::Title(title) => format!("title {title}"),
            Seen::Usage(usage) => {
                let spent = usage.spent.as_ref().unwrap().1;
                format!("{} tokens, {} out", usage.used_tokens, spent.output_tokens)
            }
            other => format!("{other:?}"),
        };
        let mut said: Vec<String> = entries.iter().flat_map(|entry| &entry.seen).map(words).collect();
        said.dedup();
        said
    }

    #[test]
    fn the_events_of_a_session_are_read_in_order_and_once() {
        for running in [true, false] {
            let (_directory, path, _client) = stored(running);
            let mut tail = tail(&path, REFUSED_THEN_ANSWERED);
            assert_eq!(
                lines_of(&mut tail),
                [
                    "prompt SCENARIO:bash true",
                    "title I list.",
                    r#"bash {"command":"ls; echo hi","description":"list"}"#,
                    "result true true",
                    "end",
                    "1200 tokens, 42 out",
                    "text I list.",
                    "title I list.",
                    "prompt SCENARIO:ok true",
                    "title I list.",
                    "1200 tokens, 42 out",
                    "answer All fine.",
                    "end",
                    "title I list.",
                ],
                "running: {running}"
            );
            assert_eq!(tail.read(|_| panic!("read twice")).unwrap(), Read::Unchanged);
            let interrupts = lines_of(&mut super::tests::tail(&path, INTERRUPTED));
            assert_eq!(interrupts.iter().filter(|one| *one == "interrupted").count(), 3, "{interrupts:?}");
        }
    }

    #[test]
    fn only_what_is_new_is_read_and_a_removed_session_is_read_again() {
        let (_directory, path, client) = stored(true);
        let client = client.unwrap();
        let mut tail = tail(&path, REFUSED_THEN_ANSWERED);
        lines_of(&mut tail);
        let mark = tail.mark();
        let title = |seq: u64, title: &str| {
            let data = format!(r#"{{"info":{{"title":"{title}","time":{{"updated":1}}}}}}"#);
            let event = format!("INSERT INTO event VALUES ('e{seq}', ?1, {seq}, 'session.updated.1', ?2)");
            client.execute(&event, [REFUSED_THEN_ANSWERED, &data]).unwrap();
        };
        title(mark.offset, "Another name");
        assert_eq!(lines_of(&mut tail), ["title Another name"]);
        let mut later = tests::tail(&path, REFUSED_THEN_ANSWERED).from(mark.offset);
        assert_eq!(lines_of(&mut later), ["title Another name"], "continued after a restart");
        client.execute("DELETE FROM event", []).unwrap();
        title(0, "New");
        let read = tail.read(|_| {}).unwrap();
        assert_eq!(read, Read::Done { restarted: true, more: false });
    }

    #[test]
    fn the_end_is_read_first() {
        let (_directory, path, _client) = stored(true);
        let mut tail = tail(&path, REFUSED_THEN_ANSWERED);
        assert!(tail.near_end(4 * BYTES_OF_A_ROW));
        let said = lines_of(&mut tail);
        assert_eq!(said.last().map(String::as_str), Some("title I list."));
        assert!(!said.iter().any(|one| one.starts_with("prompt")), "{said:?}");
        assert!(!tail.near_end(1 << 30));
        assert!(lines_of(&mut tail).iter().any(|one| one.starts_with("prompt")));
    }

    #[test]
    fn the_client_does_not_block_the_reading_nor_the_reading_the_client() {
        let (directory, path, client) = stored(true);
        let client = client.unwrap();
        client.busy_timeout(Duration::ZERO).unwrap();
        client.execute_batch("BEGIN IMMEDIATE; DELETE FROM part").unwrap();
        let mut tail = tail(&path, REFUSED_THEN_ANSWERED);
        assert!(lines_of(&mut tail).contains(&"answer All fine.".to_owned()), "while it writes");
        client.execute_batch("ROLLBACK; PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        drop(client);
        // No program has it open: reading it leaves nothing behind.
        let files = || {
            let mut files: Vec<_> = std::fs::read_dir(directory.path())
                .unwrap()
                .map(|entry| entry.unwrap().path())
                .map(|path| (std::fs::read(&path).unwrap(), path))
                .collect();
            files.sort();
            files
        };
        let before = files();
        assert_eq!(before.len(), 1);
        lines_of(&mut tests::tail(&path, INTERRUPTED));
        assert_eq!(files(), before);
    }

    #[test]
    fn what_is_not_such_a_database_says_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("opencode.db");
        let mut tail = tail(&path, "s");
        assert_eq!(tail.read(|_| panic!()).unwrap(), Read::Missing);
        std::fs::write(&path, b"not a database, but long enough to look like one").unwrap();
        assert!(tail.read(|_| panic!()).is_err() && !tail.near_end(1));
        std::fs::remove_file(&path).unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("CREATE TABLE event (aggregate_id, seq, type)").unwrap();
        assert!(tail.read(|_| panic!()).is_err(), "another shape");
    }
}
