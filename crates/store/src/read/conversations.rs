//! Full-text search in conversations: finds events by the index, and the turns they made.

use crate::read::queries::{self, EventQuery};
use crate::read::search;
use anyhow::Result;
use headspace_core::model::observed;
use headspace_core::text::excerpt::{excerpt, words};
use headspace_core::wire::Hit;
use rusqlite::Connection;

/// Events that make turns.
const TURN_EVENTS: [&str; 9] = [
    "UserPromptSubmit",
    "Stop",
    "StopFailure",
    "PreToolUse",
    "PermissionRequest",
    observed::TEXT,
    observed::PROMPT,
    observed::TURN_END,
    observed::DEQUEUED,
];

/// Length of an excerpt in characters.
const EXCERPT_WIDTH: usize = 280;
/// Events examined per step, and steps per answer: many events have the words only in a path or an input.
const EVENTS_PER_STEP: usize = 200;
const MAX_STEPS: usize = 20;

/// Hits, newest first, and where the next page starts: the next query's `before`.
pub struct Conversations {
    pub hits: Vec<Hit>,
    pub next: Option<i64>,
}

/// Finds turns with the query's text. Sets the query's names.
pub fn find(db: &Connection, mut query: EventQuery) -> Result<Conversations> {
    let text = query.text.take().unwrap_or_default();
    let (words, wanted) = (words(&text), query.limit);
    query.names = TURN_EVENTS.map(str::to_owned).to_vec();
    query.limit = EVENTS_PER_STEP;
    let mut hits = Vec::new();
    for _ in 0..MAX_STEPS {
        let (ids, looked_to) = search::find(db, &query, &text)?;
        for (agent_id, turn) in queries::turns_of_events(db, &ids)? {
            if hits.len() == wanted {
                let next = hits.last().map(|hit: &Hit| hit.event_id);
                return Ok(Conversations { hits, next });
            }
            if let Some(excerpt) = excerpt(&turn.text, &words, EXCERPT_WIDTH) {
                hits.push(Hit::new(agent_id, &turn, excerpt));
            }
        }
        let next = looked_to.or_else(|| ids.last().copied().filter(|_| ids.len() == EVENTS_PER_STEP));
        query.before = next;
        if next.is_none() {
            break;
        }
    }
    Ok(Conversations { hits, next: query.before })
}
