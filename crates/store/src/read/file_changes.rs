//! The files an agent edited, according to its stored events.

use crate::read::queries::{EVENT_COLUMNS, stored_event};
use anyhow::Result;
use headspace_core::changes;
use headspace_core::changes::{Changes, Collector};
use headspace_core::json::serialize::to_text;
use rusqlite::{Connection, OptionalExtension};

/// How many of an agent's events are searched for changes: the newest ones.
const MAX_CHANGE_EVENTS: usize = 50_000;

/// The files an agent edited, from its events. Reads them one by one: all of them at once may be hundreds of megabytes.
pub fn of_agent(db: &Connection, agent: i64, root: Option<&str>) -> Result<Changes> {
    let names = to_text(&changes::EVENT_NAMES)?;
    let mut ids = db.prepare_cached(
        "SELECT l.id FROM events_by_agent l CROSS JOIN events USING (id)
         WHERE l.agent_id = ?1 AND name IN (SELECT value FROM json_each(?2)) ORDER BY l.id DESC LIMIT ?3",
    )?;
    let found = ids.query_map(rusqlite::params![agent, names, MAX_CHANGE_EVENTS as i64], |row| row.get(0))?;
    let found: Vec<i64> = found.collect::<rusqlite::Result<_>>()?;
    let mut event = db.prepare_cached(&format!("SELECT {EVENT_COLUMNS} FROM events WHERE id = ?1"))?;
    let mut collector = Collector::new(root);
    for id in found.iter().rev() {
        let read = event.query_row([id], |row| {
            let concerns = changes::may_concern(row.get_ref(1)?.as_str()?, row.get_ref(8)?.as_str()?);
            if concerns { stored_event(row).map(Some) } else { Ok(None) }
        });
        // Retention may have deleted it in the meantime.
        if let Some(event) = read.optional()?.flatten() {
            collector.take(&event);
        }
    }
    Ok(collector.finish(found.len() < MAX_CHANGE_EVENTS))
}
