//! The writer's queue: bounded, and emptied all at once.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A queue of jobs with one consumer.
#[derive(Debug)]
pub struct Queue<T> {
    state: Mutex<QueueState<T>>,
    changed: Condvar,
    capacity: usize,
}

#[derive(Debug)]
struct QueueState<T> {
    jobs: VecDeque<T>,
    closed: bool,
    /// The consumer sleeps. Waking one that does not sleep still costs a system call.
    asleep: bool,
    /// The consumer has something to do besides jobs.
    nudged: bool,
}

/// Why a job was not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    Full,
    Closed,
}

/// What the consumer finds.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken<T> {
    Jobs(Vec<T>),
    Nothing,
    Closed,
}

impl<T> Queue<T> {
    pub fn new(capacity: usize) -> Queue<T> {
        Queue {
            state: Mutex::new(QueueState {
                jobs: VecDeque::new(),
                closed: false,
                asleep: false,
                nudged: false,
            }),
            changed: Condvar::new(),
            capacity,
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds all jobs at once, so that nothing comes between them; or none, and returns them.
    pub fn put(&self, jobs: Vec<T>) -> Result<(), (Refused, Vec<T>)> {
        let mut state = self.lock();
        if state.closed {
            return Err((Refused::Closed, jobs));
        }
        if state.jobs.len() >= self.capacity {
            return Err((Refused::Full, jobs));
        }
        state.jobs.extend(jobs);
        let asleep = std::mem::take(&mut state.asleep);
        drop(state);
        if asleep {
            self.changed.notify_one();
        }
        Ok(())
    }

    /// Returns up to `most` jobs, at once if there are any; otherwise waits for `patience`, or forever.
    pub fn take(&self, most: usize, patience: Option<Duration>) -> Taken<T> {
        let mut state = self.lock();
        if state.jobs.is_empty() && !state.closed && !state.nudged {
            state.asleep = true;
            let empty = |state: &mut QueueState<T>| {
                state.asleep = state.jobs.is_empty() && !state.closed && !state.nudged;
                state.asleep
            };
            state = match patience {
                None => self.changed.wait_while(state, empty).unwrap_or_else(PoisonError::into_inner),
                Some(time) => {
                    self.changed
                        .wait_timeout_while(state, time, empty)
                        .unwrap_or_else(PoisonError::into_inner)
                        .0
                }
            };
        }
        (state.asleep, state.nudged) = (false, false);
        if state.jobs.is_empty() {
            return if state.closed { Taken::Closed } else { Taken::Nothing };
        }
        let count = state.jobs.len().min(most);
        Taken::Jobs(state.jobs.drain(..count).collect())
    }

    /// Ends the consumer's wait: the time it may sleep has changed.
    pub fn nudge(&self) {
        let mut state = self.lock();
        state.nudged = true;
        let asleep = std::mem::take(&mut state.asleep);
        drop(state);
        if asleep {
            self.changed.notify_one();
        }
    }

    /// Accepts no more jobs; those in the queue are still taken.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_all();
    }

    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    pub fn len(&self) -> usize {
        self.lock().jobs.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_taken_in_order_all_at_once_and_to_the_end() {
        let queue = Queue::new(3);
        queue.put(vec![1, 2]).unwrap();
        queue.put(vec![3]).unwrap();
        assert_eq!(queue.put(vec![4]), Err((Refused::Full, vec![4])));
        assert_eq!(queue.take(2, None), Taken::Jobs(vec![1, 2]));
        queue.close();
        assert_eq!(queue.put(vec![5]), Err((Refused::Closed, vec![5])));
        assert_eq!(queue.take(9, None), Taken::Jobs(vec![3]));
        assert_eq!(queue.take(9, None), Taken::Closed);
    }

    #[test]
    fn a_sleeping_taker_is_woken_by_every_first_job() {
        let queue = Queue::new(1000);
        std::thread::scope(|scope| {
            let taker = scope.spawn(|| {
                let mut taken = 0;
                while let Taken::Jobs(jobs) = queue.take(10, None) {
                    taken += jobs.len();
                }
                taken
            });
            for job in 0..500 {
                queue.put(vec![job]).unwrap();
                if job % 7 == 0 {
                    // Often enough it is asleep again by then.
                    while !queue.is_empty() {
                        std::thread::yield_now();
                    }
                }
            }
            queue.close();
            assert_eq!(taker.join().unwrap(), 500);
        });
    }

    #[test]
    fn an_empty_queue_gives_nothing_after_a_while() {
        assert_eq!(Queue::<u8>::new(1).take(1, Some(Duration::from_millis(1))), Taken::Nothing);
    }
}
