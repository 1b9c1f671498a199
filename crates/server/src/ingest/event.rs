//! How a hook's event becomes a record, posted or spooled.

use crate::app_state::AppState;
use crate::ingest::body;
use crate::ledger::NewEvent;
use crate::reconcile::watcher::HookSignal;
use headspace_clients::{Incoming, Surroundings, translate};
use headspace_core::event_names;
use headspace_core::model::{Event, observed};
use headspace_platform::config;
use serde_json::{Map, Value};

/// The event a slug names. The status line's input is data about a session, not a hook: it never shows that hooks
/// work.
pub fn event(slug: &str, session_id: String, body: Map<String, Value>) -> NewEvent {
    let status_line = slug == "status-line";
    let name = match event_names::by_slug(slug) {
        _ if status_line => observed::STATUS_LINE.to_owned(),
        Some(spec) => spec.name.to_owned(),
        None => event_names::name_of(slug),
    };
    let mut incoming = Incoming { name, session_id, body };
    translate(&mut incoming, &Surroundings { home: &config::home() });
    let Incoming { name, session_id, body } = incoming;
    let mut event = NewEvent::hook(name, session_id, Value::Object(body));
    event.from_hook = !status_line;
    event
}

/// A posted body as it would be recorded, or why not: everything between the socket and the ledger.
pub fn recorded(slug: &str, bytes: &[u8], paranoid: bool) -> Result<(Event, String), String> {
    let body = body::decode(bytes)?;
    let session_id = body::session_id(&body)?;
    Ok(event(slug, session_id, body).recorded(paranoid))
}

/// What the event means to whoever watches its transcript.
pub fn heard(event: &NewEvent) -> HookSignal {
    HookSignal::new(&event.name, &event.session_id, event.at, &event.body)
}

impl AppState {
    /// What the transcript has to say before this event is recorded, if that may change what the event means.
    /// Reads a file: not for the server's runtime.
    pub fn read_before(&self, heard: &HookSignal) -> Vec<NewEvent> {
        self.reconciler.read_now(heard, None).into_iter().map(NewEvent::from).collect()
    }

    /// The same for an event that waited in the spool: lines that are younger than it come after it.
    pub fn read_before_spooled(&self, heard: &HookSignal) -> Vec<NewEvent> {
        self.reconciler.read_now(heard, Some(heard.at)).into_iter().map(NewEvent::from).collect()
    }
}
