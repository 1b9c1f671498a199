//! `headspace completions`: scripts for shells, generated from the command tree.

use crate::cli::Cli;
use anyhow::{Context, Result};
use clap::{CommandFactory, ValueEnum};
use clap_complete::shells;
use std::process::ExitCode;

/// Print shell completions
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace completions bash > ~/.local/share/bash-completion/completions/headspace\n  \
                        headspace completions zsh > ~/.zfunc/_headspace\n  \
                        headspace completions fish > ~/.config/fish/completions/headspace.fish"
)]
pub struct CompletionsArgs {
    /// The shell to complete in
    pub shell: Shell,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Shell {
    /// The file name that the shell looks for.
    pub fn file_name(self) -> &'static str {
        match self {
            Shell::Bash => "headspace.bash",
            Shell::Zsh => "_headspace",
            Shell::Fish => "headspace.fish",
        }
    }

    /// What the shell reads.
    pub fn script(self) -> Vec<u8> {
        let mut command = shown();
        let mut script = Vec::new();
        match self {
            Shell::Bash => clap_complete::generate(shells::Bash, &mut command, "headspace", &mut script),
            Shell::Zsh => clap_complete::generate(shells::Zsh, &mut command, "headspace", &mut script),
            Shell::Fish => clap_complete::generate(shells::Fish, &mut command, "headspace", &mut script),
        }
        script
    }
}

pub fn completions(args: &CompletionsArgs) -> Result<ExitCode> {
    use std::io::Write;
    match std::io::stdout().write_all(&args.shell.script()) {
        // `| head` is not a failure.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        result => result.context("could not print the completions")?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The command tree without hidden commands, which completions would offer.
pub fn shown() -> clap::Command {
    let cli = Cli::command();
    let about = cli.get_about().cloned().unwrap_or_default();
    clap::Command::new("headspace")
        .version(env!("CARGO_PKG_VERSION"))
        .about(about)
        .disable_help_subcommand(true)
        .args(cli.get_arguments().cloned())
        .subcommands(cli.get_subcommands().filter(|sub| !sub.is_hide_set()).cloned())
}
