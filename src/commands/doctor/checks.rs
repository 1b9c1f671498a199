//! The checks, one function each.

use crate::commands::doctor::{CheckInput, Finding, keys};
use crate::commands::guard;
use crate::commands::install::{client_version as claude, short, test_event};
use crate::view::client::Client;
use anyhow::Result;
use headspace_core::model::observed;
use headspace_core::stamp::Stamp;
use headspace_core::text::numbers::counted;
use headspace_core::text::numbers::duration;
use headspace_hooks::client_settings::entry::{Call, Role, quote};
use headspace_hooks::client_settings::{locate, merge};
use headspace_hooks::dialect;
use headspace_hooks::settings::sources;
use headspace_platform::clock::WallClock;
use headspace_platform::config;
use headspace_platform::net::local;
use headspace_platform::spool::Spool;
use headspace_store as store;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub fn client(_: &CheckInput) -> Vec<Finding> {
    let Some(path) = headspace_platform::process::on_path("claude") else {
        return vec![Finding::warn(
            "`claude` is not on PATH",
            "install Claude Code, or start it by its full path; hooks work either way",
        )];
    };
    match claude::version() {
        Some(version) => vec![Finding::ok(format!("Claude Code {version} ({})", short(&path)))],
        None => vec![Finding::warn(
            format!("{} does not print its version", short(&path)),
            "run `claude --version` to see why",
        )],
    }
}

pub fn configuration(input: &CheckInput) -> Vec<Finding> {
    let path = config::config_file();
    match &input.config {
        Ok(_) if path.exists() => {
            let unknown = keys::unknown(&headspace_platform::files::read_text(&path).unwrap_or_default());
            let fix = || format!("correct or remove it in {}", short(&path));
            let said = |key: &keys::UnknownKey| Finding::warn(key.to_string(), fix());
            let mut findings: Vec<Finding> = unknown.iter().map(said).collect();
            findings.extend(guard_settings(input));
            if findings.is_empty() {
                findings.push(Finding::ok(short(&path)));
            }
            findings
        }
        Ok(_) => {
            let mut findings = guard_settings(input);
            findings.push(Finding::ok("defaults (no config.jsonc)"));
            findings
        }
        Err(error) => vec![Finding::fail(format!("{error:#}"), format!("correct {}", short(&path)))],
    }
}

/// Invalid rule ids, values and patterns in the guard's settings.
fn guard_settings(input: &CheckInput) -> Vec<Finding> {
    let wrong = guard::setting_problems(&input.project).into_iter();
    let unknown = guard::unknown_project_settings(&input.project).into_iter();
    let fix = |path: &Path, line: usize| format!("correct {}, line {line}", short(path));
    let wrong = wrong.map(|(path, line, why)| Finding::fail(why, fix(&path, line)));
    wrong.chain(unknown.map(|(path, line, why)| Finding::warn(why, fix(&path, line)))).collect()
}

/// Every settings file that the client reads in this project.
pub fn settings(input: &CheckInput) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources::Sources::load(&dialect::CLAUDE, &input.project).read_once() {
        let path = short(&source.path);
        let errors: Vec<_> = source
            .reading
            .problems
            .iter()
            .filter(|p| p.severity == headspace_hooks::settings::Severity::Error)
            .collect();
        if let Some(first) = errors.first() {
            let place = format!("{path}:{}:{}", first.position.line, first.position.column);
            let fix =
                first.fix.clone().unwrap_or_else(|| "`headspace hooks validate` shows all problems".into());
            findings.push(Finding::fail(format!("{place}: {}", first.message), fix));
        } else if source.found {
            findings.push(Finding::ok(format!("{path} is valid")));
        }
    }
    if findings.is_empty() {
        findings
            .push(Finding::fail("there is no settings.json yet", "headspace install").repaired_by(install));
    }
    findings
}

fn install() -> Result<String> {
    install_in(&[])
}

/// Installs the hooks in these configuration directories; without any, in the usual one.
fn install_in(dirs: &[PathBuf]) -> Result<String> {
    let program = locate::program()?;
    let done = crate::commands::install::ensure(Path::new(&program), dirs)?;
    Ok(done.unwrap_or_else(|| "the hooks are installed".into()))
}

