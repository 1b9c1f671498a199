//! The one thread that writes: takes all waiting jobs, commits their events as one, answers, then informs the rest.
//!
//! Facts come first. An event whose projection fails is still stored; a batch that cannot be committed leaves no trace,
//! on disk or in memory, and is not reported as committed.

mod files;

use crate::http::sse::Message;
use crate::ledger::queue::Taken;
use crate::ledger::snapshot::Snapshot;
use crate::ledger::{Answer, AnswerPath, AnswerTo, Job, Ledger, Receipt, Trouble, Unavailable};
use anyhow::Result;
use headspace_core::engine::Agent;
use headspace_core::model::*;
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_platform::config::Durability;
use headspace_platform::log;
use headspace_store as store;
use headspace_store::lock::Lock;
use headspace_store::on_disk::{FilesChanged, FilesOnDisk};
use headspace_store::retention::schedule::RetentionSchedule;
use headspace_store::wal::checkpoint::Checkpoint;
use headspace_store::write::Rows;
use headspace_store::write::batch::{Batch, FactSources, Failure};
use headspace_store::write::projection_state::ProjectionState;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// At most this many jobs are committed together, so that the first of them does not wait long.
const MAX_JOBS_PER_COMMIT: usize = 512;
/// Used by the writer's thread, and by a thread that finds it idle.
pub type SharedWriter = Arc<Mutex<Writer>>;

pub struct Writer {
    db: Connection,
    path: PathBuf,
    ledger: Ledger,
    /// `None` after a failure, until the store is read again.
    projection: Option<ProjectionState>,
    facts: FactSources,
    retention: RetentionSchedule,
    /// `None` while nothing can be written.
    checkpoint: Option<Checkpoint>,
    /// When to try again to write; `None` while the database is open for writing.
    try_again: Option<Instant>,
    /// When to see whether the open database can be written again, after events could not be stored in it.
    look_again: Option<Instant>,
    durability: Durability,
    /// COMMIT does what `durability` says. `false` after a failure, when that is unknown.
    durable: bool,
    /// The files that were opened; they may have been removed or replaced since.
    files: FilesOnDisk,
    /// The lock of the database: if the directory is removed, so is the lock.
    lock: Option<Lock>,
}

/// What a batch reports once it is on disk.
struct Committed {
    answers: Vec<Receipt>,
    rows: Rows,
    /// Bytes of the events that were stored.
    bytes: u64,
}

impl Writer {
    /// Reads the world from the store and publishes it.
    pub fn new(
        (db, lock): (Connection, Option<Lock>),
        path: PathBuf,
        ledger: Ledger,
        retention: RetentionSchedule,
        durability: Durability,
    ) -> Result<Writer> {
        let files = FilesOnDisk::of(&path);
        let mut writer = Writer {
            db,
            path,
            ledger,
            projection: None,
            facts: FactSources::new(),
            retention,
            checkpoint: None,
            try_again: None,
            look_again: None,
            durability,
            durable: true,
            files,
            lock,
        };
        writer.load()?;
        Ok(writer)
    }

    /// How long the thread may sleep unless events come.
    fn patience(&self) -> Duration {
        if let Some(next) = self.try_again {
            return next.saturating_duration_since(Instant::now());
        }
        let room = self.look_again.map(|next| next.saturating_duration_since(Instant::now()));
        [self.rows_due(), room].into_iter().flatten().fold(self.retention.patience(), Duration::min)
    }

    /// How long until rows should be written.
    fn rows_due(&self) -> Option<Duration> {
        self.projection.as_ref().and_then(ProjectionState::write_in)
    }

