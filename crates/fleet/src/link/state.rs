//! What the link does next: ask the hub for its position, send what follows, wait, back off.

use super::file::{self, LinkStatus, Membership};
use super::http::{HubClient, HubUrl};
use super::retry::Retry;
use super::{Source, outgoing};
use crate::level::{Level, Sharing};
use anyhow::{Context, Result, bail};
use headspace_core::json::serialize::to_text;
use headspace_core::model::{AgentView, Turn};
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_platform::config::{self, Config};
use headspace_platform::{files, log};
use headspace_store::read::log as event_log;
use rusqlite::Connection;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::{Duration, Instant, SystemTime};

/// The most events and documents in one batch.
const MAX_EVENTS: usize = 500;
const MAX_BYTES: usize = 1 << 20;
const MAX_DOCUMENTS: usize = 300;
/// How long changes that are not urgent wait for others to join them.
const GATHER_FOR: Duration = Duration::from_millis(900);
/// The hub gets a sign of life at least this often.
const ALIVE_EVERY: Duration = Duration::from_secs(4);
/// Views also change with time alone.
const LOOK_AT_ALL_EVERY: Duration = Duration::from_secs(2);
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
const FIRST_RETRY: Duration = Duration::from_millis(400);
const LONGEST_RETRY: Duration = Duration::from_secs(60);
/// A later event may correct a turn, so the last few are sent again.
const TURNS_AGAIN: usize = 3;

pub struct Link<S> {
    source: S,
    /// The file's time and id when it was read.
    file: Option<(SystemTime, Option<files::FileId>)>,
    joined: Option<JoinedHub>,
    status: LinkStatus,
    written: LinkStatus,
}

/// A hub that this machine has joined.
struct JoinedHub {
    membership: Membership,
    sharing: Sharing,
    client: HubClient,
    /// What the hub has; `None` until it has been asked.
    position: Option<Position>,
    sent: HashMap<i64, Sent>,
    pending: HashMap<i64, OutgoingDocument>,
    gone: HashSet<i64>,
    urgent: bool,
    /// The hub refused us for good: the link stays silent until the next `hub join`.
    refused: bool,
    retry: Option<Retry>,
    last_sent: Option<Instant>,
    looked_at_all: Option<Instant>,
    database: Option<(u64, Connection)>,
}

#[derive(Clone, Debug)]
struct Position {
    /// Which database this is about: one that replaces it has another history.
    generation: u64,
    epoch: String,
    pos: i64,
    /// The batch that opens this history was refused.
    refused_to_open: bool,
}

/// What was last sent to the hub about an agent.
struct Sent {
    document: u64,
    look: u64,
}

/// A document to be sent, and how its agent looked when it was made.
#[derive(Clone)]
struct OutgoingDocument {
    document: Value,
    look: u64,
}

/// Why an attempt failed.
enum Failure {
    /// Try again later.
    Later(String),
    /// It will never work with this token.
    Refused(String),
    /// The hub has another history, or another position: ask it.
    Ask,
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Failure {
        Failure::Later(format!("{error:#}"))
    }
}

impl<S: Source> Link<S> {
    pub fn new(source: S) -> Link<S> {
        Link {
            source,
            file: None,
            joined: None,
            status: LinkStatus::default(),
            written: LinkStatus::default(),
        }
    }

    /// Runs until the server ends.
    pub fn run(mut self) {
        const LOOK_FOR_THE_FILE_EVERY: Duration = Duration::from_secs(1);
        while !self.source.is_closing() {
            self.look_for_file();
            let pause = self.step();
            if self.status != self.written && self.joined.is_some() {
                file::write_status(&self.status);
                self.written = self.status.clone();
            }
            if !pause.is_zero()
                && self.source.wait(pause.min(LOOK_FOR_THE_FILE_EVERY))
                && let Some(retry) = self.joined.as_mut().and_then(|joined| joined.retry.as_mut())
            {
                retry.hurry();
            }
        }
    }

    fn look_for_file(&mut self) {
        let path = file::path();
        let now =
            std::fs::metadata(&path).and_then(|meta| meta.modified()).ok().map(|at| (at, files::id(&path)));
        if now == self.file {
            return;
        }
        self.file = now;
        (self.joined, self.status) = (None, LinkStatus::default());
        match file::read().and_then(|read| read.map(JoinedHub::new).transpose()) {
            Ok(Some(joined)) => {
                self.status.edge = joined.membership.edge.clone();
                self.joined = Some(joined);
            }
            Ok(None) => {}
            Err(error) => log::line(&format!("could not join the hub: {error:#}")),
        }
    }

