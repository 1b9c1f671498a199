//! What a machine posts to its hub, and how the hub reads it: `POST /v1/edges/ID/log`.
//!
//! The bytes come from another machine: everything is bounded and checked here, before a transaction begins.

use crate::document::sound;
use crate::level::{Level, cut};
use headspace_core::stamp::Stamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

/// The most bytes of one batch that the hub accepts. A link sends about one megabyte, unless a single event is larger.
pub const MAX_BODY: usize = 24 << 20;
/// The most rows of each kind in one batch.
const MAX_ROWS: usize = 10_000;
const MAX_WORD: usize = 512;
/// The most bytes of a document as the hub stores it: it is read with every board. A relay's line has the same limit.
const MAX_DOCUMENT: usize = 1 << 20;
/// The most bytes of a document that are looked at, apart from its turns: as a tree it takes twenty times as much.
const MAX_DOCUMENT_READ: usize = 4 << 20;
/// No machine has had that many events, and arithmetic with positions stays far from overflow.
pub const MAX_POS: i64 = 1 << 53;

/// A batch, checked.
#[derive(Debug)]
pub struct Batch {
    pub epoch: String,
    pub from: i64,
    pub to: i64,
    pub sent_at: Option<Stamp>,
    pub events: Vec<BatchEvent>,
    pub agents: Vec<BatchAgent>,
    /// Positions that retention deleted before they could be sent.
    pub gap: Option<(i64, i64)>,
    /// Agents that are no longer shared, or no longer known.
    pub gone: Vec<i64>,
    /// What the machine has at a position: shows whether the machine was restored or continues.
    pub check: Option<Mark>,
    /// The same for the batch's end, to be stored.
    pub last: Option<Mark>,
    /// Which machine and home directory the link runs in; if there are two, the home was copied.
    pub link: Option<String>,
    pub version: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Mark {
    pub pos: i64,
    pub hash: String,
}

#[derive(Debug)]
pub struct BatchEvent {
    pub pos: i64,
    pub agent_id: Option<i64>,
    pub session_id: String,
    pub name: String,
    pub at: i64,
    pub source: String,
    pub flags: i32,
    pub body: String,
}

/// A document, with the columns that queries use taken out of it.
#[derive(Debug)]
pub struct BatchAgent {
    pub id: i64,
    pub project: Option<String>,
    pub share: i16,
    pub status: String,
    pub last_active_at: i64,
    pub ended_at: Option<i64>,
    pub doc: String,
    pub turns: Vec<BatchTurn>,
}

#[derive(Debug)]
pub struct BatchTurn {
    pub id: i64,
    pub at: i64,
    pub doc: String,
}

#[derive(Deserialize)]
struct Posted<'a> {
    epoch: String,
    from: i64,
    to: i64,
    #[serde(default)]
    sent_at: Option<String>,
    level: String,
    #[serde(borrow, default)]
    events: Vec<PostedEvent<'a>>,
    #[serde(borrow, default)]
    agents: Vec<&'a RawValue>,
    #[serde(default)]
    gap: Option<Gap>,
    #[serde(default)]
    gone: Vec<i64>,
    #[serde(default)]
    check: Option<Mark>,
    #[serde(default)]
    last: Option<Mark>,
    #[serde(default)]
    link: Option<String>,
    #[serde(default)]
    version: Option<String>,
}

#[derive(Deserialize)]
struct Gap {
    from: i64,
    to: i64,
}

#[derive(Deserialize)]
struct PostedEvent<'a> {
    pos: i64,
    #[serde(default)]
    agent_id: Option<i64>,
    #[serde(borrow)]
    session_id: Cow<'a, str>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    at: Cow<'a, str>,
    #[serde(borrow)]
    source: Cow<'a, str>,
    #[serde(default)]
    flags: i32,
    #[serde(borrow)]
    body: &'a RawValue,
}

