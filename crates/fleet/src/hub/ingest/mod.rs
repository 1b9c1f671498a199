//! Turns a batch into rows: one transaction on the edge's row, which is lock, fence and record of what was accepted.
//!
//! At least once on the wire becomes exactly once in the table: what is at or below the row's position is left out, a
//! hole is refused, and the row puts two hubs that get the same batch at once in order. No leader, no lease.

mod one_statement;
mod rows;

use crate::hub::database::{Session, Step, Values};
use crate::hub::faults::{Point, reach, will_die_at};
use crate::level::Level;
use crate::protocol::Batch;
use headspace_core::stamp::Stamp;
use rows::{AGENTS, AgentColumns, Columns, EVENTS, EventColumns, Insert, TURNS, TurnColumns};
use std::time::SystemTime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

/// The result of a batch.
#[derive(Debug, PartialEq)]
pub enum Taken {
    /// Everything up to this position is committed.
    UpTo { pos: i64 },
    /// The machine has a different history from the one the hub knows: it begins again at 1.
    OtherHistory,
    /// Something before the batch is missing.
    Hole { pos: i64 },
    /// Another home directory posts as this machine.
    Copied,
    /// The machine no longer exists, or its token was revoked.
    Gone,
    /// The team accepts another level than the batch was cut to: post it again, cut to that one.
    OtherLevel,
}

const EDGE: &str = "SELECT epoch::text, epoch_no, pos, last_hash, link, seen_at > clock_timestamp() - interval '15 seconds', left_at IS NOT NULL,
           CASE WHEN epoch IS DISTINCT FROM $2::text::uuid
                THEN (SELECT max(epoch_no) FROM histories WHERE edge = edges.id AND epoch = $2::text::uuid) END,
           EXISTS (SELECT FROM tokens JOIN users ON users.id = tokens.usr
                   WHERE tokens.hash = $3 AND tokens.edge = edges.id AND tokens.revoked_at IS NULL AND users.disabled_at IS NULL),
           (SELECT share_max FROM teams WHERE teams.id = edges.team)
    FROM edges WHERE id = $1 FOR UPDATE";

/// Agents that were shared in full and no longer are.
const LOWERED: &str = "SELECT stored.id FROM agents AS stored JOIN unnest($2::bigint[], $3::smallint[]) AS posted(id, share) USING (id)
    WHERE edge = $1 AND epoch_no = (SELECT epoch_no FROM edges WHERE id = $1) AND stored.share = 3 AND posted.share < 3";

const OPEN_HISTORY: &str = "INSERT INTO histories (edge, epoch_no, epoch) VALUES ($1, $2, $3::text::uuid)";
const ERASE_AGENTS: &str = "DELETE FROM agents WHERE edge = $1 AND epoch_no = $2 AND id = ANY($3)";
const ERASE_EVENTS: &str = "DELETE FROM events WHERE edge = $1 AND epoch_no = $2 AND agent_id = ANY($3)";
const ERASE_TURNS: &str = "DELETE FROM turns WHERE edge = $1 AND epoch_no = $2 AND agent_id = ANY($3)";
const INSERT_GAP: &str = "INSERT INTO gaps VALUES ($1, $2, $3, $4, 'retention') ON CONFLICT DO NOTHING";

const MOVE_ON: &str = "UPDATE edges SET epoch = $2::text::uuid, epoch_no = $3, pos = $4, last_hash = $5, link = coalesce($6, link), skew_ms = $7,
        version = coalesce($8, version), seen_at = clock_timestamp(),
        changed_at = CASE WHEN $9 THEN greatest(clock_timestamp(), changed_at + interval '1 microsecond') ELSE changed_at END
    WHERE id = $1";

/// Whose batch it is, as known when the request began. The transaction checks again.
pub struct Poster<'a> {
    pub edge: i32,
    pub token: &'a [u8],
    /// The level the batch was cut to.
    pub share_max: Level,
}