    /// Does what is due, and returns how long nothing else is.
    fn step(&mut self) -> Duration {
        const NOTHING_TO_DO: Duration = Duration::from_secs(1);
        let Some(joined) = &mut self.joined else { return NOTHING_TO_DO };
        if joined.refused {
            return NOTHING_TO_DO;
        }
        if let Some(left) = joined.retry.as_ref().and_then(|retry| retry.left(Instant::now())) {
            return left;
        }
        let due = match joined.look(&mut self.source) {
            due if !due.is_zero() => return due,
            _ => joined.advance(&mut self.source, &mut self.status),
        };
        match due {
            Ok(()) => {
                if self.status.error.take().is_some() {
                    log::line("the hub answers again");
                }
                self.status.last_ok_at = Some(Stamp::now());
                joined.retry = None;
                Duration::ZERO
            }
            Err(Failure::Ask) => {
                joined.position = None;
                joined.back_off(Duration::from_millis(50), Duration::from_secs(5))
            }
            Err(Failure::Later(why)) => {
                self.note(&why);
                self.joined
                    .as_mut()
                    .map_or(NOTHING_TO_DO, |joined| joined.back_off(FIRST_RETRY, LONGEST_RETRY))
            }
            Err(Failure::Refused(why)) => {
                joined.refused = true;
                self.note(&why);
                NOTHING_TO_DO
            }
        }
    }

    fn note(&mut self, why: &str) {
        if self.status.error.is_none() {
            log::line(&format!("the hub: {why}"));
        }
        self.status.error = Some(why.to_owned());
    }
}

impl JoinedHub {
    fn new(membership: Membership) -> Result<JoinedHub> {
        let url = HubUrl::parse(&membership.url)?;
        let config = Config::load()?;
        let sharing = sharing(&config, membership.share(), membership.share_max());
        let client =
            HubClient::new(url, Some(membership.token.clone()), membership.ca.clone(), ANSWER_WITHIN);
        Ok(JoinedHub {
            membership,
            sharing,
            client,
            position: None,
            sent: HashMap::new(),
            pending: HashMap::new(),
            gone: HashSet::new(),
            urgent: false,
            refused: false,
            retry: None,
            last_sent: None,
            looked_at_all: None,
            database: None,
        })
    }

    /// How long to leave the hub alone after one more failure.
    fn back_off(&mut self, first: Duration, longest: Duration) -> Duration {
        let retry = Retry::after(self.retry.take(), first, longest, Instant::now());
        let wait = retry.left(Instant::now()).unwrap_or_default();
        self.retry = Some(retry);
        wait
    }

    /// Collects what changed. Returns how long sending can wait; zero: send now.
    fn look(&mut self, source: &mut impl Source) -> Duration {
        let generation = source.generation();
        let known = self.position.as_ref().filter(|position| position.generation == generation);
        let Some(pos) = known.map(|position| position.pos) else {
            self.position = None;
            return Duration::ZERO;
        };
        let now = Instant::now();
        for view in source.touched() {
            self.notice(&view);
        }
        if self.looked_at_all.is_none_or(|at| now - at >= LOOK_AT_ALL_EVERY) {
            self.looked_at_all = Some(now);
            for view in source.living() {
                self.notice(&view);
            }
        }
        let since = self.last_sent.map_or(ALIVE_EVERY, |at| now - at);
        let more = source.newest() > pos || !self.pending.is_empty() || !self.gone.is_empty();
        let wait = if more && self.urgent {
            Duration::ZERO
        } else if more {
            GATHER_FOR.saturating_sub(since)
        } else {
            ALIVE_EVERY.saturating_sub(since)
        };
        // Waits no longer than this, because views change with time; for urgent changes the bell rings.
        wait.min(LOOK_AT_ALL_EVERY)
    }

    /// Keeps the document for the next batch, unless the hub already has it.
    fn notice(&mut self, view: &AgentView) {
        let Some(document) = outgoing::document(view, &self.sharing) else {
            self.pending.remove(&view.id.number);
            if self.sent.remove(&view.id.number).is_some() {
                self.gone.insert(view.id.number);
                self.urgent = true;
            }
            return;
        };
        let (now, look) = (hashed(&document.to_string()), look_of(view));
        match self.sent.get(&view.id.number) {
            Some(sent) if sent.document == now => {
                self.pending.remove(&view.id.number);
            }
            sent => {
                self.urgent |= sent.is_none_or(|sent| sent.look != look);
                self.pending.insert(view.id.number, OutgoingDocument { document, look });
            }
        }
    }