/// Reads a batch and cuts everything above `most`. The error is for the machine that posted it.
pub fn parse(bytes: &[u8], most: Level) -> Result<Batch, String> {
    // The text is checked as a whole, so it need not be checked again word by word.
    let text = std::str::from_utf8(bytes).map_err(|error| format!("the batch makes no sense: {error}"))?;
    let posted: Posted =
        serde_json::from_str(text).map_err(|error| format!("the batch makes no sense: {error}"))?;
    if !is_uuid(&posted.epoch) {
        return Err("`epoch` is not a UUID".into());
    }
    if posted.from < 1 || posted.to < posted.from - 1 || posted.to > MAX_POS {
        return Err("`from` and `to` are not positions in order".into());
    }
    Level::from_word(&posted.level).ok_or("`level` is not one of none, states, asks, full")?;
    if posted.events.len() > MAX_ROWS || posted.agents.len() > MAX_ROWS || posted.gone.len() > MAX_ROWS {
        return Err(format!("more than {MAX_ROWS} rows in one batch"));
    }
    let mut events = Vec::with_capacity(posted.events.len());
    let mut before = 0;
    let wanted = |event: &&PostedEvent| most == Level::Full && (posted.from..=posted.to).contains(&event.pos);
    for event in posted.events.iter().filter(wanted) {
        if event.pos <= before {
            return Err("the events are not in the order of their positions".into());
        }
        before = event.pos;
        events.push(BatchEvent {
            pos: event.pos,
            agent_id: event.agent_id,
            session_id: storable(&event.session_id),
            name: storable(&event.name),
            at: Stamp::parse(&event.at).ok_or("`at` is not an RFC 3339 time")?.0,
            source: storable(&event.source),
            flags: event.flags,
            body: event.body.get().to_owned(),
        });
    }
    let mut agents: Vec<BatchAgent> = Vec::with_capacity(posted.agents.len());
    for document in posted.agents {
        agents.push(agent(document, most)?);
    }
    // The last document of an agent counts: one statement cannot write a row twice.
    let mut known = HashSet::new();
    agents.reverse();
    agents.retain(|agent| known.insert(agent.id));
    let short = |mark: &Mark| mark.hash.len() <= MAX_WORD;
    let gap = posted.gap.map(|gap| (gap.from, gap.to)).filter(|(from, to)| from <= to && *to <= MAX_POS);
    let link = posted.link.map(|link| storable(&link)).filter(|link| !link.is_empty());
    Ok(Batch {
        epoch: posted.epoch.to_ascii_lowercase(),
        from: posted.from,
        to: posted.to,
        sent_at: posted.sent_at.as_deref().and_then(Stamp::parse),
        events,
        agents,
        gap,
        gone: posted.gone,
        check: posted.check.filter(short),
        last: posted.last.filter(short),
        link,
        version: posted.version.map(|version| storable(&version)),
    })
}

fn agent(posted: &RawValue, most: Level) -> Result<BatchAgent, String> {
    let mut fields: BTreeMap<Cow<str>, &RawValue> =
        serde_json::from_str(posted.get()).map_err(|_| "an agent is not an object")?;
    let turns = fields.remove("turns");
    if fields.values().map(|value| value.get().len()).sum::<usize>() > MAX_DOCUMENT_READ {
        return Err(format!("an agent has more than {MAX_DOCUMENT_READ} bytes"));
    }
    let mut document = Value::Object(Map::new());
    for (name, value) in fields {
        let value = serde_json::from_str(value.get()).map_err(|_| "an agent makes no sense")?;
        document[name.as_ref()] = value;
    }
    let id = document.get("id").and_then(Value::as_i64).ok_or("an agent has no number as `id`")?;
    document["status"].as_str().ok_or("an agent has no `status`")?;
    let time = |document: &Value, field: &str| document[field].as_str().and_then(Stamp::parse).map(|at| at.0);
    time(&document, "last_active_at").ok_or("an agent has no `last_active_at`")?;
    let whole = cut(&sound(document), most.max(Level::States)).ok_or("an agent is shared at level none")?;
    let (document, doc) = fitting(whole)?;
    let share = document["share"].as_str().and_then(Level::from_word).unwrap_or(Level::States);
    let status = document["status"].as_str().ok_or("an agent has no `status`")?;
    let turns =
        turns.filter(|_| share == Level::Full).and_then(|turns| serde_json::from_str(turns.get()).ok());
    let turns: Vec<&RawValue> = turns.unwrap_or_default();
    Ok(BatchAgent {
        id,
        project: document["project"].as_str().map(storable),
        share: share.number(),
        status: storable(status),
        last_active_at: time(&document, "last_active_at").ok_or("an agent has no `last_active_at`")?,
        ended_at: time(&document, "ended_at"),
        doc,
        turns: turns.into_iter().filter_map(turn).collect(),
    })
}

