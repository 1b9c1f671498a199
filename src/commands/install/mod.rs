//! Install and uninstall: find the files, merge, back up, replace, report.

pub mod answering;
pub mod backup;
pub mod client_version;
pub mod diff;
mod report;
pub use crate::commands::install::report::short;
use headspace_hooks::client_settings::locate;
mod apply;
pub mod clients;
mod profile;
pub mod script;
pub mod test_event;
mod tmux;

use crate::commands::install::client_version::Version;
use anyhow::Result;
use headspace_clients::Row;
use headspace_core::model::event_names;
use headspace_hooks::client_settings::entry::{Call, Entry, Role};
use headspace_hooks::client_settings::locate::{Client, Scope, Target};
use headspace_hooks::client_settings::merge::{Desired, Event, Notify, Plan};
use headspace_hooks::settings::check::nearest;
use headspace_platform::config::Config;
use headspace_platform::net::http_client;
use headspace_platform::usage::Usage;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Merge headspace's hooks into the settings of your coding agents
///
/// Covers Claude Code and every other client found on this machine (`--list`); `--client` picks one of them. Adds one
/// entry per event and leaves every other byte unchanged. Makes a backup first, then replaces the file in one step or not at
/// all. Run it again after an update: entries are brought up to date, never added twice.
#[derive(Debug, Default, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace install --dry-run    # shows what would change, as a diff\n  headspace install\n  \
                        headspace install --guard --statusline\n  headspace install --tmux >> ~/.tmux.conf"
)]
pub struct InstallArgs {
    /// Show what would change, change nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Subscribe to these events only (names, separated by commas)
    #[arg(long, value_name = "EVENTS", value_delimiter = ',')]
    pub events: Vec<String>,
    /// Register notify-headspace.sh instead of the binary
    #[arg(long)]
    pub script: bool,
    /// Create the directories of --config-dir that do not exist
    #[arg(long, requires = "config_dir")]
    pub create: bool,
    /// Also judge tool calls before they run (see `headspace guard`)
    #[arg(long)]
    pub guard: bool,
    /// Also read context, cost and model from the status line; your own line is shown as before
    #[arg(long)]
    pub statusline: bool,
    /// Only list the clients that are found, and which of them have the hooks
    #[arg(long, conflicts_with_all = ["dry_run", "events", "script", "guard", "statusline", "tmux"])]
    pub list: bool,
    /// Print lines for your tmux.conf and change nothing
    #[arg(long, conflicts_with_all = ["dry_run", "events", "script", "guard", "statusline", "json"])]
    pub tmux: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Remove headspace's hooks from the settings of your coding agents
///
/// Removes exactly what install added. A file that has not changed since gets back the bytes it had before.
#[derive(Debug, Default, clap::Args)]
#[command(after_help = "Examples:\n  headspace uninstall --dry-run\n  headspace uninstall")]
pub struct UninstallArgs {
    /// Show what would change, change nothing
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub place: PlaceArgs,
    /// Remove only the guard's entry
    #[arg(long)]
    pub guard: bool,
    /// Remove only the status line
    #[arg(long)]
    pub statusline: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Which settings file to change.
#[derive(Debug, Default, clap::Args)]
pub struct PlaceArgs {
    /// Which settings file
    #[arg(long, value_enum, default_value_t)]
    scope: ScopeArg,
    /// The client's configuration directory (default: CLAUDE_CONFIG_DIR or ~/.claude); may be repeated
    #[arg(long, value_name = "DIR")]
    pub config_dir: Vec<PathBuf>,
    /// Only this client (default: every client that is found)
    #[arg(long, value_name = "NAME", value_parser = clap::builder::PossibleValuesParser::new(clients::names()))]
    client: Option<String>,
}

/// [`Scope`], as the command line spells it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum ScopeArg {
    /// All your sessions
    #[default]
    User,
    /// Everybody who works on this project
    Project,
    /// You, in this project
    Local,
}

impl PlaceArgs {
    fn client(&self) -> Client {
        match self.client.as_deref() {
            Some(clients::WAVE) => Client::Wave,
            _ => Client::Claude,
        }
    }

