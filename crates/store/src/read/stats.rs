//! Statistics: what happened per day and per hour, how long agents waited for their user and over what, what was spent.

use crate::write::QUARTER_HOUR;
use anyhow::Result;
use headspace_core::stamp::Stamp;
use headspace_core::wire::{DayStats, HourStats, LongWait, SpentStats, Stats};
use rusqlite::Connection;
use std::collections::BTreeMap;

/// Days shown, the newest last.
const DAYS_SHOWN: usize = 30;
const SECOND: i64 = 1_000_000_000;
const HOUR: i64 = 4 * QUARTER_HOUR;
const HOURS_SHOWN: i64 = 48;
const WEEK: i64 = 7 * 24 * HOUR;
/// The longest waits of a week that are shown.
const LONG_WAITS: i64 = 10;
/// Projects and agents whose spending is shown: those that spent most.
const SPENDERS_SHOWN: usize = 20;

/// All statistics as of `now`. An open question counts as still waiting.
pub fn all(db: &Connection, now: Stamp) -> Result<Stats> {
    let (projects, agents) = spenders(db, now)?;
    Ok(Stats {
        days: days(db, now)?,
        hours: hours(db, now)?,
        longest_waits: longest_waits(db, now)?,
        projects,
        agents,
    })
}

/// What was spent since midnight, local time.
pub fn today(db: &Connection, now: Stamp) -> Result<SpentStats> {
    let mut rows = db.prepare_cached(
        "SELECT sum(micro_usd), sum(input), sum(output), sum(cache_write), sum(cache_read) FROM spent
         WHERE quarter >= CAST(strftime('%s', date(?1, 'unixepoch', 'localtime'), 'utc') AS INTEGER) / ?2
         HAVING count(*) > 0",
    )?;
    let mut rows = rows.query([now.0 / SECOND, QUARTER_HOUR / SECOND])?;
    let mut sum = SpentStats::default();
    if let Some(row) = rows.next()? {
        add(&mut sum, row, 0)?;
    }
    Ok(sum)
}

fn days(db: &Connection, now: Stamp) -> Result<Vec<DayStats>> {
    let mut days: BTreeMap<String, DayStats> = BTreeMap::new();
    let mut rows = db.prepare_cached("SELECT day, events FROM days ORDER BY day DESC LIMIT ?1")?;
    let mut rows = rows.query([DAYS_SHOWN as i64])?;
    while let Some(row) = rows.next()? {
        days.entry(row.get(0)?).or_default().events = count(row, 1)?;
    }
    // Grouped by quarter of an hour, which takes one division per row; a calendar date costs a hundred times that.
    let mut calendar = Calendar::new(db)?;
    let mut commands = db.prepare_cached("SELECT started_at / ?1, count(*) FROM commands GROUP BY 1")?;
    let mut commands = commands.query([QUARTER_HOUR])?;
    while let Some(row) = commands.next()? {
        days.entry(calendar.day(row.get(0)?)?).or_default().commands += count(row, 1)?;
    }
    let mut waits = db.prepare_cached(
        "SELECT opened_at / ?1, kind, sum(waited) / 60e9, max(waited) / 60e9
         FROM (SELECT opened_at, kind, max(0, coalesce(closed_at, ?2) - opened_at) AS waited FROM interactions)
         GROUP BY 1, 2",
    )?;
    let mut waits = waits.query([QUARTER_HOUR, now.0])?;
    while let Some(row) = waits.next()? {
        let day = days.entry(calendar.day(row.get(0)?)?).or_default();
        let minutes: f64 = row.get(2)?;
        day.waited_minutes += minutes;
        *day.waited_by_kind.entry(row.get(1)?).or_default() += minutes;
        day.longest_wait_minutes = day.longest_wait_minutes.max(row.get(3)?);
    }
    let mut spent = db.prepare_cached(
        "SELECT quarter, sum(micro_usd), sum(input), sum(output), sum(cache_write), sum(cache_read) FROM spent
         WHERE quarter >= ?1 GROUP BY quarter",
    )?;
    let mut spent = spent.query([since_first_day(now)])?;
    while let Some(row) = spent.next()? {
        let day = days.entry(calendar.day(row.get(0)?)?).or_default();
        add(&mut day.spent, row, 1)?;
    }
    let surplus = days.len().saturating_sub(DAYS_SHOWN);
    let named = days.into_iter().skip(surplus).map(|(day, figures)| DayStats { day, ..figures }.rounded());
    Ok(named.collect())
}