/// Stores a batch. After an error it is unknown whether anything was stored, and the session must not be used again.
pub async fn take(session: &mut Session, poster: &Poster<'_>, batch: &Batch) -> Result<Taken, Error> {
    if one_statement::take(session, poster, batch).await? {
        return Ok(Taken::UpTo { pos: batch.to });
    }
    transaction(session, poster, batch).await
}

/// Handles any batch: one round trip to the database to look, one to write.
async fn transaction(session: &mut Session, poster: &Poster<'_>, batch: &Batch) -> Result<Taken, Error> {
    let edge = poster.edge;
    let agents = AgentColumns::of(batch);
    let (row, erased) = look(session, poster, batch, &agents).await?;
    let Some(row) = row else { return leave(session, Taken::Gone).await };
    let stored = Stored::from(&row);
    if stored.share_max != poster.share_max {
        return leave(session, Taken::OtherLevel).await;
    }
    let place = match stored.place(batch) {
        Ok(place) => place,
        Err(refused) => return leave(session, refused).await,
    };
    let epoch_no = place.epoch_no;
    let erased: Vec<i64> = erased.into_iter().chain(batch.gone.iter().copied()).collect();
    let gap = batch.gap.filter(|(_, to)| *to > place.pos);
    let (gap_from, gap_to) = gap.map_or((0, 0), |(from, to)| (from.max(place.pos + 1), to.min(batch.to)));
    let events = EventColumns::after(place.pos, batch);
    let turns = TurnColumns::of(batch);
    let pos = place.pos.max(batch.to);
    let last_hash = match &batch.last {
        Some(mark) if mark.pos == pos => Some(mark.hash.as_bytes().to_vec()),
        _ if pos == stored.pos && !place.opens => stored.last_hash,
        _ => None,
    };
    let skew = batch.sent_at.map(|sent| skew_ms(sent, SystemTime::now()));
    let documents = !batch.agents.is_empty() || !batch.gone.is_empty() || place.opens;

    let mut steps: Vec<Step> = Vec::new();
    if place.opens {
        steps.push((OPEN_HISTORY, vec![&edge, &epoch_no, &batch.epoch]));
    }
    if !batch.gone.is_empty() {
        steps.push((ERASE_AGENTS, vec![&edge, &epoch_no, &batch.gone]));
    }
    if !erased.is_empty() {
        steps.push((ERASE_EVENTS, vec![&edge, &epoch_no, &erased]));
        steps.push((ERASE_TURNS, vec![&edge, &epoch_no, &erased]));
    }
    if gap.is_some() {
        steps.push((INSERT_GAP, vec![&edge, &epoch_no, &gap_from, &gap_to]));
    }
    let values: Values = vec![
        &edge,
        &batch.epoch,
        &epoch_no,
        &pos,
        &last_hash,
        &batch.link,
        &skew,
        &batch.version,
        &documents,
    ];
    steps.push((MOVE_ON, values));
    // The row has the new position by now, and says which history the rows belong to.
    let inserts: [(&'static Insert, &dyn Columns); 3] =
        [(&EVENTS, &events), (&AGENTS, &agents), (&TURNS, &turns)];
    for (insert, columns) in inserts {
        if !columns.is_empty() {
            let values = std::iter::once::<&(dyn ToSql + Sync)>(&edge).chain(columns.values());
            steps.push((insert.alone(), values.collect()));
        }
    }
    if will_die_at(Point::BeforeCommit) {
        session.together(steps, None).await?;
        reach(Point::BeforeCommit);
        session.client.batch_execute("COMMIT").await?;
    } else {
        // A step that fails aborts the transaction: its COMMIT then commits nothing, and the step says why.
        session.together(steps, Some("COMMIT")).await?;
    }
    reach(Point::AfterCommit);
    Ok(Taken::UpTo { pos })
}

/// Locks the edge's row; also returns which agents in the batch shared everything until now.
async fn look(
    session: &mut Session,
    poster: &Poster<'_>,
    batch: &Batch,
    agents: &AgentColumns<'_>,
) -> Result<(Option<Row>, Vec<i64>), Error> {
    let (edge_statement, lowered_statement) =
        (session.prepared(EDGE).await?, session.prepared(LOWERED).await?);
    let client = &session.client;
    let edge: [&(dyn ToSql + Sync); 3] = [&poster.edge, &batch.epoch, &poster.token];
    let lowered: [&(dyn ToSql + Sync); 3] = [&poster.edge, &agents.ids, &agents.shares];
    let below_full = agents.shares.iter().any(|share| *share < Level::Full.number());
    let lowered =
        async { if below_full { client.query(&lowered_statement, &lowered).await } else { Ok(Vec::new()) } };
    let (begun, row, lowered) =
        tokio::join!(client.batch_execute("BEGIN"), client.query_opt(&edge_statement, &edge), lowered);
    begun?;
    Ok((row?, lowered?.iter().map(|row| row.get(0)).collect()))
}

async fn leave(session: &mut Session, taken: Taken) -> Result<Taken, Error> {
    session.client.batch_execute("ROLLBACK").await?;
    Ok(taken)
}

/// The edge's row as the transaction found it.
struct Stored {
    epoch: Option<String>,
    epoch_no: i16,
    pos: i64,
    last_hash: Option<Vec<u8>>,
    link: Option<String>,
    /// It was heard a moment ago.
    recent: bool,
    /// The machine left, or this token no longer belongs to it.
    left: bool,
    share_max: Level,
    /// The number under which the row once had the batch's epoch.
    known_as: Option<i16>,
}

/// Where a batch continues.
#[derive(Debug, PartialEq)]
struct Place {
    epoch_no: i16,
    pos: i64,
    /// The batch begins a history.
    opens: bool,
}

impl From<&Row> for Stored {
    /// The columns of [`EDGE`].
    fn from(row: &Row) -> Stored {
        Stored {
            epoch: row.get(0),
            epoch_no: row.get(1),
            pos: row.get(2),
            last_hash: row.get(3),
            link: row.get(4),
            recent: row.get::<_, Option<bool>>(5).unwrap_or(false),
            left: row.get::<_, bool>(6) || !row.get::<_, bool>(8),
            share_max: Level::from_number(row.get::<_, Option<i16>>(9).unwrap_or(0)),
            known_as: row.get(7),
        }
    }
}

impl Stored {
    fn place(&self, batch: &Batch) -> Result<Place, Taken> {
        if self.left {
            return Err(Taken::Gone);
        }
        if let (Some(known), Some(posting)) = (&self.link, &batch.link)
            && known != posting
            && self.recent
        {
            return Err(Taken::Copied);
        }
        if self.epoch.as_deref() != Some(batch.epoch.as_str()) {
            // A history that was left cannot come back: it would mix with what followed.
            let opens = batch.from == 1 && self.known_as.is_none();
            let next = self.epoch_no.checked_add(1).filter(|_| opens);
            return match next {
                Some(epoch_no) => Ok(Place { epoch_no, pos: 0, opens: true }),
                None => Err(Taken::OtherHistory),
            };
        }
        let mismatch = |hash: &[u8]| {
            batch.check.as_ref().is_some_and(|mark| mark.pos == self.pos && mark.hash.as_bytes() != hash)
        };
        if self.last_hash.as_deref().is_some_and(mismatch) {
            return Err(Taken::OtherHistory);
        }
        let bridged = batch.gap.is_some_and(|(from, to)| from <= self.pos + 1 && to >= batch.from - 1);
        if batch.from > self.pos + 1 && !bridged {
            return Err(Taken::Hole { pos: self.pos });
        }
        Ok(Place { epoch_no: self.epoch_no, pos: self.pos, opens: false })
    }
}

/// Hub minus machine, in milliseconds. Time on the wire is not skew; a clock that is off by a lifetime is just wrong.
fn skew_ms(sent: Stamp, now: SystemTime) -> i64 {
    const JOURNEY_MS: i64 = 2_000;
    const LIFETIME_MS: i64 = 80 * 365 * 86_400 * 1_000;
    let now = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64);
    let skew = now - sent.0 / 1_000_000;
    if skew.abs() < JOURNEY_MS { 0 } else { skew.clamp(-LIFETIME_MS, LIFETIME_MS) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::parse;
    use serde_json::{Value, json};

    const OURS: &str = "00000000-0000-4000-8000-000000000001";
    const OTHER: &str = "00000000-0000-4000-8000-000000000002";

    fn stored() -> Stored {
        Stored {
            epoch: Some(OURS.into()),
            epoch_no: 3,
            pos: 10,
            last_hash: Some(b"ten".to_vec()),
            link: Some("here".into()),
            recent: true,
            left: false,
            share_max: Level::Full,
            known_as: Some(3),
        }
    }

    fn batch(change: Value) -> Batch {
        let mut body = json!({"epoch": OURS, "from": 11, "to": 12, "level": "states", "link": "here"});
        for (key, value) in change.as_object().unwrap() {
            body[key] = value.clone();
        }
        parse(body.to_string().as_bytes(), Level::Full).unwrap()
    }

    #[test]
    fn a_batch_goes_on_begins_or_is_refused() {
        let on = |pos| Ok(Place { epoch_no: 3, pos, opens: false });
        let new = Ok(Place { epoch_no: 4, pos: 0, opens: true });
        let table = [
            ("the next one", json!({}), on(10)),
            ("a repeated one", json!({"from": 1, "to": 10}), on(10)),
            ("one that overlaps", json!({"from": 5, "to": 12}), on(10)),
            ("a sign of life", json!({"from": 11, "to": 10}), on(10)),
            ("a hole", json!({"from": 12, "to": 12}), Err(Taken::Hole { pos: 10 })),
            ("a hole that is named", json!({"from": 15, "to": 16, "gap": {"from": 11, "to": 14}}), on(10)),
            (
                "a hole that is named in part",
                json!({"from": 15, "to": 16, "gap": {"from": 12, "to": 14}}),
                Err(Taken::Hole { pos: 10 }),
            ),
            ("another history in its middle", json!({"epoch": OTHER}), Err(Taken::OtherHistory)),
            ("a restored machine", json!({"check": {"pos": 10, "hash": "other"}}), Err(Taken::OtherHistory)),
            ("the same event at the position", json!({"check": {"pos": 10, "hash": "ten"}}), on(10)),
            ("a check of another position", json!({"check": {"pos": 9, "hash": "nine"}}), on(10)),
            ("a copied home", json!({"link": "there"}), Err(Taken::Copied)),
            (
                "a hole with another epoch",
                json!({"epoch": OTHER, "from": 15, "to": 15}),
                Err(Taken::OtherHistory),
            ),
        ];
        for (what, change, expected) in table {
            assert_eq!(stored().place(&batch(change)), expected, "{what}");
        }
        let fresh = Stored { known_as: None, ..stored() };
        assert_eq!(fresh.place(&batch(json!({"epoch": OTHER, "from": 1}))), new, "a new history");
        let left = Stored { known_as: Some(2), ..stored() };
        let back = left.place(&batch(json!({"epoch": OTHER, "from": 1})));
        assert_eq!(back, Err(Taken::OtherHistory), "a history that was left");
        let quiet = Stored { recent: false, ..stored() };
        assert_eq!(
            quiet.place(&batch(json!({"link": "there"}))),
            on(10),
            "a machine that moved, after a while"
        );
        let gone = Stored { left: true, ..stored() };
        assert_eq!(gone.place(&batch(json!({}))), Err(Taken::Gone));
    }

    #[test]
    fn what_a_journey_takes_is_no_skew() {
        let now = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(10_000);
        assert_eq!(skew_ms(Stamp(9_999 * 1_000_000_000), now), 0);
        assert_eq!(skew_ms(Stamp(6_400 * 1_000_000_000), now), 3_600_000);
        for odd in [i64::MIN, i64::MAX] {
            assert!(skew_ms(Stamp(odd), now).checked_mul(1_000_000).is_some(), "ages are reckoned with it");
        }
    }
}
