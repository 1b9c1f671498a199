//! Full-text search over the texts in events.
//!
//! The index is filled in idle time, never while a hook waits; events that are not indexed yet are read directly.

use crate::read::queries::{self, EventQuery};
use crate::retention::prune::GoOn;
use anyhow::Result;
use headspace_core::json::serialize::to_text;
use headspace_core::text::excerpt::words;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, params_from_iter};
use serde_json::Value;

/// Fields without text that a person would search for.
const UNSEARCHED_FIELDS: &[&str] = &[
    "session_id",
    "transcript_path",
    "agent_transcript_path",
    "hook_event_name",
    "prompt_id",
    "tool_use_id",
    "delivery_id",
    "sent_at",
    "claude_pid_start",
    "host_id",
];

/// Text of an event beyond this is not indexed.
const MAX_INDEXED_TEXT: usize = 32 << 10;

/// All texts of an event as one, for the index.
pub fn text_of(body: &Value) -> String {
    let mut text = String::new();
    collect(body, &mut text);
    text
}

fn collect(value: &Value, text: &mut String) {
    if text.len() > MAX_INDEXED_TEXT {
        return;
    }
    match value {
        Value::String(leaf) => {
            text.push_str(leaf);
            text.push(' ');
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, text)),
        Value::Object(fields) => {
            fields
                .iter()
                .filter(|(key, _)| !UNSEARCHED_FIELDS.contains(&key.as_str()))
                .for_each(|(_, v)| collect(v, text));
        }
        _ => {}
    }
}

/// How many bytes are indexed in one step, however fast that is: the database grows by about as much.
const INDEX_BYTES_PER_STEP: usize = 64 << 10;

/// Indexes more events as long as it may continue; `true`: there are no more.
pub fn index_some(db: &Connection, go_on: GoOn) -> Result<bool> {
    let done = indexed(db)?;
    let mut last = done;
    let mut bytes = 0;
    let mut query = db.prepare_cached("SELECT id, body FROM events WHERE id > ?1 ORDER BY id")?;
    let mut rows = query.query([done])?;
    let mut all = false;
    loop {
        let Some(row) = rows.next()? else {
            all = true;
            break;
        };
        last = row.get(0)?;
        let body: Value = serde_json::from_str(row.get_ref(1)?.as_str()?).unwrap_or(Value::Null);
        let text = text_of(&body);
        db.prepare_cached("INSERT INTO events_text(rowid, text) VALUES (?1, ?2)")?
            .execute(rusqlite::params![last, text])?;
        bytes += text.len();
        if !go_on() || bytes >= INDEX_BYTES_PER_STEP {
            break;
        }
    }
    if last > done {
        crate::write::meta(db, "indexed", &last.to_string())?;
    }
    Ok(all)
}

/// Pages of the index merged between two checks of the clock.
const MERGE_PAGES_PER_STEP: i64 = 4;

/// Merges parts of the index, which every step of indexing and of deleting adds; `true`: there is nothing to merge.
pub fn merge_some(db: &Connection, go_on: GoOn) -> Result<bool> {
    let mut merge = db.prepare_cached("INSERT INTO events_text(events_text, rank) VALUES ('merge', ?1)")?;
    loop {
        let before = db.total_changes();
        merge.execute([MERGE_PAGES_PER_STEP])?;
        // The statement itself counts as one change.
        if db.total_changes() - before < 2 {
            return Ok(true);
        }
        if !go_on() {
            return Ok(false);
        }
    }
}

/// The id of the last event the index holds.
pub fn indexed(db: &Connection) -> Result<i64> {
    Ok(queries::meta(db, "indexed")?.and_then(|text| text.parse().ok()).unwrap_or(0))
}

/// How many unindexed events are read for one answer.
const MAX_UNINDEXED_READ: i64 = 10_000;
/// How many events with the words are checked for the other conditions.
const MAX_MATCHES_CHECKED: usize = 50_000;

