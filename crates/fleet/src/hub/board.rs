//! What readers see: documents of their teams, cut to their role, with the machine and the person each belongs to.

use crate::hub::database::Database;
use crate::hub::http::access::Reader;
use crate::hub::people::stamp;
use crate::level::{Level, cut, view};
use anyhow::Result;
use headspace_core::model::{AnswerView, Group};
use headspace_core::stamp::Stamp;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::SystemTime;
use tokio_postgres::Row;

/// The most ended agents in one answer: those that ended last.
pub const MAX_ENDED: i64 = 1000;

/// The most agents of one machine on the board: those that were active last. Counted where the board is read and when tables
/// are tidied, not when a machine posts: that is done thousands of times as often.
pub const MAX_PRESENT: i64 = 2_000;

/// A document as it is stored, with its machine.
#[derive(Clone, Debug)]
pub struct Seat {
    pub edge: i32,
    pub id: i64,
    pub team: i32,
    pub usr: i32,
    pub user: String,
    host: String,
    name: Option<String>,
    pub doc: String,
    pub share: Level,
    seen_at: Option<SystemTime>,
    pub silent: bool,
    skew_ms: i64,
    pub changed_at: SystemTime,
}

// A machine counts as silent after 12 seconds; its link sends something every 4.
macro_rules! seats {
    ($where:literal) => {
        concat!(
            "SELECT a.edge, a.id, a.team, e.usr, u.login, e.host, e.name, a.doc, a.share, e.seen_at,
                    coalesce(e.seen_at < clock_timestamp() - interval '12 seconds', true), coalesce(e.skew_ms, 0), a.changed_at
             FROM agents a JOIN edges e ON e.id = a.edge AND e.epoch_no = a.epoch_no AND e.left_at IS NULL
             JOIN users u ON u.id = e.usr WHERE ",
            $where
        )
    };
}

/// Leaves out what a machine has beyond [`MAX_PRESENT`], which is `$2`, among the rows that `$1` names.
macro_rules! newest {
    ($where:literal) => {
        concat!(
            " AND (a.edge, a.epoch_no, a.id) IN (SELECT edge, epoch_no, id FROM (
                SELECT edge, epoch_no, id, row_number() OVER (PARTITION BY edge, epoch_no ORDER BY last_active_at DESC, id DESC) AS place
                FROM agents WHERE ",
            $where,
            " AND ended_at IS NULL) AS ranked WHERE place <= $2)"
        )
    };
}

fn seat(row: &Row) -> Seat {
    Seat {
        edge: row.get(0),
        id: row.get(1),
        team: row.get(2),
        usr: row.get(3),
        user: row.get(4),
        host: row.get(5),
        name: row.get(6),
        doc: row.get(7),
        share: Level::from_number(row.get(8)),
        seen_at: row.get(9),
        silent: row.get(10),
        skew_ms: row.get(11),
        changed_at: row.get(12),
    }
}

/// The agents on the board: not ended, and on a machine that was heard within a day. Agents of a machine that stays
/// away are folded away, not ended, because what became of them is unknown.
pub async fn present(database: &Database, teams: &[i32]) -> Result<Vec<Seat>> {
    let sql = concat!(
        seats!("a.team = ANY($1) AND a.ended_at IS NULL AND e.seen_at > now() - interval '1 day'"),
        newest!("team = ANY($1)")
    );
    Ok(database.rows(sql, &[&teams, &MAX_PRESENT]).await?.iter().map(seat).collect())
}

/// The agents that are not on the board: ended ones, the last first, and those of machines not heard for long.
pub async fn folded(database: &Database, teams: &[i32], limit: i64) -> Result<Vec<Seat>> {
    let sql = seats!("a.team = ANY($1) AND a.ended_at IS NOT NULL ORDER BY a.ended_at DESC LIMIT $2");
    let mut seats: Vec<Seat> = database.rows(sql, &[&teams, &limit]).await?.iter().map(seat).collect();
    let sql =
        seats!("a.team = ANY($1) AND a.ended_at IS NULL AND e.seen_at <= now() - interval '1 day' LIMIT $2");
    seats.extend(database.rows(sql, &[&teams, &limit]).await?.iter().map(seat));
    Ok(seats)
}

pub async fn one(database: &Database, teams: &[i32], edge: i32, id: i64) -> Result<Option<Seat>> {
    let sql = seats!("a.team = ANY($1) AND a.edge = $2 AND a.id = $3");
    Ok(database.rows(sql, &[&teams, &edge, &id]).await?.first().map(seat))
}

/// Agents that changed on these machines, each machine since its own time.
pub async fn changed(database: &Database, since: &HashMap<i32, SystemTime>) -> Result<Vec<Seat>> {
    let (edges, times): (Vec<i32>, Vec<SystemTime>) = since.iter().unzip();
    let sql = seats!(
        "(a.edge, a.changed_at) IN (SELECT a2.edge, a2.changed_at FROM unnest($1::int[], $2::timestamptz[]) AS w(edge, at)
          JOIN agents a2 ON a2.edge = w.edge AND a2.changed_at > w.at)"
    );
    Ok(database.rows(sql, &[&edges, &times]).await?.iter().map(seat).collect())
}