/// Answering needs both its setting and its hook entry, and the entry's program must exist.
pub fn answering(input: &CheckInput) -> Vec<Finding> {
    let on = headspace_platform::config::answering_file().exists();
    let mut findings = Vec::new();
    for dir in &input.config_dirs {
        let path = dir.join("settings.json");
        let found = entries_in(&path).unwrap_or_default();
        let waits: Vec<_> = found.iter().filter(|entry| entry.role == Role::Wait).collect();
        let dead = |call: &Call| {
            call.words()
                .and_then(|words| words.first().cloned())
                .is_some_and(|program| Path::new(&program).is_absolute() && !Path::new(&program).exists())
        };
        let shown = short(&path);
        findings.extend(match (on, waits.as_slice()) {
            (false, []) => None,
            (true, []) => Some(Finding::warn(
                format!("answering is on, but {shown} has no entry for it"),
                "headspace answer on",
            )),
            (false, _) => Some(Finding::warn(
                format!("answering is off, but {shown} has its entry"),
                "headspace answer off",
            )),
            (true, [one]) if dead(&one.call) => Some(Finding::fail(
                format!("the entry that waits for answers in {shown} calls a program that is not there"),
                "headspace install",
            )),
            (true, [_]) => Some(Finding::ok(format!("asks can be answered from anywhere ({shown})"))),
            (true, _) => Some(Finding::warn(
                format!("the entry that waits for answers is there more than once in {shown}"),
                "headspace answer on",
            )),
        });
    }
    if findings.is_empty() {
        findings.push(Finding::ok("off"));
    }
    findings
}

/// Whether any of the settings looked at calls our hook.
pub fn is_installed(input: &CheckInput) -> bool {
    input.config_dirs.iter().any(|dir| {
        let found = entries_in(&dir.join("settings.json")).unwrap_or_default();
        found.iter().any(|entry| entry.role == Role::Notify)
    })
}

/// Our entries in a settings file, none if there is no file; `None` if it cannot be understood. This program may have another
/// name than `headspace`.
fn entries_in(path: &Path) -> Option<Vec<merge::InstalledHook>> {
    let text = headspace_platform::files::read_text(path).unwrap_or_default();
    merge::find(&text, locate::program().ok().as_deref()).ok()
}

/// Our entries: one per event, each with a program that exists.
pub fn hooks(input: &CheckInput) -> Vec<Finding> {
    input.config_dirs.iter().flat_map(|dir| hooks_in(dir)).collect()
}

fn hooks_in(dir: &Path) -> Vec<Finding> {
    let path = dir.join("settings.json");
    let shown = short(&path);
    // A directory that was named has to be named to `install` as well.
    let named: Vec<PathBuf> =
        Some(dir.to_owned()).filter(|dir| *dir != config::claude_dir()).into_iter().collect();
    let install_command = match named.first() {
        Some(dir) => format!("headspace install --config-dir {}", quote(&dir.to_string_lossy())),
        None => "headspace install".to_owned(),
    };
    let install = move || install_in(&named);
    // The settings check has reported a file that cannot be understood.
    let Some(found) = entries_in(&path) else { return Vec::new() };
    let ours: Vec<_> = found.iter().filter(|entry| entry.role == Role::Notify).collect();
    if ours.is_empty() {
        let none = Finding::fail(format!("headspace has no hooks in {shown}"), install_command);
        return vec![none.repaired_by(install)];
    }
    let mut per_event: BTreeMap<&str, usize> = BTreeMap::new();
    for entry in &ours {
        *per_event.entry(&entry.event).or_default() += 1;
    }
    let mut programs: Vec<String> =
        ours.iter().filter_map(|entry| entry.call.program().map(|program| from_home(&program))).collect();
    programs.sort_unstable();
    programs.dedup();
    let mut findings = Vec::new();
    let doubled = doubled(&per_event, &shown, &install_command);
    findings.extend(doubled.map(|finding| finding.repaired_by(install.clone())));
    findings.extend(unsubscribed(&per_event, &shown, &install_command));
    // What another variable holds in the client's environment is not known here.
    let gone = |program: &&String| !program.contains('$') && !is_executable(Path::new(program));
    findings.extend(programs.iter().filter(gone).map(|program| {
        let message = format!("{program}, which {shown} calls, does not exist");
        Finding::fail(message, &install_command).repaired_by(install.clone())
    }));
    if findings.is_empty() {
        let (count, programs) = (per_event.len(), programs.join(", "));
        findings.push(Finding::ok(format!("{count} events in {shown} call {programs}")));
    }
    findings
}

