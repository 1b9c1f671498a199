//! The one thread that writes: takes all waiting jobs, commits their events as one, then answers, then tells the rest.
//!
//! Facts come first. An event whose projection fails is stored all the same; a batch that cannot be committed
//! leaves no trace, neither on disk nor in memory, and nobody is told that it did.

use crate::http::sse::Message;
use crate::ledger::queue::Taken;
use crate::ledger::snapshot::Snapshot;
use crate::ledger::{Answer, Answers, Job, Ledger, Receipt, Unavailable};
use anyhow::Result;
use headspace_core::model::*;
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_platform::config::Durability;
use headspace_platform::files::{self, FileId};
use headspace_platform::log;
use headspace_store as store;
use headspace_store::batch::{Batch, FactSources, Failure};
use headspace_store::checkpoint::Checkpoint;
use headspace_store::lock::Lock;
use headspace_store::projection_state::ProjectionState;
use headspace_store::retention::schedule::RetentionSchedule;
use headspace_store::write::Rows;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// More jobs than this are not committed together, so that the first of them is not kept waiting.
const MAX_JOBS_PER_COMMIT: usize = 512;

pub struct Writer {
    db: Connection,
    path: PathBuf,
    ledger: Ledger,
    /// `None` after a failure, until the store could be read again.
    memory: Option<ProjectionState>,
    around: FactSources,
    upkeep: RetentionSchedule,
    checkpoint: Checkpoint,
    durability: Durability,
    /// COMMIT does what `durability` says. Not known after a failure in between.
    durable: bool,
    /// The file that was opened; another one may have taken its place since.
    file: Option<FileId>,
    /// Of the database: whoever removed the directory has removed it, too.
    lock: Option<Lock>,
}

/// What a batch has to say once it is on disk.
struct Committed {
    answers: Vec<Receipt>,
    rows: Rows,
    /// Bytes of the events that were stored.
    bytes: u64,
}

impl Writer {
    /// Reads the world from the store and publishes it.
    pub fn new(
        (db, lock): (Connection, Lock),
        path: PathBuf,
        ledger: Ledger,
        upkeep: RetentionSchedule,
        durability: Durability,
    ) -> Result<Writer> {
        let (around, checkpoint) = (FactSources::new(), Checkpoint::start(&db, &path));
        store::set_durability(&db, durability)?;
        ledger.published.log.start(&path, durability)?;
        let file = files::id(&path);
        let mut writer = Writer {
            db,
            path,
            ledger,
            memory: None,
            around,
            upkeep,
            checkpoint,
            durability,
            durable: true,
            file,
            lock: Some(lock),
        };
        writer.load()?;
        Ok(writer)
    }

    /// Somebody removed the database or put another in its place: what is written now, nobody would find. Goes on with
    /// what is there, or with a new one.
    fn begin_again(&mut self) -> Result<()> {
        let lock = match self.lock.take() {
            Some(lock) => lock.again(&self.path)?,
            None => store::lock::take(&self.path)?,
        };
        self.lock = Some(lock);
        let (db, damaged) = store::open_or_start_afresh(&self.path)?;
        store::set_durability(&db, self.durability)?;
        let _ = store::preallocate_wal(&db, &self.path);
        self.ledger.published.log.start(&self.path, self.durability)?;
        self.checkpoint = Checkpoint::start(&db, &self.path);
        (self.db, self.file) = (db, files::id(&self.path));
        (self.memory, self.durable) = (None, true);
        self.load()?;
        let published = &self.ledger.published;
        published.generation.fetch_add(1, Ordering::Relaxed);
        // Whoever looks has agents on the screen that are not there any more.
        published.hub.close();
        let kept = damaged.map(|aside| format!("; a damaged one is kept as {}", aside.display()));
        let events = self.memory.as_ref().map_or(0, |memory| memory.marks.event);
        log::line(&format!(
            "{} was removed or replaced under the running server: going on with {}{}",
            self.path.display(),
            if events == 0 { "a new one" } else { "the one that is there now" },
            kept.unwrap_or_default()
        ));
        Ok(())
    }

