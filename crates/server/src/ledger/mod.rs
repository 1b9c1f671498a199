//! The ledger: callers submit events here and are answered when the events are durable.
//!
//! A [`Ledger`] is a cheap handle that any thread may clone. Behind it one thread ([`writer`]) owns the database and
//! the engine's world.

pub mod copy;
pub mod new_event;
pub mod queue;
pub mod snapshot;
pub mod writer;

use crate::alerts::AlertChange;
use crate::alerts::alert_feed::AlertFeed;
use crate::answers::Readiness;
use crate::http::sse::Hub;
use crate::ledger::copy::{Copier, CopyFeed};
pub use crate::ledger::new_event::NewEvent;
use crate::ledger::queue::{Queue, Refused};
use crate::ledger::snapshot::Snapshot;
use headspace_core::engine::Agent;
use headspace_core::model::*;
use headspace_core::stamp::Stamp;
use headspace_platform::config::{Config, Durability};
use headspace_store::retention::prune::Deleted;
use headspace_store::wal::sync::LogSync;
use headspace_store::write::StoreCursor;
use headspace_store::write::batch::EventRecord;
pub use headspace_store::write::batch::Receipt;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard, mpsc};
use tokio::sync::oneshot;

/// Jobs that may wait; connections are limited far below this.
const MAX_QUEUED_JOBS: usize = 16_384;

/// The event could not be recorded now; the caller must keep it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable(pub String);

impl std::fmt::Display for Unavailable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unavailable {}

pub type Answer = Result<Receipt, Unavailable>;

/// An answer on its way: await it, or [`wait`](PendingAnswer::wait) in a plain thread.
#[derive(Debug)]
pub struct PendingAnswer(oneshot::Receiver<Answer>);

impl PendingAnswer {
    /// Blocks this thread; not for use on the server's runtime.
    pub fn wait(self) -> Answer {
        self.0.blocking_recv().unwrap_or_else(|_| Err(gone()))
    }

    pub async fn answer(self) -> Answer {
        self.0.await.unwrap_or_else(|_| Err(gone()))
    }
}

fn gone() -> Unavailable {
    Unavailable("the server is shutting down".into())
}

/// How answers reach the callers that submitted the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerPath {
    /// Each separately: for threads that wait.
    Direct,
    /// Through the server's own thread, which is woken once for all answers of a COMMIT: for its tasks. Every wake-up
    /// between threads costs more than an event.
    ThroughServer,
}

/// A job in the writer's queue.
#[derive(Debug)]
pub enum Job {
    Event(Box<EventRecord>, AnswerTo),
    /// Delete what retention no longer keeps, now; perhaps with another number of days.
    Prune(Option<u32>, oneshot::Sender<Deleted>),
    /// A reader waits: all derived rows have to be in the tables.
    WriteRows(oneshot::Sender<()>),
}

/// Where the answer to an event goes.
pub enum AnswerTo {
    /// To the caller that waits for it.
    Waiting(AnswerPath, oneshot::Sender<Answer>),
    /// To this function, called on the thread that stores the event, as soon as it is stored.
    Now(Box<dyn FnOnce(Answer) + Send>),
}

impl std::fmt::Debug for AnswerTo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            AnswerTo::Waiting(AnswerPath::Direct, _) => "Direct",
            AnswerTo::Waiting(AnswerPath::ThroughServer, _) => "ThroughServer",
            AnswerTo::Now(_) => "Now",
        })
    }
}

impl Job {
    /// The caller may be gone by now.
    pub fn answer(self, answer: Answer) {
        let Job::Event(_, reply) = self else { return };
        match reply {
            AnswerTo::Waiting(_, waiting) => drop(waiting.send(answer)),
            AnswerTo::Now(reply) => reply(answer),
        }
    }
}

/// What the writer publishes for all readers, who need not wait for it.
#[derive(Debug, Default)]
pub struct Published {
    pub snapshot: RwLock<Snapshot>,
    pub marks: RwLock<StoreCursor>,
    pub alert_feed: AlertFeed,
    /// For the thread that copies the log elsewhere.
    pub copied: CopyFeed,
    /// Where the answers to the server's own tasks go, all answers of a COMMIT at once.
    pub answered: OnceLock<tokio::sync::mpsc::UnboundedSender<Vec<(Job, Answer)>>>,
    pub hub: Hub,
    pub counts: Counts,
    pub log: Log,
    /// Counts the databases: a reader whose connection belongs to an earlier one opens the current one.
    pub generation: AtomicU64,
    trouble: RwLock<Option<Trouble>>,
    /// The only connection that can read while nothing can be written.
    alone: Mutex<Option<Connection>>,
    /// Whether asks can be answered from here.
    pub readiness: Readiness,
    /// Receives the agents that each COMMIT touched, for the part that handles answers.
    pub touched: OnceLock<tokio::sync::mpsc::UnboundedSender<Vec<i64>>>,
}