    /// Whether Claude's settings (or Wave's) are meant, alone or among others.
    fn has_claude(&self) -> bool {
        self.client.as_deref().is_none_or(|name| name == clients::WAVE || name == clients::CLAUDE)
    }

    /// The other clients that are meant: the one that was named, or those that `are_there` if none was.
    fn others(&self, are_there: fn(&Row) -> bool) -> Result<Vec<&'static Row>> {
        let only_claudes = self.scope != ScopeArg::User || !self.config_dir.is_empty();
        match self.client.as_deref() {
            Some(clients::WAVE | clients::CLAUDE) => Ok(Vec::new()),
            None if only_claudes => Ok(Vec::new()),
            None => Ok(clients::rows().filter(|row| are_there(row)).collect()),
            Some(_) if only_claudes => {
                Err(Usage("could not use --scope or --config-dir: they go with Claude Code only".into())
                    .into())
            }
            Some(name) => Ok(headspace_clients::named(name).into_iter().collect()),
        }
    }

    fn scope(&self) -> Scope {
        match self.scope {
            ScopeArg::User => Scope::User,
            ScopeArg::Project => Scope::Project,
            ScopeArg::Local => Scope::Local,
        }
    }

    /// The files; an error if a directory that was named does not exist.
    fn targets(&self, create: bool) -> Result<Vec<Target>> {
        let targets = locate::targets(self.client(), self.scope(), &self.config_dir)?;
        if !create {
            self.config_dir.iter().try_for_each(|dir| locate::check_there(dir))?;
        }
        Ok(targets)
    }
}

/// How long a server that runs may take to say so.
const SERVER_ANSWERS_WITHIN: Duration = Duration::from_millis(500);

