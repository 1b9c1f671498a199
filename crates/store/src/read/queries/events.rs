//! Queries for stored events, with any combination of conditions.

use crate::flag;
use crate::read::search;
use anyhow::Result;
use headspace_core::json::serialize::to_text;
use headspace_core::model::*;
use headspace_core::stamp::Stamp;
use headspace_core::wire::StoredEvent;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};
use serde_json::Value;

/// Which events are wanted; all conditions must hold.
#[derive(Clone, Debug, Default)]
pub struct EventQuery {
    /// Only newer than this id; the result then starts with the oldest of these.
    pub after: Option<i64>,
    pub before: Option<i64>,
    pub agent: Option<i64>,
    /// Event names.
    pub names: Vec<String>,
    /// Words that must occur in the event's texts.
    pub text: Option<String>,
    /// Only events of these agents.
    pub agents: Option<Vec<i64>>,
    /// Only events of this client. A caller that knows the agents turns it into `agents` ([`EventQuery::of_client`]).
    pub client: Option<String>,
    /// Not earlier than this, and earlier than that.
    pub from: Option<Stamp>,
    pub to: Option<Stamp>,
    pub limit: usize,
}

impl EventQuery {
    /// Resolves the client's name, given all agents with the clients they name.
    #[must_use]
    pub fn of_client<'a>(mut self, agents: impl Iterator<Item = (i64, Option<&'a str>)>) -> EventQuery {
        if let Some(name) = self.client.take() {
            let is_its = |client: Option<&str>| client.unwrap_or(hints::DEFAULT_CLIENT) == name;
            let its = agents.filter(|(_, client)| is_its(*client)).map(|(id, _)| id).collect();
            self.agents = Some(its);
        }
        self
    }

    /// The order in which events are searched.
    pub fn order(&self) -> &'static str {
        if self.after.is_some() { "ASC" } else { "DESC" }
    }
}

pub(crate) const EVENT_COLUMNS: &str = "id, name, session_id, agent_id, at, received_at, source, flags, body";
/// Bytes of bodies in one answer, approximately.
const MAX_ANSWER_BYTES: usize = 16 << 20;

/// Matching events. Searching and reading are limited, so there may be more.
#[derive(Debug, Default)]
pub struct FoundEvents {
    /// Oldest first.
    pub events: Vec<StoredEvent>,
    /// The search stopped at this id: to get the rest, ask for what is before it, or after it if `after` was given.
    pub looked_to: Option<i64>,
    /// There may be more: before this id, or after it if `after` was given.
    pub next: Option<i64>,
}

impl FoundEvents {
    /// Fills in the client of events that name none: what headspace saw itself belongs to its agent's client.
    pub fn name_clients(&mut self, client_of: impl Fn(i64) -> Option<String>) {
        for event in self.events.iter_mut().filter(|event| event.client.is_none()) {
            let name = event.agent_id.and_then(&client_of);
            event.client = Some(name.unwrap_or_else(|| hints::DEFAULT_CLIENT.to_owned()));
        }
    }
}

/// The newest events that match, oldest of them first; with `after`, the first ones after it.
pub fn events(db: &Connection, query: &EventQuery) -> Result<FoundEvents> {
    // First the ids, then the rows: only the events that are returned are read completely.
    let (ids, looked_to) = match &query.text {
        None => (ids(db, query)?, None),
        Some(text) => search::find(db, query, text)?,
    };
    read(db, query, ids, looked_to)
}

/// The names of all stored events, in alphabetical order. Each takes one lookup in the list of names, however many
/// events there are.
pub fn event_names(db: &Connection) -> Result<Vec<String>> {
    let mut statement = db.prepare_cached(
        "WITH RECURSIVE names(name) AS (
            SELECT min(name) FROM events_by_name
            UNION ALL SELECT (SELECT min(name) FROM events_by_name WHERE name > names.name) FROM names WHERE names.name NOT NULL
         ) SELECT name FROM names WHERE name NOT NULL",
    )?;
    let names = statement.query_map([], |row| row.get(0))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}

