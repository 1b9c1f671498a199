//! A batch becomes rows: one transaction on the edge's own row, which is lock, fence and memory of what was taken in one.
//!
//! At least once on the wire is exactly once in the table: what is at or below the row's position is left out, a hole is
//! refused, and two hubs that get the same batch at once are put in order by the row. No leader, no lease.

use crate::hub::database::{Session, Step, Values};
use crate::hub::faults::{Point, reach, will_die_at};
use crate::level::Level;
use crate::protocol::Batch;
use headspace_core::stamp::Stamp;
use std::collections::HashSet;
use std::time::SystemTime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Error, Row};

/// What became of a batch.
#[derive(Debug, PartialEq)]
pub enum Taken {
    /// Everything up to this position is committed.
    UpTo { pos: i64 },
    /// The machine has another history than the hub knows: it begins again at 1.
    OtherHistory,
    /// Something between is missing.
    Hole { pos: i64 },
    /// Another home posts as this machine.
    Copied,
    /// There is no such machine any more, or its token was taken away.
    Gone,
    /// The team takes another level than the batch was cut to: again, with that one.
    OtherLevel,
}

const EDGE: &str = "SELECT team, epoch::text, epoch_no, pos, last_hash, link, seen_at > clock_timestamp() - interval '15 seconds', left_at IS NOT NULL,
           CASE WHEN epoch IS DISTINCT FROM $2::text::uuid
                THEN (SELECT max(epoch_no) FROM histories WHERE edge = edges.id AND epoch = $2::text::uuid) END,
           EXISTS (SELECT FROM tokens JOIN users ON users.id = tokens.usr
                   WHERE tokens.hash = $3 AND tokens.edge = edges.id AND tokens.revoked_at IS NULL AND users.disabled_at IS NULL),
           (SELECT share_max FROM teams WHERE teams.id = edges.team)
    FROM edges WHERE id = $1 FOR UPDATE";

/// What was shared and no longer is.
const LOWERED: &str = "SELECT stored.id FROM agents AS stored JOIN unnest($2::bigint[], $3::smallint[]) AS posted(id, share) USING (id)
    WHERE edge = $1 AND epoch_no = (SELECT epoch_no FROM edges WHERE id = $1) AND stored.share = 3 AND posted.share < 3";

const OPEN_HISTORY: &str = "INSERT INTO histories (edge, epoch_no, epoch) VALUES ($1, $2, $3::text::uuid)";
const ERASE_AGENTS: &str = "DELETE FROM agents WHERE edge = $1 AND epoch_no = $2 AND id = ANY($3)";
const ERASE_EVENTS: &str = "DELETE FROM events WHERE edge = $1 AND epoch_no = $2 AND agent_id = ANY($3)";
const ERASE_TURNS: &str = "DELETE FROM turns WHERE edge = $1 AND epoch_no = $2 AND agent_id = ANY($3)";
const INSERT_GAP: &str = "INSERT INTO gaps VALUES ($1, $2, $3, $4, 'retention') ON CONFLICT DO NOTHING";

const EVENTS: &str = "INSERT INTO events (edge, epoch_no, pos, agent_id, session_id, name, at, source, flags, received_at, body)
    SELECT $1, $2, pos, agent_id, session_id, name, at, source, flags, now(), body
    FROM unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::int[], $10::text[])
         AS posted(pos, agent_id, session_id, name, at, source, flags, body)";

/// A document that a later position wrote stays.
const AGENTS: &str = "INSERT INTO agents (edge, epoch_no, id, team, project, share, status, last_active_at, ended_at, pos, changed_at, doc)
    SELECT $1, $2, id, $3, project, share, status, last_active_at, ended_at, $4, clock_timestamp(), doc
    FROM unnest($5::bigint[], $6::text[], $7::smallint[], $8::text[], $9::bigint[], $10::bigint[], $11::text[])
         AS posted(id, project, share, status, last_active_at, ended_at, doc)
    ON CONFLICT (edge, epoch_no, id) DO UPDATE SET
        team = excluded.team, project = excluded.project, share = excluded.share, status = excluded.status,
        last_active_at = excluded.last_active_at, ended_at = excluded.ended_at, pos = excluded.pos,
        changed_at = excluded.changed_at, doc = excluded.doc
    WHERE agents.pos <= excluded.pos";

