//! The command line: the tree of commands, and the match that calls the function of each.

use crate::commands::agents::{events, explain, export, jump, rename, reply, show, status, wake};
use crate::commands::machines::relay;
use crate::commands::server::{notify_test, open, prune, rebuild, serve, service, up};
use crate::commands::{
    answer, completions, context, demo, doctor, guard, hooks, hub, install, machines, statusline, top,
};
use crate::view::columns::{error_columns, hanging};
use anyhow::Result;
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use headspace_core::text::strip_control;
use headspace_platform::usage::Usage;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// Shows which of your coding agents needs you now, and why
#[derive(Debug, Parser)]
#[command(name = "headspace", version = env!("HEADSPACE_VERSION"), max_term_width = 100, disable_help_subcommand = true,
    after_help = "Examples:\n  headspace demo               # look at it first, with made-up agents\n  headspace up                 # install the hooks, start the server\n  headspace status             # which agents need you\n  headspace help status        # all options of a command, with examples"
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Up(up::UpArgs),
    Down(up::DownArgs),
    Status(status::StatusArgs),
    Top(top::TopArgs),
    Next(jump::NextArgs),
    Jump(jump::JumpArgs),
    Events(events::EventsArgs),
    Show(show::ShowArgs),
    Explain(explain::ExplainArgs),
    Export(export::ExportArgs),
    Rename(rename::RenameArgs),
    Reply(reply::ReplyArgs),
    Stop(reply::StopArgs),
    Answer(answer::AnswerArgs),
    Open(open::OpenArgs),
    Install(install::InstallArgs),
    Uninstall(install::UninstallArgs),
    Serve(serve::ServeArgs),
    /// Deliver one hook event (Claude Code calls this)
    ///
    /// Reads the event from standard input, adds what identifies the session, and posts it to the server. If the
    /// server does not answer, the event is spooled. Always exits 0, and prints only what the client should act on.
    #[command(
        after_help = "Example:\n  echo '{\"session_id\":\"s1\",\"hook_event_name\":\"Stop\"}' | headspace notify"
    )]
    Notify {
        /// The coding agent that calls, if not Claude Code
        #[arg(long, value_name = "NAME")]
        client: Option<String>,
        /// Event name (default: `hook_event_name` in the payload)
        event: Option<String>,
    },
    /// Wait for an answer to a permission request from anywhere (Claude Code calls this)
    ///
    /// Reads a PermissionRequest from standard input and waits beside the terminal's own dialog. Prints a decision only for
    /// exactly the request it read. If anything goes wrong, it prints nothing and exits 0, and the dialog stays.
    #[command(
        after_help = "Example (settings.json, by `headspace answer on`):\n  {\"type\": \"command\", \"command\": \"/usr/bin/headspace\", \"args\": [\"wait\"], \"timeout\": 43200}"
    )]
    Wait,
    Statusline(statusline::StatuslineArgs),
    Hooks(hooks::HooksArgs),
    Guard(guard::GuardArgs),
    Hub(hub::HubArgs),
    Context(context::ContextArgs),
    Machines(machines::MachinesArgs),
    Relay(relay::RelayArgs),
    Doctor(doctor::DoctorArgs),
    Service(service::ServiceArgs),
    Rebuild(rebuild::RebuildArgs),
    Prune(prune::PruneArgs),
    Wake(wake::WakeArgs),
    NotifyWhen(wake::NotifyWhenArgs),
    NotifyTest(notify_test::NotifyTestArgs),
    Demo(demo::DemoArgs),
    Completions(completions::CompletionsArgs),
    Complete(completions::CompleteArgs),
}

/// The help text for a call without a command.
pub fn help() -> String {
    Cli::command().render_help().to_string()
}

pub fn main() -> ExitCode {
    exit_if_printing_fails();
    let args = rewrite_help(std::env::args_os().collect());
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() && error.kind() != MISSING_SUBCOMMAND => {
            return fail(&Usage(wrong_usage(&error, &args)).into());
        }
        Err(help) => help.exit(),
    };
    let Some(command) = cli.command else { return headspace_notify::without_command(help) };
    match run(command) {
        Ok(code) => code,
        Err(error) => fail(&error),
    }
}

