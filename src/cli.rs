//! The command line: the tree of commands, and one match to the functions that do the work.

use crate::usage::Usage;
use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::process::ExitCode;

/// Which of your Claude Code sessions needs you now, and why.
#[derive(Debug, Parser)]
#[command(name = "headspace", version = env!("HEADSPACE_VERSION"), max_term_width = 100, disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    Up(crate::daemon::UpArgs),
    Down(crate::daemon::DownArgs),
    Status(crate::view::status::StatusArgs),
    Top(crate::view::top::TopArgs),
    Next(crate::view::jump::NextArgs),
    Jump(crate::view::jump::JumpArgs),
    Events(crate::view::events::EventsArgs),
    Explain(crate::view::explain::ExplainArgs),
    Rename(crate::view::rename::RenameArgs),
    Open(crate::view::open::OpenArgs),
    Install(crate::settings::InstallArgs),
    Uninstall(crate::settings::UninstallArgs),
    Serve(crate::server::ServeArgs),
    /// Deliver one hook event (what Claude Code calls)
    ///
    /// Reads the event on standard input, adds what identifies the session, posts it to the server, and
    /// spools it if the server is away. Always exits 0, prints nothing unless there is a decision to give.
    #[command(
        after_help = "Example:\n  echo '{\"session_id\":\"s1\",\"hook_event_name\":\"Stop\"}' | headspace notify"
    )]
    Notify {
        /// Event name, if not the payload's `hook_event_name`
        event: Option<String>,
    },
    Statusline(crate::statusline::StatuslineArgs),
    Hooks(crate::hook::command::HooksArgs),
    Guard(crate::guard::command::GuardArgs),
    Context(crate::context::command::ContextArgs),
    Doctor(crate::doctor::DoctorArgs),
    Service(crate::service::ServiceArgs),
    Rebuild(crate::server::rebuild::RebuildArgs),
    Prune(crate::server::prune::PruneArgs),
    Wake(crate::view::wake::WakeArgs),
    NotifyWhen(crate::view::wake::NotifyWhenArgs),
    NotifyTest(crate::desktop::NotifyTestArgs),
    Demo(crate::demo::DemoArgs),
    Completions(crate::completions::CompletionsArgs),
}

/// For a person who called the program without a command.
pub fn help() -> String {
    Cli::command().render_help().to_string()
}

pub fn main() -> ExitCode {
    end_with_the_pipe();
    let cli = Cli::parse_from(spelled(std::env::args_os().collect()));
    let Some(command) = cli.command else { return crate::notify::bare(help) };
    match run(command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("headspace: {}", crate::terminal::plain(&format!("{error:#}")));
            ExitCode::from(if error.is::<Usage>() { 2 } else { 1 })
        }
    }
}

/// `headspace help events` means `headspace events --help`.
fn spelled(mut args: Vec<OsString>) -> Vec<OsString> {
    if args.get(1).is_some_and(|word| word == "help") {
        args.remove(1);
        args.push("--help".into());
    }
    args
}

/// `headspace events | head` ends when `head` has enough, without a word. (The signal itself is ignored: a hook
/// or a server must survive it.)
fn end_with_the_pipe() {
    const BROKEN_PIPE: i32 = 141;
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let message = panic.payload().downcast_ref::<String>().map_or("", String::as_str);
        if message.starts_with("failed printing to") && message.contains("Broken pipe") {
            std::process::exit(BROKEN_PIPE);
        }
        usual(panic);
    }));
}

/// Whether a command must not go on if somebody else has a hand in the state directory. Hooks never fail, `doctor` says it
/// among the rest, and some commands have nothing to do with it.
fn relies_on_state(command: &Command) -> bool {
    !matches!(
        command,
        Command::Notify { .. }
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
        crate::config::check_state()?;
    }
    match command {
        Command::Up(args) => crate::daemon::up(&args),
        Command::Down(args) => crate::daemon::down(&args),
        Command::Status(args) => crate::view::status::run(&args),
        Command::Top(args) => crate::view::top::run(&args),
        Command::Next(args) => crate::view::jump::next(&args),
        Command::Jump(args) => crate::view::jump::jump(&args),
        Command::Events(args) => crate::view::events::run(&args),
        Command::Explain(args) => crate::view::explain::run(&args),
        Command::Rename(args) => crate::view::rename::run(&args),
        Command::Open(args) => crate::view::open::run(&args),
        Command::Install(args) => crate::settings::install(&args),
        Command::Uninstall(args) => crate::settings::uninstall(&args),
        Command::Serve(args) => crate::server::serve(&args),
        Command::Notify { event } => Ok(crate::notify::main(event.map(Into::into))),
        Command::Statusline(args) => crate::statusline::run(&args),
        Command::Hooks(args) => crate::hook::command::run(&args),
        Command::Guard(args) => crate::guard::command::run(&args),
        Command::Context(args) => crate::context::command::run(&args),
        Command::Doctor(args) => crate::doctor::run(&args),
        Command::Service(args) => crate::service::run(&args),
        Command::Rebuild(args) => crate::server::rebuild::run(&args),
        Command::Prune(args) => crate::server::prune::run(&args),
        Command::Wake(args) => crate::view::wake::wake(&args),
        Command::NotifyWhen(args) => crate::view::wake::notify_when(&args),
        Command::NotifyTest(args) => crate::desktop::notify_test(&args),
        Command::Demo(args) => crate::demo::run(&args),
        Command::Completions(args) => crate::completions::completions(&args),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What has no words in the help, below this command.
    fn wordless(command: &clap::Command, path: &str, found: &mut Vec<String>) {
        let path = format!("{path} {}", command.get_name());
        if command.get_about().is_none() {
            found.push(path.clone());
        }
        let silent = |arg: &&clap::Arg| arg.get_help().is_none_or(|help| help.to_string().trim().is_empty());
        found.extend(command.get_arguments().filter(silent).map(|arg| format!("{path} {}", arg.get_id())));
        command.get_subcommands().for_each(|sub| wordless(sub, &path, found));
    }

    #[test]
    fn every_command_and_every_option_says_what_it_does() {
        let mut command = Cli::command();
        command.build();
        let mut found = Vec::new();
        wordless(&command, "", &mut found);
        assert!(found.is_empty(), "{found:#?}");
    }
}
