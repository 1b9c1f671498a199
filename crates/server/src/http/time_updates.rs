//! What changes by time alone: views of agents, and whether hooks still arrive. Sent only while a client is connected.

use crate::app_state::SharedState;
use crate::http::sse::Message;
use crate::http::status::Mode;
use crate::reconcile::settings_watch::HookPresence;
use headspace_core::engine::Agent;
use headspace_core::model::limits::LimitGauge;
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};

const TIME_UPDATES_EVERY: Duration = Duration::from_millis(250);
/// Ticks between two checks of what changes slowly: staleness, and the receiver's status.
const SLOW_CHANGES_EVERY_TICKS: u64 = 8;

/// The parts of the receiver's status that are sent when they change; ages and rates change all the time.
#[derive(PartialEq)]
struct StatusNews {
    mode: Mode,
    received: u64,
    waiting: u64,
    hooks: Option<HookPresence>,
    health: String,
    limits: Vec<LimitGauge>,
}

pub async fn run(app: SharedState) {
    let mut ticks = interval(TIME_UPDATES_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = Stamp::now();
    let mut sent: Option<StatusNews> = None;
    for tick in 0u64.. {
        ticks.tick().await;
        let now = Stamp::now();
        if app.ledger.hub().is_empty() {
            (last, sent) = (now, None);
            continue;
        }
        let slow = tick % SLOW_CHANGES_EVERY_TICKS == 0;
        if slow {
            app.reconciler.viewed();
        }
        let changed: Vec<Message> = app
            .ledger
            .snapshot()
            .agents(0)
            .iter()
            .filter(|agent| wakes(agent, last, now) || (slow && becomes_stale(agent, now)))
            .map(|agent| {
                Message::new(None, "agent_updated", Some(agent.id.into()), &app.ledger.view(agent, now))
            })
            .collect();
        app.ledger.hub().publish(changed);
        last = now;
        // The mode at once, the number of events now and then.
        let mode = app.mode();
        if sent.as_ref().is_none_or(|before| before.mode != mode) || slow {
            let spool = spool().await;
            let hooks = app.reconciler.hooks();
            let waiting = spool.count + spool.dropped;
            let status = app.hook_status(spool);
            let news = StatusNews {
                mode,
                received: app.ledger.marks().received,
                waiting,
                hooks,
                health: status.health.kind.clone(),
                limits: status.limits.clone(),
            };
            if sent.as_ref() != Some(&news) {
                app.ledger.hub().publish(vec![Message::new(None, "hook_status", None, &status)]);
                sent = Some(news);
            }
        }
    }
}

/// Its view changed by time between the two moments.
fn wakes(agent: &Agent, last: Stamp, now: Stamp) -> bool {
    agent.wakes_at(last).is_some_and(|at| at <= now)
}

/// It became stale since the last slow check.
fn becomes_stale(agent: &Agent, now: Stamp) -> bool {
    let before = now.minus(TIME_UPDATES_EVERY * SLOW_CHANGES_EVERY_TICKS as u32);
    agent.is_stale(now) && !agent.is_stale(before)
}

/// Reads the spool's directories, off the server's own thread.
pub async fn spool() -> headspace_platform::spool::Pending {
    let look = || headspace_platform::spool::Spool::open().pending();
    crate::blocking_pool::run(look).await.unwrap_or_default()
}
