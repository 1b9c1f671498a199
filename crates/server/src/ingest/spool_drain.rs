//! The spool's other end: what hooks kept while no server answered is recorded, oldest first, and removed when it is
//! on disk. A crash in between repeats the event, and its delivery id makes the two one.

use crate::app_state::AppState;
use crate::ingest::{body, receive};
use crate::ledger::{Answers, PendingAnswer};
use crate::reconcile::watcher::HookSignal;
use headspace_platform::spool::{Record, Spool};
use headspace_platform::{config, log};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// How often the spool is looked at.
const DRAIN_EVERY: Duration = Duration::from_secs(2);
/// Events recorded together.
const EVENTS_PER_BATCH: usize = 200;

/// Drains at once and then every few seconds, until the server stops.
pub fn run(app: &Weak<AppState>) {
    let mut spool = Spool::open(&config::spool_dir());
    while let Some(app) = app.upgrade() {
        if app.stopping.load(Ordering::Relaxed) {
            return;
        }
        drain(&app, &mut spool);
        app.reconciler.spool_was_read();
        drop(app);
        std::thread::sleep(DRAIN_EVERY);
    }
}

/// Until it is empty, or something could not be recorded.
fn drain(app: &Arc<AppState>, spool: &mut Spool) {
    loop {
        let records = spool.read_batch(EVENTS_PER_BATCH);
        if records.is_empty() || !record_all(app, spool, &records) || app.ledger.is_closed() {
            return;
        }
    }
}

/// `false`: at least one has to stay for now.
fn record_all(app: &Arc<AppState>, spool: &Spool, records: &[Record]) -> bool {
    let mut waiting = Vec::new();
    for record in records {
        let decoded = body::decode(&record.body)
            .and_then(|body| body::session_id(&body).map(|session_id| (session_id, body)));
        let Ok((session_id, body)) = decoded else {
            log::line("a spooled event made no sense: set aside");
            spool.reject(record);
            continue;
        };
        let event = receive::event_of(&record.slug, session_id, body);
        let heard = HookSignal::of(&event);
        let mut events = Vec::new();
        if app.reconciler.is_needed_before(&event.name, &heard) {
            // It is judged by the agent as it is, so everything before it must be in.
            if !settle(app, spool, &mut waiting) {
                return false;
            }
            events = app.read_before_spooled(&heard);
        }
        events.push(event);
        if let Some(pending) = app.ledger.submit(events, Answers::Direct).pop() {
            waiting.push((record, heard, pending));
        }
    }
    settle(app, spool, &mut waiting)
}

type Waiting<'a> = (&'a Record, HookSignal, PendingAnswer);

/// Waits for the answers, and removes what is on disk.
fn settle(app: &Arc<AppState>, spool: &Spool, waiting: &mut Vec<Waiting>) -> bool {
    let mut all = true;
    for (record, heard, pending) in waiting.drain(..) {
        match pending.wait() {
            Ok(_) => {
                app.reconciler.heard(heard);
                if let Err(error) = spool.remove(record) {
                    log::line(&format!("{error:#}"));
                    all = false;
                }
            }
            Err(_) => all = false,
        }
    }
    all
}
