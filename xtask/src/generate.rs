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
    fs::write(dir.join(page.get_filename()), text)?;
    names.push(page.get_filename());
    command.get_subcommands().try_for_each(|sub| write_pages(sub, dir, names))
}