    /// Does what is due besides events.
    fn do_background_work(&mut self) {
        if self.try_again.is_some_and(|next| Instant::now() >= next) {
            let _ = self.try_to_write();
        }
        if self.try_again.is_some() {
            return;
        }
        if self.look_again.is_some_and(|next| Instant::now() >= next) {
            self.see_if_it_can_write();
        }
        if self.rows_due().is_some_and(|due| due.is_zero()) {
            self.write_rows();
        }
        self.tidy();
        let is_whole = || self.files.changed(&self.db) != FilesChanged::LogEmptied;
        let seen = self.checkpoint.as_mut().map_or(Ok(true), |checkpoint| checkpoint.see(&self.db, is_whole));
        let seen =
            seen.and_then(|whole| if whole { Ok(()) } else { self.begin_again(FilesChanged::LogEmptied) });
        if let Err(error) = seen {
            self.note(&error, "could not checkpoint the database");
        }
    }

    fn finish(&mut self) {
        self.write_rows();
        // What is missing in the log must not get into the database.
        if self.checkpoint.is_some()
            && self.files.changed(&self.db) == FilesChanged::LogEmptied
            && let Err(error) = self.begin_again(FilesChanged::LogEmptied)
        {
            return self.note(&error, "could not checkpoint the database");
        }
        self.ledger.published.log.stop();
        let Some(checkpoint) = self.checkpoint.take() else { return };
        let optimized = self.db.execute_batch("PRAGMA optimize").map_err(Into::into);
        if let Err(error) = optimized.and_then(|()| checkpoint.finish(&self.db)) {
            log::line(&format!("could not checkpoint the database: {error:#}"));
        }
    }

    /// Stores events on the caller's thread. All are answered when they are stored, before the rest is informed.
    pub fn record(&mut self, events: Vec<Job>) {
        let had_rows = self.rows_due().is_some();
        self.commit(events);
        // The writer's thread may sleep for long, because there was nothing to write.
        if !had_rows {
            self.ledger.queue.nudge();
        }
    }

    fn take(&mut self, jobs: Vec<Job>) {
        let (mut batch, mut readers) = (Vec::with_capacity(jobs.len()), Vec::new());
        for job in jobs {
            match job {
                Job::Prune(days, answer) => self.retention.prune_now(days, answer),
                Job::WriteRows(reader) => readers.push(reader),
                job => batch.push(job),
            }
        }
        if !batch.is_empty() {
            self.commit(batch);
        }
        // A reader that cannot be shown everything gets no answer, and asks again.
        if !readers.is_empty() && self.write_rows() {
            for reader in readers {
                let _ = reader.send(());
            }
        }
    }

    /// `false`: the rows could not be written.
    fn write_rows(&mut self) -> bool {
        // Nothing can be written: readers get what is there.
        if self.try_again.is_some() {
            return true;
        }
        if self.projection.is_none()
            && let Err(error) = self.load()
        {
            self.note(&error, "could not read the database");
        }
        let Some(projection) = &mut self.projection else { return false };
        let written = projection.write(&self.db);
        match &written {
            Ok(()) => self.retention.rows_written(),
            Err(error) => {
                self.durable = false;
                self.note(error, "could not store states");
            }
        }
        written.is_ok()
    }

    /// Does a little of the background work.
    fn tidy(&mut self) {
        // Rows of deleted events must not be written afterwards, nor computed from the remaining events.
        if self.retention.wants_rows() && !self.write_rows() {
            self.retention.postpone();
            return;
        }
        let queue = &self.ledger.queue;
        match self.retention.step(&self.db, &|| !queue.is_empty()) {
            Ok(forgotten) => {
                self.forget(&forgotten);
                self.retention.tell();
            }
            Err(error) => {
                self.durable = false;
                self.note(&error, "database maintenance failed");
            }
        }
    }

    /// Retention has deleted these agents.
    fn forget(&mut self, agents: &[i64]) {
        if agents.is_empty() {
            return;
        }
        let published = &self.ledger.published;
        published.alert_feed.forget(&agents.iter().copied().map(Into::into).collect::<Vec<_>>());
        let mut snapshot = published.snapshot.write().unwrap_or_else(PoisonError::into_inner);
        for id in agents {
            if let Some(agent) = snapshot.agent(*id) {
                self.facts.forget(&agent.sessions);
            }
            snapshot.forget(*id);
            if let Some(projection) = &mut self.projection {
                projection.world.forget(*id);
            }
        }
    }