const TURNS: &str = "INSERT INTO turns (edge, epoch_no, id, agent_id, at, received_at, doc)
    SELECT $1, $2, id, agent_id, at, now(), doc
    FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::text[]) AS posted(id, agent_id, at, doc)
    ON CONFLICT (edge, epoch_no, id) DO UPDATE SET at = excluded.at, doc = excluded.doc";

const MOVE_ON: &str = "UPDATE edges SET epoch = $2::text::uuid, epoch_no = $3, pos = $4, last_hash = $5, link = coalesce($6, link), skew_ms = $7,
        version = coalesce($8, version), seen_at = clock_timestamp(),
        changed_at = CASE WHEN $9 THEN clock_timestamp() ELSE changed_at END
    WHERE id = $1";

/// Whose batch it is, as it was believed when the request began. The transaction looks again.
pub struct Poster<'a> {
    pub edge: i32,
    pub token: &'a [u8],
    /// What the batch was cut to.
    pub share_max: Level,
}

/// Takes a batch in: one journey to the database to look, one to write. After an error nothing of it is known to be stored, and the
/// session must not be used again.
pub async fn take(session: &mut Session, poster: &Poster<'_>, batch: &Batch) -> Result<Taken, Error> {
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
    let (gap_from, gap_to) = gap.map_or((0, 0), |(from, to)| (from.max(place.pos + 1), to));
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
    if !events.pos.is_empty() {
        let EventColumns { pos, agents, sessions, names, at, sources, flags, bodies } = &events;
        steps
            .push((EVENTS, vec![&edge, &epoch_no, pos, agents, sessions, names, at, sources, flags, bodies]));
    }
    if !agents.ids.is_empty() {
        let AgentColumns { ids, projects, shares, statuses, active, ended, documents } = &agents;
        let values: Values = vec![
            &edge,
            &epoch_no,
            &stored.team,
            &batch.to,
            ids,
            projects,
            shares,
            statuses,
            active,
            ended,
            documents,
        ];
        steps.push((AGENTS, values));
    }
    if !turns.ids.is_empty() {
        let TurnColumns { ids, owners, at, documents } = &turns;
        steps.push((TURNS, vec![&edge, &epoch_no, ids, owners, at, documents]));
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
    if will_die_at(Point::BeforeCommit) {
        session.together(steps, None).await?;
        reach(Point::BeforeCommit);
        session.client.batch_execute("COMMIT").await?;
    } else {
        // A step that fails fails the transaction: its COMMIT then commits nothing, and the step says why.
        session.together(steps, Some("COMMIT")).await?;
    }
    reach(Point::AfterCommit);
    Ok(Taken::UpTo { pos })
}

/// Locks the edge's row; also tells which agents in the batch shared everything until now.
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

struct EventColumns<'a> {
    pos: Vec<i64>,
    agents: Vec<Option<i64>>,
    sessions: Vec<&'a str>,
    names: Vec<&'a str>,
    at: Vec<i64>,
    sources: Vec<&'a str>,
    flags: Vec<i32>,
    bodies: Vec<&'a str>,
}