/// A path as the shell reads it: the home directory in place of its short forms.
pub(super) fn from_home(path: &str) -> String {
    let rest = ["~/", "$HOME/", "${HOME}/"].iter().find_map(|short| path.strip_prefix(short));
    rest.map_or_else(|| path.to_owned(), |rest| config::home().join(rest).to_string_lossy().into_owned())
}

/// Events that call us more than once.
fn doubled(per_event: &BTreeMap<&str, usize>, shown: &str, install: &str) -> Option<Finding> {
    let doubled: Vec<&str> =
        per_event.iter().filter(|(_, count)| **count > 1).map(|(event, _)| *event).collect();
    let message = format!("installed more than once for {} in {shown}", doubled.join(", "));
    (!doubled.is_empty()).then(|| Finding::warn(message, install))
}

/// Events that the installed client knows and that do not call us.
fn unsubscribed(per_event: &BTreeMap<&str, usize>, shown: &str, install: &str) -> Option<Finding> {
    let known = claude::events(claude::version());
    let missing: Vec<&str> = known.into_iter().filter(|event| !per_event.contains_key(event)).collect();
    let message = format!("not subscribed to {} in {shown}", missing.join(", "));
    let fix = format!("{install} (unless you chose the events with --events)");
    (!missing.is_empty()).then(|| Finding::warn(message, fix))
}

fn is_executable(path: &Path) -> bool {
    let Ok(data) = path.metadata() else { return false };
    #[cfg(unix)]
    return data.is_file() && std::os::unix::fs::PermissionsExt::mode(&data.permissions()) & 0o111 != 0;
    #[cfg(not(unix))]
    data.is_file()
}

/// Settings that keep valid hooks from running.
pub fn disabled(input: &CheckInput) -> Vec<Finding> {
    let sources = sources::Sources::load(&dialect::CLAUDE, &input.project);
    let mut reasons: Vec<String> = sources
        .hooks()
        .filter(|found| found.is_ours())
        .filter_map(|found| sources.disabled(found.source))
        .collect();
    reasons.sort_unstable();
    reasons.dedup();
    if reasons.is_empty() {
        return vec![Finding::ok("no setting switches hooks off")];
    }
    reasons
        .into_iter()
        .map(|why| {
            Finding::fail(
                format!("hooks are switched off: {why}"),
                "remove that setting, or ask the administrator of this machine",
            )
        })
        .collect()
}

/// In a terminal, no hook runs in a directory until the user has answered the trust dialog.
pub fn trust(input: &CheckInput) -> Vec<Finding> {
    let dir = config::claude_dir();
    let state = [dir.join(".claude.json"), config::home().join(".claude.json")];
    let Some(text) = state.iter().find_map(|path| headspace_platform::files::read_text(path).ok()) else {
        return Vec::new();
    };
    let Ok(state) = serde_json::from_str::<serde_json::Value>(&text) else { return Vec::new() };
    let trusted =
        |dir: &Path| state["projects"][dir.to_string_lossy().as_ref()]["hasTrustDialogAccepted"] == true;
    if input.project.ancestors().any(trusted) {
        return vec![Finding::ok(format!("{} is trusted", short(&input.project)))];
    }
    vec![Finding::warn(
        format!(
            "{} is not trusted yet: in a terminal, Claude Code runs no hooks there",
            short(&input.project)
        ),
        "start `claude` here and answer its question about trust",
    )]
}

/// Runs the installed command as the client would, against a receiver that only this check uses.
pub fn test_event(input: &CheckInput) -> Vec<Finding> {
    let mut calls: Vec<Call> = input
        .config_dirs
        .iter()
        .filter_map(|dir| entries_in(&dir.join("settings.json")))
        .flatten()
        .filter(|entry| entry.role == Role::Notify)
        .map(|entry| entry.call)
        .collect();
    calls.dedup();
    calls
        .iter()
        .map(|call| match test_event::run(call) {
            Ok(took) => Finding::ok(format!("delivered in {:.1} ms", took.as_secs_f64() * 1e3)),
            Err(error) => Finding::fail(
                format!("the installed command delivers nothing: {error:#}"),
                "headspace install",
            )
            .repaired_by(install),
        })
        .collect()
}