    /// Until the line is closed and empty.
    pub fn run(mut self) {
        loop {
            let rows = self.memory.as_ref().and_then(ProjectionState::write_in);
            let patience =
                rows.map_or_else(|| self.upkeep.patience(), |rows| rows.min(self.upkeep.patience()));
            match self.ledger.queue.take(MAX_JOBS_PER_COMMIT, Some(patience)) {
                Taken::Jobs(jobs) => self.take(jobs),
                Taken::Nothing => {}
                Taken::Closed => break,
            }
            if self.memory.as_ref().and_then(ProjectionState::write_in).is_some_and(|due| due.is_zero()) {
                self.write_rows();
            }
            self.tidy();
            if let Err(error) = self.checkpoint.see(&self.db) {
                self.note(&error, "could not checkpoint the database");
            }
        }
        self.write_rows();
        self.ledger.published.log.stop();
        let optimized = self.db.execute_batch("PRAGMA optimize").map_err(Into::into);
        if let Err(error) = optimized.and_then(|()| self.checkpoint.finish(&self.db)) {
            log::line(&format!("could not checkpoint the database: {error:#}"));
        }
    }

    fn take(&mut self, jobs: Vec<Job>) {
        let (mut batch, mut readers) = (Vec::with_capacity(jobs.len()), Vec::new());
        for job in jobs {
            match job {
                Job::Prune(days, answer) => self.upkeep.prune_now(days, answer),
                Job::WriteRows(reader) => readers.push(reader),
                job => batch.push(job),
            }
        }
        if !batch.is_empty() {
            self.commit(batch);
        }
        // Who cannot be shown everything is not answered, and asks again.
        if !readers.is_empty() && self.write_rows() {
            for reader in readers {
                let _ = reader.send(());
            }
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
        match &written {
            Ok(()) => self.upkeep.rows_written(),
            Err(error) => {
                self.durable = false;
                self.note(error, "could not store states");
            }
        }
        written.is_ok()
    }

    /// What can be done besides, a little of it.
    fn tidy(&mut self) {
        // Rows of what is deleted must not be written afterwards, nor worked out from what is left.
        if self.upkeep.wants_rows() && !self.write_rows() {
            self.upkeep.postpone();
            return;
        }
        let queue = &self.ledger.queue;
        match self.upkeep.step(&self.db, &|| !queue.is_empty()) {
            Ok(forgotten) => {
                self.forget(&forgotten);
                self.upkeep.tell();
            }
            Err(error) => {
                self.durable = false;
                self.note(&error, "could not tidy the database");
            }
        }
    }

    /// Retention has deleted these agents.
    fn forget(&mut self, agents: &[i64]) {
        if agents.is_empty() {
            return;
        }
        let published = &self.ledger.published;
        published.watchers.forget(agents);
        let mut snapshot = published.snapshot.write().unwrap_or_else(PoisonError::into_inner);
        for id in agents {
            if let Some(agent) = snapshot.agent(*id) {
                self.around.forget(&agent.sessions);
            }
            snapshot.forget(*id);
            if let Some(memory) = &mut self.memory {
                memory.world.forget(*id);
            }
        }
    }

    fn load(&mut self) -> Result<()> {
        let memory = ProjectionState::load(&self.db)?;
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
            if self.memory.is_none()
                && let Err(error) = self.load()
            {
                break error;
            }
            match self.attempt(&mut jobs, &failing) {
                // Nobody would find it there.
                Ok(_) if files::id(&self.path) != self.file => match self.begin_again() {
                    Ok(()) => failing.clear(),
                    Err(error) => break error,
                },
                Ok(committed) => {
                    self.ledger.published.log.written();
                    self.ledger.published.set_trouble(None);
                    return self.publish(jobs, committed);
                }
                Err(Failure::Engine(index)) => {
                    self.memory = None;
                    self.ledger.counts().engine_failures.fetch_add(1, Ordering::Relaxed);
                    failing.insert(index);
                }
                Err(Failure::Store(error)) => break error,
            }
        };
        self.memory = None;
        // The database may have been replaced by something that made this fail.
        if files::id(&self.path) != self.file && self.begin_again().is_ok() {
            return self.commit(jobs);
        }
        self.ledger.counts().commit_failures.fetch_add(1, Ordering::Relaxed);
        self.note(&failure, "could not store events");
        self.ledger.published.set_trouble(Some(format!("{failure:#}")));
        // One job may be to blame: give each its own chance, unless there is no room for any.
        if jobs.len() > 1 && !out_of_room(&failure) {
            for job in jobs {
                self.commit(vec![job]);
            }
            return;
        }
        for job in jobs {
            let refusal = Err(Unavailable("the event could not be stored: try again".into()));
            job.answer(refusal);
        }
    }

