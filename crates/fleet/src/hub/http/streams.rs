//! The streams of changes a hub keeps open. Readers get what they may see; a client that cannot keep up is dropped.

use crate::hub::board::{Looked, Seat};
use crate::hub::http::access::Reader;
use crate::hub::people::stamp;
use crate::level::Level;
use headspace_page::stream::{MAX_BEHIND, event_text};
use hyper::body::Bytes;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::mpsc;

/// The most streams on one hub.
const MAX_STREAMS: usize = 1024;

/// What a client wants to receive.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Empty: all.
    pub kinds: Vec<String>,
    /// `EDGE/ID`.
    pub agent: Option<String>,
}

impl Filter {
    fn wants(&self, kind: &str, agent: &str) -> bool {
        (self.kinds.is_empty() || self.kinds.iter().any(|wanted| wanted == kind))
            && self.agent.as_deref().is_none_or(|wanted| wanted == agent)
    }
}

struct Subscriber {
    reader: Arc<Reader>,
    filter: Filter,
    looked: Looked,
    sender: mpsc::Sender<Bytes>,
}

#[derive(Default)]
pub struct Streams(Mutex<Vec<Subscriber>>);

impl Streams {
    fn open(&self) -> MutexGuard<'_, Vec<Subscriber>> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|subscriber| !subscriber.sender.is_closed());
        open
    }

    pub fn len(&self) -> usize {
        self.open().len()
    }

    pub fn is_full(&self) -> bool {
        self.len() >= MAX_STREAMS
    }

    /// The teams that are watched.
    pub fn teams(&self) -> Vec<i32> {
        let teams: BTreeSet<i32> = self.open().iter().flat_map(|one| one.reader.team_ids()).collect();
        teams.into_iter().collect()
    }

    /// The tokens of the streams' readers.
    pub fn tokens(&self) -> Vec<Vec<u8>> {
        self.open().iter().map(|one| one.reader.hash.clone()).collect()
    }

    pub fn subscribe(&self, reader: Arc<Reader>, filter: Filter, looked: Looked) -> mpsc::Receiver<Bytes> {
        let (sender, receiver) = mpsc::channel(MAX_BEHIND);
        self.open().push(Subscriber { reader, filter, looked, sender });
        receiver
    }

    /// Sends documents to all readers who may see them.
    pub fn publish(&self, seats: &[Seat]) {
        // Readers of one level get the same text: it is made once.
        let mut made: HashMap<(usize, Level, bool), Option<Bytes>> = HashMap::new();
        let mut open = self.open();
        open.retain(|one| {
            let mut piece = Vec::new();
            for (index, seat) in seats.iter().enumerate() {
                if !one.filter.wants("agent_updated", &seat.public_id()) {
                    continue;
                }
                let level = one.reader.level(seat.team, seat.usr).min(seat.share);
                let looked = one.looked.contains_key(&(seat.edge, seat.id));
                let known = if looked { &one.looked } else { &Looked::new() };
                let make = || Some(message(seat, &seat.at_level(level, known)?));
                // What a person has looked at is theirs alone.
                let text = match looked {
                    true => make(),
                    false => made.entry((index, level, looked)).or_insert_with(make).clone(),
                };
                piece.extend_from_slice(text.as_deref().unwrap_or_default());
            }
            piece.is_empty() || one.sender.try_send(Bytes::from(piece)).is_ok()
        });
    }

    /// A person looked at an agent: their other windows show that too.
    pub fn looked(&self, usr: i32, seat: (i32, i64), at: SystemTime) {
        for one in self.open().iter_mut().filter(|one| one.reader.usr == usr) {
            one.looked.insert(seat, at);
        }
    }

    /// Ends the streams of these readers: their clients reconnect and read everything again.
    pub fn close(&self, which: impl Fn(&Reader) -> bool) {
        self.open().retain(|one| !which(&one.reader));
    }
}

/// The number of a change is the hub's time, so that every hub understands it.
pub fn message(seat: &Seat, document: &Value) -> Bytes {
    let micros = stamp(seat.changed_at).0 / 1_000;
    Bytes::from(event_text(Some(micros), "agent_updated", &document.to_string()))
}

/// When a client last received something, minus an allowance for clocks and long transactions.
pub fn since(last_event_id: &str) -> Option<SystemTime> {
    const CLOCKS_AND_COMMITS: Duration = Duration::from_secs(30);
    let micros: u64 = last_event_id.trim().parse().ok()?;
    let time = SystemTime::UNIX_EPOCH.checked_add(Duration::from_micros(micros))?;
    // Nothing was sent in the future: that is a clock that was set back, or nonsense that no database stores.
    time.min(SystemTime::now()).checked_sub(CLOCKS_AND_COMMITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_change_is_a_time_that_every_hub_understands() {
        let at = since("1700000000000000").unwrap();
        let seconds = at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
        assert_eq!(seconds, 1_700_000_000 - 30);
        for odd in ["", "x", "-1", "18446744073709551615", "9999999999999999", "3"] {
            assert!(since(odd).is_none_or(|at| at < SystemTime::now()), "{odd}");
        }
        assert_eq!(since("yesterday"), None);
    }
}