pub fn server(input: &CheckInput) -> Vec<Finding> {
    let own = env!("CARGO_PKG_VERSION");
    if let Some(scheme) = foreign_scheme(&input.url) {
        let message =
            format!("hooks speak http, not {scheme}: with {} every event stays in the spool", input.url);
        let fix = format!(
            "set {} (or \"url\" in config.jsonc) to an http:// address; for another machine use a tunnel, \
             `ssh -L 5055:127.0.0.1:5055 HOST`, and http://127.0.0.1:5055",
            config::var::URL
        );
        return vec![Finding::fail(message, fix)];
    }
    match headspace_platform::net::http_client::health(&input.url, Duration::from_secs(2)) {
        Some(health) if health.version == own => {
            let url = config::shown_url(&input.url, health.url.as_deref());
            let mut findings = vec![Finding::ok(format!("headspace {own} on {url} (pid {})", health.pid))];
            findings.extend(without_socket(&input.url));
            findings
        }
        Some(health) => vec![Finding::warn(
            format!("the server is headspace {}, this is {own}", health.version),
            "headspace down && headspace up",
        )],
        None => {
            if let Some(stranger) = local::stranger_at(&input.url) {
                return vec![Finding::fail(
                    format!("{stranger}: nothing is sent there, events are kept in the spool"),
                    format!("{}, then headspace up", config::other_port()),
                )];
            }
            let address = input.url.trim_start_matches("http://");
            let taken = std::net::TcpStream::connect(address).is_ok();
            if taken {
                return vec![Finding::fail(
                    format!("another program listens on {}", input.url),
                    format!("{}, then headspace up", config::other_port()),
                )];
            }
            vec![Finding::fail(
                format!("no server on {}; events are kept in the spool", input.url),
                "headspace up",
            )]
        }
    }
}

/// Hooks that cannot use the socket ask the system who listens on the port before they send anything.
fn without_socket(url: &str) -> Option<Finding> {
    if !config::is_own_server(url) {
        return None;
    }
    let path = local::socket_path();
    let why = local::connect().err()?;
    Some(Finding::warn(
        format!("hooks use the port: {} cannot be used ({why})", path.display()),
        "headspace down && headspace up; a path over 100 bytes is too long for a socket: set XDG_STATE_HOME",
    ))
}

/// The scheme of an address, if it is not http.
fn foreign_scheme(url: &str) -> Option<&str> {
    url.split_once("://").map(|(scheme, _)| scheme).filter(|scheme| !scheme.eq_ignore_ascii_case("http"))
}

/// Our files, which no other user may read.
pub fn files(_: &CheckInput) -> Vec<Finding> {
    let state = config::state_dir();
    if !state.exists() {
        return vec![Finding::ok("no state yet")];
    }
    let mut findings = not_regular();
    for path in [state.clone(), config::token_file(), config::database()] {
        // Modes are checked below, and can be fixed.
        if let Err(error) = headspace_platform::files::check_ours(&path, 0) {
            findings.push(Finding::fail(format!("{error:#}"), format!("ls -ld {}", short(&path))));
        }
    }
    for (path, mode) in [(state.clone(), 0o700), (config::token_file(), 0o600), (config::database(), 0o600)] {
        let Ok(data) = path.metadata() else { continue };
        if path != state && !data.is_file() {
            continue;
        }
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            if data.permissions().mode() & 0o077 != 0 {
                let fix = format!("chmod {mode:o} {}", short(&path));
                let message = format!("{} can be read by others", short(&path));
                findings.push(Finding::fail(message, fix).repaired_by(move || {
                    fs_err::set_permissions(&path, std::fs::Permissions::from_mode(mode))?;
                    Ok(format!("{} is private again", short(&path)))
                }));
            }
        }
        #[cfg(not(unix))]
        let _ = (data, mode);
    }
    if findings.is_empty() {
        findings.push(Finding::ok(format!("{} is private", short(&state))));
    }
    findings
}

/// What is in the place of a file of ours, and is not a file.
fn not_regular() -> Vec<Finding> {
    let database = config::database();
    let beside = ["", "-wal", "-shm", "-journal", ".lock"].map(|end| store::with_suffix(&database, end));
    let files = [config::token_file(), config::host_id_file()].into_iter().chain(beside);
    let finding = |path: PathBuf| {
        let why = headspace_platform::files::check_regular(&path.metadata().ok()?).err()?;
        let path = short(&path);
        Some(Finding::fail(format!("{path}: {why}"), format!("mv {path} {path}.away")))
    };
    files.filter_map(finding).collect()
}