    /// Asks the hub for its position if that is unknown; otherwise sends the next batch.
    fn advance(&mut self, source: &mut impl Source, status: &mut LinkStatus) -> Result<(), Failure> {
        match self.position.clone() {
            None => self.ask(source, status),
            Some(position) => self.send(source, position, status),
        }
    }

    fn database(&mut self, source: &impl Source) -> Result<&Connection> {
        let generation = source.generation();
        if self.database.as_ref().is_none_or(|(of, _)| *of != generation) {
            self.database = Some((generation, headspace_store::open_to_read(source.database())?));
        }
        self.database.as_ref().map(|(_, db)| db).context("the database is not open")
    }

    /// Asks for the hub's position, whether it has our history, and what else it needs to be told.
    fn ask(&mut self, source: &mut impl Source, status: &mut LinkStatus) -> Result<(), Failure> {
        let path = format!("/v1/edges/{}/log", self.membership.edge);
        let answer = self.client.request("GET", &path, None)?;
        match answer.status {
            200 => {}
            401 | 403 => return Err(Failure::Refused(answer.message())),
            _ => return Err(Failure::Later(answer.message())),
        }
        let said = answer.json();
        let generation = source.generation();
        let mut epoch = event_log::epoch(self.database(source)?)?;
        let (theirs, mut pos) = (said["epoch"].as_str(), said["pos"].as_i64().unwrap_or(0).max(0));
        if theirs != Some(epoch.as_str()) {
            pos = 0;
        } else {
            let ours = mark(self.database(source)?, pos)?;
            let other =
                ours.is_some() && said["hash"].as_str().is_some() && ours.as_deref() != said["hash"].as_str();
            if other || source.newest() < pos {
                log::line("the database was restored: its history begins again at the hub");
                epoch = begin_epoch(source)?;
                pos = 0;
            }
        }
        self.position = Some(Position { generation, epoch, pos, refused_to_open: false });
        status.pos = pos;
        self.sent.clear();
        self.pending.clear();
        source.touched();
        let living = source.living();
        living.iter().for_each(|view| self.notice(view));
        let numbers = |field: &str| said[field].as_array().cloned().unwrap_or_default();
        let believed: HashSet<i64> = numbers("living").iter().filter_map(Value::as_i64).collect();
        let here: HashSet<i64> = living.iter().map(|view| view.id.number).collect();
        let levels = numbers("shared").into_iter().filter_map(|pair| {
            Some((pair[0].as_i64()?, Level::from_number(i16::try_from(pair[1].as_i64()?).ok()?)))
        });
        let levels: HashMap<i64, Level> = levels.collect();
        if pos > 0 {
            for id in
                believed.iter().chain(levels.keys()).filter(|id| !here.contains(id)).collect::<HashSet<_>>()
            {
                self.correct(*id, believed.contains(id), levels.get(id).copied(), source.agent(*id));
            }
            // Agents that share nothing any more, though the hub has them.
            let hidden = here.iter().filter(|id| !self.pending.contains_key(id));
            let hidden: Vec<i64> = hidden.filter(|id| believed.contains(id)).copied().collect();
            self.gone.extend(hidden);
        }
        self.urgent = true;
        Ok(())
    }

    /// Handles an agent that the hub has and that is not present here.
    fn correct(&mut self, id: i64, believed: bool, level: Option<Level>, view: Option<AgentView>) {
        let document = view.as_ref().and_then(|view| outgoing::document(view, &self.sharing));
        match document {
            None => {
                self.gone.insert(id);
            }
            Some(document) => {
                let lowered = level.is_some_and(|level| outgoing::level_of(&document) < level);
                if believed || lowered {
                    let look = view.as_ref().map_or(0, look_of);
                    self.pending.insert(id, OutgoingDocument { document, look });
                }
            }
        }
    }

