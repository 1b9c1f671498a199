//! Moving the log into the database, beside the writer: it syncs the database, which takes as long as the disk likes.
//!
//! SQLite lets one connection append to the log while another copies from it. The log begins anew when all of it is
//! copied and nobody reads it; under load something new is there by then, so the writer copies that little rest itself.

use anyhow::{Context, Result};
use headspace_platform::log;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Pages in the log before it is moved.
const MOVE_LOG_AT_PAGES: i64 = 1500;
/// So many the writer may copy itself;
const WRITER_COPIES_UP_TO: i64 = 200;
/// so many it has to, or the log would grow without end: it waits for the other thread if that is at it.
const WRITER_MUST_COPY_AT: i64 = 3 * MOVE_LOG_AT_PAGES;
/// So many make SQLite move the log with a COMMIT: nobody else came to it.
const SQLITE_COPIES_AT: i64 = 20_000;
/// How often the copying thread goes after what came meanwhile. Each time it is less.
const MAX_COPY_ROUNDS: usize = 4;
/// Unless there is much, the log is looked after this often: who reads it keeps it from beginning anew, and moving a
/// few pages after every COMMIT would sync the database as often.
const LOOK_AT_LOG_EVERY: Duration = Duration::from_millis(50);

pub struct Checkpoint {
    /// `None`: there was no thread to be had.
    beside: Option<CopyThread>,
    last_look: Instant,
}

struct CopyThread {
    ask: Sender<()>,
    /// Asked, and not known to be done.
    at_work: bool,
    done: Receiver<()>,
    thread: JoinHandle<()>,
}

/// What is in the log, and what of it is in the database too; in pages.
struct LogPages {
    all: i64,
    copied: i64,
}

impl Checkpoint {
    /// For the writer's connection `db` to the database at `path`.
    pub fn start(db: &Connection, path: &Path) -> Checkpoint {
        let beside = CopyThread::start(path).and_then(|beside| {
            db.pragma_update(None, "wal_autocheckpoint", SQLITE_COPIES_AT)?;
            Ok(beside)
        });
        if let Err(error) = &beside {
            log::line(&format!("could not start the checkpoints: {error:#}"));
        }
        Checkpoint { beside: beside.ok(), last_look: Instant::now() }
    }

    /// Looks whether it is time; to be called after every COMMIT or so, as it costs a microsecond or two.
    pub fn see(&mut self, db: &Connection) -> Result<()> {
        let Some(beside) = &mut self.beside else { return Ok(()) };
        let was_at_work = beside.at_work;
        let mut log = checkpoint(db, "NOOP")?;
        let much = log.all > WRITER_MUST_COPY_AT && log.all - log.copied > WRITER_COPIES_UP_TO;
        if beside.is_at_work() {
            if !much {
                return Ok(());
            }
            beside.wait();
            log = checkpoint(db, "NOOP")?;
        }
        if !much && !was_at_work && self.last_look.elapsed() < LOOK_AT_LOG_EVERY {
            return Ok(());
        }
        self.last_look = Instant::now();
        if log.all < MOVE_LOG_AT_PAGES || log.copied == log.all {
            return Ok(());
        }
        if log.all - log.copied <= WRITER_COPIES_UP_TO || log.all > WRITER_MUST_COPY_AT {
            checkpoint(db, "PASSIVE")?;
        } else {
            beside.at_work = beside.ask.send(()).is_ok();
        }
        Ok(())
    }

    /// Everything that is in the log, and no log afterwards.
    pub fn finish(self, db: &Connection) -> Result<()> {
        if let Some(CopyThread { ask, thread, .. }) = self.beside {
            drop(ask);
            let _ = thread.join();
        }
        checkpoint(db, "TRUNCATE")?;
        Ok(())
    }
}

impl CopyThread {
    fn start(path: &Path) -> Result<CopyThread> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(path, flags)?;
        let (ask, asked) = channel();
        let (tell, done) = channel();
        let thread = std::thread::Builder::new()
            .name("checkpoint".into())
            .spawn(move || work(&db, &asked, &tell))
            .context("there is no thread")?;
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
            log::line(&format!("could not move the log into the database: {error:#}"));
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

fn checkpoint(db: &Connection, mode: &str) -> Result<LogPages> {
    let mut query = db.prepare_cached(&format!("PRAGMA wal_checkpoint({mode})"))?;
    Ok(query.query_row([], |row| Ok(LogPages { all: row.get(1)?, copied: row.get(2)? }))?)
}