    fn note(&self, error: &anyhow::Error, what: &str) {
        log::line(&format!("{what}: {error:#}"));
        if store::is_damage(error) {
            store::request_integrity_check(&self.path);
        }
    }

    /// All jobs in one transaction. Changes nothing but memory if it fails, and that is read again then.
    fn attempt(&mut self, jobs: &mut [Job], failing: &HashSet<usize>) -> Result<Committed, Failure> {
        let Some(memory) = &mut self.memory else {
            return Err(anyhow::anyhow!("the store has not been read").into());
        };
        if !self.durable {
            store::set_durability(&self.db, self.durability)?;
            self.durable = true;
        }
        let transaction = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        let mut batch = Batch::new(&transaction, memory, &mut self.around)?;
        let mut answers = Vec::with_capacity(jobs.len());
        let mut bytes = 0;
        for (index, job) in jobs.iter_mut().enumerate() {
            answers.push(match job {
                Job::Event(job) => {
                    let receipt = batch.event(&mut job.record, index, failing.contains(&index))?;
                    bytes += job.record.text.len() as u64;
                    receipt
                }
                Job::Prune(..) | Job::WriteRows(_) => nothing(),
            });
        }
        let rows = batch.finish();
        transaction.commit()?;
        Ok(Committed { answers, rows, bytes })
    }

    /// It is on disk: answer, then tell the rest. Whoever has an answer finds it in the snapshot.
    fn publish(&mut self, jobs: Vec<Job>, committed: Committed) {
        let Some(memory) = &mut self.memory else { return };
        let Committed { answers, rows, bytes } = committed;
        let events = answers.len() as u64;
        let published = &self.ledger.published;
        {
            let mut snapshot = published.snapshot.write().unwrap_or_else(PoisonError::into_inner);
            for id in rows.touched.keys() {
                if let Some(agent) = memory.world.share(*id) {
                    snapshot.put(agent);
                }
            }
        }
        *published.marks.write().unwrap_or_else(PoisonError::into_inner) = memory.marks.clone();
        published.counts.commits.fetch_add(1, Ordering::Relaxed);
        let mut together = Vec::new();
        for (job, receipt) in jobs.into_iter().zip(answers) {
            if receipt.duplicate {
                published.counts.duplicates.fetch_add(1, Ordering::Relaxed);
            }
            match job {
                Job::Event(event) if event.answers == Answers::ThroughServer => {
                    together.push((Job::Event(event), Ok(receipt)))
                }
                job => job.answer(Ok(receipt)),
            }
        }
        answer_together(&self.ledger, together);
        self.upkeep.events_came(events, bytes);
        let now = Stamp::now();
        let agents = rows.touched.keys().filter_map(|id| memory.world.agent(*id));
        let views: Vec<_> = agents.map(|agent| Arc::new(self.ledger.view(agent, now))).collect();
        published.watchers.tell(&views);
        if !published.hub.is_empty() {
            published.hub.publish(messages(&rows, &views));
        }
        memory.keep(rows);
    }
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

fn answer_together(ledger: &Ledger, answers: Vec<(Job, Answer)>) {
    if answers.is_empty() {
        return;
    }
    let unsent = match ledger.published.answered.get() {
        Some(sender) => sender.send(answers).err().map(|error| error.0),
        None => Some(answers),
    };
    for (job, answer) in unsent.into_iter().flatten() {
        job.answer(answer);
    }
}

/// The steps of the batch in their order, then each touched agent once.
fn messages(rows: &Rows, views: &[Arc<AgentView>]) -> Vec<Message> {
    let mut messages: Vec<Message> = rows
        .changes
        .iter()
        .map(|change| Message::from_json(Some(change.seq), change.kind, Some(change.agent_id), &change.data))
        .collect();
    for view in views {
        messages.push(Message::new(
            rows.touched.get(&view.id).copied(),
            "agent_updated",
            Some(view.id),
            &**view,
        ));
    }
    messages
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
