//! The one thread that writes: takes all waiting jobs and commits their events as one. What becomes of them then is
//! [`Disk`]'s: answered when they are on disk, and told to the rest.
//!
//! Facts come first. An event whose projection fails is stored all the same; a batch that cannot be committed
//! leaves no trace, neither on disk nor in memory, and nobody is told that it did.

use super::batch::{Around, Batch, Failure};
use super::checkpoint::Checkpoint;
use super::disk::{Committed, Disk, Done};
use super::ledger::{Job, Ledger, Receipt, Unavailable};
use super::log;
use super::memory::Memory;
use super::queue::Taken;
use super::snapshot::Snapshot;
use super::upkeep::Upkeep;
use crate::model::Method;
use crate::store;
use crate::store::write::{self, Rows};
use anyhow::{Context, Result};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

/// More jobs than this are not committed together, so that the first of them is not kept waiting.
const MOST_AT_ONCE: usize = 512;

pub struct Writer {
    db: Connection,
    path: PathBuf,
    ledger: Ledger,
    /// `None` after a failure, until the store could be read again.
    memory: Option<Memory>,
    around: Around,
    upkeep: Upkeep,
    disk: Disk,
    checkpoint: Checkpoint,
    /// Jobs that came while others were committed, and that wait for the end of that.
    others: Vec<Job>,
}

impl Writer {
    /// Reads the world from the store and publishes it.
    pub fn new(db: Connection, path: PathBuf, ledger: Ledger, upkeep: Upkeep) -> Result<Writer> {
        store::leave_syncing(&db)?;
        let disk = Disk::start(&path, ledger.clone()).context("could not start to sync")?;
        let (around, checkpoint) = (Around::new(), Checkpoint::start(&db, &path));
        let others = Vec::new();
        let mut writer = Writer { db, path, ledger, memory: None, around, upkeep, disk, checkpoint, others };
        writer.load()?;
        Ok(writer)
    }

    /// Until the line is closed and empty.
    pub fn run(mut self) {
        loop {
            let rows = self.memory.as_ref().and_then(Memory::write_in);
            let patience =
                rows.map_or_else(|| self.upkeep.patience(), |rows| rows.min(self.upkeep.patience()));
            match self.ledger.queue.take(MOST_AT_ONCE, Some(patience)) {
                Taken::Jobs(jobs) => self.take(jobs),
                Taken::Nothing => {}
                Taken::Closed => break,
            }
            if self.memory.as_ref().and_then(Memory::write_in).is_some_and(|due| due.is_zero()) {
                self.write_rows();
            }
            self.tidy();
            if let Err(error) = self.checkpoint.see(&self.db) {
                self.note(&error, "could not checkpoint the database");
            }
        }
        self.disk.settle();
        self.write_rows();
        let optimized = self.db.execute_batch("PRAGMA optimize").map_err(Into::into);
        if let Err(error) = optimized.and_then(|()| self.checkpoint.finish(&self.db)) {
            log::line(&format!("could not checkpoint the database: {error:#}"));
        }
    }

    fn take(&mut self, jobs: Vec<Job>) {
        let (batch, others): (Vec<_>, Vec<_>) = jobs.into_iter().partition(Job::is_committed);
        self.others.extend(others);
        if !batch.is_empty() {
            self.commit(batch);
        }
        let mut readers = Vec::new();
        for job in std::mem::take(&mut self.others) {
            match job {
                Job::Prune(days, answer) => self.upkeep.prune_now(days, answer),
                Job::WriteRows(reader) => readers.push(reader),
                Job::Event(_) | Job::Tail(..) => {}
            }
        }
        // Who cannot be shown everything is not answered, and asks again.
        if !readers.is_empty() && self.write_rows() {
            self.disk.tell(Done::Rows(readers), true);
        }
    }

    /// `false`: they could not be written.
    fn write_rows(&mut self) -> bool {
        if self.memory.is_none()
            && let Err(error) = self.load()
        {
            self.note(&error, "could not read the database");
        }
        let Some(memory) = &mut self.memory else { return false };
        let written = memory.write(&self.db);
        if let Err(error) = &written {
            self.note(error, "could not store states");
        }
        written.is_ok()
    }

    /// What can be done besides, a little of it.
    fn tidy(&mut self) {
        // Rows of what is deleted must not be written afterwards, nor worked out from what is left.
        if self.upkeep.deletes() && !self.write_rows() {
            self.upkeep.postpone();
            return;
        }
        let queue = &self.ledger.queue;
        match self.upkeep.step(&self.db, &|| !queue.is_empty()) {
            Ok(forgotten) => {
                self.forget(&forgotten);
                self.upkeep.tell();
            }
            Err(error) => self.note(&error, "could not tidy the database"),
        }
    }

    /// Retention has deleted these agents.
    fn forget(&mut self, agents: &[i64]) {
        if agents.is_empty() {
            return;
        }
        let mut snapshot = self.ledger.published.snapshot.write().unwrap_or_else(PoisonError::into_inner);
        for id in agents {
            snapshot.forget(*id);
            if let Some(memory) = &mut self.memory {
                memory.world.forget(*id);
            }
        }
    }