impl EventColumns<'_> {
    fn after(pos: i64, batch: &Batch) -> EventColumns<'_> {
        let fresh = batch.events.iter().position(|event| event.pos > pos).unwrap_or(batch.events.len());
        let events = &batch.events[fresh..];
        EventColumns {
            pos: events.iter().map(|event| event.pos).collect(),
            agents: events.iter().map(|event| event.agent_id).collect(),
            sessions: events.iter().map(|event| event.session_id.as_str()).collect(),
            names: events.iter().map(|event| event.name.as_str()).collect(),
            at: events.iter().map(|event| event.at).collect(),
            sources: events.iter().map(|event| event.source.as_str()).collect(),
            flags: events.iter().map(|event| event.flags).collect(),
            bodies: events.iter().map(|event| event.body.as_str()).collect(),
        }
    }
}

struct AgentColumns<'a> {
    ids: Vec<i64>,
    projects: Vec<Option<&'a str>>,
    shares: Vec<i16>,
    statuses: Vec<&'a str>,
    active: Vec<i64>,
    ended: Vec<Option<i64>>,
    documents: Vec<&'a str>,
}

impl AgentColumns<'_> {
    fn of(batch: &Batch) -> AgentColumns<'_> {
        let agents = &batch.agents;
        AgentColumns {
            ids: agents.iter().map(|agent| agent.id).collect(),
            projects: agents.iter().map(|agent| agent.project.as_deref()).collect(),
            shares: agents.iter().map(|agent| agent.share).collect(),
            statuses: agents.iter().map(|agent| agent.status.as_str()).collect(),
            active: agents.iter().map(|agent| agent.last_active_at).collect(),
            ended: agents.iter().map(|agent| agent.ended_at).collect(),
            documents: agents.iter().map(|agent| agent.doc.as_str()).collect(),
        }
    }
}

struct TurnColumns<'a> {
    ids: Vec<i64>,
    owners: Vec<i64>,
    at: Vec<i64>,
    documents: Vec<&'a str>,
}

impl TurnColumns<'_> {
    fn of(batch: &Batch) -> TurnColumns<'_> {
        let turns =
            batch.agents.iter().flat_map(|agent| agent.turns.iter().map(move |turn| (agent.id, turn)));
        let mut turns: Vec<_> = turns.collect();
        // One statement cannot write a row twice, whatever a machine sends.
        let mut known = HashSet::new();
        turns.retain(|(_, turn)| known.insert(turn.id));
        TurnColumns {
            ids: turns.iter().map(|(_, turn)| turn.id).collect(),
            owners: turns.iter().map(|(agent, _)| *agent).collect(),
            at: turns.iter().map(|(_, turn)| turn.at).collect(),
            documents: turns.iter().map(|(_, turn)| turn.doc.as_str()).collect(),
        }
    }
}

/// The edge's row as the transaction found it.
struct Stored {
    team: i32,
    epoch: Option<String>,
    epoch_no: i16,
    pos: i64,
    last_hash: Option<Vec<u8>>,
    link: Option<String>,
    /// Heard a moment ago.
    recent: bool,
    /// It left, or this token is not its own any more.
    left: bool,
    share_max: Level,
    /// The batch's epoch stood here once, under this number.
    known_as: Option<i16>,
}

/// Where a batch goes on.
#[derive(Debug, PartialEq)]
struct Place {
    epoch_no: i16,
    pos: i64,
    /// It begins a history.
    opens: bool,
}

impl From<&Row> for Stored {
    /// As [`EDGE`] has it.
    fn from(row: &Row) -> Stored {
        Stored {
            team: row.get(0),
            epoch: row.get(1),
            epoch_no: row.get(2),
            pos: row.get(3),
            last_hash: row.get(4),
            link: row.get(5),
            recent: row.get::<_, Option<bool>>(6).unwrap_or(false),
            left: row.get::<_, bool>(7) || !row.get::<_, bool>(9),
            share_max: Level::from_number(row.get::<_, Option<i16>>(10).unwrap_or(0)),
            known_as: row.get(8),
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
            // A history that was left does not come back: it would mix with what followed.
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

/// Hub minus machine, in milliseconds. What a journey takes is no skew, and a clock that is wrong by lifetimes is just wrong.
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
            team: 1,
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