/// The ids of events that have these words and meet the conditions, in search order, and how far the search went if not
/// to the end. Uses the index as far as it goes; the rest is read directly, a part at a time.
pub fn find(db: &Connection, query: &EventQuery, text: &str) -> Result<(Vec<i64>, Option<i64>)> {
    let words = words(text);
    let mut found = SearchResult { ids: Vec::new(), looked_to: None, limit: query.limit };
    if words.is_empty() {
        return Ok((found.ids, None));
    }
    let (conditions, values) = conditions(query)?;
    let part = SearchPart { db, order: query.order(), conditions: &conditions, values: &values };
    let indexed = indexed(db)?;
    let newest = queries::newest(db)?;
    if let Some(after) = query.after {
        part.in_index(&words, after, indexed, &mut found)?;
        let from = after.max(indexed);
        let to = newest.min(from.saturating_add(MAX_UNINDEXED_READ));
        part.directly(&words, from, to, (to < newest).then_some(to), &mut found)?;
    } else {
        let to = query.before.map_or(newest, |before| newest.min(before.saturating_sub(1)));
        let from = indexed.max(to.saturating_sub(MAX_UNINDEXED_READ));
        part.directly(&words, from, to, (from > indexed).then_some(from + 1), &mut found)?;
        part.in_index(&words, 0, to.min(indexed), &mut found)?;
    }
    Ok((found.ids, found.looked_to))
}

/// All conditions except the text, as SQL with its values.
fn conditions(query: &EventQuery) -> Result<(String, Vec<Sql>)> {
    let mut values: Vec<Sql> = Vec::new();
    let mut conditions = vec!["1".to_owned()];
    let mut condition = |sql: &str, value: Option<Sql>| {
        if let Some(value) = value {
            values.push(value);
            conditions.push(sql.replace('?', &format!("?{}", values.len())));
        }
    };
    condition("id > ?", query.after.map(Sql::from));
    condition("id < ?", query.before.map(Sql::from));
    condition("agent_id = ?", query.agent.map(Sql::from));
    let agents = query.agents.as_ref().map(to_text).transpose()?;
    condition("agent_id IN (SELECT value FROM json_each(?))", agents.map(Sql::from));
    condition("at >= ?", query.from.map(|at| at.0.into()));
    condition("at < ?", query.to.map(|at| at.0.into()));
    let names = (!query.names.is_empty()).then(|| to_text(&query.names)).transpose()?;
    condition("name IN (SELECT value FROM json_each(?))", names.map(Sql::from));
    Ok((conditions.join(" AND "), values))
}

struct SearchResult {
    ids: Vec<i64>,
    looked_to: Option<i64>,
    limit: usize,
}

impl SearchResult {
    fn is_over(&self) -> bool {
        self.looked_to.is_some() || self.ids.len() >= self.limit
    }
}

/// Events in an order, with conditions and their values.
struct SearchPart<'a> {
    db: &'a Connection,
    order: &'a str,
    conditions: &'a str,
    values: &'a [Sql],
}

impl SearchPart<'_> {
    /// Searches the text of the events from `after` to `to`. `looked_to`: how far that is if it is not all.
    fn directly(
        &self,
        words: &[String],
        after: i64,
        to: i64,
        looked_to: Option<i64>,
        found: &mut SearchResult,
    ) -> Result<()> {
        if found.is_over() || after >= to {
            return Ok(());
        }
        let mut values = self.values.to_vec();
        values.extend([Sql::from(after), Sql::from(to)]);
        let mut sql = format!(
            "SELECT id FROM events WHERE {} AND id > ?{} AND id <= ?{}",
            self.conditions,
            values.len() - 1,
            values.len()
        );
        for word in words {
            values.push(Sql::from(format!("%{word}%")));
            sql.push_str(&format!(" AND body LIKE ?{}", values.len()));
        }
        sql.push_str(&format!(" ORDER BY id {} LIMIT {}", self.order, found.limit - found.ids.len()));
        let mut statement = self.db.prepare_cached(&sql)?;
        for id in statement.query_map(params_from_iter(values), |row| row.get(0))? {
            found.ids.push(id?);
        }
        if !found.is_over() {
            found.looked_to = looked_to;
        }
        Ok(())
    }

    /// Searches the index for the events from `after` to `to`.
    fn in_index(&self, words: &[String], after: i64, to: i64, found: &mut SearchResult) -> Result<()> {
        if found.is_over() || after >= to {
            return Ok(());
        }
        let mut values = self.values.to_vec();
        values.extend([Sql::from(expression(words)), Sql::from(after), Sql::from(to)]);
        let taken = self.values.len();
        let sql = format!(
            "SELECT t.rowid, coalesce({}, 0) FROM events_text t LEFT JOIN events ON id = t.rowid
             WHERE t.events_text MATCH ?{} AND t.rowid > ?{} AND t.rowid <= ?{} ORDER BY t.rowid {}",
            self.conditions,
            taken + 1,
            taken + 2,
            taken + 3,
            self.order
        );
        let mut statement = self.db.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        let mut checked = 0;
        while let Some(row) = rows.next()? {
            let id = row.get(0)?;
            if row.get(1)? {
                found.ids.push(id);
            }
            checked += 1;
            if found.is_over() {
                break;
            }
            if checked == MAX_MATCHES_CHECKED {
                found.looked_to = Some(id);
                break;
            }
        }
        Ok(())
    }
}