/// The first quarter of an hour that may belong to a day that is shown.
fn since_first_day(now: Stamp) -> i64 {
    now.0 / QUARTER_HOUR - (DAYS_SHOWN as i64 + 1) * 96
}

fn add(sum: &mut SpentStats, row: &rusqlite::Row, first: usize) -> Result<()> {
    let number = |at: usize| count(row, first + at);
    sum.cost_usd += number(0)? as f64 / 1e6;
    sum.input_tokens += number(1)?;
    sum.output_tokens += number(2)?;
    sum.cache_write_tokens += number(3)?;
    sum.cache_read_tokens += number(4)?;
    Ok(())
}

fn count(row: &rusqlite::Row, at: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(at).map(i64::unsigned_abs)
}

/// Every hour of the last two days, including those without events.
fn hours(db: &Connection, now: Stamp) -> Result<Vec<HourStats>> {
    let this = now.0.div_euclid(HOUR);
    let first = this - HOURS_SHOWN + 1;
    let mut rows = db.prepare_cached("SELECT hour, events FROM hours WHERE hour >= ?1 AND hour <= ?2")?;
    let rows = rows.query_map([first, this], |row| Ok((row.get(0)?, count(row, 1)?)))?;
    let known: BTreeMap<i64, u64> = rows.collect::<rusqlite::Result<_>>()?;
    let hour =
        |hour: i64| HourStats { at: Stamp(hour * HOUR), events: known.get(&hour).copied().unwrap_or(0) };
    Ok((first..=this).map(hour).collect())
}

