//! From COMMIT to disk: what is committed is synced, and then answered and told, in the order of the commits.
//!
//! A lone event is synced at once. When more come, a thread of its own does it while the writer works on the next ones.
//! Nobody hears of an event before it is on disk.

use super::ledger::{Answer, Job, Ledger, Receipt, Unavailable};
use super::log;
use super::queue::{Queue, Taken};
use super::sse::Message;
use crate::clock::Stamp;
use crate::engine::Agent;
use crate::model::AgentView;
use crate::store::Log;
use crate::store::write::{ChangeRow, Marks};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// The writer's side of it.
pub struct Disk {
    keeper: Arc<Keeper>,
    line: Arc<Queue<Done>>,
    thread: Option<JoinHandle<()>>,
}

/// What the writer has done, in its order.
pub enum Done {
    Commit(Committed),
    /// All rows are in the tables. Whoever waits for that finds in the snapshot what they say.
    Rows(Vec<oneshot::Sender<()>>),
}

/// What a batch has to say once it is on disk.
pub struct Committed {
    pub jobs: Vec<Job>,
    pub answers: Vec<Receipt>,
    /// The agents it changed, each with the number of that step in the stream.
    pub agents: Vec<(i64, Arc<Agent>)>,
    pub changes: Vec<ChangeRow>,
    pub marks: Marks,
}

impl Disk {
    pub fn start(database: &Path, ledger: Ledger) -> io::Result<Disk> {
        let log = Log::of(database);
        Disk::with(ledger, move || log.sync())
    }

    fn with(ledger: Ledger, sync: impl Fn() -> io::Result<()> + Send + Sync + 'static) -> io::Result<Disk> {
        let keeper = Arc::new(Keeper {
            sync: Box::new(sync),
            ledger,
            in_doubt: AtomicBool::new(false),
            waiting: Mutex::new(0),
            settled: Condvar::new(),
        });
        let line = Arc::new(Queue::new(usize::MAX));
        let (kept, taken) = (Arc::clone(&keeper), Arc::clone(&line));
        let thread = std::thread::Builder::new().name("disk".into()).spawn(move || kept.run(&taken))?;
        Ok(Disk { keeper, line, thread: Some(thread) })
    }

    /// Syncs and tells: now if it is `alone` and nothing is before it, otherwise while the writer goes on.
    pub fn tell(&self, done: Done, alone: bool) {
        let mut waiting = self.keeper.waiting();
        if *waiting == 0 && alone {
            drop(waiting);
            return self.keeper.keep(vec![done]);
        }
        *waiting += 1;
        drop(waiting);
        if self.line.put([done]).is_err() {
            self.keeper.settle(1);
        }
        // One is synced and one waits for that: the writer is far enough ahead.
        self.wait_until(1);
    }

    /// Nothing is waiting; when that comes about, the ledger's line is nudged.
    pub fn is_idle(&self) -> bool {
        *self.keeper.waiting() == 0
    }

    /// Waits until everything that was done is told.
    pub fn settle(&self) {
        self.wait_until(0);
    }

    fn wait_until(&self, most: usize) {
        let waiting = self.keeper.waiting();
        let settled = self.keeper.settled.wait_while(waiting, |waiting| *waiting > most);
        drop(settled.unwrap_or_else(PoisonError::into_inner));
    }

    /// A sync has failed. The system may have let go of what it could not write, so that no later sync says anything of
    /// it: nothing is promised before all of it has been written once more.
    pub fn is_in_doubt(&self) -> bool {
        self.keeper.in_doubt.load(Ordering::Acquire)
    }

    /// It has been written once more, and nothing is waiting.
    pub fn trust(&self) {
        self.keeper.in_doubt.store(false, Ordering::Release);
    }
}

