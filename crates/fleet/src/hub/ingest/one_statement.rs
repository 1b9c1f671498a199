//! The short path for nearly every batch: one that continues where the machine's row is. One statement in one round
//! trip moves the position if all conditions hold, and inserts only if it moved. Any other batch changes no row here,
//! and is left to the transaction.

use crate::hub::database::{Session, Values};
use crate::hub::faults::{Point, reach, will_die_at};
use crate::hub::ingest::rows::{
    AGENTS, AgentColumns, Columns, EVENTS, EventColumns, Insert, TURNS, TurnColumns,
};
use crate::hub::ingest::{Poster, skew_ms};
use crate::protocol::Batch;
use std::sync::OnceLock;
use std::time::SystemTime;
use tokio_postgres::Error;

/// Compares and moves, under the row's lock. A statement that waited for another one sees the row as that one left it,
/// but everything else as it was when the statement began. So it counts only if the row was not written since then,
/// which `seen_at` shows.
const MOVED: &str = "UPDATE edges SET pos = $4, last_hash = CASE WHEN $5 THEN last_hash ELSE $6 END, link = coalesce($7, link), skew_ms = $8,
        version = coalesce($9, version), seen_at = clock_timestamp(),
        changed_at = CASE WHEN $10 THEN greatest(clock_timestamp(), changed_at + interval '1 microsecond') ELSE changed_at END
    WHERE id = $1 AND epoch = $2::text::uuid AND pos = $3 AND left_at IS NULL
      AND seen_at = (SELECT seen_at FROM edges WHERE id = $1)
      AND ($7::text IS NULL OR link IS NULL OR link = $7)
      AND ($11::bytea IS NULL OR last_hash IS NULL OR last_hash = $11)
      AND EXISTS (SELECT FROM tokens JOIN users ON users.id = tokens.usr
                  WHERE tokens.hash = $12 AND tokens.edge = edges.id AND tokens.revoked_at IS NULL AND users.disabled_at IS NULL)
      AND EXISTS (SELECT FROM teams WHERE teams.id = edges.team AND teams.share_max = $13)";
const FIRST_COLUMN: usize = 14;

/// What is no longer shared must be erased. The first two columns of [`AGENTS`] are the numbers and the levels.
fn none_lowered(first: usize) -> String {
    format!(
        "NOT EXISTS (SELECT FROM unnest(${first}::bigint[], ${}::smallint[]) AS posted(id, share) JOIN agents AS stored
             ON stored.edge = edges.id AND stored.epoch_no = edges.epoch_no AND stored.id = posted.id
             WHERE posted.share < 3 AND stored.share = 3)",
        first + 1
    )
}

/// The statement for batches that have rows for these tables. An empty part would cost as much as a few events.
fn statement(agents: bool, events: bool, turns: bool) -> &'static str {
    static MADE: [OnceLock<String>; 8] = [const { OnceLock::new() }; 8];
    let number = usize::from(agents) + 2 * usize::from(events) + 4 * usize::from(turns);
    MADE[number].get_or_init(|| {
        let guard = if agents { format!(" AND {}", none_lowered(FIRST_COLUMN)) } else { String::new() };
        let mut text = format!("WITH edge AS ({MOVED}{guard} RETURNING id, epoch_no, team, changed_at)");
        let mut first = FIRST_COLUMN;
        let parts: [(bool, &str, &Insert); 3] =
            [(agents, "documents", &AGENTS), (events, "log", &EVENTS), (turns, "said", &TURNS)];
        for (_, name, insert) in parts.into_iter().filter(|(wanted, ..)| *wanted) {
            text.push_str(&format!(", {name} AS ({})", insert.text("edge", first)));
            first += insert.len();
        }
        text + " SELECT FROM edge"
    })
}

/// Stores the batch if it is an ordinary one; `false`: nothing was changed.
pub(super) async fn take(session: &mut Session, poster: &Poster<'_>, batch: &Batch) -> Result<bool, Error> {
    if batch.gap.is_some() || !batch.gone.is_empty() {
        return Ok(false);
    }
    let before = batch.from - 1;
    let (agents, events, turns) =
        (AgentColumns::of(batch), EventColumns::after(before, batch), TurnColumns::of(batch));
    let hash = batch.last.as_ref().filter(|mark| mark.pos == batch.to).map(|mark| mark.hash.as_bytes());
    let keeps_hash = hash.is_none() && batch.to == before;
    let check = batch.check.as_ref().filter(|mark| mark.pos == before).map(|mark| mark.hash.as_bytes());
    let skew = batch.sent_at.map(|sent| skew_ms(sent, SystemTime::now()));
    let (documents, share_max) = (!batch.agents.is_empty(), poster.share_max.number());
    let mut values: Values = vec![
        &poster.edge,
        &batch.epoch,
        &before,
        &batch.to,
        &keeps_hash,
        &hash,
        &batch.link,
        &skew,
        &batch.version,
        &documents,
        &check,
        &poster.token,
        &share_max,
    ];
    let columns: [&dyn Columns; 3] = [&agents, &events, &turns];
    values.extend(columns.iter().filter(|columns| !columns.is_empty()).flat_map(|columns| columns.values()));
    let sql = statement(!agents.is_empty(), !events.is_empty(), !turns.is_empty());
    let held = will_die_at(Point::BeforeCommit);
    if held {
        session.client.batch_execute("BEGIN").await?;
    }
    let moved = !session.query(sql, &values).await?.is_empty();
    if moved {
        reach(Point::BeforeCommit);
    }
    if held {
        session.client.batch_execute("COMMIT").await?;
    }
    if moved {
        reach(Point::AfterCommit);
    }
    Ok(moved)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_of_a_batch_has_its_statement_with_a_value_for_every_number() {
        for number in 0..8_u32 {
            let (agents, events, turns) = (number & 1 > 0, number & 2 > 0, number & 4 > 0);
            let text = statement(agents, events, turns);
            let columns = [(agents, AGENTS.len()), (events, EVENTS.len()), (turns, TURNS.len())];
            let columns: usize = columns.iter().filter(|(wanted, _)| *wanted).map(|(_, len)| len).sum();
            let last = FIRST_COLUMN - 1 + columns;
            assert!((1..=last).all(|value| text.contains(&format!("${value}"))), "{text}");
            assert!(!text.contains(&format!("${}", last + 1)), "{text}");
            assert_eq!(text.matches("INSERT INTO").count(), number.count_ones() as usize);
            assert!(!text.contains('{'), "{text}");
        }
    }
}
