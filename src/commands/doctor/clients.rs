//! The coding agents other than Claude Code: which are installed, which have our hooks, which have sent events.

use crate::commands::doctor::checks::from_home;
use crate::commands::doctor::{CheckInput, Finding};
use crate::commands::install::client_version::version_of;
use crate::commands::install::{clients, short};

use headspace_clients::client::codex;
use headspace_clients::{Registration, Row, hook_file};
use headspace_core::stamp::Stamp;
use headspace_core::text::numbers::duration;
use headspace_hooks::client_settings::entry::{Call, role_of};
use headspace_hooks::client_settings::{locate, merge};
use headspace_platform::clock::WallClock;
use headspace_platform::config;
use headspace_platform::files;
use serde_json::Value;
use std::path::{Path, PathBuf};

pub fn clients(_: &CheckInput) -> Vec<Finding> {
    clients::rows().filter(|row| clients::is_found(row)).map(check).collect()
}

fn check(row: &'static Row) -> Finding {
    let version = version_of(row.program).map(|version| format!(" {version}")).unwrap_or_default();
    let who = format!("{} ({}{version}, tried with {})", row.name, row.title, row.tried);
    if !clients::is_installed(row) {
        return unreadable(row, &who).unwrap_or_else(|| {
            Finding::warn(format!("{who}: found, without our hooks"), install_command(row))
        });
    }
    let Some(file) = row.file() else { return Finding::ok(who) };
    let text = files::read_text(&file).unwrap_or_default();
    let problem = match row.registration {
        Registration::Plugin { source, .. } => plugin_problem(row, source, &who, &file, &text),
        _ => hook_file_problem(row, &who, &file, &text),
    };
    problem.unwrap_or_else(|| trust(row, &who, &file, &our_entries(&text)))
}

fn install_command(row: &Row) -> String {
    format!("headspace install --client {}", row.name)
}

/// Why install cannot put our hooks into the client's file: it cannot be read, or has entries of others that nobody understands.
fn unreadable(row: &Row, who: &str) -> Option<Finding> {
    let file = row.file()?;
    let text = match files::read_text(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        Err(error) => {
            let message = format!("{who}: could not read {}: {error}", short(&file));
            return Some(Finding::fail(message, format!("correct {}", short(&file))));
        }
    };
    // A file of our own has no entries of others.
    let Registration::Groups { .. } = row.registration else { return None };
    let fault = merge::find(&text, None).err()?;
    let place = format!("{}:{}:{}", short(&file), fault.line, fault.column);
    let fix = format!("correct it, then {}", install_command(row));
    Some(Finding::fail(format!("{who}: {place}: {}", fault.message), fix))
}

fn not_there(row: &Row, who: &str, file: &Path, program: &Path) -> Finding {
    let message = format!("{who}: {} calls {}, which is not there", short(file), program.display());
    Finding::fail(message, install_command(row))
}

/// What is wrong with the plugin that calls us, if anything.
fn plugin_problem(row: &Row, source: &str, who: &str, file: &Path, text: &str) -> Option<Finding> {
    if let Some(fault) = hook_file::read_plugin(row, source, text).1.into_iter().next() {
        let message = format!("{who}: {}: {}", short(file), fault.message);
        return Some(Finding::warn(message, install_command(row)));
    }
    let program = PathBuf::from(hook_file::plugin_command(text)?.into_iter().next()?);
    (!program.is_file()).then(|| not_there(row, who, file, &program))
}

/// What is wrong with the file that has our entries, if anything.
fn hook_file_problem(row: &'static Row, who: &str, file: &Path, text: &str) -> Option<Finding> {
    if !row.reads_comments
        && let Err(error) = serde_json::from_str::<Value>(text)
    {
        return Some(Finding::fail(
            format!("{who}: it ignores {}, which is not plain JSON: {error}", short(file)),
            "remove comments and trailing commas from it",
        ));
    }
    let entries = our_entries(text);
    let has = |event: &str| entries.iter().any(|entry| entry.event == event);
    let missing: Vec<&str> =
        row.events().iter().map(|event| event.theirs).filter(|event| !has(event)).collect();
    if !missing.is_empty() {
        let message = format!("{who}: not subscribed to {} in {}", missing.join(", "), short(file));
        return Some(Finding::warn(message, install_command(row)));
    }
    let gone = entries.iter().find(|entry| !entry.program.is_file())?;
    Some(not_there(row, who, file, &gone.program))
}

/// Whether the user has let the client run our hooks, and when one last sent an event.
fn trust(row: &Row, who: &str, file: &Path, entries: &[OurEntry]) -> Finding {
    let heard = match last_event(row.name) {
        Some(at) => format!("last event {} ago", duration(Stamp::now().since(at))),
        None => "no event yet".to_owned(),
    };
    match untrusted(row, file, entries) {
        0 => Finding::ok(format!("{who}: hooks in {}, {heard}", short(file))),
        count => Finding::warn(
            format!("{who}: installed but not trusted yet: {count} of {} hooks do not run", entries.len()),
            "start codex once and choose Trust (it asks \"Hooks need review\")",
        ),
    }
}

/// An entry of ours in a client's hook file, and where it is.
struct OurEntry {
    event: String,
    group: usize,
    index: usize,
    program: PathBuf,
}

/// In either shape: groups of entries, or entries alone.
fn our_entries(text: &str) -> Vec<OurEntry> {
    let value: Value = serde_json::from_str(&config::strict_json(text)).unwrap_or_default();
    // Our program may have been renamed.
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
                let program = call.program().filter(|_| ours);
                if let Some(program) = program.map(|program| PathBuf::from(from_home(&program))) {
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
    let consent = files::read_text(&row.directory().join("config.toml")).unwrap_or_default();
    // Where its directory is a link, the client may name what it links to.
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let trusted = |entry: &&OurEntry| {
        let is = |file: &Path| codex::is_trusted(&consent, file, &entry.event, entry.group, entry.index);
        is(file) || is(&real)
    };
    entries.len() - entries.iter().filter(trusted).count()
}

/// When a hook of this client last sent an event.
fn last_event(client: &str) -> Option<Stamp> {
    let db = headspace_store::open_to_read(&config::database()).ok()?;
    let newest = "SELECT MAX(received_at) FROM (SELECT received_at, body FROM events WHERE source = 'hook' \
                  ORDER BY id DESC LIMIT 20000) WHERE json_extract(body, '$.client') = ?1";
    db.query_row(newest, [client], |row| row.get::<_, Option<i64>>(0)).ok()?.map(Stamp)
}
