//! How a change that one hub committed reaches the browsers of all other hubs.
//!
//! This happens beside the transactions, never inside: a commit with a notice holds a server-wide lock until it is on
//! disk. So notices are collected and sent on a separate connection, at most one per moment. A poll every two seconds
//! repairs what was missed, and is enough by itself where there is no LISTEN.

use crate::hub::Hub;
use crate::hub::board;
use crate::hub::faults::{Point, reach};
use crate::hub::http::access;
use anyhow::Result;
use headspace_platform::log;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::{Notify, mpsc};
use tokio::time::Instant;

/// Changes are sent at most this often.
const COLLECT_CHANGES_FOR: Duration = Duration::from_millis(25);
const POLL_EVERY: Duration = Duration::from_secs(2);
const LISTEN_AGAIN_AFTER: Duration = Duration::from_millis(500);
/// How often a hub that has just started checks whether its database is ready, so that it can listen.
const READY_ASKED_EVERY: Duration = Duration::from_millis(20);
const CHANNEL: &str = "headspace_hub";
/// Machines named in one notice; PostgreSQL takes 8000 bytes.
const MAX_NAMED: usize = 500;

#[derive(Default)]
pub struct Fanout {
    /// Machines that changed: through this hub, and through other hubs.
    changed: Mutex<(HashSet<i32>, HashSet<i32>)>,
    wake: Notify,
    marks: Mutex<HashMap<i32, Known>>,
}

/// What was last sent about a machine.
#[derive(Clone, Copy)]
struct Known {
    /// The time of the newest document that was sent.
    sent: SystemTime,
    /// The time of the machine's row.
    polled: SystemTime,
    silent: bool,
    epoch_no: i16,
}

impl Fanout {
    fn changed(&self) -> MutexGuard<'_, (HashSet<i32>, HashSet<i32>)> {
        self.changed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn marks(&self) -> MutexGuard<'_, HashMap<i32, Known>> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This hub has committed something about a machine.
    pub fn committed(&self, edge: i32) {
        self.changed().0.insert(edge);
        self.wake.notify_one();
    }

    fn heard(&self, edges: impl IntoIterator<Item = i32>) {
        self.changed().1.extend(edges);
        self.wake.notify_one();
    }
}

/// Sets where a stream begins: the client reads everything earlier itself.
pub async fn begin(hub: &Hub, teams: &[i32]) -> Result<()> {
    for (edge, found) in edges(hub, teams).await? {
        hub.fanout.marks().entry(edge).or_insert(found);
    }
    Ok(())
}

/// The machines that may have changed. Those of containers that never came back add up, and nobody waits for them.
async fn edges(hub: &Hub, teams: &[i32]) -> Result<Vec<(i32, Known)>> {
    let rows = hub
        .database
        .rows(
            "SELECT id, changed_at, coalesce(seen_at < clock_timestamp() - interval '12 seconds', true), epoch_no, left_at IS NOT NULL
             FROM edges WHERE team = ANY($1) AND seen_at > now() - interval '2 days'",
            &[&teams],
        )
        .await?;
    Ok(rows
        .iter()
        .map(|row| {
            let at: SystemTime = row.get(1);
            // A machine that left has no history any more.
            let epoch_no = if row.get(4) { i16::MAX } else { row.get(3) };
            (row.get(0), Known { sent: at, polled: at, silent: row.get(2), epoch_no })
        })
        .collect())
}

