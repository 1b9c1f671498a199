//! The line in front of the writer: bounded, and taken from all at once.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A line of jobs for one taker.
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
    /// The taker sleeps. Waking somebody who does not costs a system call all the same.
    asleep: bool,
    /// The taker has something else to do than jobs.
    nudged: bool,
}

/// Why a job was not taken in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    Full,
    Closed,
}

/// What the taker finds.
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

    /// All of them in one go, so that nothing comes between.
    pub fn put(&self, jobs: impl IntoIterator<Item = T>) -> Result<(), Refused> {
        let mut state = self.lock();
        if state.closed {
            return Err(Refused::Closed);
        }
        if state.jobs.len() >= self.capacity {
            return Err(Refused::Full);
        }
        state.jobs.extend(jobs);
        let asleep = std::mem::take(&mut state.asleep);
        drop(state);
        if asleep {
            self.changed.notify_one();
        }
        Ok(())
    }

    /// Up to `most` jobs, at once if there are any; otherwise waits, `patience` long or forever.
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

    /// Ends the taker's wait: how long it may sleep has changed.
    pub fn nudge(&self) {
        let mut state = self.lock();
        state.nudged = true;
        let asleep = std::mem::take(&mut state.asleep);
        drop(state);
        if asleep {
            self.changed.notify_one();
        }
    }

    /// Nothing more comes in; what is in line is still taken.
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
        queue.put([1, 2]).unwrap();
        queue.put([3]).unwrap();
        assert_eq!(queue.put([4]), Err(Refused::Full));
        assert_eq!(queue.take(2, None), Taken::Jobs(vec![1, 2]));
        queue.close();
        assert_eq!(queue.put([5]), Err(Refused::Closed));
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
                queue.put([job]).unwrap();
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
    fn an_empty_line_gives_nothing_after_a_while() {
        assert_eq!(Queue::<u8>::new(1).take(1, Some(Duration::from_millis(1))), Taken::Nothing);
    }
}
