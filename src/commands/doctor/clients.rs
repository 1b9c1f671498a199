//! The coding agents other than Claude Code: which are there, which have our hooks, which have spoken.

use crate::commands::doctor::{CheckInput, Finding};
use crate::commands::install::client_version::version_of;
use crate::commands::install::{clients, short};

use headspace_clients::client::codex;
use headspace_clients::{Registration, Row, hook_file};
use headspace_core::stamp::Stamp;
use headspace_core::text::numbers::duration;
use headspace_hooks::client_settings::entry::{Call, role_of};
use headspace_hooks::client_settings::locate;
use headspace_platform::clock::WallClock;
use headspace_platform::config;
use serde_json::Value;
use std::path::{Path, PathBuf};

pub fn clients(_: &CheckInput) -> Vec<Finding> {
    clients::rows().filter(|row| clients::is_found(row)).map(check).collect()
}

fn check(row: &'static Row) -> Finding {
    let version = version_of(row.program).map(|version| format!(" {version}")).unwrap_or_default();
    let who = format!("{} ({}{version}, tried with {})", row.name, row.title, row.tried);
    let install = format!("headspace install --client {}", row.name);
    if !clients::is_installed(row) {
        return Finding::warn(format!("{who}: found, without our hooks"), install);
    }
    let Some(file) = row.file() else { return Finding::ok(who) };
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    if !row.reads_comments
        && !matches!(row.registration, Registration::Plugin { .. })
        && let Err(error) = serde_json::from_str::<Value>(&text)
    {
        return Finding::fail(
            format!("{who}: it ignores {}, which is not plain JSON: {error}", short(&file)),
            "remove comments and trailing commas from it",
        );
    }
    if let Registration::Plugin { source, .. } = row.registration {
        if let Some(fault) = hook_file::read_plugin(row, source, &text).1.into_iter().next() {
            return Finding::warn(format!("{who}: {}: {}", short(&file), fault.message), install);
        }
        let program = hook_file::plugin_command(&text).and_then(|words| words.into_iter().next());
        if let Some(program) = program.filter(|program| !Path::new(program).is_file()) {
            let message = format!("{who}: {} calls {program}, which is not there", short(&file));
            return Finding::fail(message, install);
        }
    }
    let entries = our_entries(&text);
    let missing: Vec<&str> = match row.registration {
        Registration::Plugin { .. } => Vec::new(),
        _ => {
            let has = |event: &str| entries.iter().any(|entry| entry.event == event);
            row.events().iter().map(|event| event.theirs).filter(|event| !has(event)).collect()
        }
    };
    if !missing.is_empty() {
        return Finding::warn(
            format!("{who}: not subscribed to {} in {}", missing.join(", "), short(&file)),
            install,
        );
    }
    let gone = entries.iter().find(|entry| !entry.program.is_file());
    if let Some(entry) = gone {
        return Finding::fail(
            format!("{who}: {} calls {}, which is not there", short(&file), entry.program.display()),
            install,
        );
    }
    let heard = match last_event(row.name) {
        Some(at) => format!("last event {} ago", duration(Stamp::now().since(at))),
        None => "no event yet".to_owned(),
    };
    match untrusted(row, &file, &entries) {
        0 => Finding::ok(format!("{who}: hooks in {}, {heard}", short(&file))),
        count => Finding::warn(
            format!("{who}: installed but not trusted yet: {count} of {} hooks do not run", entries.len()),
            "start codex once and choose Trust (it asks \"Hooks need review\")",
        ),
    }
}

/// A call of ours in a client's file, and where it stands.
struct OurEntry {
    event: String,
    group: usize,
    index: usize,
    program: PathBuf,
}

/// In either shape: groups of entries, or entries alone.
fn our_entries(text: &str) -> Vec<OurEntry> {
    let value: Value = serde_json::from_str(&config::strict_json(text)).unwrap_or_default();
    // Our program may have been given another name.
    let own = locate::program().ok();
    let mut found = Vec::new();
    for (event, groups) in value.get("hooks").and_then(Value::as_object).into_iter().flatten() {
        for (group, one) in groups.as_array().into_iter().flatten().enumerate() {
            let entries = match one.get("hooks").and_then(Value::as_array) {
                Some(entries) => entries.as_slice(),
                None => std::slice::from_ref(one),
            };
            for (index, entry) in entries.iter().enumerate() {
                let line = entry.get("command").or_else(|| entry.get("bash")).and_then(Value::as_str);
                let call = Call::Shell(line.unwrap_or_default().to_owned());
                let ours = role_of(&call, own.as_deref()).is_some();
                let program = call.words().filter(|_| ours).and_then(|words| words.into_iter().next());
                if let Some(program) = program.map(PathBuf::from) {
                    found.push(OurEntry { event: event.clone(), group, index, program });
                }
            }
        }
    }
    found
}

/// How many of our entries the user has not consented to, where the client asks for that.
fn untrusted(row: &Row, file: &Path, entries: &[OurEntry]) -> usize {
    if row.name != codex::ROW.name {
        return 0;
    }
    let consent = std::fs::read_to_string(row.directory().join("config.toml")).unwrap_or_default();
    // Where its directory is a link, the client may name what it links to.
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let trusted = |entry: &&OurEntry| {
        let is = |file: &Path| codex::is_trusted(&consent, file, &entry.event, entry.group, entry.index);
        is(file) || is(&real)
    };
    entries.len() - entries.iter().filter(trusted).count()
}

/// When a hook of this client last told something.
fn last_event(client: &str) -> Option<Stamp> {
    let db = headspace_store::open_to_read(&config::database()).ok()?;
    let newest = "SELECT MAX(received_at) FROM (SELECT received_at, body FROM events WHERE source = 'hook' \
                  ORDER BY id DESC LIMIT 20000) WHERE json_extract(body, '$.client') = ?1";
    db.query_row(newest, [client], |row| row.get::<_, Option<i64>>(0)).ok()?.map(Stamp)
}
