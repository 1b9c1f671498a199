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
        // `| head` is no failure.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => {}
        result => result.context("could not print the completions")?,
    }
    Ok(ExitCode::SUCCESS)
}

pub fn run(args: &GenerateArgs) -> Result<ExitCode> {
    let completions = args.dir.join("completions");
    fs::create_dir_all(&completions)?;
    for shell in Shell::value_variants() {
        fs::write(completions.join(shell.file_name()), shell.script())?;
    }
    let man = args.dir.join("man");
    fs::create_dir_all(&man)?;
    let mut command = shown();
    command.build();
    let mut names = Vec::new();
    write_pages(&command, &man, &mut names)?;
    for entry in fs::read_dir(&man)? {
        let entry = entry?;
        // The page of a command that is gone.
        let name = entry.file_name().into_string().unwrap_or_default();
        if name.starts_with("headspace") && name.ends_with(".1") && !names.contains(&name) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The command tree without what is hidden: completions would offer it.
fn shown() -> clap::Command {
    let cli = Cli::command();
    let about = cli.get_about().cloned().unwrap_or_default();
    clap::Command::new("headspace")
        .version(env!("CARGO_PKG_VERSION"))
        .about(about)
        .disable_help_subcommand(true)
        .args(cli.get_arguments().cloned())
        .subcommands(cli.get_subcommands().filter(|sub| !sub.is_hide_set()).cloned())
}

/// One page per command and subcommand.
fn write_pages(command: &clap::Command, dir: &Path, names: &mut Vec<String>) -> Result<()> {
    let page = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text).context("could not make a manual page")?;
    fs::write(dir.join(page.get_filename()), text)?;
    names.push(page.get_filename());
    command.get_subcommands().try_for_each(|sub| write_pages(sub, dir, names))
}
