//! Copies the write-ahead log into the database beside the writer, because it syncs the database and may take long.
//!
//! SQLite lets one connection append to the log while another copies from it. The log starts over when all of it is
//! copied and nothing reads it; under load more has been written by then, so the writer itself copies that small rest.

use anyhow::{Context, Result};
use headspace_platform::log;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Pages in the log before it is copied.
const MOVE_LOG_AT_PAGES: i64 = 1500;
/// The writer may copy this many pages itself;
const WRITER_COPIES_UP_TO: i64 = 200;
/// at this many it must, or the log would grow without end: it waits for the other thread if that is copying.
const WRITER_MUST_COPY_AT: i64 = 3 * MOVE_LOG_AT_PAGES;
/// At this many, SQLite copies the log with a COMMIT, in case neither thread did.
const SQLITE_COPIES_AT: i64 = 20_000;
/// How often the thread copies again what was added meanwhile. Each time it is less.
const MAX_COPY_ROUNDS: usize = 4;
/// Unless there is much, the log is checked this often: readers keep it from starting over, and copying a few pages
/// after every COMMIT would sync the database as often.
const LOOK_AT_LOG_EVERY: Duration = Duration::from_millis(50);

pub struct Checkpoint {
    /// `None`: the thread could not be started.
    copier: Option<CopyThread>,
    last_look: Instant,
}

struct CopyThread {
    ask: Sender<()>,
    /// A copy was requested and is not known to be done.
    at_work: bool,
    done: Receiver<()>,
    thread: JoinHandle<()>,
}

/// Pages in the log, and how many of them are already in the database.
struct LogPages {
    all: i64,
    copied: i64,
}

impl Checkpoint {
    /// For the writer's connection `db` to the database at `path`.
    pub fn start(db: &Connection, path: &Path) -> Checkpoint {
        let copier = CopyThread::start(path).and_then(|copier| {
            db.pragma_update(None, "wal_autocheckpoint", SQLITE_COPIES_AT)?;
            Ok(copier)
        });
        if let Err(error) = &copier {
            log::line(&format!("could not start the checkpoints: {error:#}"));
        }
        Checkpoint { copier: copier.ok(), last_look: Instant::now() }
    }

    /// Copies if it is time; call it after about every COMMIT, as it costs a microsecond or two. Not unless `is_whole`: what
    /// is missing in the log would spoil the database. `false`: it is not.
    pub fn see(&mut self, db: &Connection, is_whole: impl FnOnce() -> bool) -> Result<bool> {
        let Some(copier) = &mut self.copier else { return Ok(true) };
        let was_at_work = copier.at_work;
        let mut log = checkpoint(db, "NOOP")?;
        let much = log.all > WRITER_MUST_COPY_AT && log.all - log.copied > WRITER_COPIES_UP_TO;
        if copier.is_at_work() {
            if !much {
                return Ok(true);
            }
            copier.wait();
            log = checkpoint(db, "NOOP")?;
        }
        if !much && !was_at_work && self.last_look.elapsed() < LOOK_AT_LOG_EVERY {
            return Ok(true);
        }
        self.last_look = Instant::now();
        if log.all < MOVE_LOG_AT_PAGES || log.copied == log.all {
            return Ok(true);
        }
        if !is_whole() {
            return Ok(false);
        }
        if log.all - log.copied <= WRITER_COPIES_UP_TO || log.all > WRITER_MUST_COPY_AT {
            checkpoint(db, "PASSIVE")?;
        } else {
            copier.at_work = copier.ask.send(()).is_ok();
        }
        Ok(true)
    }

    /// Copies everything and removes the log.
    pub fn finish(mut self, db: &Connection) -> Result<()> {
        self.stop();
        checkpoint(db, "TRUNCATE")?;
        Ok(())
    }

    /// From when it returns on, nothing is copied any more.
    pub fn stop(&mut self) {
        if let Some(CopyThread { ask, thread, .. }) = self.copier.take() {
            drop(ask);
            let _ = thread.join();
        }
    }
}

impl CopyThread {
    fn start(path: &Path) -> Result<CopyThread> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        crate::check_regular(path)?;
        let db = Connection::open_with_flags(path, flags)?;
        let (ask, asked) = channel();
        let (report, done) = channel();
        let thread = std::thread::Builder::new()
            .name("checkpoint".into())
            .spawn(move || work(&db, &asked, &report))
            .context("could not start a thread")?;
        Ok(CopyThread { ask, at_work: false, done, thread })
    }

    fn is_at_work(&mut self) -> bool {
        self.at_work = self.at_work && self.done.try_recv() == Err(TryRecvError::Empty);
        self.at_work
    }

    fn wait(&mut self) {
        let _ = self.done.recv();
        self.at_work = false;
    }
}

fn work(db: &Connection, asked: &Receiver<()>, done: &Sender<()>) {
    while asked.recv().is_ok() {
        if let Err(error) = copy(db) {
            log::line(&format!("could not copy the log into the database: {error:#}"));
        }
        let _ = done.send(());
    }
}

fn copy(db: &Connection) -> Result<()> {
    for _ in 0..MAX_COPY_ROUNDS {
        checkpoint(db, "PASSIVE")?;
        let log = checkpoint(db, "NOOP")?;
        if log.all - log.copied <= WRITER_COPIES_UP_TO / 2 {
            break;
        }
    }
    Ok(())
}

/// How long [`copy_all`] waits for readers: hooks wait meanwhile.
const WAIT_FOR_READERS: Duration = Duration::from_millis(200);

/// Copies the whole log into the database and brings it to disk: for a log that nobody else can reach any more. `false`:
/// a reader stands in the way.
pub fn copy_all(db: &Connection) -> Result<bool> {
    let usual: i64 = db.pragma_query_value(None, "busy_timeout", |row| row.get(0))?;
    db.busy_timeout(WAIT_FOR_READERS)?;
    let copied = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    db.busy_timeout(Duration::from_millis(usual.max(0).unsigned_abs()))?;
    Ok(copied? == 0)
}

/// How many pages of the log count.
pub(super) fn frames_in_log(db: &Connection) -> Result<u64> {
    Ok(u64::try_from(checkpoint(db, "NOOP")?.all).unwrap_or(0))
}

fn checkpoint(db: &Connection, mode: &str) -> Result<LogPages> {
    let mut query = db.prepare_cached(&format!("PRAGMA wal_checkpoint({mode})"))?;
    Ok(query.query_row([], |row| Ok(LogPages { all: row.get(1)?, copied: row.get(2)? }))?)
}