fn fail(error: &anyhow::Error) -> ExitCode {
    let message = format!("headspace: {error:#}");
    eprintln!("{}", hanging(&message, 0, 2, error_columns()));
    ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
}

/// `headspace hooks` alone: the help says what may follow.
const MISSING_SUBCOMMAND: ErrorKind = ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;

/// The parser's paragraphs in one line, like every other error: what is wrong, its advice, and where the help is.
fn wrong_usage(error: &clap::Error, args: &[OsString]) -> String {
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n").map(|paragraph| strip_control(&one_paragraph(paragraph)));
    let what = paragraphs.next().unwrap_or_default();
    let what = what.strip_prefix("error: ").unwrap_or(&what);
    let advice: String =
        paragraphs.filter_map(|line| Some(format!("; {}", line.strip_prefix("tip: ")?))).collect();
    let mut command = Cli::command();
    let mut path = command.get_name().to_owned();
    for word in args.iter().skip(1).map_while(|word| word.to_str()) {
        let Some(sub) = command.find_subcommand(word).cloned() else { break };
        path = format!("{path} {}", sub.get_name());
        command = sub;
    }
    let what = NUMBERS.iter().fold(what.to_owned(), |what, (said, words)| what.replace(said, words));
    format!("could not read the command line: {what}{advice}; see `{path} --help`")
}

/// What Rust says about a text that is not the number it has to be, and what that means.
const NUMBERS: &[(&str, &str)] = &[
    ("invalid digit found in string", "it has to be a whole number"),
    ("cannot parse integer from empty string", "it has to be a whole number"),
    ("number too large to fit in target type", "the number is too large"),
    ("number too small to fit in target type", "the number is too small"),
    ("invalid float literal", "it has to be a number"),
    (" is not in 1..=4294967295", " is not 1 or more"),
];

fn one_paragraph(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `headspace help events` means `headspace events --help`.
fn rewrite_help(mut args: Vec<OsString>) -> Vec<OsString> {
    if args.get(1).is_some_and(|word| word == "help") {
        args.remove(1);
        args.push("--help".into());
    }
    args
}

/// What happens if output cannot be written. `headspace events | head` ends quietly when `head` has read enough (the signal
/// itself is ignored, because a hook or a server must survive it); a full disk is an error like any other.
fn exit_if_printing_fails() {
    const BROKEN_PIPE: i32 = 141;
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let message = panic.payload().downcast_ref::<String>().map_or("", String::as_str);
        if let Some((_, why)) = message.strip_prefix("failed printing to ").and_then(|m| m.split_once(": ")) {
            if why.contains("Broken pipe") {
                std::process::exit(BROKEN_PIPE);
            }
            let _ = writeln!(std::io::stderr(), "headspace: could not print: {why}");
            std::process::exit(1);
        }
        usual(panic);
    }));
}

/// Whether a command must refuse to run if another user can change the state directory. Hooks never fail, `doctor` reports
/// the problem itself, and some commands do not use the directory.
fn relies_on_state(command: &Command) -> bool {
    !matches!(
        command,
        Command::Notify { .. }
            | Command::Wait
            | Command::Statusline(_)
            | Command::Guard(_)
            | Command::Hooks(_)
            | Command::Context(_)
            | Command::Doctor(_)
            | Command::Demo(_)
            | Command::NotifyTest(_)
            | Command::Completions(_)
    )
}

