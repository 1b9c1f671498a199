//! The one thread that writes: takes all waiting jobs, commits them as one, then answers, then tells the rest.
//!
//! Facts come first. An event whose projection fails is stored all the same; a batch that cannot be committed
//! leaves no trace, neither on disk nor in memory, and nobody is told that it did.

use super::facts::Lookup;
use super::ledger::{Answer, EventJob, Job, Ledger, Receipt, Unavailable};
use super::queue::Taken;
use super::snapshot::Snapshot;
use super::sse::Message;
use super::upkeep::Upkeep;
use super::{log, projection};
use crate::clock::Stamp;
use crate::engine::{self, World};
use crate::model::*;
use crate::process;
use crate::store::write::{EventRow, Marks, Rows};
use crate::store::{self, flag, queries, write};
use anyhow::Result;
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::collections::{BTreeMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

/// More jobs than this are not committed together, so that the first of them is not kept waiting.
const MOST_AT_ONCE: usize = 512;
/// Nanoseconds; days begin at a full quarter of an hour in every time zone.
const QUARTER: i64 = 15 * 60 * 1_000_000_000;

pub struct Writer {
    db: Connection,
    path: PathBuf,
    ledger: Ledger,
    /// What is in memory; `None` after a failure, until the store could be read again.
    memory: Option<Memory>,
    lookup: Lookup,
    /// Sessions heard of since the server started.
    met: HashSet<String>,
    /// This machine, as `notify` names it.
    host: Option<String>,
    upkeep: Upkeep,
}

/// What the next event builds on.
struct Memory {
    world: World,
    marks: Marks,
}

/// What a batch has to say once it is on disk.
struct Committed {
    answers: Vec<Receipt>,
    views: Vec<Arc<AgentView>>,
    rows: Rows,
}

enum Failure {
    /// The engine failed on the job with this index.
    Engine(usize),
    Store(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Store(error.into())
    }
}

impl Writer {
    /// Reads the world from the store and publishes it.
    pub fn new(db: Connection, path: PathBuf, ledger: Ledger, upkeep: Upkeep) -> Result<Writer> {
        let mut writer = Writer {
            db,
            path,
            ledger,
            memory: None,
            lookup: Lookup::default(),
            met: HashSet::new(),
            host: process::host_name(),
            upkeep,
        };
        writer.load()?;
        Ok(writer)
    }

    /// Until the line is closed and empty.
    pub fn run(mut self) {
        loop {
            match self.ledger.queue.take(MOST_AT_ONCE, Some(self.upkeep.patience())) {
                Taken::Jobs(jobs) => self.take(jobs),
                Taken::Nothing => {}
                Taken::Closed => break,
            }
            let idle = self.ledger.queue.is_empty();
            match self.upkeep.step(&self.db, idle) {
                Ok(forgotten) => self.forget(&forgotten),
                Err(error) => self.note(&error, "could not tidy the database"),
            }
        }
        if let Err(error) = self.db.execute_batch("PRAGMA optimize; PRAGMA wal_checkpoint(TRUNCATE)") {
            log::line(&format!("could not checkpoint the database: {error}"));
        }
    }

    fn take(&mut self, jobs: Vec<Job>) {
        let mut batch = Vec::with_capacity(jobs.len());
        for job in jobs {
            match job {
                Job::Prune(days, answer) => self.upkeep.prune_now(days, answer),
                job => batch.push(job),
            }
        }
        if !batch.is_empty() {
            self.commit(batch);
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
        let (world, marks) = queries::world(&self.db)?;
        let published = &self.ledger.published;
        *published.snapshot.write().unwrap_or_else(PoisonError::into_inner) = Snapshot::new(world.agents());
        *published.marks.write().unwrap_or_else(PoisonError::into_inner) = marks.clone();
        self.memory = Some(Memory { world, marks });
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
                Ok(committed) => return self.publish(jobs, committed),
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
            let refusal = Err(Unavailable("the event could not be stored: try again".into()));
            job.answer(refusal);
        }
    }

    fn note(&self, error: &anyhow::Error, what: &str) {
        log::line(&format!("{what}: {error:#}"));
        if store::is_damage(error) {
            store::suspect(&self.path);
        }
    }

    /// All jobs in one transaction. Changes nothing but memory if it fails, and that is read again then.
    fn attempt(&mut self, jobs: &mut [Job], failing: &HashSet<usize>) -> Result<Committed, Failure> {
        let Some(memory) = &mut self.memory else {
            return Err(anyhow::anyhow!("the store has not been read").into());
        };
        let transaction = Transaction::new_unchecked(&self.db, TransactionBehavior::Immediate)?;
        let mut batch = Batch {
            db: &transaction,
            memory,
            lookup: &mut self.lookup,
            met: &mut self.met,
            host: self.host.as_deref(),
            rows: Rows::default(),
            received: BTreeMap::new(),
        };
        let mut answers = Vec::with_capacity(jobs.len());
        for (index, job) in jobs.iter_mut().enumerate() {
            answers.push(match job {
                Job::Event(job) => batch.event(job, index, failing.contains(&index))?,
                Job::Tail(tail, _) => {
                    write::tail(&transaction, tail)?;
                    nothing()
                }
                Job::Prune(..) => nothing(),
            });
        }
        let (rows, views) = batch.finish()?;
        transaction.commit()?;
        Ok(Committed { answers, views, rows })
    }

    /// It is on disk: answer, then let everybody see.
    fn publish(&mut self, jobs: Vec<Job>, committed: Committed) {
        let Some(memory) = &self.memory else { return };
        let published = &self.ledger.published;
        {
            let mut snapshot = published.snapshot.write().unwrap_or_else(PoisonError::into_inner);
            for id in &committed.rows.touched {
                if let Some(agent) = memory.world.agent(*id) {
                    snapshot.put(agent.clone());
                }
            }
        }
        *published.marks.write().unwrap_or_else(PoisonError::into_inner) = memory.marks.clone();
        published.counts.commits.fetch_add(1, Ordering::Relaxed);
        let mut together = Vec::new();
        for (job, receipt) in jobs.into_iter().zip(committed.answers) {
            if receipt.duplicate {
                published.counts.duplicates.fetch_add(1, Ordering::Relaxed);
            }
            match job {
                Job::Event(event) if event.by_task => together.push((Job::Event(event), Ok(receipt))),
                job => job.answer(Ok(receipt)),
            }
        }
        self.answer_together(together);
        self.upkeep.events_came();
        published.watchers.tell(&committed.views);
        if !published.hub.is_empty() {
            published.hub.publish(messages(committed.rows, &committed.views, memory.marks.seq));
        }
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

impl Writer {
    fn answer_together(&self, answers: Vec<(Job, Answer)>) {
        if answers.is_empty() {
            return;
        }
        let unsent = match self.ledger.published.answered.get() {
            Some(sender) => sender.send(answers).err().map(|error| error.0),
            None => Some(answers),
        };
        for (job, answer) in unsent.into_iter().flatten() {
            job.answer(answer);
        }
    }
}

/// The steps of the batch in their order, then each touched agent once. The updates carry the numbers
/// [`Batch::finish`] gave them: the last ones of the batch.
fn messages(rows: Rows, views: &[Arc<AgentView>], last_seq: i64) -> Vec<Message> {
    let mut messages: Vec<Message> = rows
        .changes
        .iter()
        .map(|change| Message::from_json(Some(change.seq), change.kind, Some(change.agent_id), &change.data))
        .collect();
    let first = last_seq - views.len() as i64 + 1;
    for (seq, view) in (first..).zip(views) {
        messages.push(Message::new(Some(seq), "agent_updated", Some(view.id), &**view));
    }
    messages
}

/// A transaction in the making.
struct Batch<'a> {
    db: &'a Connection,
    memory: &'a mut Memory,
    lookup: &'a mut Lookup,
    met: &'a mut HashSet<String>,
    host: Option<&'a str>,
    rows: Rows,
    /// Hook events by the quarter of an hour they happened in: a drained spool tells of other days.
    received: BTreeMap<i64, u64>,
}

impl Batch<'_> {
    fn event(&mut self, job: &mut EventJob, index: usize, fails: bool) -> Result<Receipt, Failure> {
        if let Some(delivery_id) = &job.delivery_id
            && let Some((event_id, agent_id)) = write::delivered(self.db, delivery_id)?
        {
            if let Some(tail) = &job.tail {
                write::tail(self.db, tail)?;
            }
            return Ok(self.receipt(event_id, agent_id, None, true));
        }
        self.memory.marks.event += 1;
        job.event.id = self.memory.marks.event;
        self.gather(&mut job.event);
        let event = &job.event;
        let world = &mut self.memory.world;
        let outcome = if fails {
            None
        } else {
            let applied = catch_unwind(AssertUnwindSafe(|| engine::apply(world, event)));
            Some(applied.map_err(|_| Failure::Engine(index))?)
        };
        let flags = match &outcome {
            None => flag::UNPROJECTED,
            Some(outcome) => {
                i64::from(outcome.duplicate) * flag::DUPLICATE
                    + i64::from(outcome.is_new_agent) * flag::CREATED
            }
        };
        let agent_id = match &outcome {
            Some(outcome) => outcome.agent_id,
            None => self.memory.world.agent_of_session(&event.session_id).map(|agent| agent.id),
        };
        let delivery_id = job.delivery_id.as_deref();
        write::event(self.db, &EventRow { event, text: &job.text, agent_id, delivery_id, flags })?;
        if let Some(tail) = &job.tail {
            write::tail(self.db, tail)?;
        }
        let duplicate = flags & flag::DUPLICATE != 0;
        if job.from_hook && !duplicate {
            let marks = &mut self.memory.marks;
            marks.received += 1;
            marks.last_hook_at = Some(event.received_at);
            marks.last_hook = Some(event.name.clone());
            *self.received.entry(event.at.0 / QUARTER).or_default() += 1;
        }
        let receipt = self.receipt(event.id, agent_id, outcome.as_ref(), duplicate);
        if let Some(outcome) = outcome {
            projection::collect(
                &mut self.rows,
                &self.memory.world,
                &mut self.memory.marks.seq,
                event,
                outcome,
            );
        }
        Ok(receipt)
    }

    fn receipt(
        &self,
        event_id: i64,
        agent_id: Option<i64>,
        outcome: Option<&Outcome>,
        duplicate: bool,
    ) -> Receipt {
        let agent = agent_id.and_then(|id| self.memory.world.agent(id));
        Receipt {
            event_id,
            agent_id,
            is_new_agent: outcome.is_some_and(|outcome| outcome.is_new_agent),
            method: outcome.map_or(Method::SessionId, |outcome| outcome.method),
            duplicate,
            state: agent.map(|agent| agent.state),
            status: agent.map(|agent| agent.status(Stamp::now()).0),
        }
    }

    /// Looks up for the event what the engine may not look up itself.
    fn gather(&mut self, event: &mut Event) {
        let mut found =
            Facts { first_since_start: self.met.insert(event.session_id.clone()), ..Facts::default() };
        let fresh = matches!(event.name.as_str(), "SessionStart" | "CwdChanged" | "UserPromptSubmit");
        let cwd = event.text("cwd").or_else(|| event.text("working_directory"));
        let moved = if event.name == "CwdChanged" { event.text("new_cwd") } else { None };
        self.lookup.directory(&mut found, moved.or(cwd), fresh);
        event.facts = found;
        let asked = self.memory.world.asks(event);
        // Nobody can look at another machine's processes; there the engine wants to hear that they live.
        let here = event.text("host").is_none_or(|host| Some(host) == self.host);
        event.facts.alive = asked.into_iter().filter(|process| !here || process::lives(*process)).collect();
    }

    /// Writes what all events together changed; the touched agents in the order of their ids.
    fn finish(mut self) -> Result<(Rows, Vec<Arc<AgentView>>)> {
        let now = Stamp::now();
        write::rows(self.db, &self.rows)?;
        let touched: Vec<i64> = self.rows.touched.iter().copied().collect();
        self.rows.touched.clear();
        let mut views = Vec::with_capacity(touched.len());
        for id in touched {
            let Some(agent) = self.memory.world.agent(id) else { continue };
            self.memory.marks.seq += 1;
            let view = agent.view(now);
            write::agent(self.db, agent, now, self.memory.marks.seq)?;
            self.rows.touched.insert(id);
            views.push(Arc::new(view));
        }
        self.memory.marks.world = self.memory.world.counters();
        write::marks(self.db, &self.memory.marks)?;
        for (quarter, received) in &self.received {
            write::day(self.db, Stamp(quarter * QUARTER), *received)?;
        }
        Ok((self.rows, views))
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
