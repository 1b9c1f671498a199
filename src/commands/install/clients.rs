//! Coding agents other than Claude Code: what is there, and the files that install writes for them.

use crate::commands::install::apply::{AppliedEdit, Content, PendingEdit};
use crate::commands::install::{Choices, InstallArgs, UninstallArgs, report};
use anyhow::{Context, Result};
use headspace_clients::table::Event as ClientEvent;
use headspace_clients::{CLIENTS, GuardForm, Registration, Row, Unit};
use headspace_hooks::client_settings::document::Diagnostic;
use headspace_hooks::client_settings::entry::{Call, Entry, Role, role_of};
use headspace_hooks::client_settings::locate::Target;
use headspace_hooks::client_settings::merge::{Desired, Event, Merged, Notify, Plan, find};
use headspace_platform::files;
use headspace_platform::process;
use headspace_platform::usage::Usage;
use serde_json::{Value, json};
use std::process::ExitCode;

pub const CLAUDE: &str = "claude";
pub const WAVE: &str = "wave";

/// The event on which a client asks a hook before a tool runs, and how long it may wait for the guard, in seconds.
const GUARDED: &str = "PreToolUse";
const GUARD_TIMEOUT: u64 = 10;

/// The clients whose files are described by a row alone.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    let ours = |row: &&Row| !matches!(row.registration, Registration::ClaudeSettings | Registration::None);
    CLIENTS.iter().filter(ours)
}

/// What `--client` takes.
pub fn names() -> Vec<&'static str> {
    [CLAUDE].into_iter().chain(rows().map(|row| row.name)).chain([WAVE]).collect()
}

/// By its directory, or by its program on the PATH.
pub fn is_found(row: &Row) -> bool {
    row.directory().is_dir() || process::on_path(row.program).is_some()
}

/// Whether a file of this client calls us.
pub fn is_installed(row: &Row) -> bool {
    let Some(text) = row.file().and_then(|file| files::read_text(&file).ok()) else { return false };
    match row.registration {
        Registration::DropIn { .. } => is_our_drop_in(&text),
        Registration::Plugin { .. } => is_our_plugin(&text),
        _ => find(&text, super::locate::program().ok().as_deref())
            .is_ok_and(|found| found.iter().any(|one| one.role == Role::Notify)),
    }
}

/// `install --list`
pub fn list(as_json: bool) -> Result<ExitCode> {
    let known: Vec<&Row> = CLIENTS.iter().collect();
    if as_json {
        let clients: Vec<Value> = known
            .iter()
            .map(|row| {
                json!({
                    "name": row.name, "title": row.title, "found": is_found(row), "installed": is_installed(row),
                    "file": row.file().map(|file| file.to_string_lossy().into_owned()), "tried": row.tried,
                })
            })
            .collect();
        report::print_json(&json!({"clients": clients}));
        return Ok(ExitCode::SUCCESS);
    }
    let found: Vec<&Row> = known.into_iter().filter(|row| is_found(row)).collect();
    if found.is_empty() {
        println!("No coding agent found: neither a configuration directory nor a program on PATH.");
    }
    for row in found {
        let state = match (is_installed(row), row.file()) {
            (true, _) => "hooks installed",
            (false, Some(_)) => "no hooks yet",
            (false, None) => "runs Claude Code's hooks; nothing of its own to install",
        };
        report::row(row.name, &format!("{}: {state}", row.title));
    }
    Ok(ExitCode::SUCCESS)
}

/// What is planned for the other clients.
pub(super) struct Others {
    edits: Vec<(&'static Row, PendingEdit)>,
    /// Clients that were found, not named, and whose file cannot be edited.
    refused: usize,
}

impl Others {
    pub(super) fn install(args: &InstallArgs, program: &str) -> Result<Others> {
        let named = args.place.client.is_some();
        let claudes = !args.events.is_empty() || args.script || args.statusline;
        let rows = args.place.others(is_found)?;
        if claudes && named && !rows.is_empty() {
            return Err(Usage(
                "could not use --events, --script or --statusline: they go with Claude Code only".into(),
            )
            .into());
        }
        let mut others = Others { edits: Vec::new(), refused: 0 };
        for row in rows.into_iter().filter(|_| !claudes) {
            if named && args.guard && row.guard == GuardForm::None {
                return Err(Usage(format!(
                    "could not install the guard: {} does not honor what it says",
                    row.title
                ))
                .into());
            }
            match edit(row, program, args.guard) {
                Ok(edit) => others.edits.push((row, edit)),
                Err(error) if named => return Err(error),
                Err(error) => {
                    report::note(&format!("{error:#}"));
                    others.refused += 1;
                }
            }
        }
        Ok(others)
    }