/// Sends what changed, until the hub ends.
pub async fn run(hub: Arc<Hub>) {
    let mut notices = Notices { hub: Arc::clone(&hub), client: None };
    let mut last = Instant::now();
    loop {
        hub.fanout.wake.notified().await;
        // The first change after a pause is sent at once; changes that follow soon are sent together.
        tokio::time::sleep_until(last + COLLECT_CHANGES_FOR).await;
        last = Instant::now();
        let (here, elsewhere) = std::mem::take(&mut *hub.fanout.changed());
        let all: HashSet<i32> = here.union(&elsewhere).copied().collect();
        let (told, sent) = tokio::join!(publish(&hub, &all), notices.send(&here));
        if told.is_err() || sent.is_err() {
            // The poll will find it.
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

/// Reads what changed at these machines and sends it to this hub's streams.
async fn publish(hub: &Hub, edges: &HashSet<i32>) -> Result<()> {
    if edges.is_empty() || hub.streams.len() == 0 {
        return Ok(());
    }
    let since: HashMap<i32, SystemTime> = {
        let marks = hub.fanout.marks();
        let known = |edge: &i32| marks.get(edge).map_or(SystemTime::UNIX_EPOCH, |known| known.sent);
        edges.iter().map(|edge| (*edge, known(edge))).collect()
    };
    let seats = board::changed(&hub.database, &since).await?;
    {
        let mut marks = hub.fanout.marks();
        for seat in &seats {
            let fresh = Known {
                sent: seat.changed_at,
                polled: SystemTime::UNIX_EPOCH,
                silent: seat.silent,
                epoch_no: 0,
            };
            let known = marks.entry(seat.edge).or_insert(fresh);
            known.sent = known.sent.max(seat.changed_at);
        }
    }
    hub.streams.publish(&seats);
    Ok(())
}

/// The connection for notices. It commits without waiting for the disk: the poll makes up for a lost notice.
struct Notices {
    hub: Arc<Hub>,
    client: Option<tokio_postgres::Client>,
}

impl Notices {
    async fn send(&mut self, edges: &HashSet<i32>) -> Result<()> {
        if edges.is_empty() || !self.hub.notify {
            return Ok(());
        }
        reach(Point::BeforeNotice);
        let client = match self.client.take().filter(|client| !client.is_closed()) {
            Some(client) => client,
            None => {
                let client = self.hub.database.settings.connect().await?;
                client.batch_execute("SET synchronous_commit = off").await?;
                client
            }
        };
        let names: Vec<String> = edges.iter().take(MAX_NAMED).map(i32::to_string).collect();
        client
            .query("SELECT pg_notify($1, $2)", &[&CHANNEL, &format!("{} {}", self.hub.id, names.join(" "))])
            .await?;
        self.client = Some(client);
        Ok(())
    }
}

/// Receives what other hubs committed.
pub async fn listen(hub: Arc<Hub>) {
    loop {
        while !hub.is_ready() {
            tokio::time::sleep(READY_ASKED_EVERY).await;
        }
        let _ = hear(&hub).await;
        tokio::time::sleep(LISTEN_AGAIN_AFTER).await;
    }
}

async fn hear(hub: &Hub) -> Result<()> {
    let (client, mut driver) = hub.database.settings.raw().await?;
    let (send, mut notices) = mpsc::channel(64);
    tokio::spawn(async move {
        while let Some(payload) = driver.notice().await {
            if send.send(payload).await.is_err() {
                return;
            }
        }
    });
    client.batch_execute(&format!("LISTEN {CHANNEL}")).await?;
    // This hub missed all notices sent before.
    look(hub).await?;
    while let Some(payload) = notices.recv().await {
        let mut words = payload.split(' ');
        if words.next() != Some(hub.id.as_str()) {
            hub.fanout.heard(words.filter_map(|edge| edge.parse().ok()));
        }
    }
    Ok(())
}

/// Looks for changes every two seconds, regardless of notices.
pub async fn poll(hub: Arc<Hub>) {
    let mut failing = false;
    loop {
        tokio::time::sleep(POLL_EVERY).await;
        if !hub.is_ready() {
            continue;
        }
        match look(&hub).await {
            Ok(()) => failing = false,
            Err(error) => {
                if !failing {
                    log::line(&format!("could not look for changes: {error:#}"));
                }
                failing = true;
            }
        }
    }
}

async fn look(hub: &Hub) -> Result<()> {
    let teams = hub.streams.teams();
    if teams.is_empty() {
        hub.fanout.marks().clear();
        return Ok(());
    }
    end_outdated(hub).await?;
    let (mut changed, mut silent, mut another_history) = (HashSet::new(), Vec::new(), false);
    let found = edges(hub, &teams).await?;
    {
        let mut marks = hub.fanout.marks();
        for (edge, now) in found {
            let Some(known) = marks.get_mut(&edge) else {
                changed.insert(edge);
                marks.insert(edge, Known { sent: SystemTime::UNIX_EPOCH, ..now });
                continue;
            };
            if known.polled != now.polled {
                changed.insert(edge);
            }
            if known.silent != now.silent {
                silent.push(edge);
            }
            another_history |= known.epoch_no > 0 && known.epoch_no != now.epoch_no;
            (known.polled, known.silent, known.epoch_no) = (now.polled, now.silent, now.epoch_no);
        }
    }
    if another_history {
        // Clients may show agents that no longer exist.
        hub.streams.close(|reader| reader.team_ids().iter().any(|team| teams.contains(team)));
        return Ok(());
    }
    publish(hub, &changed).await?;
    if !silent.is_empty() {
        hub.streams.publish(&board::of_edges(&hub.database, &silent).await?);
    }
    Ok(())
}

/// A stream shows what its reader might see when it began. When a token is revoked or a role changes, it ends.
async fn end_outdated(hub: &Hub) -> Result<()> {
    let tokens = hub.streams.tokens();
    let now = access::memberships(&hub.database, &tokens).await?;
    hub.streams.close(|reader| now.get(&reader.hash) != Some(&reader.teams));
    Ok(())
}