impl Drop for Disk {
    /// Nobody who waits for an answer is left without.
    fn drop(&mut self) {
        self.line.close();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Keeper {
    sync: Box<dyn Fn() -> io::Result<()> + Send + Sync>,
    ledger: Ledger,
    in_doubt: AtomicBool,
    /// In the line, or taken from it and not told yet.
    waiting: Mutex<usize>,
    settled: Condvar,
}

impl Keeper {
    fn waiting(&self) -> MutexGuard<'_, usize> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn settle(&self, count: usize) {
        *self.waiting() -= count;
        self.settled.notify_all();
    }

    fn run(&self, line: &Queue<Done>) {
        loop {
            match line.take(usize::MAX, None) {
                Taken::Jobs(done) => {
                    let count = done.len();
                    // A bug costs those who wait their answer, and nobody else.
                    let _ = catch_unwind(AssertUnwindSafe(|| self.keep(done)));
                    self.settle(count);
                    self.ledger.queue.nudge();
                }
                Taken::Nothing => {}
                Taken::Closed => return,
            }
        }
    }

    fn keep(&self, done: Vec<Done>) {
        let commits = done.iter().any(|done| matches!(done, Done::Commit(_)));
        if commits
            && !self.in_doubt.load(Ordering::Acquire)
            && let Err(error) = (self.sync)()
        {
            self.in_doubt.store(true, Ordering::Release);
            log::line(&format!("could not store events: the disk did not take them: {error}"));
        }
        let in_doubt = self.in_doubt.load(Ordering::Acquire);
        for done in done {
            match done {
                Done::Commit(committed) if in_doubt => self.refuse(committed),
                Done::Commit(committed) => self.publish(committed),
                // Who cannot be shown everything is not answered, and asks again.
                Done::Rows(_) if in_doubt => {}
                Done::Rows(readers) => {
                    for reader in readers {
                        let _ = reader.send(());
                    }
                }
            }
        }
    }

    /// Sent again, an event of these is recognised by its delivery.
    fn refuse(&self, committed: Committed) {
        self.ledger.counts().commit_failures.fetch_add(1, Ordering::Relaxed);
        for job in committed.jobs {
            job.answer(Err(Unavailable::to_store()));
        }
    }

    /// It is on disk: answer, then tell the rest. Whoever has an answer finds it in the snapshot.
    fn publish(&self, committed: Committed) {
        let Committed { jobs, answers, agents, changes, marks } = committed;
        let published = &self.ledger.published;
        let now = Stamp::now();
        let views: Vec<_> = agents.iter().map(|(seq, agent)| (*seq, Arc::new(agent.view(now)))).collect();
        {
            let mut snapshot = published.snapshot.write().unwrap_or_else(PoisonError::into_inner);
            for (_, agent) in agents {
                snapshot.put(agent);
            }
        }
        *published.marks.write().unwrap_or_else(PoisonError::into_inner) = marks;
        published.counts.commits.fetch_add(1, Ordering::Relaxed);
        let mut together = Vec::new();
        for (job, receipt) in jobs.into_iter().zip(answers) {
            if receipt.duplicate {
                published.counts.duplicates.fetch_add(1, Ordering::Relaxed);
            }
            match job {
                Job::Event(event) if event.by_task => together.push((Job::Event(event), Ok(receipt))),
                job => job.answer(Ok(receipt)),
            }
        }
        answer_together(&self.ledger, together);
        published.watchers.tell(views.iter().map(|(_, view)| view));
        if !published.hub.is_empty() {
            published.hub.publish(messages(&changes, &views));
        }
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
fn messages(changes: &[ChangeRow], views: &[(i64, Arc<AgentView>)]) -> Vec<Message> {
    let steps = changes
        .iter()
        .map(|change| Message::from_json(Some(change.seq), change.kind, Some(change.agent_id), &change.data));
    let agents =
        views.iter().map(|(seq, view)| Message::new(Some(*seq), "agent_updated", Some(view.id), &**view));
    steps.chain(agents).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::model::Method;
    use crate::store::write::TailUpdate;
    use std::sync::mpsc;

    /// A commit of one job, and where its answer comes.
    fn commit(event_id: i64) -> (Done, oneshot::Receiver<Answer>) {
        let (sender, answer) = oneshot::channel();
        let receipt = Receipt {
            event_id,
            agent_id: None,
            is_new_agent: false,
            method: Method::SessionId,
            duplicate: false,
            state: None,
            status: None,
        };
        let committed = Committed {
            jobs: vec![Job::Tail(TailUpdate::default(), sender)],
            answers: vec![receipt],
            agents: Vec::new(),
            changes: Vec::new(),
            marks: Marks { event: event_id, ..Marks::default() },
        };
        (Done::Commit(committed), answer)
    }

    fn ledger() -> Ledger {
        Ledger::new(&Config::default())
    }

    #[test]
    fn nobody_is_answered_before_the_sync_and_all_in_their_order() {
        let (begun, begins) = mpsc::channel();
        let (go_on, may_go_on) = mpsc::channel::<()>();
        let may_go_on = Mutex::new(may_go_on);
        let slow = move || {
            begun.send(()).unwrap();
            may_go_on.lock().unwrap().recv().unwrap();
            Ok(())
        };
        let ledger = ledger();
        let disk = Disk::with(ledger.clone(), slow).unwrap();
        let (first, mut first_answer) = commit(1);
        disk.tell(first, false);
        begins.recv().unwrap();
        std::thread::scope(|scope| {
            let (second, mut second_answer) = commit(2);
            let (reader, mut rows) = oneshot::channel();
            // Not before what came first, though it is the only one now.
            scope.spawn(|| {
                disk.tell(second, true);
                disk.tell(Done::Rows(vec![reader]), true);
            });
            assert!(first_answer.try_recv().is_err());
            assert_eq!(ledger.marks().event, 0);
            go_on.send(()).unwrap();
            assert_eq!(first_answer.blocking_recv().unwrap().unwrap().event_id, 1);
            begins.recv().unwrap();
            assert!(second_answer.try_recv().is_err() && rows.try_recv().is_err());
            assert_eq!(ledger.marks().event, 1);
            go_on.send(()).unwrap();
            assert_eq!(second_answer.blocking_recv().unwrap().unwrap().event_id, 2);
            rows.blocking_recv().unwrap();
        });
        disk.settle();
        assert_eq!(ledger.marks().event, 2);
    }

    #[test]
    fn after_a_sync_that_failed_nothing_is_promised_until_all_is_written_again() {
        let (fails, failing) = mpsc::channel();
        let failing = Mutex::new(failing);
        let sync = move || match failing.lock().unwrap().try_recv() {
            Ok(()) => Err(io::Error::other("no")),
            Err(_) => Ok(()),
        };
        let disk = Disk::with(ledger(), sync).unwrap();
        let answered = |alone: bool| {
            let (done, answer) = commit(1);
            disk.tell(done, alone);
            answer.blocking_recv().unwrap().is_ok()
        };
        for alone in [true, false] {
            assert!(answered(alone) && !disk.is_in_doubt());
            fails.send(()).unwrap();
            assert!(!answered(alone) && disk.is_in_doubt());
            // What comes after it in the log is worth nothing without it.
            assert!(!answered(alone));
            let (reader, rows) = oneshot::channel();
            disk.tell(Done::Rows(vec![reader]), alone);
            rows.blocking_recv().unwrap_err();
            disk.settle();
            disk.trust();
        }
        assert!(answered(true));
    }
}