fn longest_waits(db: &Connection, now: Stamp) -> Result<Vec<LongWait>> {
    let mut rows = db.prepare_cached(
        "SELECT id, agent_id, kind, substr(text, 1, 400), opened_at, closed_at,
                (coalesce(closed_at, ?1) - opened_at) / 60e9 AS waited
         FROM interactions WHERE opened_at >= ?2 AND opened_at <= ?1 ORDER BY waited DESC LIMIT ?3",
    )?;
    let rows = rows.query_map([now.0, now.0 - WEEK, LONG_WAITS], |row| {
        Ok(LongWait {
            interaction_id: row.get(0)?,
            agent_id: row.get(1)?,
            title: String::new(),
            kind: row.get(2)?,
            text: headspace_core::text::one_line(&row.get::<_, String>(3)?, 240),
            opened_at: Stamp(row.get(4)?),
            closed_at: row.get::<_, Option<i64>>(5)?.map(Stamp),
            waited_minutes: round(row.get(6)?),
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Who spent most in the days shown: by project, and by agent.
fn spenders(db: &Connection, now: Stamp) -> Result<(Vec<SpentStats>, Vec<SpentStats>)> {
    let mut rows = db.prepare_cached(
        "SELECT project, agent_id, sum(micro_usd), sum(input), sum(output), sum(cache_write), sum(cache_read)
         FROM spent WHERE quarter >= ?1 GROUP BY 1, 2",
    )?;
    let mut rows = rows.query([since_first_day(now)])?;
    let (mut projects, mut agents) = (BTreeMap::new(), BTreeMap::new());
    while let Some(row) = rows.next()? {
        let (project, agent): (String, i64) = (row.get(0)?, row.get(1)?);
        let named = || SpentStats {
            project: Some(project.clone()).filter(|name| !name.is_empty()),
            ..SpentStats::default()
        };
        add(projects.entry(project.clone()).or_insert_with(named), row, 2)?;
        add(agents.entry(agent).or_insert_with(|| SpentStats { agent_id: Some(agent), ..named() }), row, 2)?;
    }
    Ok((most(projects.into_values().collect()), most(agents.into_values().collect())))
}

fn most(mut spenders: Vec<SpentStats>) -> Vec<SpentStats> {
    spenders.sort_by(|a, b| b.cost_usd.total_cmp(&a.cost_usd).then(b.tokens().cmp(&a.tokens())));
    spenders.truncate(SPENDERS_SHOWN);
    spenders
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
        Ok(self.query.query_row([quarter * (QUARTER_HOUR / SECOND)], |row| row.get(0))?)
    }
}

fn round(minutes: f64) -> f64 {
    (minutes * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema;
    use crate::write::{self, Rows};
    use headspace_core::model::Spent;

    const DAY: i64 = 24 * HOUR;

    #[test]
    fn spending_is_added_up_by_day_project_and_agent() {
        let mut db = Connection::open_in_memory().unwrap();
        schema::migrate(&mut db).unwrap();
        let noon = Stamp(20_000 * DAY + 12 * HOUR);
        for (agent, project, days_ago, cents, output) in
            [(1, "api", 0, 150, 10), (1, "api", 0, 50, 5), (2, "web", 1, 300, 0), (3, "api", 60, 9900, 1)]
        {
            // Each in its own batch, as they come.
            let mut rows = Rows::default();
            let spent = Spent { micro_usd: cents * 10_000, output_tokens: output, ..Spent::default() };
            rows.spend(agent, Some(project.into()), Stamp(noon.0 - days_ago * DAY), &spent);
            write::rows(&db, &rows).unwrap();
        }
        let stats = all(&db, noon).unwrap();
        let costs: Vec<f64> = stats.days.iter().map(|day| day.spent.cost_usd).collect();
        assert_eq!(costs, [3.0, 2.0]);
        assert_eq!(stats.days[1].spent.output_tokens, 15);
        let last = stats.days.last().unwrap();
        let spent = today(&db, noon).unwrap();
        assert_eq!((spent.cost_usd, spent.tokens()), (last.spent.cost_usd, last.spent.tokens()));
        assert_eq!(today(&db, Stamp(noon.0 + DAY)).unwrap(), SpentStats::default(), "nothing tomorrow");
        let projects: Vec<_> =
            stats.projects.iter().map(|one| (one.project.as_deref().unwrap(), one.cost_usd)).collect();
        assert_eq!(
            projects,
            [("web", 3.0), ("api", 2.0)],
            "what is older than the days shown does not count"
        );
        assert_eq!(stats.agents.iter().map(|one| one.agent_id).collect::<Vec<_>>(), [Some(2), Some(1)]);
    }

    #[test]
    fn absurd_figures_do_not_break_the_statistics() {
        let mut db = Connection::open_in_memory().unwrap();
        schema::migrate(&mut db).unwrap();
        let noon = Stamp(20_000 * DAY + 12 * HOUR);
        let absurd = Spent { micro_usd: u64::MAX, input_tokens: u64::MAX, ..Spent::default() };
        for agent in [1, 1, 2] {
            let mut rows = Rows::default();
            rows.spend(agent, Some("api".into()), noon, &absurd);
            write::rows(&db, &rows).unwrap();
        }
        let stats = all(&db, noon).unwrap();
        assert_eq!((stats.projects.len(), stats.agents.len()), (1, 2));
        assert!(today(&db, noon).unwrap().tokens() > 0);
    }

    #[test]
    fn waits_are_reported_by_kind_and_the_longest_first() {
        let mut db = Connection::open_in_memory().unwrap();
        schema::migrate(&mut db).unwrap();
        let now = Stamp(20_000 * DAY + 12 * HOUR);
        let minute = 60_000_000_000;
        for (id, kind, ago, waited) in [
            (1, "permission", 100, Some(10)),
            (2, "question", 90, Some(30)),
            (3, "permission", 5, None),
            (4, "plan", 20_000, Some(900)),
        ] {
            let opened = now.0 - ago * minute;
            db.execute(
                "INSERT INTO interactions(id, agent_id, kind, text, opened_at, closed_at, event_id) VALUES (?1, 7, ?2, 'x', ?3, ?4, 1)",
                rusqlite::params![id, kind, opened, waited.map(|waited: i64| opened + waited * minute)],
            )
            .unwrap();
        }
        let stats = all(&db, now).unwrap();
        let today = stats.days.last().unwrap();
        assert_eq!((today.waited_minutes, today.longest_wait_minutes), (45.0, 30.0));
        assert_eq!(today.waited_by_kind["permission"], 15.0);
        let longest: Vec<_> =
            stats.longest_waits.iter().map(|wait| (wait.interaction_id, wait.waited_minutes)).collect();
        assert_eq!(longest, [(2, 30.0), (1, 10.0), (3, 5.0)], "of the last seven days");
        assert_eq!(stats.hours.len(), 48);
    }
}