    /// Sends one batch.
    fn send(
        &mut self,
        source: &mut impl Source,
        position: Position,
        status: &mut LinkStatus,
    ) -> Result<(), Failure> {
        let (from, newest) = (position.pos + 1, source.newest());
        let batch = self.batch(source, &position, newest)?;
        let body = to_text(&batch.body).context("could not write a batch")?;
        let path = format!("/v1/edges/{}/log", self.membership.edge);
        self.last_sent = Some(Instant::now());
        let answer = self.client.request("POST", &path, Some(body.as_bytes()))?;
        match answer.status {
            200 => {}
            401 | 403 => return Err(Failure::Refused(answer.message())),
            409 if from == 1 && position.refused_to_open => {
                log::line("the hub knows this history as one that ended: another begins");
                begin_epoch(source)?;
                return Err(Failure::Ask);
            }
            409 if from == 1 => {
                self.position = Some(Position { refused_to_open: true, ..position });
                return Err(Failure::Later(answer.message()));
            }
            409 | 416 => return Err(Failure::Ask),
            400 | 413 | 422 => {
                return Err(Failure::Later(format!("the hub did not take a batch: {}", answer.message())));
            }
            _ => return Err(Failure::Later(answer.message())),
        }
        let said = answer.json();
        // The hub cannot have more than it was sent, whatever it says.
        let pos = said["pos"].as_i64().unwrap_or(batch.to).clamp(position.pos, newest.max(position.pos));
        status.pos = pos;
        status.clock_off_s = clock_off_s(said["now"].as_str().and_then(Stamp::parse), Stamp::now());
        status.sent += batch.events as u64;
        self.position = Some(Position { pos, refused_to_open: false, ..position });
        for (id, sent) in batch.documents {
            if self
                .pending
                .get(&id)
                .is_some_and(|pending| hashed(&pending.document.to_string()) == sent.document)
            {
                self.pending.remove(&id);
            }
            self.sent.insert(id, sent);
        }
        self.gone.retain(|id| !batch.gone.contains(id));
        self.urgent = !self.pending.is_empty() || newest > pos;
        Ok(())
    }

    fn batch(&mut self, source: &mut impl Source, position: &Position, newest: i64) -> Result<OutgoingBatch> {
        let (from, full) = (position.pos + 1, self.sharing.highest() == Level::Full);
        let mut shares: HashMap<Option<i64>, Option<outgoing::AgentShare>> = HashMap::new();
        let sharing = self.sharing.clone();
        let link = identity();
        let (mut to, mut events, mut gap) = (newest.max(position.pos), Vec::new(), None);
        if full && newest >= from {
            let found = event_log::range(self.database(source)?, from, newest, MAX_EVENTS, MAX_BYTES)?;
            // What did not fit goes with the next batch.
            if let Some(last) = found.last().map(|event| event.pos)
                && event_log::first_after(self.database(source)?, last)?.is_some_and(|next| next <= newest)
            {
                to = last;
            }
            let first = found.first().map_or(to + 1, |event| event.pos);
            gap = (first > from).then(|| json!({"from": from, "to": first - 1}));
            for event in &found {
                let share = shares.entry(event.agent_id).or_insert_with(|| {
                    let view = event.agent_id.and_then(|id| source.agent(id));
                    view.map(|view| outgoing::AgentShare::of(&view, &sharing))
                });
                // If an agent is no longer known, what it shared is unknown.
                if event.agent_id.is_some() && share.is_none() {
                    continue;
                }
                events.extend(outgoing::event(event, share.as_ref(), &sharing));
            }
        }
        let mut documents: Vec<(i64, OutgoingDocument)> =
            self.pending.iter().take(MAX_DOCUMENTS).map(|(id, pending)| (*id, pending.clone())).collect();
        if full && to >= from {
            self.add_turns(source, (from, to), &mut documents)?;
        }
        let levels = documents.iter().map(|(_, pending)| outgoing::level_of(&pending.document));
        let level = levels
            .chain(events.first().map(|_| Level::Full))
            .max()
            .unwrap_or(Level::States)
            .max(Level::States);
        let sent = |(id, pending): &(i64, OutgoingDocument)| {
            let mut bare = pending.document.clone();
            bare.as_object_mut().map(|object| object.remove("turns"));
            (*id, Sent { document: hashed(&bare.to_string()), look: pending.look })
        };
        let remembered = documents.iter().map(sent).collect();
        let gone: Vec<i64> = self.gone.iter().copied().collect();
        let events_count = events.len();
        let db = self.database(source)?;
        let at = |pos: i64| -> Result<Value> {
            Ok(mark(db, pos)?.map_or(Value::Null, |hash| json!({"pos": pos, "hash": hash})))
        };
        let mut body = json!({
            "epoch": position.epoch, "from": from, "to": to, "sent_at": Stamp::now(), "level": level.word(),
            "events": events, "agents": documents.iter().map(|(_, pending)| &pending.document).collect::<Vec<_>>(),
            "check": at(position.pos)?, "last": at(to)?, "link": link, "version": env!("CARGO_PKG_VERSION"),
        });
        if !gone.is_empty() {
            body["gone"] = json!(gone);
        }
        if let Some(gap) = gap {
            body["gap"] = gap;
        }
        Ok(OutgoingBatch { body, to, events: events_count, documents: remembered, gone })
    }

