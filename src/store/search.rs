//! Full-text search over what events say.
//!
//! The index is filled in idle time, never while a hook waits; what it does not hold yet is looked at directly.

use anyhow::Result;
use rusqlite::Connection;
use rusqlite::types::Value as Sql;
use serde_json::Value;

/// Fields that say nothing a person would search for.
const SKIP: &[&str] = &[
    "session_id",
    "transcript_path",
    "agent_transcript_path",
    "hook_event_name",
    "prompt_id",
    "tool_use_id",
    "delivery_id",
    "sent_at",
    "claude_pid_start",
];

/// More words than this in one event are not indexed.
const MAX_TEXT: usize = 32 << 10;

/// Everything an event says, as one text for the index.
pub fn text_of(body: &Value) -> String {
    let mut text = String::new();
    collect(body, &mut text);
    text
}

fn collect(value: &Value, text: &mut String) {
    if text.len() > MAX_TEXT {
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
                .filter(|(key, _)| !SKIP.contains(&key.as_str()))
                .for_each(|(_, v)| collect(v, text));
        }
        _ => {}
    }
}

/// Indexes up to `limit` further events; how many it did.
pub fn index_some(db: &Connection, limit: usize) -> Result<usize> {
    let done = indexed(db)?;
    let mut rows = db.prepare_cached("SELECT id, body FROM events WHERE id > ?1 ORDER BY id LIMIT ?2")?;
    let mut rows = rows.query(rusqlite::params![done, limit as i64])?;
    let (mut count, mut last) = (0, done);
    while let Some(row) = rows.next()? {
        last = row.get(0)?;
        count += 1;
        let body: Value = serde_json::from_str(row.get_ref(1)?.as_str()?).unwrap_or(Value::Null);
        db.prepare_cached("INSERT INTO events_text(rowid, text) VALUES (?1, ?2)")?
            .execute(rusqlite::params![last, text_of(&body)])?;
    }
    if count > 0 {
        super::write::meta(db, "indexed", &last.to_string())?;
    }
    Ok(count)
}

/// The id of the last event the index holds.
pub fn indexed(db: &Connection) -> Result<i64> {
    Ok(super::queries::meta(db, "indexed")?.and_then(|text| text.parse().ok()).unwrap_or(0))
}

/// A person's words, made into a condition on events.
#[derive(Debug)]
pub struct Search {
    expression: String,
    words: Vec<String>,
    indexed: i64,
}

impl Search {
    /// `None`: there is no word to look for.
    pub fn new(db: &Connection, text: &str) -> Result<Option<Search>> {
        let words = words(text);
        if words.is_empty() {
            return Ok(None);
        }
        Ok(Some(Search { expression: expression(&words), words, indexed: indexed(db)? }))
    }

    /// SQL and its values; parameters are numbered from `taken + 1`.
    pub fn condition(&self, taken: usize) -> (String, Vec<Sql>) {
        let mut values = vec![Sql::from(self.expression.clone()), Sql::from(self.indexed)];
        let mut direct = Vec::new();
        for word in &self.words {
            values.push(Sql::from(format!("%{word}%")));
            direct.push(format!("body LIKE ?{}", taken + values.len()));
        }
        let sql = format!(
            "(id IN (SELECT rowid FROM events_text WHERE events_text MATCH ?{}) OR (id > ?{} AND {}))",
            taken + 1,
            taken + 2,
            direct.join(" AND ")
        );
        (sql, values)
    }
}

/// Words as the index knows them: runs of letters and digits. At most 16, or the query becomes the attack.
fn words(text: &str) -> Vec<String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(16)
        .map(str::to_owned)
        .collect()
}

/// All words, the last one as the beginning of a word: people search while they type.
fn expression(words: &[String]) -> String {
    let mut quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    if let Some(last) = quoted.last_mut() {
        last.push('*');
    }
    quoted.join(" AND ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::queries::{EventQuery, events};
    use serde_json::json;

    fn database() -> Connection {
        let mut db = Connection::open_in_memory().unwrap();
        crate::store::schema::migrate(&mut db).unwrap();
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
        events(db, &query).unwrap().into_iter().map(|event| event.id).collect()
    }

    #[test]
    fn words_are_found_before_and_after_they_are_indexed() {
        let db = database();
        for indexed in [0, 1, 2] {
            assert_eq!(found(&db, "needlefish"), [1], "{indexed} indexed");
            assert_eq!(found(&db, "quick needle"), [1]);
            assert_eq!(found(&db, "quick absent"), [0i64; 0]);
            assert_eq!(index_some(&db, if indexed == 0 { 1 } else { 10 }).unwrap(), [1, 2, 0][indexed]);
        }
        assert_eq!(found(&db, "uber"), [2]);
        assert_eq!(found(&db, "hidden"), [0i64; 0]);
    }

    #[test]
    fn a_query_cannot_speak_the_index_language() {
        let db = database();
        index_some(&db, 10).unwrap();
        for text in ["\"", "a* OR b", "NEAR(", "text:x", "'; DROP TABLE events; --", "* ^ -"] {
            found(&db, text);
        }
        assert_eq!(found(&db, "\"quoted\""), [3]);
    }
}
