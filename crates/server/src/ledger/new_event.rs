//! An event before it is stored, and how it is prepared for that: secrets masked, long texts cut.

use crate::answers::ask;
use headspace_core::json;
use headspace_core::model::{AskFacts, Event, Facts, Source};
use headspace_core::stamp::Stamp;
use headspace_platform::clock::WallClock;
use headspace_store::write::TailUpdate;
use headspace_store::write::batch::EventRecord;
use serde_json::Value;

/// Something that happened, not yet recorded.
#[derive(Clone, Debug)]
pub struct NewEvent {
    /// `PreToolUse`, or a name of [`observed`].
    pub name: String,
    pub session_id: String,
    /// When it happened; a time later than its arrival counts as its arrival.
    pub at: Stamp,
    pub received_at: Stamp,
    pub source: Source,
    /// A second event with the same id is the same event. Transcript events get theirs from the entry's uuid.
    pub delivery_id: Option<String>,
    /// It proves that hooks work: counted in `/hook/status`.
    pub from_hook: bool,
    pub body: Value,
    /// How far a transcript was read to find this; committed together with it.
    pub tail: Option<TailUpdate>,
    /// What it asked, if it is masked and cut already.
    pub ask: Option<AskFacts>,
}

impl NewEvent {
    /// A hook's payload with what `notify` added to it.
    pub fn hook(name: String, session_id: String, body: Value) -> NewEvent {
        let received_at = Stamp::now();
        let sent_at = body.get("sent_at").and_then(Value::as_str).and_then(Stamp::parse);
        let delivery_id = body.get("delivery_id").and_then(Value::as_str);
        NewEvent {
            at: sent_at.unwrap_or(received_at).min(received_at),
            delivery_id: delivery_id.filter(|id| !id.is_empty() && id.len() <= 200).map(str::to_owned),
            name,
            session_id,
            received_at,
            source: Source::Hook,
            from_hook: true,
            body,
            tail: None,
            ask: None,
        }
    }

    /// An event that headspace itself saw or was told.
    pub fn observed(name: &str, session_id: &str, at: Stamp, source: Source, body: Value) -> NewEvent {
        let received_at = Stamp::now();
        NewEvent {
            name: name.to_owned(),
            session_id: session_id.to_owned(),
            at: at.min(received_at),
            received_at,
            source,
            delivery_id: None,
            from_hook: false,
            body,
            tail: None,
            ask: None,
        }
    }

    /// The event as stored: secrets masked, long texts cut, and without anything that was said if `paranoid`.
    pub fn recorded(mut self, paranoid: bool) -> EventRecord {
        let ask = ask::store_form(&self.name, &mut self.body, paranoid, self.ask);
        let text = text(&self.body);
        let event = Event {
            id: 0,
            name: self.name,
            session_id: self.session_id,
            at: self.at,
            received_at: self.received_at,
            source: self.source,
            body: self.body,
            facts: Facts { ask: ask.unwrap_or_default(), ..Facts::default() },
            agent_hint: None,
        };
        EventRecord { event, text, delivery_id: self.delivery_id, from_hook: self.from_hook, tail: self.tail }
    }
}

/// The body as stored. Reserves room for a usual event at the start: growing to it costs as much as writing it.
pub fn text(body: &Value) -> String {
    let mut text = String::with_capacity(1024);
    json::write(&mut text, body);
    text
}