    /// Turns are derived like the states: they come from this machine, with their agents' documents.
    fn add_turns(
        &mut self,
        source: &mut impl Source,
        (from, to): (i64, i64),
        documents: &mut Vec<(i64, OutgoingDocument)>,
    ) -> Result<()> {
        if !source.written() {
            bail!("the latest turns are not in the database yet");
        }
        let turns = event_log::turns(self.database(source)?, from, to)?;
        let mut by_agent: HashMap<i64, Vec<Turn>> = HashMap::new();
        for turn in turns {
            by_agent.entry(turn.agent_id).or_default().push(turn);
        }
        let touched: HashSet<i64> =
            by_agent.keys().copied().chain(documents.iter().map(|(id, _)| *id)).collect();
        for id in touched {
            let place = documents.iter().position(|(of, _)| *of == id);
            let place = match place {
                Some(place) => place,
                None => {
                    let Some(view) = source.agent(id) else { continue };
                    let Some(document) = outgoing::document(&view, &self.sharing) else { continue };
                    documents.push((id, OutgoingDocument { document, look: look_of(&view) }));
                    documents.len() - 1
                }
            };
            if outgoing::level_of(&documents[place].1.document) < Level::Full {
                continue;
            }
            let mut turns = by_agent.remove(&id).unwrap_or_default();
            for again in event_log::newest_turns(self.database(source)?, id, TURNS_AGAIN)? {
                if turns.iter().all(|turn| turn.id != again.id) {
                    turns.push(again);
                }
            }
            turns.sort_unstable_by_key(|turn| (turn.timestamp, turn.id));
            if !turns.is_empty() {
                documents[place].1.document["turns"] = turns.iter().map(outgoing::turn).collect();
            }
        }
        Ok(())
    }
}

struct OutgoingBatch {
    body: Value,
    to: i64,
    events: usize,
    documents: Vec<(i64, Sent)>,
    gone: Vec<i64>,
}

/// Which project shares how much on this machine.
pub fn sharing(config: &Config, joined: Level, share_max: Level) -> Sharing {
    let most = if config.paranoid { Level::States } else { Level::Full };
    Sharing::new(config.hub.share.iter(), &config::home().to_string_lossy(), joined, most.min(share_max))
}

/// Hub minus machine. A difference that the connection may explain is not counted, so that the figure stays stable.
fn clock_off_s(hub: Option<Stamp>, here: Stamp) -> i64 {
    const JOURNEY_S: i64 = 15;
    let off = hub.map_or(0, |hub| hub.0.saturating_sub(here.0) / 1_000_000_000);
    // In steps of ten: a figure that changed with every answer would be written to the file with every answer.
    if off.abs() <= JOURNEY_S { 0 } else { off / 10 * 10 }
}

fn hashed(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// What a person sees at a glance: a change of this cannot wait.
fn look_of(view: &AgentView) -> u64 {
    let mut hasher = DefaultHasher::new();
    (view.state, view.status, view.group, view.ended_at, &view.error).hash(&mut hasher);
    view.interactions.iter().for_each(|one| one.id.hash(&mut hasher));
    view.subagents.iter().for_each(|one| (&one.agent_id, one.status).hash(&mut hasher));
    hasher.finish()
}

/// Distinguishes the event at a position from another one.
fn mark(db: &Connection, pos: i64) -> Result<Option<String>> {
    let parts = event_log::fixed_parts(db, pos)?;
    Ok(parts.map(|parts| {
        Sha256::digest(parts.as_bytes()).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }))
}

fn begin_epoch(source: &impl Source) -> Result<String> {
    let bytes: [u8; 16] = headspace_platform::process::random_bytes()?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let epoch = format!("{}-{}-4{}-a{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32]);
    event_log::begin_epoch(source.database(), &epoch)?;
    Ok(epoch)
}

/// Identifies the machine and its home directory: two that post as one are a copied home or a cloned machine.
fn identity() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let home = files::id(&config::state_dir());
    let host = headspace_platform::process::host_name().unwrap_or_default();
    let parts = format!("{}\n{home:?}\n{host}\n{}", boot.trim(), config::state_dir().display());
    Sha256::digest(parts.as_bytes()).iter().take(12).map(|byte| format!("{byte:02x}")).collect()
}