fn run(command: Command) -> Result<ExitCode> {
    if relies_on_state(&command) {
        headspace_platform::config::check_state()?;
    }
    match command {
        Command::Up(args) => up::up(&args),
        Command::Down(args) => up::down(&args),
        Command::Status(args) => status::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Next(args) => jump::next(&args),
        Command::Jump(args) => jump::jump(&args),
        Command::Events(args) => events::run(&args),
        Command::Show(args) => show::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Rename(args) => rename::run(&args),
        Command::Reply(args) => reply::reply(&args),
        Command::Stop(args) => reply::stop(&args),
        Command::Answer(args) => answer::run(&args),
        Command::Open(args) => open::run(&args),
        Command::Install(args) => install::install(&args),
        Command::Uninstall(args) => install::uninstall(&args),
        Command::Serve(args) => serve::run(&args),
        Command::Notify { client, event } => {
            let client = client.map(|name| format!("--client={name}"));
            Ok(headspace_notify::main(client.into_iter().chain(event).map(Into::into)))
        }
        Command::Wait => Ok(headspace_notify::wait::main()),
        Command::Statusline(args) => statusline::run(&args),
        Command::Hooks(args) => hooks::run(&args),
        Command::Guard(args) => guard::run(&args),
        Command::Hub(args) => hub::run(&args),
        Command::Context(args) => context::run(&args),
        Command::Machines(args) => machines::run(&args),
        Command::Relay(args) => relay::run(&args),
        Command::Doctor(args) => doctor::run(&args),
        Command::Service(args) => service::run(&args),
        Command::Rebuild(args) => rebuild::run(&args),
        Command::Prune(args) => prune::run(&args),
        Command::Wake(args) => wake::wake(&args),
        Command::NotifyWhen(args) => wake::notify_when(&args),
        Command::NotifyTest(args) => notify_test::run(&args),
        Command::Demo(args) => demo::run(&args),
        Command::Completions(args) => completions::completions(&args),
        Command::Complete(args) => completions::complete(&args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands and options below this one that have no help text.
    fn without_help(command: &clap::Command, path: &str, found: &mut Vec<String>) {
        let path = format!("{path} {}", command.get_name());
        if command.get_about().is_none() {
            found.push(path.clone());
        }
        let silent = |arg: &&clap::Arg| arg.get_help().is_none_or(|help| help.to_string().trim().is_empty());
        found.extend(command.get_arguments().filter(silent).map(|arg| format!("{path} {}", arg.get_id())));
        command.get_subcommands().for_each(|sub| without_help(sub, &path, found));
    }

    /// The commands below this one whose help has no example.
    fn without_example(command: &clap::Command, path: &str, found: &mut Vec<String>) {
        let path = format!("{path} {}", command.get_name());
        let has_one = command.get_after_help().is_some_and(|help| help.to_string().contains("headspace"));
        if !has_one && !command.is_hide_set() {
            found.push(path.clone());
        }
        command.get_subcommands().for_each(|sub| without_example(sub, &path, found));
    }

    #[test]
    fn wrong_usage_is_one_line_with_the_reason_and_the_way_to_the_help() {
        for (line, expected) in [
            ("bogus", "unrecognized subcommand 'bogus'; see `headspace --help`"),
            (
                "evnts",
                "unrecognized subcommand 'evnts'; a similar subcommand exists: 'events'; see `headspace --help`",
            ),
            (
                "rename",
                "the following required arguments were not provided: <AGENT> <NAME>; see `headspace rename --help`",
            ),
            ("hooks list --nope", "unexpected argument '--nope' found; see `headspace hooks list --help`"),
            (
                "prune --days x",
                "invalid value 'x' for '--days <N>': it has to be a whole number; see `headspace prune --help`",
            ),
            (
                "prune --days 0",
                "invalid value '0' for '--days <N>': 0 is not 1 or more; see `headspace prune --help`",
            ),
            (
                "hooks list --dialect x",
                "invalid value 'x' for '--dialect <DIALECT>' [possible values: claude, wave]; see `headspace hooks list --help`",
            ),
        ] {
            let args: Vec<OsString> =
                ["headspace"].into_iter().chain(line.split(' ')).map(Into::into).collect();
            let error = Cli::try_parse_from(&args).unwrap_err();
            assert_eq!(wrong_usage(&error, &args), format!("could not read the command line: {expected}"));
        }
    }

    #[test]
    fn every_command_has_an_example() {
        let mut found = Vec::new();
        without_example(&Cli::command(), "", &mut found);
        assert!(found.is_empty(), "{found:#?}");
    }

    #[test]
    fn every_command_and_every_option_says_what_it_does() {
        let mut command = Cli::command();
        command.build();
        let mut found = Vec::new();
        without_help(&command, "", &mut found);
        assert!(found.is_empty(), "{found:#?}");
    }
}