/// All words, the last one as a prefix: people search while they type. A single letter would match too many.
fn expression(words: &[String]) -> String {
    let mut quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    if let Some(last) = quoted.last_mut().filter(|last| last.chars().count() > 3) {
        last.push('*');
    }
    quoted.join(" AND ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::queries::events;
    use serde_json::json;

    fn database() -> Connection {
        let mut db = Connection::open_in_memory().unwrap();
        crate::schema::migrate(&mut db).unwrap();
        for (id, prompt) in
            [(1, "the quick needlefish swims"), (2, "Über den Fluß"), (3, "a \"quoted\" word")]
        {
            db.execute(
                "INSERT INTO events(id, name, session_id, at, received_at, source, body)
                 VALUES (?1, 'UserPromptSubmit', 's', 1, 1, 'hook', ?2)",
                rusqlite::params![id, json!({"session_id": "hidden", "prompt": prompt}).to_string()],
            )
            .unwrap();
        }
        db
    }

    fn found(db: &Connection, text: &str) -> Vec<i64> {
        let query = EventQuery { text: Some(text.into()), limit: 10, ..EventQuery::default() };
        events(db, &query).unwrap().events.into_iter().map(|event| event.id).collect()
    }

    #[test]
    fn words_are_found_before_and_after_they_are_indexed() {
        let db = database();
        for indexed in [0, 1, 2] {
            assert_eq!(found(&db, "needlefish"), [1], "{indexed} indexed");
            assert_eq!(found(&db, "quick needle"), [1]);
            assert_eq!(found(&db, "quick absent"), [0i64; 0]);
            assert_eq!(index_some(&db, &mut || indexed > 0).unwrap(), indexed > 0);
        }
        assert_eq!(found(&db, "uber"), [2]);
        assert_eq!(found(&db, "hidden"), [0i64; 0]);
    }

    #[test]
    fn a_query_cannot_use_the_index_language() {
        let db = database();
        index_some(&db, &mut || true).unwrap();
        for text in ["\"", "a* OR b", "NEAR(", "text:x", "'; DROP TABLE events; --", "* ^ -"] {
            found(&db, text);
        }
        assert_eq!(found(&db, "\"quoted\""), [3]);
    }

    #[test]
    fn a_search_beyond_every_id_finds_nothing_and_does_not_overflow() {
        let db = database();
        for (after, before) in [(Some(i64::MAX), None), (None, Some(i64::MIN)), (None, Some(i64::MIN + 1))] {
            let text = Some("needlefish".into());
            let query = EventQuery { after, before, text, limit: 10, ..EventQuery::default() };
            assert!(events(&db, &query).unwrap().events.is_empty(), "{after:?} {before:?}");
        }
    }

    #[test]
    fn events_that_are_not_indexed_are_searched_a_part_at_a_time() {
        let mut db = Connection::open_in_memory().unwrap();
        crate::schema::migrate(&mut db).unwrap();
        let last = MAX_UNINDEXED_READ + 50;
        db.execute(
            "INSERT INTO events(id, name, session_id, at, received_at, source, body)
             WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < ?1)
             SELECT id, 'Stop', 's', 1, 1, 'hook', iif(id IN (1, ?1), '{\"m\":\"needle\"}', '{}') FROM n",
            [last],
        )
        .unwrap();
        let mut query = EventQuery { text: Some("needle".into()), limit: 10, ..EventQuery::default() };
        let mut ask = |before, after| {
            (query.before, query.after) = (before, after);
            let found = events(&db, &query).unwrap();
            (found.events.iter().map(|event| event.id).collect::<Vec<_>>(), found.looked_to)
        };
        assert_eq!(ask(None, None), (vec![last], Some(51)));
        assert_eq!(ask(Some(51), None), (vec![1], None));
        assert_eq!(ask(None, Some(0)), (vec![1], Some(MAX_UNINDEXED_READ)));
        assert_eq!(ask(None, Some(MAX_UNINDEXED_READ)), (vec![last], None));
        // Indexed events are found at once, however many are not indexed.
        let mut left = 0..40;
        index_some(&db, &mut || left.next().is_some()).unwrap();
        assert_eq!(ask(Some(42), None), (vec![1], None));
        index_some(&db, &mut || true).unwrap();
        assert_eq!(ask(None, None), (vec![1, last], None));
        assert_eq!(ask(None, Some(1)), (vec![last], None));
    }
}