/// The document and its text, or as much of it as one may be long: better less of an agent than none.
fn fitting(document: Value) -> Result<(Value, String), String> {
    let text = document.to_string();
    if text.len() <= MAX_DOCUMENT {
        return Ok((document, text));
    }
    let less = [Level::Asks, Level::States].into_iter().filter_map(|level| cut(&document, level));
    let mut less = less.map(|document| (document.to_string(), document));
    let found = less.find(|(text, _)| text.len() <= MAX_DOCUMENT).map(|(text, document)| (document, text));
    found.ok_or_else(|| format!("an agent has more than {MAX_DOCUMENT} bytes"))
}

#[derive(Deserialize)]
struct PostedTurn<'a> {
    id: i64,
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
}

fn turn(turn: &RawValue) -> Option<BatchTurn> {
    let posted: PostedTurn = serde_json::from_str(turn.get()).ok()?;
    Some(BatchTurn { id: posted.id, at: Stamp::parse(&posted.timestamp)?.0, doc: turn.get().to_owned() })
}

/// PostgreSQL cannot store NUL in a text, and a machine's words need not be long.
pub fn storable(text: &str) -> String {
    // Nearly every word is storable as it is.
    if text.len() <= MAX_WORD && !text.as_bytes().contains(&0) {
        return text.to_owned();
    }
    text.chars().filter(|c| *c != '\0').take(MAX_WORD).collect()
}

