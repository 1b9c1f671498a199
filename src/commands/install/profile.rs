//! `install --guard` asks how strict the guard should be, if it runs on a terminal.

use crate::commands::guard::allow;
use anyhow::{Context, Result};
use headspace_guard::rules::PROFILES;
use headspace_platform::config;
use headspace_platform::config::Config;
use headspace_platform::files;
use std::io::{IsTerminal, Write};

/// Asks on a terminal, once: a profile in the configuration is an answer.
pub fn ask() -> Result<()> {
    let at_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if !at_terminal || Config::load()?.guard.profile.is_some() {
        return Ok(());
    }
    println!("How strict should the guard be?");
    for (at, (name, _, what)) in PROFILES.iter().enumerate() {
        println!("  {}  {name:<9} {what}", at + 1);
    }
    print!("[1] ");
    std::io::stdout().flush().context("could not print")?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).context("could not read the answer")?;
    let Some(name) = chosen(answer.trim()) else {
        println!("Left at strict; `headspace guard rules` shows how to change it.\n");
        return Ok(());
    };
    let path = config::config_file();
    let before = headspace_platform::files::read_text(&path).unwrap_or_default();
    let after = allow::with_profile(&before, name)?;
    if let Some(dir) = path.parent() {
        files::private_dir(dir)?;
    }
    files::replace(&path, after.as_bytes()).with_context(|| format!("could not write {}", path.display()))?;
    println!("guard.profile is {name} in {}\n", crate::commands::install::report::short(&path));
    Ok(())
}

/// A number or a name; an empty answer means the first.
fn chosen(answer: &str) -> Option<&'static str> {
    if answer.is_empty() {
        return Some(PROFILES[0].0);
    }
    let by_number = answer.parse::<usize>().ok().and_then(|number| PROFILES.get(number.checked_sub(1)?));
    by_number
        .or_else(|| PROFILES.iter().find(|(name, ..)| name.eq_ignore_ascii_case(answer)))
        .map(|(name, ..)| *name)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_number_a_name_or_nothing() {
        for (answer, name) in [
            ("", Some("strict")),
            ("2", Some("balanced")),
            ("Quiet", Some("quiet")),
            ("0", None),
            ("x", None),
        ] {
            assert_eq!(super::chosen(answer), name, "{answer}");
        }
    }
}
