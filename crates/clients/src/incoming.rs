//! From what a client sent to one of headspace's own events. Pure.

use crate::table::named;
use headspace_core::model::hints;
use serde_json::{Map, Value};
use std::path::Path;

/// An event on its way in. What the client said stays in `body`; where a field means something else to headspace, the
/// client's own value is kept under another name.
#[derive(Clone, Debug, PartialEq)]
pub struct Incoming {
    pub name: String,
    pub session_id: String,
    pub body: Map<String, Value>,
}

/// What a translation may know besides the event.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The user's home, where clients keep their files.
    pub home: &'a Path,
}

/// Makes the event one of headspace's own, by the row of the client that its body names. An unknown client's event is
/// taken as it is.
pub fn translate(incoming: &mut Incoming, surroundings: &Surroundings) {
    let Some(row) = incoming.text(hints::CLIENT).and_then(named) else { return };
    if let Some(event) = row.event(&incoming.name) {
        incoming.name = event.ours.to_owned();
    }
    (row.translate)(incoming, surroundings);
    if row.is_silent {
        incoming.put(hints::SILENT_CLIENT, true);
    }
}

impl Incoming {
    /// A text of the body that is there and not empty.
    pub fn text(&self, field: &str) -> Option<&str> {
        self.body.get(field)?.as_str().filter(|text| !text.is_empty())
    }

    pub fn owned(&self, field: &str) -> Option<String> {
        self.text(field).map(str::to_owned)
    }

    pub fn pointer(&self, pointer: &str) -> Option<&Value> {
        let (first, rest) = pointer.strip_prefix('/')?.split_once('/').unwrap_or((&pointer[1..], ""));
        let value = self.body.get(first)?;
        if rest.is_empty() { Some(value) } else { value.pointer(&format!("/{rest}")) }
    }

    pub fn text_at(&self, pointer: &str) -> Option<&str> {
        self.pointer(pointer)?.as_str().filter(|text| !text.is_empty())
    }

    pub fn put(&mut self, field: &str, value: impl Into<Value>) {
        self.body.insert(field.to_owned(), value.into());
    }

    /// Puts a value where there is none.
    pub fn fill(&mut self, field: &str, value: Option<impl Into<Value>>) {
        let missing = self.body.get(field).is_none_or(Value::is_null);
        if let Some(value) = value.filter(|_| missing) {
            self.put(field, value);
        }
    }

    /// Copies a field under another name, if that is free.
    pub fn alias(&mut self, from: &str, to: &str) {
        let value = self.body.get(from).cloned();
        self.fill(to, value);
    }

    /// The transcript in a subagent's event is the subagent's own; it must not be taken for the session's.
    pub fn keep_subagent_transcript_apart(&mut self) {
        if self.text("agent_id").is_some()
            && let Some(path) = self.body.shift_remove("transcript_path")
        {
            self.fill("agent_transcript_path", Some(path));
        }
    }
}
