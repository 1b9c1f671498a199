//! Completion files and manual pages, generated from the command tree. The test that they are current includes this file.

use anyhow::{Context, Result};
use clap::ValueEnum;
use claude_headspace::commands::completions::{Shell, shown};
use fs_err as fs;
use std::path::Path;

pub fn run(dir: &Path) -> Result<()> {
    let completions = dir.join("completions");
    fs::create_dir_all(&completions)?;
    for shell in Shell::value_variants() {
        fs::write(completions.join(shell.file_name()), shell.script())?;
    }
    let man = dir.join("man");
    fs::create_dir_all(&man)?;
    let mut command = shown();
    command.build();
    let mut names = Vec::new();
    write_pages(&command, &man, &mut names)?;
    for entry in fs::read_dir(&man)? {
        let entry = entry?;
        // The page of a command that does not exist any more.
        let name = entry.file_name().into_string().unwrap_or_default();
        if name.starts_with("headspace") && name.ends_with(".1") && !names.contains(&name) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// One page per command and subcommand.
fn write_pages(command: &clap::Command, dir: &Path, names: &mut Vec<String>) -> Result<()> {
    let page = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    page.render(&mut text).context("could not render a manual page")?;
    text.extend(sections(command, &page.get_filename()).into_bytes());
    fs::write(dir.join(page.get_filename()), text)?;
    names.push(page.get_filename());
    command.get_subcommands().try_for_each(|sub| write_pages(sub, dir, names))
}

/// A term and what it means.
type Entries = &'static [(&'static str, &'static str)];

const EXIT_STATUS: Entries = &[
    ("0", "It worked."),
    ("1", "It failed; standard error says why, in one line."),
    ("2", "The arguments are wrong."),
];

/// Commands that exit otherwise.
const OTHER_EXITS: &[(&str, &str, &str)] = &[
    ("headspace-status.1", "10", "With --exit-code: an agent needs you."),
    ("headspace-notify.1", "0", "Always, whatever happens: a hook must not stop its session."),
    ("headspace-statusline.1", "0", "Always: the status line of a session must not fail."),
    ("headspace-guard-hook.1", "0", "Always; the verdict is on standard output."),
];

const FILES: Entries = &[
    ("$XDG_CONFIG_HOME/headspace/config.jsonc", "The configuration (~/.config without the variable)."),
    (
        "$XDG_STATE_HOME/headspace/headspace.db",
        "Events and what follows from them (~/.local/state without the variable).",
    ),
    ("$XDG_STATE_HOME/headspace/spool/", "Events that wait for the server."),
    ("$XDG_STATE_HOME/headspace/token", "What lets other programs in."),
    ("$XDG_STATE_HOME/headspace/serve.log", "The log of a server in the background."),
];

const ENVIRONMENT: Entries = &[
    ("CLAUDE_HEADSPACE_URL", "Where the server is, if not in the state directory."),
    ("CLAUDE_CONFIG_DIR", "Claude Code's configuration directory, if it is not ~/.claude."),
    ("NO_COLOR", "Set: no colors."),
    ("HEADSPACE_DEBUG", "1: the hook writes what it did to notify.log in the state directory."),
];

/// What every manual page ends with.
fn sections(command: &clap::Command, file: &str) -> String {
    let mut exits: Vec<(&str, &str)> = EXIT_STATUS.to_vec();
    for (_, code, meaning) in OTHER_EXITS.iter().filter(|(page, ..)| *page == file) {
        if *code == "0" {
            exits.clear();
        }
        exits.push((code, meaning));
    }
    let own = file.trim_end_matches(".1");
    let parent = own.rsplit_once('-').map_or("headspace", |(parent, _)| parent);
    let parents = ["headspace", parent].into_iter().filter(|name| *name != own);
    let mut related: Vec<String> = parents.map(str::to_owned).collect();
    related.dedup();
    related.extend(command.get_subcommands().map(|sub| format!("{own}-{}", sub.get_name())));
    let related: Vec<String> = related.iter().map(|name| format!("\\fB{}\\fR(1)", escaped(name))).collect();
    let mut text = entries("EXIT STATUS", &exits);
    text += &entries("FILES", FILES);
    text += &entries("ENVIRONMENT", ENVIRONMENT);
    text += &format!(".SH \"SEE ALSO\"\n{}\n", related.join(", "));
    text
}

fn entries(title: &str, entries: &[(&str, &str)]) -> String {
    let one =
        |(term, meaning): &(&str, &str)| format!(".TP\n\\fB{}\\fR\n{}\n", escaped(term), escaped(meaning));
    format!(".SH \"{title}\"\n{}", entries.iter().map(one).collect::<String>())
}

/// Text that roff takes as it is.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}