impl Published {
    pub fn alone(&self) -> MutexGuard<'_, Option<Connection>> {
        self.alone.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_trouble(&self, trouble: Option<Trouble>) {
        if trouble.is_some() || self.trouble().is_some() {
            *self.trouble.write().unwrap_or_else(PoisonError::into_inner) = trouble;
        }
    }

    pub fn trouble(&self) -> Option<Trouble> {
        self.trouble.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Why events cannot be stored now.
#[derive(Clone, Debug)]
pub struct Trouble {
    pub why: String,
    /// The disk takes nothing: no event is to blame, and it passes when there is room.
    pub is_no_room: bool,
}

/// Syncs the log to disk where COMMIT does not.
#[derive(Debug, Default)]
pub struct Log(RwLock<Option<LogSync>>);

impl Log {
    pub fn start(&self, path: &Path, durability: Durability) -> anyhow::Result<()> {
        let sync = match durability {
            Durability::Crash => Some(LogSync::start(path)?),
            Durability::Power => None,
        };
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = sync;
        Ok(())
    }

    pub fn stop(&self) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn written(&self) {
        if let Some(sync) = &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            sync.written();
        }
    }

    fn failure(&self) -> Option<String> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).as_ref()?.failure()
    }

    /// When this returns, everything that was answered is on disk.
    pub fn sync(&self) -> anyhow::Result<()> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).as_ref().map_or(Ok(()), LogSync::now)
    }
}

/// Counters for `/metrics`.
#[derive(Debug, Default)]
pub struct Counts {
    pub commits: AtomicU64,
    pub commit_failures: AtomicU64,
    pub engine_failures: AtomicU64,
    pub duplicates: AtomicU64,
    /// Hook events answered without the HTTP framework, on the thread that stored them.
    pub direct: AtomicU64,
}

/// A handle to the ledger, for any thread.
#[derive(Clone, Debug)]
pub struct Ledger {
    pub(super) queue: Arc<Queue<Job>>,
    pub(super) published: Arc<Published>,
    paranoid: bool,
    /// The configured context window.
    window: Option<u64>,
}

impl Ledger {
    pub fn new(config: &Config) -> Ledger {
        Ledger {
            queue: Arc::new(Queue::new(MAX_QUEUED_JOBS)),
            published: Arc::new(Published::default()),
            paranoid: config.paranoid,
            window: config.context.window,
        }
    }

    /// Submits events together, with no other events between them. Secrets are masked and long texts cut here, on the
    /// caller's time: nothing enters without that.
    pub fn submit(&self, events: Vec<NewEvent>, answers: AnswerPath) -> Vec<PendingAnswer> {
        let (jobs, pending): (Vec<_>, Vec<_>) =
            events.into_iter().map(|event| self.job(event, answers)).unzip();
        self.put_all(jobs);
        pending
    }

    /// Submits one event, for a task of the server.
    pub fn submit_one(&self, event: NewEvent) -> PendingAnswer {
        let (job, pending) = self.job(event, AnswerPath::ThroughServer);
        self.put(job);
        pending
    }

    /// Passes answers on to the server's tasks, on the server's own thread.
    pub async fn pass_answers_on(self) {
        let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
        if self.published.answered.set(sender).is_err() {
            return;
        }
        while let Some(answers) = receiver.recv().await {
            for (job, answer) in answers {
                job.answer(answer);
            }
        }
    }

    /// Deletes what retention no longer keeps, and returns what was deleted when it is done.
    pub async fn prune(&self, days: Option<u32>) -> Result<Deleted, Unavailable> {
        let (answer, pending) = oneshot::channel();
        self.put(Job::Prune(days, answer));
        pending.await.map_err(|_| gone())
    }

    /// When this returns, the tables hold everything that was answered before.
    pub async fn rows_written(&self) -> Result<(), Unavailable> {
        let (done, wait) = oneshot::channel();
        self.put(Job::WriteRows(done));
        wait.await.map_err(|_| Unavailable("the latest states could not be stored: try again".into()))
    }