    fn load(&mut self) -> Result<()> {
        // What is on its way to the snapshot is older.
        self.disk.settle();
        let memory = Memory::load(&self.db)?;
        let published = &self.ledger.published;
        *published.snapshot.write().unwrap_or_else(PoisonError::into_inner) =
            Snapshot::new(memory.world.shared());
        *published.marks.write().unwrap_or_else(PoisonError::into_inner) = memory.marks.clone();
        self.memory = Some(memory);
        Ok(())
    }

    fn commit(&mut self, mut jobs: Vec<Job>) {
        let mut failing = HashSet::new();
        let failure = loop {
            if let Err(error) = self.prepare() {
                break error;
            }
            match self.attempt(&mut jobs, &failing) {
                Ok(Written { answers, rows }) => return self.tell(jobs, answers, rows),
                Err(Failure::Engine(index)) => {
                    self.memory = None;
                    self.ledger.counts().engine_failures.fetch_add(1, Ordering::Relaxed);
                    failing.insert(index);
                }
                Err(Failure::Store(error)) => break error,
            }
        };
        self.memory = None;
        self.ledger.counts().commit_failures.fetch_add(1, Ordering::Relaxed);
        self.note(&failure, "could not store events");
        // One job may be to blame: give each its own chance, unless there is no room for any.
        if jobs.len() > 1 && !out_of_room(&failure) {
            for job in jobs {
                self.commit(vec![job]);
            }
            return;
        }
        for job in jobs {
            job.answer(Err(Unavailable::to_store()));
        }
    }

    /// Everything that is committed can be relied upon, and is known.
    fn prepare(&mut self) -> Result<()> {
        if self.disk.is_in_doubt() {
            self.disk.settle();
            store::empty_log(&self.db)?;
            self.disk.trust();
            log::line("the disk takes events again");
            self.memory = None;
        }
        if self.memory.is_none() { self.load() } else { Ok(()) }
    }

    fn note(&self, error: &anyhow::Error, what: &str) {
        log::line(&format!("{what}: {error:#}"));
        if store::is_damage(error) {
            store::suspect(&self.path);
        }
    }

    /// All jobs in one transaction, and those that come while the disk is busy with the last one. Changes nothing but
    /// memory if it fails, and that is read again then.
    fn attempt(&mut self, jobs: &mut Vec<Job>, failing: &HashSet<usize>) -> Result<Written, Failure> {
        let Some(memory) = &mut self.memory else {
            return Err(anyhow::anyhow!("the store has not been read").into());
        };
        let transaction = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        let mut batch = Batch::new(&transaction, memory, &mut self.around)?;
        let mut answers = Vec::with_capacity(jobs.len());
        loop {
            for (index, job) in jobs.iter_mut().enumerate().skip(answers.len()) {
                answers.push(match job {
                    Job::Event(job) => batch.event(job, index, failing.contains(&index))?,
                    Job::Tail(tail, _) => {
                        write::tail(&transaction, tail)?;
                        nothing()
                    }
                    Job::Prune(..) | Job::WriteRows(_) => nothing(),
                });
            }
            if jobs.len() >= MOST_AT_ONCE || self.disk.is_idle() {
                break;
            }
            match self.ledger.queue.take(MOST_AT_ONCE - jobs.len(), None) {
                Taken::Jobs(more) => {
                    let (more, others): (Vec<_>, Vec<_>) = more.into_iter().partition(Job::is_committed);
                    jobs.extend(more);
                    self.others.extend(others);
                }
                Taken::Nothing => {}
                Taken::Closed => break,
            }
        }
        let rows = batch.finish();
        transaction.commit()?;
        Ok(Written { answers, rows })
    }

    /// It is committed: to be synced and told. Others in line do not wait for that.
    fn tell(&mut self, jobs: Vec<Job>, answers: Vec<Receipt>, rows: Rows) {
        let Some(memory) = &mut self.memory else { return };
        let agent = |(id, seq): (&i64, &i64)| Some((*seq, memory.world.share(*id)?));
        let agents = rows.touched.iter().filter_map(agent).collect();
        let (changes, marks) = (rows.changes.clone(), memory.marks.clone());
        let alone = jobs.len() == 1 && self.ledger.queue.is_empty();
        self.disk.tell(Done::Commit(Committed { jobs, answers, agents, changes, marks }), alone);
        self.upkeep.events_came();
        memory.keep(rows);
    }
}

/// A batch that is committed: an answer for each job, and the rows it left behind.
struct Written {
    answers: Vec<Receipt>,
    rows: Rows,
}

fn nothing() -> Receipt {
    Receipt {
        event_id: 0,
        agent_id: None,
        is_new_agent: false,
        method: Method::SessionId,
        duplicate: false,
        state: None,
        status: None,
    }
}

/// No room on the disk, or no disk: trying each job alone would only fail once for each.
fn out_of_room(error: &anyhow::Error) -> bool {
    use rusqlite::ErrorCode::{
        CannotOpen, DatabaseBusy, DatabaseCorrupt, DiskFull, NotADatabase, ReadOnly, SystemIoFailure,
    };
    let code = error.downcast_ref::<rusqlite::Error>().and_then(rusqlite::Error::sqlite_error_code);
    code.is_some_and(|code| {
        matches!(
            code,
            DiskFull
                | SystemIoFailure
                | ReadOnly
                | CannotOpen
                | DatabaseBusy
                | DatabaseCorrupt
                | NotADatabase
        )
    })
}
