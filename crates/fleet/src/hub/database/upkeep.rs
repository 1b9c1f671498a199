//! A hub's background work on its tables: creates a partition for every day in advance, and drops it when it is old.

use crate::hub::Hub;
use crate::hub::board::MAX_PRESENT;
use crate::hub::database::said;
use crate::hub::database::schema;
use anyhow::{Result, anyhow};
use headspace_core::text::one_line;
use headspace_platform::log;
use std::sync::Arc;
use std::time::Duration;
use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

const UPKEEP_EVERY: Duration = Duration::from_secs(600);
const HURRIED_UPKEEP_EVERY: Duration = Duration::from_millis(200);
const DAYS_AHEAD: i32 = 3;
/// Rows deleted at once: few enough that no other statement waits long.
const MAX_ROWS_PER_DELETE: i64 = 2_000;
const MOST_STEPS: usize = 200;

pub async fn run(hub: Arc<Hub>) {
    loop {
        // Today's partitions are created at the start; the rest can wait. Jitter keeps hubs that start together apart.
        let jitter = Duration::from_secs(headspace_platform::process::random() % 60);
        tokio::time::sleep(if is_hurried() { HURRIED_UPKEEP_EVERY } else { UPKEEP_EVERY + jitter }).await;
        if hub.is_ready()
            && let Err(error) = once(&hub).await
        {
            log::line(&format!("could not tidy the hub's tables: {error:#}"));
        }
    }
}

/// For tests: builds for development tidy all the time if `HEADSPACE_HUB_TIDIES` is set.
fn is_hurried() -> bool {
    cfg!(debug_assertions) && headspace_platform::config::env("HEADSPACE_HUB_TIDIES").is_some()
}

async fn once(hub: &Hub) -> Result<()> {
    let client = hub.database.settings.connect().await?;
    schema::check(&client).await?;
    client.batch_execute("SET lock_timeout = '2s'").await?;
    let tidied = async {
        partitions(&client).await?;
        fold_surplus(&client).await?;
        old_rows(&client).await
    };
    tidied.await.map_err(|error| anyhow!("{}", said(&error)))
}

/// Creates one partition per day from yesterday on. Rows that are in the default partition already stay there.
pub async fn partitions(client: &Client) -> Result<(), tokio_postgres::Error> {
    let days = client
        .query(
            "SELECT to_char(day, 'YYYYMMDD'), to_char(day, 'YYYY-MM-DD'), to_char(day + interval '1 day', 'YYYY-MM-DD')
             FROM generate_series(date_trunc('day', now()) - interval '1 day', date_trunc('day', now()) + $1 * interval '1 day', '1 day') AS day
             WHERE to_regclass('events_' || to_char(day, 'YYYYMMDD')) IS NULL",
            &[&f64::from(DAYS_AHEAD)],
        )
        .await?;
    for day in &days {
        let (name, from, to): (String, String, String) = (day.get(0), day.get(1), day.get(2));
        let made = client
            .batch_execute(&format!(
                "CREATE TABLE IF NOT EXISTS events_{name} PARTITION OF events FOR VALUES FROM ('{from} 00:00:00+00') TO ('{to} 00:00:00+00')"
            ))
            .await;
        // Another hub was faster, or the default partition has rows of that day: both are fine.
        let fine = [
            SqlState::DUPLICATE_TABLE,
            SqlState::UNIQUE_VIOLATION,
            SqlState::CHECK_VIOLATION,
            SqlState::DUPLICATE_OBJECT,
        ];
        match made {
            Err(error) if error.as_db_error().is_none() => return Err(error),
            Err(error) if !error.code().is_some_and(|code| fine.contains(code)) => log::line(&format!(
                "could not make the partition for {from}, its events go to events_default: {}",
                said(&error)
            )),
            _ => {}
        }
    }
    let kept: i32 = client.query_one("SELECT coalesce(max(days_events), 14) FROM teams", &[]).await?.get(0);
    let old = client
        .query(
            "SELECT relname FROM pg_class WHERE relname ~ '^events_[0-9]{8}$' AND relkind = 'r'
             AND pg_table_is_visible(oid) AND to_date(substr(relname, 8), 'YYYYMMDD') < (now() - $1 * interval '1 day')::date",
            &[&f64::from(kept)],
        )
        .await?;
    for table in &old {
        let name: String = table.get(0);
        client.batch_execute(&format!("DROP TABLE IF EXISTS {name}")).await?;
        log::line(&format!("dropped the events of {}", &name["events_".len()..]));
    }
    Ok(())
}

