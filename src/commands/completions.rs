//! `headspace completions`: scripts for shells, generated from the command tree.

use crate::cli::Cli;
use crate::view::archive::Archive;
use crate::view::client;
use anyhow::{Context, Result};
use clap::{CommandFactory, ValueEnum};
use clap_complete::shells;
use headspace_core::model::{Row, event_names, rows};
use headspace_core::stamp::Stamp;
use headspace_core::text::one_line;
use headspace_platform::clock::WallClock;
use headspace_platform::config::Config;
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

    /// What the shell reads: the command tree, and for agents and types of events a question to the program.
    pub fn script(self) -> Vec<u8> {
        let mut command = shown();
        let mut script = Vec::new();
        match self {
            Shell::Bash => clap_complete::generate(shells::Bash, &mut command, "headspace", &mut script),
            Shell::Zsh => clap_complete::generate(shells::Zsh, &mut command, "headspace", &mut script),
            Shell::Fish => clap_complete::generate(shells::Fish, &mut command, "headspace", &mut script),
        }
        let script = String::from_utf8_lossy(&script).into_owned();
        let takers = takers_of_agents(&command);
        match self {
            Shell::Bash => script + &bash_words(&takers),
            Shell::Zsh => zsh_words(&script),
            Shell::Fish => script + &fish_words(&takers),
        }
        .into_bytes()
    }
}

/// The commands whose first argument is an agent.
fn takers_of_agents(command: &clap::Command) -> Vec<String> {
    let takes = |sub: &&clap::Command| {
        sub.get_positionals().next().is_some_and(|argument| argument.get_id() == "agent")
    };
    command.get_subcommands().filter(takes).map(|sub| sub.get_name().to_owned()).collect()
}

fn bash_words(takers: &[String]) -> String {
    format!(
        r#"
_headspace_words() {{
    local IFS=$'\n'
    COMPREPLY=($(compgen -W "$(headspace complete "$1" 2>/dev/null | cut -f1)" -- "$2"))
}}

_headspace_with_words() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" prev="${{COMP_WORDS[COMP_CWORD-1]}}"
    case "$prev" in
        --type) _headspace_words types "$cur"; return ;;
        --agent) _headspace_words agents "$cur"; return ;;
    esac
    if [[ $COMP_CWORD -eq 2 && $cur != -* ]]; then
        case "${{COMP_WORDS[1]}}" in
            {}) _headspace_words agents "$cur"; return ;;
        esac
    fi
    _headspace "$@"
}}

complete -F _headspace_with_words -o bashdefault -o default headspace
"#,
        takers.join("|")
    )
}

fn zsh_words(script: &str) -> String {
    const WORDS: &str = r#"
_headspace_agents() {
    local -a words
    words=("${(@f)$(headspace complete agents --colons 2>/dev/null)}")
    _describe 'agent' words
}

_headspace_types() {
    local -a words
    words=("${(@f)$(headspace complete types --colons 2>/dev/null)}")
    _describe 'type of event' words
}
"#;
    let line = |line: &str| {
        let agent =
            line.starts_with("':agent -- ") || line.starts_with("'::agent -- ") || line.contains("--agent=[");
        match line.replace(":_default'", if agent { ":_headspace_agents'" } else { ":_default'" }) {
            line if line.contains("--type=[") => line.replace(":_default'", ":_headspace_types'"),
            line => line,
        }
    };
    let script: String = script.lines().flat_map(|text| [line(text), "\n".to_owned()]).collect();
    match script.split_once('\n') {
        // The first line must be `#compdef`.
        Some((first, rest)) => format!("{first}\n{WORDS}{rest}"),
        None => script,
    }
}

fn fish_words(takers: &[String]) -> String {
    let takers = takers.join(" ");
    format!(
        r#"complete -c headspace -n "__fish_seen_subcommand_from {takers}" -f -a "(headspace complete agents 2>/dev/null)"
complete -c headspace -n "__fish_seen_subcommand_from events" -l agent -f -r -a "(headspace complete agents 2>/dev/null)"
complete -c headspace -n "__fish_seen_subcommand_from events" -l type -f -r -a "(headspace complete types 2>/dev/null)"
"#
    )
}

/// Print the words that a shell completes
///
/// One per line, with a tab and a description. Prints nothing rather than an error.
#[derive(Debug, clap::Args)]
#[command(hide = true)]
pub struct CompleteArgs {
    /// What is completed
    what: Completed,
    /// Write `word:description`, as zsh reads it
    #[arg(long)]
    colons: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Completed {
    Agents,
    Types,
}

pub fn complete(args: &CompleteArgs) -> Result<ExitCode> {
    let words = match args.what {
        Completed::Agents => agents().unwrap_or_default(),
        Completed::Types => types().into_iter().map(|name| (name, String::new())).collect(),
    };
    let mut text = String::new();
    for (word, about) in words {
        match (args.colons, about.is_empty()) {
            (_, true) => text += &word,
            (true, _) => text += &format!("{}:{}", word.replace(':', "\\:"), about.replace(':', "\\:")),
            (false, _) => text += &format!("{word}\t{about}"),
        }
        text.push('\n');
    }
    use std::io::Write;
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(ExitCode::SUCCESS)
}

/// The agents that have not ended: by name where that is one word for every shell and names only one, else by id.
fn agents() -> Result<Vec<(String, String)>> {
    let agents = client::overview(&Config::load()?, false)?.agents;
    let rows = rows(&agents, Stamp::now());
    let plain = |name: &str| {
        let begins = name.starts_with(|c: char| c.is_ascii_alphabetic());
        begins && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/'))
    };
    let alone = |name: &str| rows.iter().filter(|row| row.name.starts_with(name)).count() == 1;
    let word = |row: &Row| match plain(&row.name) && alone(&row.name) {
        true => row.name.clone(),
        false => row.id.to_string(),
    };
    let about =
        |row: &Row| one_line(&format!("{} {}: {}", row.group.glyph(), row.summary.title, row.words()), 70);
    Ok(rows.iter().map(|row| (word(row), about(row))).collect())
}

/// The names of events that are known or stored.
fn types() -> Vec<String> {
    let stored =
        Config::load().and_then(|config| Archive::open(&config)).and_then(|archive| archive.event_names());
    let plain = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    let known = event_names::known().map(str::to_owned);
    let mut names: Vec<String> = known.chain(stored.unwrap_or_default()).filter(plain).collect();
    names.sort_unstable();
    names.dedup();
    names
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
