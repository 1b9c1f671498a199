//! Figures per day: how much happened, and how long agents waited for their human.

use anyhow::Result;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Days told, the newest last.
const DAYS: usize = 30;

#[derive(Default)]
struct Day {
    events: i64,
    commands: i64,
    waited_minutes: f64,
    longest_wait_minutes: f64,
}

pub fn by_day(db: &Connection) -> Result<Value> {
    let mut days: BTreeMap<String, Day> = BTreeMap::new();
    let mut rows = db.prepare_cached("SELECT day, events FROM days ORDER BY day DESC LIMIT ?1")?;
    let mut rows = rows.query([DAYS as i64])?;
    while let Some(row) = rows.next()? {
        days.entry(row.get(0)?).or_default().events = row.get(1)?;
    }
    let mut commands = db.prepare_cached(
        "SELECT date(started_at / 1000000000, 'unixepoch', 'localtime'), count(*) FROM commands GROUP BY 1
         ORDER BY 1 DESC LIMIT ?1",
    )?;
    let mut commands = commands.query([DAYS as i64])?;
    while let Some(row) = commands.next()? {
        days.entry(row.get(0)?).or_default().commands = row.get(1)?;
    }
    // What is still open is still being waited for.
    let mut waits = db.prepare_cached(
        "SELECT date(opened_at / 1000000000, 'unixepoch', 'localtime'), sum(waited) / 60e9, max(waited) / 60e9
         FROM (SELECT opened_at, max(0, coalesce(closed_at, unixepoch() * 1000000000) - opened_at) AS waited
               FROM interactions)
         GROUP BY 1 ORDER BY 1 DESC LIMIT ?1",
    )?;
    let mut waits = waits.query([DAYS as i64])?;
    while let Some(row) = waits.next()? {
        let day = days.entry(row.get(0)?).or_default();
        (day.waited_minutes, day.longest_wait_minutes) = (row.get(1)?, row.get(2)?);
    }
    let surplus = days.len().saturating_sub(DAYS);
    let list: Vec<Value> = days
        .into_iter()
        .skip(surplus)
        .map(|(day, figures)| {
            json!({
                "day": day, "events": figures.events, "commands": figures.commands,
                "waited_minutes": round(figures.waited_minutes),
                "longest_wait_minutes": round(figures.longest_wait_minutes),
            })
        })
        .collect();
    Ok(json!({ "days": list }))
}

fn round(minutes: f64) -> f64 {
    (minutes * 100.0).round() / 100.0
}