    fn job(&self, new: NewEvent, answers: AnswerPath) -> (Job, PendingAnswer) {
        let (answer, pending) = oneshot::channel();
        (self.job_with(new, AnswerTo::Waiting(answers, answer)), PendingAnswer(pending))
    }

    /// A job that the thread which stores the event answers at once, by calling `reply`.
    pub fn answered_at_once(&self, event: NewEvent, reply: impl FnOnce(Answer) + Send + 'static) -> Job {
        self.job_with(event, AnswerTo::Now(Box::new(reply)))
    }

    fn job_with(&self, new: NewEvent, reply: AnswerTo) -> Job {
        Job::Event(Box::new(new.recorded(self.paranoid)), reply)
    }

    fn put(&self, job: Job) {
        self.put_all(vec![job]);
    }

    /// If a job is refused, its caller is told so.
    pub fn put_all(&self, jobs: Vec<Job>) {
        let Err((why, jobs)) = self.queue.put(jobs) else { return };
        let refusal = match why {
            Refused::Closed => gone(),
            Refused::Full => {
                headspace_platform::log::line("too many events at once: refused");
                Unavailable("too many events at once: try again".into())
            }
        };
        for job in jobs {
            job.answer(Err(refusal.clone()));
        }
    }

    /// When this returns, everything that was answered is on disk; takes as long as the disk does.
    pub fn sync(&self) -> anyhow::Result<()> {
        self.published.log.sync()
    }

    /// Why events cannot be stored now; `None` while they can.
    pub fn trouble(&self) -> Option<String> {
        self.published.trouble().map(|trouble| trouble.why).or_else(|| self.published.log.failure())
    }

    /// Whether nothing can be stored because the disk takes nothing.
    pub fn has_no_room(&self) -> bool {
        self.published.trouble().is_some_and(|trouble| trouble.is_no_room)
    }

    /// The only connection that can read while nothing can be written.
    pub fn alone(&self) -> MutexGuard<'_, Option<Connection>> {
        self.published.alone()
    }

    /// A new number means a new database.
    pub fn generation(&self) -> u64 {
        self.published.generation.load(Ordering::Relaxed)
    }

    /// The server is ending: nothing more is accepted.
    pub fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }

    /// The agents as last committed.
    pub fn snapshot(&self) -> RwLockReadGuard<'_, Snapshot> {
        self.published.snapshot.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// One agent as last committed. Does not hold up the writer.
    pub fn agent(&self, id: i64) -> Option<Arc<Agent>> {
        self.snapshot().agent(id)
    }

    /// All agents that have not ended, and up to `ended` of the others.
    pub fn agents(&self, ended: usize) -> Vec<Arc<Agent>> {
        self.snapshot().agents(ended)
    }

    /// An agent as every surface shows it.
    pub fn view(&self, agent: &Agent, now: Stamp) -> AgentView {
        let mut view = agent.view(now, self.window);
        for (shown, open) in view.interactions.iter_mut().zip(&agent.interactions) {
            shown.answer = open.answer_view(self.published.readiness.why());
        }
        view
    }

    pub fn readiness(&self) -> &Readiness {
        &self.published.readiness
    }

    /// From now on, sends which agents each COMMIT touched. Only the first caller gets them; the others get `false`.
    pub fn report_touched(&self, to: tokio::sync::mpsc::UnboundedSender<Vec<i64>>) -> bool {
        self.published.touched.set(to).is_ok()
    }

    /// Alerts that answers can be given from now on.
    pub fn alert_unlocked(&self, text: &str) {
        self.published.alert_feed.unlocked(text);
    }

    pub fn marks(&self) -> StoreCursor {
        self.published.marks.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on, sends every agent that begins or stops needing a person, as it looks after the COMMIT.
    pub fn watch(&self) -> mpsc::Receiver<AlertChange> {
        self.published.alert_feed.add()
    }

    pub(crate) fn alert_feed(&self) -> &AlertFeed {
        &self.published.alert_feed
    }

    /// For a thread that copies the log elsewhere, and must never make another thread wait.
    pub fn copier(&self, database: PathBuf) -> Copier {
        Copier::new(self.clone(), database)
    }

    pub fn hub(&self) -> &Hub {
        &self.published.hub
    }

    pub fn counts(&self) -> &Counts {
        &self.published.counts
    }
}
