//! Shell completions and manual pages, made from the command tree.

use crate::cli::Cli;
use anyhow::{Context, Result};
use clap::{CommandFactory, ValueEnum};
use clap_complete::shells;
use fs_err as fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Print shell completions
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace completions bash > ~/.local/share/bash-completion/completions/headspace\n  \
                        headspace completions zsh > ~/.zfunc/_headspace\n  \
                        headspace completions fish > ~/.config/fish/completions/headspace.fish"
)]
pub struct CompletionsArgs {
    pub shell: Shell,
}

/// Write the completion files and the manual pages
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  cargo run -- generate .")]
pub struct GenerateArgs {
    /// Where `completions/` and `man/` are, or will be
    pub dir: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Shell {
    /// The name under which the shell looks for the file.
    fn file_name(self) -> &'static str {
        match self {
            Shell::Bash => "headspace.bash",
            Shell::Zsh => "_headspace",
            Shell::Fish => "headspace.fish",
        }
    }

    fn script(self) -> Vec<u8> {
        let mut command = Cli::command();
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
        // `| head` is no failure.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        result => result.context("could not print the completions")?,
    }
    Ok(ExitCode::SUCCESS)
}

pub fn run(args: &GenerateArgs) -> Result<ExitCode> {
    let completions = args.dir.join("completions");
    for shell in Shell::value_variants() {
        write(&completions, shell.file_name(), &shell.script())?;
    }
    let man = args.dir.join("man");
    let mut command = Cli::command();
    command.build();
    pages(&command, &man)?;
    Ok(ExitCode::SUCCESS)
}

/// One page per command, subcommands included, hidden ones not.
fn pages(command: &clap::Command, dir: &Path) -> Result<()> {
    let page = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text).context("could not make a manual page")?;
    write(dir, &page.get_filename(), &text)?;
    command.get_subcommands().filter(|sub| !sub.is_hide_set()).try_for_each(|sub| pages(sub, dir))
}

fn write(dir: &Path, name: &str, text: &[u8]) -> Result<()> {
    fs::create_dir_all(dir)?;
    fs::write(dir.join(name), text)?;
    Ok(())
}