pub fn install(args: &InstallArgs) -> Result<ExitCode> {
    let program = locate::program()?;
    if args.tmux {
        print!("{}", tmux::lines(&program));
        return Ok(ExitCode::SUCCESS);
    }
    if args.list {
        return clients::list(args.json);
    }
    let others = clients::Others::install(args, &program)?;
    if !args.place.has_claude() {
        return others.finish(args.dry_run, args.json);
    }
    let targets = args.place.targets(args.create)?;
    let choices = Choices::of(args)?;
    let version = (args.place.client() == Client::Claude).then(client_version::version).flatten();
    let edits = targets
        .iter()
        .map(|target| {
            let content = apply::Content::Entries(Box::new(choices.plan(&program, target, version)));
            apply::PendingEdit::install(target, &program, content, &choices)
        })
        .collect::<Result<Vec<_>>>();
    // A file that cannot be changed must not keep the other clients from their hooks.
    let edits = match edits {
        Ok(edits) => edits,
        Err(error) => return others.finish_despite(error, args.dry_run, args.json),
    };
    if args.dry_run {
        let edits: Vec<_> = edits.into_iter().chain(others.into_edits()).collect();
        return report::dry_run(&edits, args.json);
    }
    let done = match edits.into_iter().map(apply::PendingEdit::apply).collect::<Result<Vec<_>>>() {
        Ok(done) => done,
        Err(error) => return others.finish_despite(error, args.dry_run, args.json),
    };
    if args.guard && !args.json {
        profile::ask()?;
    }
    let unreadable = others.refused();
    let (others, unwritable) = others.apply();
    unwritable.iter().for_each(|error| report::note(&format!("{error:#}")));
    let refused = unreadable || !unwritable.is_empty();
    let call = choices.call(&program, &targets[0]);
    let url = Config::load().unwrap_or_default().server_url();
    report::InstallReport {
        program: &program,
        done: &done,
        version,
        call: &call,
        place: &args.place,
        others: &others,
        test: test_event::run(&call),
        server: http_client::health(&url, SERVER_ANSWERS_WITHIN),
        url,
    }
    .print(args.json);
    if !args.json {
        others.iter().for_each(|(row, done)| clients::print(row, done));
    }
    Ok(if refused { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

pub fn uninstall(args: &UninstallArgs) -> Result<ExitCode> {
    let program = locate::program().ok();
    let plan = if args.guard || args.statusline {
        Plan {
            guard: if args.guard { Desired::Remove } else { Desired::Leave },
            status_line: if args.statusline { Desired::Remove } else { Desired::Leave },
            ..Plan::as_it_is(program)
        }
    } else {
        Plan::nothing(program)
    };
    let targets = if args.place.has_claude() { args.place.targets(false)? } else { Vec::new() };
    // A file that cannot be changed keeps its entries; it must not keep those of the others.
    let mut refused = Vec::new();
    let edits: Vec<_> = targets
        .iter()
        .map(|target| apply::PendingEdit::uninstall(target, apply::Content::Entries(Box::new(plan.clone()))))
        .chain(clients::uninstall(args)?)
        .filter_map(|edit| edit.map_err(|error| refused.push(error)).ok())
        .collect();
    if args.dry_run {
        return all_but(refused, || report::dry_run(&edits, args.json));
    }
    let everything = matches!(plan.notify, Desired::Remove) && !targets.is_empty();
    let done: Vec<_> =
        edits.into_iter().filter_map(|edit| edit.apply().map_err(|error| refused.push(error)).ok()).collect();
    if everything && refused.is_empty() {
        answering::forget_switch()?;
    }
    if done.is_empty() && !refused.is_empty() {
        return all_but(refused, || Ok(ExitCode::SUCCESS));
    }
    all_but(refused, || report::uninstalled(&done, args.json))
}

/// The `report` of what was done, then why the rest was not.
fn all_but(refused: Vec<anyhow::Error>, report: impl FnOnce() -> Result<ExitCode>) -> Result<ExitCode> {
    let code = report()?;
    let mut refused = refused.into_iter();
    let Some(first) = refused.next() else { return Ok(code) };
    refused.for_each(|error| report::note(&format!("{error:#}")));
    Err(first)
}

/// Installs for `up` and `doctor --fix`: with the choices of the last install, for `program`, in the first of these
/// configuration directories or in the usual one. Returns a line about what was done, or `None` if nothing had to be changed.
pub fn ensure(program: &Path, config_dirs: &[PathBuf]) -> Result<Option<String>> {
    let program = locate::utf8(program)?;
    config_dirs.iter().try_for_each(|dir| locate::check_there(dir))?;
    let target = locate::targets(Client::Claude, Scope::User, config_dirs)?.remove(0);
    let record = backup::Backups::of(&target.file).record().unwrap_or_default();
    let choices = Choices { events: record.events, script: record.script, ..Choices::default() };
    let plan = choices.plan(&program, &target, client_version::version());
    let done =
        apply::PendingEdit::install(&target, &program, apply::Content::Entries(Box::new(plan)), &choices)?
            .apply()?;
    report::warn(&done);
    clients::refresh(&program)?;
    Ok(done.changed.then(|| report::summary(&done)))
}

/// What the user chose, except for the files.
#[derive(Clone, Debug, Default)]
struct Choices {
    client: Client,
    /// Another client's file, which is described by its row.
    row: Option<&'static Row>,
    scope: Scope,
    events: Option<Vec<String>>,
    script: bool,
    guard: bool,
    status_line: bool,
    on_failure: Option<String>,
}

/// The four events that Wave knows. It requires a matcher for the first two and rejects one for the others.
const WAVE_EVENTS: [(&str, Option<&str>); 4] =
    [("PreToolUse", Some("*")), ("PostToolUse", Some("*")), ("UserPromptSubmit", None), ("Stop", None)];

impl Choices {
    fn of(args: &InstallArgs) -> Result<Choices> {
        let client = args.place.client();
        if client == Client::Wave && (args.guard || args.statusline) {
            return Err(Usage("could not install a guard or a status line: Wave has neither".into()).into());
        }
        let events = args.events.iter().map(|name| known_event(client, name)).collect::<Result<Vec<_>>>()?;
        let on_failure = if args.guard { guard_on_failure()? } else { None };
        Ok(Choices {
            client,
            row: None,
            scope: args.place.scope(),
            events: (!events.is_empty()).then_some(events),
            script: args.script,
            guard: args.guard,
            status_line: args.statusline,
            on_failure,
        })
    }

    /// The command that the client will run for each event.
    fn call(&self, program: &str, target: &Target) -> Call {
        if self.script {
            let path = script::path_in(&target.config_dir);
            return Call::shell(&[&path.to_string_lossy()]);
        }
        Call::for_role(program, Role::Notify, self.client == Client::Wave)
    }

    /// Whether the script is written to the client's directory.
    fn wants_script(&self) -> bool {
        self.script || (self.row.is_none() && self.client == Client::Claude && self.scope == Scope::User)
    }

    fn plan(&self, program: &str, target: &Target, version: Option<Version>) -> Plan {
        let chosen = |name: &str| self.events.as_ref().is_none_or(|events| events.iter().any(|e| e == name));
        let events: Vec<Event> = match self.client {
            Client::Wave => WAVE_EVENTS
                .iter()
                .map(|(name, matcher)| Event { name: (*name).to_owned(), matcher: *matcher, entry: None })
                .collect(),
            Client::Claude => client_version::events(version)
                .into_iter()
                .map(|name| Event { name: name.to_owned(), matcher: None, entry: None })
                .collect(),
        };
        let events = events.into_iter().filter(|event| chosen(&event.name)).collect();
        // Old clients ignore `args`, and the command alone would only report; they understand a shell line.
        let old = version.is_some_and(|version| !version.knows_exec_form());
        let guard = Entry {
            on_failure: self.on_failure.clone(),
            ..Entry::new(Call::for_role(program, Role::Guard, old))
        };
        Plan {
            program: Some(program.to_owned()),
            notify: Desired::Put(Notify { events, entry: Entry::new(self.call(program, target)) }),
            guard: if self.guard { Desired::Put(guard) } else { Desired::Refresh(guard) },
            wait: Desired::Refresh(Entry::wait(Call::for_role(program, Role::Wait, old))),
            status_line: if self.status_line {
                Desired::Put(program.to_owned())
            } else {
                Desired::Refresh(program.to_owned())
            },
        }
    }
}

/// The event with this name or slug, if it is one to subscribe to.
fn known_event(client: Client, name: &str) -> Result<String> {
    let name = name.trim();
    if client == Client::Wave {
        let found =
            WAVE_EVENTS.iter().find(|(event, _)| *event == name || event_names::slug_of(event) == name);
        let found = found.ok_or_else(|| {
            Usage(format!("could not subscribe to {name:?}: Wave has no event of this name"))
        })?;
        return Ok(found.0.to_owned());
    }
    match event_names::by_name(name).or_else(|| event_names::by_slug(name)) {
        Some(spec) if spec.subscribed => Ok(spec.name.to_owned()),
        Some(spec) => {
            let why = match spec.name {
                "WorktreeCreate" | "WorktreeRemove" => "a hook for it replaces what git does",
                _ => "a hook for it costs time and reports nothing new",
            };
            Err(Usage(format!("could not subscribe to {}: {why}", spec.name)).into())
        }
        None => {
            let known = || {
                event_names::known()
                    .filter(|name| event_names::by_name(name).is_some_and(|spec| spec.subscribed))
            };
            let advice = match nearest(name, known()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("choose from {}", known().collect::<Vec<_>>().join(", ")),
            };
            Err(Usage(format!(
                "could not subscribe to {name:?}: Claude Code has no event of this name; {advice}"
            ))
            .into())
        }
    }
}

fn guard_on_failure() -> Result<Option<String>> {
    let on_failure = Config::load()?.guard.on_failure;
    if let Some(other) = on_failure.as_deref().filter(|value| !matches!(*value, "continue" | "block")) {
        anyhow::bail!(
            "could not install the guard: guard.on_failure in the configuration is {other:?}, not \"continue\" or \"block\""
        );
    }
    Ok(on_failure)
}
