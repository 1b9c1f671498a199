//! Records what hooks stored in the spool while no server answered, oldest first, and removes it when it is on disk. A
//! crash in between repeats the event, but its delivery id makes both count as one.

use crate::app_state::AppState;
use crate::ingest::{body, receive};
use crate::ledger::new_event::NewEvent;
use crate::ledger::{AnswerPath, PendingAnswer};
use crate::reconcile::watcher::HookSignal;
use headspace_platform::log;
use headspace_platform::spool::{Record, Spool};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How often the spool is checked.
const DRAIN_EVERY: Duration = Duration::from_secs(2);
/// Events recorded together.
const EVENTS_PER_BATCH: usize = 200;

/// Drains at once and then every few seconds, until the server stops.
pub fn run(app: &Weak<AppState>) {
    let mut spool = Spool::open();
    while let Some(app) = app.upgrade() {
        if app.stopping.load(Ordering::Relaxed) {
            return;
        }
        drain(&app, &mut spool);
        app.keys.write_if_unwritten();
        app.reconciler.spool_was_read();
        drop(app);
        std::thread::sleep(DRAIN_EVERY);
    }
}

/// Drains until the spool is empty, or an event could not be recorded.
fn drain(app: &Arc<AppState>, spool: &mut Spool) {
    loop {
        let records = spool.read_batch(EVENTS_PER_BATCH);
        if records.is_empty() || !record_all(app, spool, &records) || app.ledger.is_closed() {
            return;
        }
    }
}

/// `false`: at least one event has to stay for now.
fn record_all(app: &Arc<AppState>, spool: &Spool, records: &[Record]) -> bool {
    let mut waiting = Vec::new();
    for record in records {
        let Some(event) = event_in(record) else {
            log::line("moved an unreadable spooled event to bad/");
            spool.reject(record);
            continue;
        };
        let signal = HookSignal::of(&event);
        let mut events = Vec::new();
        if app.reconciler.is_needed_before(&event.name, &signal) {
            // This event depends on the agent's current state, so everything before it must be recorded.
            if !settle(app, spool, &mut waiting) {
                return false;
            }
            events = app.read_before_spooled(&signal);
        }
        events.push(event);
        if let Some(pending) = app.ledger.submit(events, AnswerPath::Direct).pop() {
            waiting.push((record, signal, pending));
        }
    }
    settle(app, spool, &mut waiting)
}

/// The event, if it can be read. One that shows a bug counts as unreadable: those behind it must not wait forever.
fn event_in(record: &Record) -> Option<NewEvent> {
    let read = || {
        let body = body::decode(&record.body).ok()?;
        let session_id = body::session_id(&body).ok()?;
        Some(receive::event_of(&record.slug, session_id, body))
    };
    catch_unwind(AssertUnwindSafe(read)).ok()?
}

type SubmittedRecord<'a> = (&'a Record, HookSignal, PendingAnswer);

/// Waits for the answers, and removes what is on disk.
fn settle(app: &Arc<AppState>, spool: &Spool, waiting: &mut Vec<SubmittedRecord>) -> bool {
    let (mut all, mut stored) = (true, Vec::new());
    for (record, heard, pending) in waiting.drain(..) {
        if pending.wait().is_ok() {
            stored.push(record);
            app.reconciler.heard(heard);
        } else {
            all = false;
        }
    }
    // An answer may come before the event is on disk, and what is removed here exists nowhere else.
    if !stored.is_empty()
        && let Err(error) = app.ledger.sync()
    {
        log::line(&format!("{error:#}"));
        return false;
    }
    for record in stored {
        if let Err(error) = spool.remove(record) {
            log::line(&format!("{error:#}"));
            all = false;
        }
    }
    all
}