/// What a client that was disconnected has missed.
pub async fn changed_since(
    database: &Database,
    teams: &[i32],
    since: SystemTime,
    limit: i64,
) -> Result<Vec<Seat>> {
    let sql = seats!(
        "a.edge IN (SELECT id FROM edges WHERE team = ANY($1) AND changed_at > $2) AND a.team = ANY($1) AND a.changed_at > $2
         ORDER BY a.changed_at LIMIT $3"
    );
    Ok(database.rows(sql, &[&teams, &since, &limit]).await?.iter().map(seat).collect())
}

/// All present agents of these machines, to report how long the machines have been silent, not their states.
pub async fn of_edges(database: &Database, edges: &[i32]) -> Result<Vec<Seat>> {
    let sql = concat!(seats!("a.edge = ANY($1) AND a.ended_at IS NULL"), newest!("edge = ANY($1)"));
    Ok(database.rows(sql, &[&edges, &MAX_PRESENT]).await?.iter().map(seat).collect())
}

/// When a person looked at which agent.
pub type Looked = HashMap<(i32, i64), SystemTime>;

pub async fn looked(database: &Database, usr: i32) -> Result<Looked> {
    let sql = "SELECT edge, agent, at FROM seen WHERE usr = $1";
    let rows = database.rows(sql, &[&usr]).await?;
    Ok(rows.iter().map(|row| ((row.get(0), row.get(1)), row.get(2))).collect())
}

impl Seat {
    pub fn public_id(&self) -> String {
        format!("{}/{}", self.edge, self.id)
    }

    /// The current time on the machine's clock.
    fn machine_now(&self, now: Stamp) -> Stamp {
        Stamp(now.0.saturating_sub(self.skew_ms.saturating_mul(1_000_000)))
    }

    /// Whether this person has looked since the agent was last active.
    pub fn looked_at(&self, looked: &Looked, last_active: Option<Stamp>) -> bool {
        let (Some(at), Some(active)) = (looked.get(&(self.edge, self.id)), last_active) else { return false };
        self.machine_now(stamp(*at)) >= active
    }

    /// The document for one reader; `None` if this reader may not see it.
    pub fn shown(&self, reader: &Reader, looked: &Looked) -> Option<Value> {
        self.at_level(reader.level(self.team, self.usr), looked)
    }

    pub fn at_level(&self, level: Level, looked: &Looked) -> Option<Value> {
        let stored: Value = serde_json::from_slice(self.doc.as_bytes()).ok()?;
        let mut document = cut(&stored, level.min(self.share))?;
        let active = document["last_active_at"].as_str().and_then(Stamp::parse);
        if document["unseen"] == json!(true) && self.looked_at(looked, active) {
            document["unseen"] = json!(false);
            if document["group"] == json!(Group::Done.word()) {
                document["group"] = json!(Group::Idle.word());
                if let Some(view) = view(&document) {
                    document["summary"] = json!(view.summarize());
                }
            }
        }
        self.address(&mut document);
        Some(document)
    }

    fn address(&self, document: &mut Value) {
        let said = document["host"].as_str().filter(|host| !host.is_empty()).map(str::to_owned);
        let host = self.name.clone().or(said).unwrap_or_else(|| self.host.clone());
        document["id"] = json!(self.public_id());
        document["edge"] = json!(self.edge.to_string());
        document["host"] = json!(host);
        document["user"] = json!(self.user);
        // At `states` the name stays on its machine. A row without a name has nothing to click on.
        if document["name"].as_str().is_none_or(str::is_empty) {
            document["name"] = document["project"].clone();
        }
        // Answers are not forwarded: the process that waits for one is on that machine.
        if let Some(Value::Array(asks)) = document.get_mut("interactions") {
            for ask in asks.iter_mut().filter_map(Value::as_object_mut) {
                let answer = AnswerView::terminal(format!("answer on {host}"));
                ask.insert("answer".into(), json!(answer));
            }
        }
        document["not_heard_since"] = json!(self.not_heard_since());
        // Only for the machine and its hub.
        document.as_object_mut().map(|object| object.remove("share"));
    }

    fn not_heard_since(&self) -> Option<Stamp> {
        self.seen_at.filter(|_| self.silent).map(stamp)
    }

    /// The row in a list. A document of another version may lack what a row needs: then what it has is shown.
    pub fn row(&self, document: &Value, now: Stamp) -> Value {
        let mut own = document.clone();
        own["id"] = json!(self.id);
        let now = self.machine_now(now);
        let mut row = match view(&own) {
            Some(view) => json!(view.row(now)),
            None => json!({
                "name": document["name"], "project": document["project"], "group": document["group"],
                "title": document["project"], "label": document["status"], "about": "", "since": document["last_active_at"],
                "age_kind": "quiet", "order": "9", "age": 0,
            }),
        };
        for field in ["id", "edge", "host", "user", "not_heard_since"] {
            row[field] = document[field].clone();
        }
        if row["project"].is_null() {
            row["project"] = document["project"].clone();
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        row["title"] = json!(format!("{}@{} · {}", self.user, text(&document["host"]), text(&row["title"])));
        row
    }
}

/// The sort key of a document in every list.
pub fn order(document: &Value) -> String {
    document["summary"]["order"].as_str().unwrap_or("9").to_owned()
}