pub fn spool(_: &CheckInput) -> Vec<Finding> {
    let spool = Spool::open();
    let mut findings = Vec::new();
    let dir = config::spool_dir();
    if dir.symlink_metadata().is_ok() && !dir.is_dir() {
        let dir = short(&dir);
        let message = format!("{dir} is not a directory: hooks keep their events in memory, if at all");
        findings.push(Finding::fail(message, format!("mv {dir} {dir}.away")));
    }
    for (index, (dir, pending)) in spool.pending_by_place().iter().enumerate() {
        if pending.dropped > 0 {
            let message = format!("{} dropped: the spool was full", counted(pending.dropped, "event"));
            findings.push(Finding::warn(message, "keep the server running: `headspace service install`"));
        }
        if pending.bad > 0 {
            findings.push(Finding::warn(
                format!("{} could not be read", counted(pending.bad, "spooled event")),
                format!("look at {}", short(&dir.join("bad"))),
            ));
        }
        let waiting = format!("waiting for the server: {}", counted(pending.count, "event"));
        match (pending.count, index) {
            (0, _) => {}
            (_, 0) => findings.push(Finding::warn(waiting, "headspace up")),
            _ => findings.push(Finding::warn(
                format!(
                    "{waiting} in {}, because the disk took none; a logout or a restart of the machine loses them",
                    short(dir)
                ),
                "make room on the disk, then headspace up",
            )),
        }
    }
    for why in spool.distrusted() {
        findings.push(Finding::warn(
            format!("{why}; hooks keep nothing there when the disk is full"),
            "find out who made it, and remove it",
        ));
    }
    if findings.is_empty() {
        findings.push(Finding::ok("empty"));
    }
    findings
}

pub fn database(_: &CheckInput) -> Vec<Finding> {
    let path = config::database();
    if !path.exists() {
        return vec![Finding::ok("none yet: the server creates it")];
    }
    let look = || -> Result<(String, u64)> {
        let db = store::open_to_read(&path)?;
        let verdict = db.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        Ok((verdict, path.metadata()?.len()))
    };
    match look() {
        Ok((verdict, size)) if verdict == "ok" => {
            vec![Finding::ok(format!("{} ({:.1} MB) is intact", short(&path), size as f64 / 1e6))]
        }
        Ok((verdict, _)) => vec![Finding::fail(
            format!("the database is damaged: {verdict}"),
            "headspace down && headspace rebuild && headspace up",
        )],
        // `files` says how to move away what is not a file.
        Err(_) if store::check_regular(&path).is_err() => Vec::new(),
        Err(error) => vec![Finding::fail(format!("{error:#}"), "headspace down && headspace up")],
    }
}

/// The events that have arrived, newest first.
pub fn events(_: &CheckInput) -> Vec<Finding> {
    let path = config::database();
    if !path.exists() {
        return Vec::new();
    }
    let look = || -> Result<Vec<(String, i64)>> {
        let db = store::open_to_read(&path)?;
        let mut rows = db.prepare(
            "SELECT name, MAX(received_at) AS last FROM (SELECT name, received_at FROM events WHERE source = 'hook' \
             ORDER BY id DESC LIMIT 20000) GROUP BY name ORDER BY last DESC",
        )?;
        let rows = rows.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    };
    let Ok(mut seen) = look() else { return Vec::new() };
    // Events that a person caused here do not prove that hooks arrive.
    seen.retain(|(name, _)| ![observed::SEEN, observed::RENAMED, observed::WARNED].contains(&name.as_str()));
    let now = Stamp::now();
    let ago = |at: i64| duration(now.since(Stamp(at)));
    match seen.first() {
        None => vec![Finding::warn(
            "no event has arrived yet",
            "type something into a Claude Code session; running sessions notice the hooks within two seconds",
        )],
        Some((name, at)) => {
            let kinds: Vec<String> =
                seen.iter().take(8).map(|(name, at)| format!("{name} {}", ago(*at))).collect();
            vec![Finding::ok(format!("last {name} {} ago; per type: {}", ago(*at), kinds.join(", ")))]
        }
    }
}

/// The agents of this machine, if the server runs.
pub fn agents(input: &CheckInput) -> Option<Vec<headspace_core::model::AgentView>> {
    let mut agents = Client::new(input.config.as_ref().ok()?).ok()?.agents(false).ok()?;
    agents.retain(|agent| agent.machine.is_none());
    Some(agents)
}