    fn load(&mut self) -> Result<()> {
        let projection = ProjectionState::load(&self.db)?;
        let published = &self.ledger.published;
        *published.snapshot.write().unwrap_or_else(PoisonError::into_inner) =
            Snapshot::new(projection.world.shared());
        *published.marks.write().unwrap_or_else(PoisonError::into_inner) = projection.marks.clone();
        self.projection = Some(projection);
        Ok(())
    }

    fn commit(&mut self, mut jobs: Vec<Job>) {
        let mut failing = HashSet::new();
        let failure = loop {
            if let Err(error) = self.try_to_write() {
                break error;
            }
            if self.projection.is_none()
                && let Err(error) = self.load()
            {
                break error;
            }
            match self.attempt(&mut jobs, &failing) {
                Ok(committed) => {
                    let changed = self.files.changed(&self.db);
                    match changed {
                        FilesChanged::No => {}
                        FilesChanged::LogUnreachable => {
                            if let Err(error) = self.copy_log() {
                                break error;
                            }
                        }
                        lost => match self.begin_again(lost) {
                            Ok(()) => {
                                failing.clear();
                                continue;
                            }
                            Err(error) => break error,
                        },
                    }
                    self.look_again = None;
                    self.ledger.published.set_trouble(None);
                    self.publish(jobs, committed);
                    if changed != FilesChanged::No
                        && let Err(error) = self.begin_again(changed)
                    {
                        self.note(&error, "could not open the database again");
                    }
                    return;
                }
                Err(Failure::Engine(index)) => {
                    self.projection = None;
                    self.ledger.counts().engine_failures.fetch_add(1, Ordering::Relaxed);
                    failing.insert(index);
                }
                Err(Failure::Store(error)) => break error,
            }
        };
        self.projection = None;
        // The failure may be due to a replaced database. While nothing can be written, trying again takes care of that.
        let changed = if self.try_again.is_none() { self.files.changed(&self.db) } else { FilesChanged::No };
        let is_settled = match changed {
            FilesChanged::No | FilesChanged::LogUnreachable => false,
            lost => self.begin_again(lost).is_ok(),
        };
        if is_settled {
            return self.commit(jobs);
        }
        self.ledger.counts().commit_failures.fetch_add(1, Ordering::Relaxed);
        self.note(&failure, "could not store events");
        let is_no_room = self.try_again.is_some() || store::read_only::is_no_room(&failure);
        self.ledger.published.set_trouble(Some(Trouble { why: format!("{failure:#}"), is_no_room }));
        if self.try_again.is_none() && (is_no_room || changed != FilesChanged::No) {
            self.look_again_soon();
        }
        // One job may be to blame: try each alone, unless there is no room for any.
        if jobs.len() > 1 && !out_of_room(&failure) && changed == FilesChanged::No {
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

    /// Stores all jobs in one transaction. A failure changes only memory, which is then read again.
    fn attempt(&mut self, jobs: &mut [Job], failing: &HashSet<usize>) -> Result<Committed, Failure> {
        let Some(projection) = &mut self.projection else {
            return Err(anyhow::anyhow!("the store has not been read").into());
        };
        if !self.durable {
            store::set_durability(&self.db, self.durability)?;
            self.durable = true;
        }
        let transaction = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        let mut batch = Batch::new(&transaction, projection, &mut self.facts)?;
        let mut answers = Vec::with_capacity(jobs.len());
        let mut bytes = 0;
        for (index, job) in jobs.iter_mut().enumerate() {
            answers.push(match job {
                Job::Event(record, _) => {
                    let receipt = batch.event(record, index, failing.contains(&index))?;
                    bytes += record.text.len() as u64;
                    receipt
                }
                Job::Prune(..) | Job::WriteRows(_) => nothing(),
            });
        }
        let rows = batch.finish();
        transaction.commit()?;
        Ok(Committed { answers, rows, bytes })
    }

    /// The batch is on disk: answers, then informs the rest. An answered caller finds the event in the snapshot.
    fn publish(&mut self, jobs: Vec<Job>, committed: Committed) {
        let Some(projection) = &mut self.projection else { return };
        let Committed { answers, rows, bytes } = committed;
        let events = answers.len() as u64;
        let published = &self.ledger.published;
        {
            let mut snapshot = published.snapshot.write().unwrap_or_else(PoisonError::into_inner);
            for id in rows.touched.keys() {
                if let Some(agent) = projection.world.share(*id) {
                    snapshot.put(agent);
                }
            }
        }
        *published.marks.write().unwrap_or_else(PoisonError::into_inner) = projection.marks.clone();
        published.counts.commits.fetch_add(1, Ordering::Relaxed);
        let mut together = Vec::new();
        for (job, receipt) in jobs.into_iter().zip(answers) {
            if receipt.duplicate {
                published.counts.duplicates.fetch_add(1, Ordering::Relaxed);
            }
            match job {
                job @ Job::Event(_, AnswerTo::Waiting(AnswerPath::ThroughServer, _)) => {
                    together.push((job, Ok(receipt)))
                }
                job => job.answer(Ok(receipt)),
            }
        }
        answer_together(&self.ledger, together);
        // After the answers: this may wake a thread, which must not compete with the callers that wait for one.
        published.log.written();
        self.retention.events_came(events, bytes);
        let now = Stamp::now();
        // Most events are one tool call after another, often with no client connected: then no view is made.
        let agents = || rows.touched.keys().filter_map(|id| projection.world.agent(*id));
        let view = |agent: &Agent| Arc::new(self.ledger.view(agent, now));
        let sent = agents().filter(|agent| published.alert_feed.send_agent(agent, || view(agent)));
        let matters = sent.count() > 0;
        published.copied.touched(rows.touched.keys().copied(), matters);
        if !published.hub.is_empty() {
            let views: Vec<_> = agents().map(view).collect();
            published.hub.publish(messages(&rows, &views));
        }
        if published.readiness.is_on()
            && let Some(touched) = published.touched.get()
        {
            let _ = touched.send(rows.touched.keys().copied().collect());
        }
        projection.keep(rows);
    }
}

/// The writer's thread: runs until the queue is closed and empty.
pub fn run(writer: &Mutex<Writer>) {
    let lock = || writer.lock().unwrap_or_else(PoisonError::into_inner);
    let (queue, mut patience) = {
        let writer = lock();
        (Arc::clone(&writer.ledger.queue), writer.patience())
    };
    loop {
        let taken = queue.take(MAX_JOBS_PER_COMMIT, Some(patience));
        let mut writer = lock();
        match taken {
            Taken::Jobs(jobs) => writer.take(jobs),
            Taken::Nothing => {}
            Taken::Closed => return writer.finish(),
        }
        writer.do_background_work();
        patience = writer.patience();
    }
}

/// The writer, if it has nothing to do and the queue is empty.
pub fn if_idle(writer: &Mutex<Writer>) -> Option<MutexGuard<'_, Writer>> {
    let writer = match writer.try_lock() {
        Ok(writer) => writer,
        Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        Err(TryLockError::WouldBlock) => return None,
    };
    (writer.ledger.queue.is_empty() && !writer.ledger.is_closed()).then_some(writer)
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

/// The steps of the batch in order, then each touched agent once.
fn messages(rows: &Rows, views: &[Arc<AgentView>]) -> Vec<Message> {
    let mut messages: Vec<Message> = rows
        .changes
        .iter()
        .map(|change| {
            Message::from_json(Some(change.seq), change.kind, Some(change.agent_id.into()), &change.data)
        })
        .collect();
    for view in views {
        messages.push(Message::new(
            view.id.own().and_then(|id| rows.touched.get(&id).copied()),
            "agent_updated",
            Some(view.id),
            &**view,
        ));
    }
    messages
}

/// No room on the disk, or no disk: each job tried alone would fail too.
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