pub fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn body() -> Value {
        json!({
            "epoch": "00000000-0000-4000-8000-000000000000", "from": 3, "to": 5, "sent_at": "2026-11-17T10:00:00Z", "level": "full",
            "events": [
                {"pos": 3, "agent_id": 1, "session_id": "s", "name": "Stop", "at": "2026-11-17T10:00:00Z", "source": "hook", "flags": 8, "body": {"a": [1, "\u{0}"]}},
                {"pos": 5, "session_id": "s\u{0}", "name": "Stop", "at": "2026-11-17T10:00:00Z", "source": "hook", "body": {}},
                {"pos": 9, "session_id": "s", "name": "Stop", "at": "2026-11-17T10:00:00Z", "source": "hook", "body": {}},
            ],
            "agents": [{"id": 1, "status": "idle", "last_active_at": "2026-11-17T10:00:00Z", "ended_at": null, "project": "p",
                "last_said": "words", "turns": [{"id": 4, "timestamp": "2026-11-17T10:00:00Z", "text": "words"}, {"odd": 1}]}],
        })
    }

    fn read(body: &Value, most: Level) -> Result<Batch, String> {
        parse(body.to_string().as_bytes(), most)
    }

    #[test]
    fn a_batch_is_read_and_what_is_outside_of_it_is_left_out() {
        let batch = read(&body(), Level::Full).unwrap();
        assert_eq!(batch.events.iter().map(|event| event.pos).collect::<Vec<_>>(), [3, 5]);
        assert_eq!(batch.events[1].session_id, "s");
        assert!(!batch.events[0].body.contains('\0'));
        assert_eq!((batch.agents[0].share, batch.agents[0].turns.len()), (3, 1));
        assert!(!batch.agents[0].doc.contains("turns"));
    }

    #[test]
    fn a_word_is_kept_as_it_is_or_made_fit() {
        let long = "ä".repeat(MAX_WORD + 1);
        let table = [
            ("word", "word"),
            ("", ""),
            ("a\0b", "ab"),
            (&long[..MAX_WORD], &long[..MAX_WORD]),
            (&long, &long[..2 * MAX_WORD]),
        ];
        for (text, kept) in table {
            assert_eq!(storable(text), kept);
        }
        // Words with escapes are not in the text literally.
        let mut body = body();
        body["events"][0]["name"] = json!("St\n\u{0}op \"ü\"");
        assert_eq!(read(&body, Level::Full).unwrap().events[0].name, "St\nop \"ü\"");
    }

    #[test]
    fn a_document_that_is_too_long_is_kept_as_far_as_it_fits() {
        let mut body = body();
        body["agents"][0]["commands"] = json!("x".repeat(MAX_DOCUMENT));
        let shorter = read(&body, Level::Full).unwrap();
        assert_eq!((shorter.agents[0].share, shorter.agents[0].turns.len()), (2, 0));
        assert!(shorter.agents[0].doc.len() < MAX_DOCUMENT);
        body["agents"][0]["commands"] = json!("x".repeat(MAX_DOCUMENT_READ));
        assert!(read(&body, Level::Full).unwrap_err().contains("bytes"));
        // Turns are rows of their own.
        body["agents"][0]["commands"] = json!(null);
        body["agents"][0]["turns"][0]["text"] = json!("x".repeat(MAX_DOCUMENT_READ));
        let long = read(&body, Level::Full).unwrap();
        assert_eq!((long.agents[0].share, long.agents[0].turns.len()), (3, 1));
    }

    #[test]
    fn nothing_above_the_teams_maximum_is_kept() {
        let batch = read(&body(), Level::States).unwrap();
        assert!(batch.events.is_empty() && batch.agents[0].turns.is_empty());
        assert!(!batch.agents[0].doc.contains("words"), "{}", batch.agents[0].doc);
        assert_eq!(batch.agents[0].share, 1);
    }

    #[test]
    fn nonsense_is_refused_in_words() {
        type Change = fn(&mut Value);
        let cases: [(&str, Change); 15] = [
            ("no epoch", |b| drop(b.as_object_mut().unwrap().remove("epoch"))),
            ("an epoch that is none", |b| b["epoch"] = json!("x")),
            ("a position as text", |b| b["from"] = json!("one")),
            ("a position below one", |b| b["from"] = json!(0)),
            ("to before from", |b| b["to"] = json!(1)),
            ("a position that nobody reaches", |b| b["to"] = json!(i64::MAX)),
            ("the first position, below all numbers", |b| b["from"] = json!(i64::MIN)),
            ("an unknown level", |b| b["level"] = json!("everything")),
            ("events out of order", |b| b["events"][1]["pos"] = json!(3)),
            ("an event without a body", |b| drop(b["events"][0].as_object_mut().unwrap().remove("body"))),
            ("an event at no time", |b| b["events"][0]["at"] = json!("noon")),
            ("an agent without an id", |b| b["agents"][0]["id"] = json!("7/1")),
            ("an agent that is a list", |b| b["agents"][0] = json!([])),
            ("an agent without a time", |b| b["agents"][0]["last_active_at"] = json!("soon")),
            ("an agent that shares nothing", |b| b["agents"][0]["share"] = json!("none")),
        ];
        for (what, change) in cases {
            let mut body = body();
            change(&mut body);
            assert!(read(&body, Level::Full).is_err(), "{what}");
        }
        for bytes in [&b"{"[..], b"[]", b"", b"null", b"\xff"] {
            assert!(parse(bytes, Level::Full).is_err());
        }
    }
}