/// What a machine has beyond the bound of the board counts as ended, and is deleted with what has ended. An agent that is
/// posted again is back.
async fn fold_surplus(client: &Client) -> Result<(), tokio_postgres::Error> {
    let crowded = client
        .query(
            "SELECT a.edge, a.epoch_no, e.host, count(*) FROM agents a JOIN edges e ON e.id = a.edge
             WHERE a.ended_at IS NULL GROUP BY a.edge, a.epoch_no, e.host HAVING count(*) > $1",
            &[&MAX_PRESENT],
        )
        .await?;
    for machine in &crowded {
        let (edge, epoch_no, host, agents): (i32, i16, String, i64) =
            (machine.get(0), machine.get(1), machine.get(2), machine.get(3));
        // The machine's row first, as for a batch: neither waits for what the other holds.
        client
            .batch_execute(&format!(
                "BEGIN; SELECT FROM edges WHERE id = {edge} FOR UPDATE;
                 UPDATE agents SET ended_at = last_active_at WHERE edge = {edge} AND epoch_no = {epoch_no} AND ended_at IS NULL
                   AND id NOT IN (SELECT id FROM agents WHERE edge = {edge} AND epoch_no = {epoch_no} AND ended_at IS NULL
                                  ORDER BY last_active_at DESC, id DESC LIMIT {MAX_PRESENT});
                 COMMIT"
            ))
            .await?;
        log::line(&format!(
            "machine {edge} ({}) has {agents} agents that have not ended: the board keeps the {MAX_PRESENT} that were active last",
            one_line(&host, 60)
        ));
    }
    Ok(())
}

/// Deletes what is older than its team keeps, in small steps.
async fn old_rows(client: &Client) -> Result<(), tokio_postgres::Error> {
    const OLD: &[&str] = &[
        "DELETE FROM events_default WHERE ctid IN (
            SELECT ctid FROM events_default WHERE received_at < now() - (SELECT max(days_events) FROM teams) * interval '1 day' LIMIT $1)",
        "DELETE FROM turns WHERE (edge, epoch_no, id) IN (
            SELECT t.edge, t.epoch_no, t.id FROM agents a JOIN teams ON teams.id = a.team
            JOIN turns t ON t.edge = a.edge AND t.epoch_no = a.epoch_no AND t.agent_id = a.id
            WHERE a.ended_at IS NOT NULL AND a.changed_at < now() - teams.days_events * interval '1 day' LIMIT $1)",
        "DELETE FROM agents WHERE (edge, epoch_no, id) IN (
            SELECT a.edge, a.epoch_no, a.id FROM agents a JOIN teams ON teams.id = a.team JOIN edges e ON e.id = a.edge
            WHERE (a.ended_at IS NOT NULL OR a.epoch_no < e.epoch_no OR e.left_at IS NOT NULL)
              AND a.changed_at < now() - teams.days_events * interval '1 day' LIMIT $1)",
        "DELETE FROM seen WHERE (edge, agent, usr) IN (
            SELECT s.edge, s.agent, s.usr FROM seen s
            WHERE NOT EXISTS (SELECT FROM agents a WHERE a.edge = s.edge AND a.id = s.agent) LIMIT $1)",
        "DELETE FROM tokens WHERE hash IN (
            SELECT hash FROM tokens WHERE ends_at < now() - interval '1 day' OR revoked_at < now() - interval '30 days' LIMIT $1)",
        "DELETE FROM invites WHERE hash IN (SELECT hash FROM invites WHERE ends_at < now() - interval '7 days' LIMIT $1)",
    ];
    // Whole partitions were dropped already: what is left belongs to teams that keep less than others. The day is a
    // constant, so that only old partitions are read.
    let less = client
        .query(
            "SELECT id, to_char(now() - days_events * interval '1 day', 'YYYY-MM-DD HH24:MI:SSOF') FROM teams
             WHERE days_events < (SELECT max(days_events) FROM teams)",
            &[],
        )
        .await?;
    for team in &less {
        let (team, before): (i32, String) = (team.get(0), team.get(1));
        let sql = format!(
            "DELETE FROM events WHERE (tableoid, ctid) IN (SELECT ev.tableoid, ev.ctid FROM events ev JOIN edges ON edges.id = ev.edge
             WHERE edges.team = {team} AND ev.received_at < '{before}' LIMIT $1)"
        );
        in_steps(client, &sql).await?;
    }
    for sql in OLD {
        in_steps(client, sql).await?;
    }
    Ok(())
}

async fn in_steps(client: &Client, sql: &str) -> Result<(), tokio_postgres::Error> {
    for _ in 0..MOST_STEPS {
        if (client.execute(sql, &[&MAX_ROWS_PER_DELETE]).await? as i64) < MAX_ROWS_PER_DELETE {
            break;
        }
    }
    Ok(())
}