    pub(super) fn refused(&self) -> bool {
        self.refused > 0
    }

    pub(super) fn into_edits(self) -> impl Iterator<Item = PendingEdit> {
        self.edits.into_iter().map(|(_, edit)| edit)
    }

    /// What was done, and why the rest was not: a file that cannot be written must not keep the others from theirs.
    pub(super) fn apply(self) -> (Vec<(&'static Row, AppliedEdit)>, Vec<anyhow::Error>) {
        let mut refused = Vec::new();
        let mut apply = |(row, edit): (&'static Row, PendingEdit)| {
            let mut done = edit.apply().map_err(|error| refused.push(error)).ok()?;
            in_their_words(row, &mut done.merged);
            Some((row, done))
        };
        let done = self.edits.into_iter().filter_map(&mut apply).collect();
        (done, refused)
    }

    /// What is left to do if Claude's own file cannot be changed because of `error`.
    pub(super) fn finish_despite(
        self,
        error: anyhow::Error,
        dry_run: bool,
        as_json: bool,
    ) -> Result<ExitCode> {
        if !self.edits.is_empty()
            && let Err(other) = self.finish(dry_run, as_json)
        {
            report::note(&format!("{other:#}"));
        }
        Err(error)
    }

    /// All there is to do where only other clients are meant.
    pub(super) fn finish(self, dry_run: bool, as_json: bool) -> Result<ExitCode> {
        if dry_run {
            return report::dry_run(&self.into_edits().collect::<Vec<_>>(), as_json);
        }
        let (done, refused) = self.apply();
        if let Some(error) = refused.into_iter().next() {
            return Err(error);
        }
        if as_json {
            let files: Vec<Value> = done.iter().map(|(_, done)| report::file_json(done)).collect();
            report::print_json(&json!({"version": env!("CARGO_PKG_VERSION"), "files": files}));
        } else {
            done.iter().for_each(|(row, done)| print(row, done));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What was done for one client.
pub(super) fn print(row: &Row, done: &AppliedEdit) {
    println!();
    report::row("client", &format!("{} (tried with {})", row.title, row.tried));
    report::print_installed(done);
    match row.registration {
        Registration::DropIn { events, .. } => {
            report::row("events", &format!("{} in a file of headspace's own", events.len()));
            if has_guard(row) {
                report::row("guard", "checks tool calls before they run (PreToolUse)");
            }
        }
        Registration::Plugin { .. } => report::row("events", "a plugin passes them on"),
        _ => {}
    }
    if done.changed && !row.after_install.is_empty() {
        report::row("next", row.after_install);
    }
    report::warn(done);
}

/// Brings the file of a client that has our hooks up to date, for `up`.
pub fn refresh(program: &str) -> Result<()> {
    for row in rows().filter(|row| is_installed(row)) {
        edit(row, program, false)?.apply()?;
    }
    Ok(())
}

fn edit(row: &'static Row, program: &str, guard: bool) -> Result<PendingEdit> {
    // A guard that is there stays, as it does in a file with entries of others.
    let guard = guard || has_guard(row);
    let choices = Choices { row: Some(row), guard, ..Choices::default() };
    let mut edit = PendingEdit::install(&target(row)?, program, content(row, program, guard), &choices)?;
    in_their_words(row, &mut edit.merged);
    Ok(edit)
}

/// Whether the file of our own calls the guard.
fn has_guard(row: &Row) -> bool {
    let Registration::DropIn { .. } = row.registration else { return false };
    let text = row.file().and_then(|file| files::read_text(&file).ok()).unwrap_or_default();
    is_our_drop_in(&text) && drop_in_roles(&text).contains(&Some(Role::Guard))
}

/// What a comment in the file means to this client.
fn in_their_words(row: &Row, merged: &mut Merged) {
    let Some(found) = merged.leniency.take() else { return };
    merged.warnings.retain(|warning| *warning != found);
    if !row.reads_comments {
        let message = format!("{} ignores a file with comments or trailing commas: no hook runs", row.title);
        merged.warnings.insert(0, Diagnostic { message, ..found });
    }
}

/// What is planned for each client, or why nothing can be.
pub(super) fn uninstall(args: &UninstallArgs) -> Result<Vec<Result<PendingEdit>>> {
    let rows = args.place.others(|row| row.file().is_some_and(|file| file.exists()))?;
    // Only one of our files has a guard to take out.
    let has_it =
        |row: &&Row| !args.guard || matches!(row.registration, Registration::Groups { .. }) || has_guard(row);
    let rows = rows.into_iter().filter(|_| !args.statusline).filter(has_it);
    let plan = |row: &'static Row| {
        let program = super::locate::program().ok();
        if args.guard && matches!(row.registration, Registration::DropIn { .. }) {
            let program = program.unwrap_or_default();
            let choices = Choices { row: Some(row), ..Choices::default() };
            return PendingEdit::install(&target(row)?, &program, content(row, &program, false), &choices);
        }
        let content = match row.registration {
            Registration::Groups { .. } => {
                let mut plan = Plan::nothing(program);
                if args.guard {
                    plan.notify = Desired::Leave;
                }
                plan.status_line = Desired::Leave;
                Content::Entries(Box::new(plan))
            }
            _ => content(row, "", false),
        };
        PendingEdit::uninstall(&target(row)?, content)
    };
    Ok(rows.map(plan).collect())
}

fn target(row: &Row) -> Result<Target> {
    let file = row.file().with_context(|| format!("could not install for {}: it has no hooks", row.title))?;
    Target::at(&file)
}

/// What the file of this client should contain.
fn content(row: &'static Row, program: &str, guard: bool) -> Content {
    match row.registration {
        Registration::DropIn { events, .. } => {
            let guard = guard && row.guard != GuardForm::None;
            Content::Own { text: drop_in(row, program, events, guard), is_ours: is_our_drop_in }
        }
        Registration::Plugin { source, .. } => {
            let command = json!([program, "notify", "--client", row.name]).to_string();
            Content::Own { text: source.replace("{command}", &command), is_ours: is_our_plugin }
        }
        Registration::Groups { unit, events, .. } => {
            Content::Entries(Box::new(plan(row, program, unit, events, guard)))
        }
        Registration::ClaudeSettings | Registration::None => {
            Content::Entries(Box::new(Plan::nothing(Some(program.to_owned()))))
        }
    }
}

fn plan(row: &Row, program: &str, unit: Unit, events: &[ClientEvent], guard: bool) -> Plan {
    let call = Call::shell(&[program, "notify", "--client", row.name]);
    let entry = |seconds: u64| Entry { timeout: Some(unit.of_seconds(seconds)), ..Entry::new(call.clone()) };
    let judge = Entry {
        timeout: Some(unit.of_seconds(GUARD_TIMEOUT)),
        ..Entry::new(Call::shell(&[program, "guard", "hook", "--client", row.name]))
    };
    let events = events.iter().map(|event| Event {
        name: event.theirs.to_owned(),
        matcher: None,
        entry: Some(entry(event.timeout)),
    });
    Plan {
        program: Some(program.to_owned()),
        notify: Desired::Put(Notify { events: events.collect(), entry: Entry::new(call.clone()) }),
        guard: match row.guard {
            GuardForm::None => Desired::Leave,
            _ if guard => Desired::Put(judge),
            _ => Desired::Refresh(judge),
        },
        wait: Desired::Leave,
        status_line: Desired::Leave,
    }
}

/// The event's name stands on the command line: not every payload has it.
fn drop_in(row: &Row, program: &str, events: &[ClientEvent], guard: bool) -> String {
    let line = |words: &[&str]| Call::shell(words).to_string();
    let entry = |bash: String, seconds: u64| json!({"type": "command", "bash": bash, "timeoutSec": seconds});
    let mut hooks = serde_json::Map::new();
    for event in events {
        let notify = line(&[program, "notify", "--client", row.name, event.theirs]);
        let mut entries = vec![entry(notify, event.timeout)];
        if guard && event.theirs == GUARDED {
            entries.push(entry(line(&[program, "guard", "hook", "--client", row.name]), GUARD_TIMEOUT));
        }
        hooks.insert(event.theirs.to_owned(), json!(entries));
    }
    let text = serde_json::to_string_pretty(&json!({"version": 1, "hooks": hooks})).unwrap_or_default();
    text + "\n"
}

/// Everything in it calls us.
fn is_our_drop_in(text: &str) -> bool {
    let roles = drop_in_roles(text);
    !roles.is_empty() && roles.iter().all(Option::is_some)
}

/// What each of its entries does for us, if anything.
fn drop_in_roles(text: &str) -> Vec<Option<Role>> {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let entries = value.get("hooks").and_then(Value::as_object).into_iter().flat_map(|hooks| hooks.values());
    let program = super::locate::program().ok();
    let role = |entry: &Value| role_of(&Call::Shell(entry["bash"].as_str()?.to_owned()), program.as_deref());
    entries.filter_map(Value::as_array).flatten().map(role).collect()
}

/// It begins as ours begins.
fn is_our_plugin(text: &str) -> bool {
    let first = |source: &'static str| source.lines().next().is_some_and(|line| text.starts_with(line));
    CLIENTS.iter().any(|row| matches!(row.registration, Registration::Plugin { source, .. } if first(source)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use headspace_hooks::client_settings::merge::merge;
    use proptest::prelude::*;

    const PROGRAM: &str = "/opt/head space/headspace";

    fn group_rows() -> impl Iterator<Item = (&'static Row, Plan)> {
        rows().filter_map(|row| match content(row, PROGRAM, true) {
            Content::Entries(plan) => Some((row, *plan)),
            Content::Own { .. } => None,
        })
    }

    /// A file of the user's: keys of its own, and hooks of others under some of the events.
    fn users_file() -> impl Strategy<Value = Value> {
        let key = "[a-z]{1,6}";
        let hook = ("[a-z/ .]{1,12}", 1u64..60).prop_map(
            |(command, timeout)| json!({"hooks": [{"type": "command", "command": command, "timeout": timeout}]}),
        );
        let event = prop_oneof![
            Just("Stop"),
            Just("PreToolUse"),
            Just("SessionStart"),
            Just("BeforeTool"),
            Just("Interrupt"),
            Just("Other")
        ];
        let hooks = prop::collection::btree_map(event, prop::collection::vec(hook, 1..3), 1..4);
        (prop::collection::btree_map(key, 0u32..9, 0..4), prop::option::of(hooks)).prop_map(
            |(keys, hooks)| {
                let mut value = json!(keys);
                if let Some(hooks) = hooks {
                    value["hooks"] = json!(hooks);
                }
                value
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        #[test]
        fn install_then_uninstall_is_the_identity_for_every_clients_file(value in users_file(), pretty: bool) {
            let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
            for (row, plan) in group_rows() {
                let installed = merge(&text, &plan, None).unwrap().text;
                prop_assert_eq!(&merge(&installed, &plan, Some(&text)).unwrap().text, &installed, "{:?}", row);
                let parsed: Value = serde_json::from_str(&installed).unwrap();
                for event in row.events() {
                    let groups = parsed["hooks"][event.theirs].as_array().unwrap();
                    let theirs = value["hooks"][event.theirs].as_array().map_or(0, Vec::len);
                    prop_assert_eq!(&groups[..theirs], &*value["hooks"][event.theirs].as_array().cloned().unwrap_or_default());
                    let ours = 1 + usize::from(event.theirs == GUARDED && row.guard != GuardForm::None);
                    prop_assert_eq!(groups.len(), theirs + ours, "{:?} {}", row, event.theirs);
                }
                let mut nothing = Plan::nothing(Some(PROGRAM.to_owned()));
                nothing.status_line = Desired::Leave;
                let back = merge(&installed, &nothing, Some(&text)).unwrap().text;
                prop_assert_eq!(&back, &text, "{:?}", row);
            }
        }
    }

    #[test]
    fn a_file_of_our_own_is_known_again_and_nobody_elses_is() {
        for row in rows() {
            let Content::Own { text, is_ours } = content(row, PROGRAM, true) else { continue };
            assert!(is_ours(&text), "{row:?}");
            for foreign in [
                "",
                "{}",
                "export const Mine = 1",
                r#"{"version":1,"hooks":{"Stop":[{"bash":"~/mine.sh"}]}}"#,
            ] {
                assert!(!is_ours(foreign), "{row:?} takes {foreign:?} for its own");
            }
        }
    }

    #[test]
    fn a_shell_reads_the_command_back() {
        for (row, plan) in group_rows() {
            let Desired::Put(notify) = plan.notify else { panic!("{row:?} registers nothing") };
            let words = notify.entry.call.words().unwrap();
            assert_eq!(words, [PROGRAM, "notify", "--client", row.name]);
        }
    }
}
