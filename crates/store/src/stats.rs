//! Statistics per day: how much happened, and how long agents waited for their user.

use crate::write::QUARTER_HOUR;
use anyhow::Result;
use rusqlite::Connection;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Days shown, the newest last.
const DAYS_SHOWN: usize = 30;

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
    let mut rows = rows.query([DAYS_SHOWN as i64])?;
    while let Some(row) = rows.next()? {
        days.entry(row.get(0)?).or_default().events = row.get(1)?;
    }
    // Grouped by quarter of an hour, which takes one division per row; a calendar date costs a hundred times that.
    let mut calendar = Calendar::new(db)?;
    let mut commands = db.prepare_cached("SELECT started_at / ?1, count(*) FROM commands GROUP BY 1")?;
    let mut commands = commands.query([QUARTER_HOUR])?;
    while let Some(row) = commands.next()? {
        days.entry(calendar.day(row.get(0)?)?).or_default().commands += row.get::<_, i64>(1)?;
    }
    // An open question is still being waited for.
    let mut waits = db.prepare_cached(
        "SELECT opened_at / ?1, sum(waited) / 60e9, max(waited) / 60e9
         FROM (SELECT opened_at, max(0, coalesce(closed_at, unixepoch() * 1000000000) - opened_at) AS waited
               FROM interactions)
         GROUP BY 1",
    )?;
    let mut waits = waits.query([QUARTER_HOUR])?;
    while let Some(row) = waits.next()? {
        let day = days.entry(calendar.day(row.get(0)?)?).or_default();
        day.waited_minutes += row.get::<_, f64>(1)?;
        day.longest_wait_minutes = day.longest_wait_minutes.max(row.get(2)?);
    }
    let surplus = days.len().saturating_sub(DAYS_SHOWN);
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

/// Days of the user's calendar.
struct Calendar<'a> {
    query: rusqlite::CachedStatement<'a>,
}

impl<'a> Calendar<'a> {
    fn new(db: &'a Connection) -> Result<Calendar<'a>> {
        Ok(Calendar { query: db.prepare_cached("SELECT date(?1, 'unixepoch', 'localtime')")? })
    }

    /// The day of this quarter of an hour since 1970.
    fn day(&mut self, quarter: i64) -> Result<String> {
        Ok(self.query.query_row([quarter * (QUARTER_HOUR / 1_000_000_000)], |row| row.get(0))?)
    }
}

fn round(minutes: f64) -> f64 {
    (minutes * 100.0).round() / 100.0
}
