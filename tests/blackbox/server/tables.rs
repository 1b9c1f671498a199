//! The rows of a database, to compare.

use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::Path;

pub const TABLES: [&str; 12] = [
    "events",
    "events_by_agent",
    "events_by_name",
    "agents",
    "sessions",
    "commands",
    "turns",
    "interactions",
    "subagents",
    "transitions",
    "changes",
    "days",
];

pub type Tables = BTreeMap<&'static str, Vec<String>>;

/// Every row of every table, except for the columns in `without`.
pub fn everything(path: &Path, without: &[&str]) -> Tables {
    let db = Connection::open(path).unwrap();
    let rows = |table: &str| {
        let mut query = db.prepare(&format!("SELECT * FROM {table}")).unwrap();
        let names: Vec<String> = query.column_names().map(str::to_owned).collect();
        let compared: Vec<usize> =
            (0..names.len()).filter(|i| !without.contains(&names[*i].as_str())).collect();
        let text = |row: &rusqlite::Row| {
            compared.iter().map(|i| format!("{}={:?} ", names[*i], row.get_ref_unwrap(*i))).collect()
        };
        let mut rows: Vec<String> =
            query.query_map([], |row| Ok(text(row))).unwrap().map(Result::unwrap).collect();
        rows.sort();
        rows
    };
    TABLES.iter().map(|table| (*table, rows(table))).collect()
}