/// The ids in search order.
fn ids(db: &Connection, query: &EventQuery) -> Result<Vec<i64>> {
    let mut values: Vec<Sql> = Vec::new();
    let mut bind = |value: Sql| {
        values.push(value);
        format!("?{}", values.len())
    };
    let lists = lists(query, &mut bind)?;
    let after = query.after.map(|id| bind(id.into()));
    let before = query.before.map(|id| bind(id.into()));
    let from_time = query.from.map(|at| bind(at.0.into()));
    let to_time = query.to.map(|at| bind(at.0.into()));
    let agents = query.agents.as_ref().map(to_text).transpose()?.map(|agents| bind(agents.into()));
    let more: String = [
        from_time.map(|at| format!(" AND events.at >= {at}")),
        to_time.map(|at| format!(" AND events.at < {at}")),
        agents.map(|agents| format!(" AND events.agent_id IN (SELECT value FROM json_each({agents}))")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let (order, limit) = (query.order(), query.limit);
    let of_list = |EventList { from, id }: &EventList| {
        let after = after.as_ref().map_or(String::new(), |after| format!(" AND {id} > {after}"));
        let before = before.as_ref().map_or(String::new(), |before| format!(" AND {id} < {before}"));
        format!(
            "SELECT * FROM (SELECT {id} FROM {from}{after}{before}{more} ORDER BY {id} {order} LIMIT {limit})"
        )
    };
    let all = lists.iter().map(of_list).collect::<Vec<_>>().join(" UNION ALL ");
    let mut statement = db.prepare_cached(&format!("{all} ORDER BY 1 {order} LIMIT {limit}"))?;
    let ids = statement.query_map(params_from_iter(values), |row| row.get(0))?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
}

fn read(
    db: &Connection,
    query: &EventQuery,
    ids: Vec<i64>,
    mut looked_to: Option<i64>,
) -> Result<FoundEvents> {
    let mut statement = db.prepare_cached(&format!("SELECT {EVENT_COLUMNS} FROM events WHERE id = ?1"))?;
    let (mut events, mut bytes) = (Vec::with_capacity(ids.len()), 0);
    for id in ids {
        if bytes > MAX_ANSWER_BYTES {
            looked_to = events.last().map(|event: &StoredEvent| event.id);
            break;
        }
        let read = statement.query_row([id], |row| {
            bytes += row.get_ref(8)?.as_bytes()?.len();
            stored_event(row)
        });
        events.extend(read.optional()?);
    }
    let full = events.len() >= query.limit;
    let next = looked_to.or(events.last().map(|event| event.id).filter(|_| full));
    if query.after.is_none() {
        events.reverse();
    }
    Ok(FoundEvents { events, looked_to, next })
}

/// A source of events in the order of their ids: the SQL up to a condition on the id, and the column with the id.
struct EventList {
    from: String,
    id: &'static str,
}

/// The sources to search, without reading events of other agents or names: an agent's own events, or those of each
/// name, or all.
fn lists(query: &EventQuery, bind: &mut impl FnMut(Sql) -> String) -> Result<Vec<EventList>> {
    if let Some(agent) = query.agent {
        let agent = bind(agent.into());
        let mut from = format!("events_by_agent l CROSS JOIN events USING (id) WHERE l.agent_id = {agent}");
        if !query.names.is_empty() {
            let names = bind(to_text(&query.names)?.into());
            from += &format!(" AND name IN (SELECT value FROM json_each({names}))");
        }
        return Ok(vec![EventList { from, id: "l.id" }]);
    }
    if query.names.is_empty() {
        return Ok(vec![EventList { from: "events WHERE 1".to_owned(), id: "id" }]);
    }
    let mut of_name = |name: &String| {
        let name = bind(name.clone().into());
        let from = format!("events_by_name l CROSS JOIN events USING (id) WHERE l.name = {name}");
        EventList { from, id: "l.id" }
    };
    Ok(query.names.iter().map(&mut of_name).collect())
}

pub(crate) fn stored_event(row: &Row) -> rusqlite::Result<StoredEvent> {
    let body: Value = serde_json::from_str(row.get_ref(8)?.as_str()?).unwrap_or(Value::Null);
    Ok(StoredEvent {
        id: row.get(0)?,
        name: row.get(1)?,
        session_id: row.get(2)?,
        agent_id: row.get(3)?,
        at: Stamp(row.get(4)?),
        received_at: Stamp(row.get(5)?),
        source: row.get(6)?,
        duplicate: row.get::<_, i64>(7)? & flag::DUPLICATE != 0,
        client: body.get(hints::CLIENT).and_then(Value::as_str).map(str::to_owned),
        body,
    })
}

/// The stored events after `after`, as the engine takes them, with their flags; for a replay. The hint is the agent
/// each event had: the engine uses that id if it has to create the agent because the event that did was deleted.
pub fn replay(db: &Connection, after: i64, limit: usize) -> Result<Vec<(Event, i64)>> {
    let mut statement = db.prepare_cached(
        "SELECT id, name, session_id, agent_id, at, received_at, source, flags, body, facts
         FROM events WHERE id > ?1 ORDER BY id LIMIT ?2",
    )?;
    let mut rows = statement.query(rusqlite::params![after, limit as i64])?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        let view = stored_event(row)?;
        let flags: i64 = row.get(7)?;
        let facts = match row.get_ref(9)?.as_str_or_null()? {
            Some(text) => serde_json::from_str(text).unwrap_or_default(),
            None => Facts::default(),
        };
        let event = Event {
            id: view.id,
            name: view.name,
            session_id: view.session_id,
            at: view.at,
            received_at: view.received_at,
            source: Source::from_word(&view.source).unwrap_or(Source::Hook),
            body: view.body,
            facts,
            agent_hint: view.agent_id,
        };
        events.push((event, flags));
    }
    Ok(events)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{schema, write};
    use serde_json::json;

    /// 60 events of three agents and of no agent, with four names.
    fn database() -> Connection {
        let mut db = Connection::open_in_memory().unwrap();
        schema::migrate(&mut db).unwrap();
        for id in 1..=60i64 {
            let agent = Some(id % 4).filter(|agent| *agent > 0);
            let body = json!({"prompt": if id % 5 == 0 { "needle" } else { "hay" }}).to_string();
            db.execute(
                "INSERT INTO events(id, name, session_id, agent_id, at, received_at, source, body)
                 VALUES (?1, ?2, 's', ?3, 1, 1, 'hook', ?4)",
                rusqlite::params![id, name(id), agent, body],
            )
            .unwrap();
        }
        write::lists(&db, 0, 30).unwrap();
        write::lists(&db, 20, 60).unwrap();
        let mut left = 40;
        let forty = &mut || {
            left -= 1;
            left > 0
        };
        search::index_some(&db, forty).unwrap();
        db
    }

    fn name(id: i64) -> &'static str {
        ["Stop", "PreToolUse", "PostToolUse", "Notification"][(id / 3 % 4) as usize]
    }

    /// Lists and indexes find the same events as a full scan.
    #[test]
    fn every_combination_of_conditions_finds_what_it_should() {
        let db = database();
        let names: [&[&str]; 4] = [&[], &["Stop"], &["Stop", "Notification"], &["Nothing"]];
        let mut asked = 0;
        for (agent, names, text) in [None, Some(1), Some(3), Some(9)]
            .into_iter()
            .flat_map(|agent| names.map(|names| (agent, names)))
            .flat_map(|(agent, names)| [None, Some("needle")].map(|text| (agent, names, text)))
        {
            for (after, before, limit) in [
                (None, None, 7),
                (None, None, 100),
                (Some(25), None, 7),
                (None, Some(35), 7),
                (Some(9), Some(50), 100),
            ] {
                let wanted = |id: &i64| {
                    agent.is_none_or(|agent| id % 4 == agent)
                        && (names.is_empty() || names.contains(&name(*id)))
                        && (text.is_none() || id % 5 == 0)
                        && after.is_none_or(|after| *id > after)
                        && before.is_none_or(|before| *id < before)
                };
                let all: Vec<i64> = (1..=60).filter(wanted).collect();
                let many = all.len().min(limit);
                let expected = if after.is_some() { &all[..many] } else { &all[all.len() - many..] };
                let names = names.iter().map(|name| name.to_string()).collect();
                let text = text.map(str::to_owned);
                let query = EventQuery { after, before, agent, names, text, limit, ..EventQuery::default() };
                let found = events(&db, &query).unwrap();
                let found: Vec<i64> = found.events.iter().map(|event| event.id).collect();
                assert_eq!(found, expected, "{query:?}");
                asked += 1;
            }
        }
        assert_eq!(asked, 160);
    }
}
