//! `headspace doctor`: finds out why nothing shows up after the install. A table of checks and one loop over it.

mod checks;
mod clients;
mod coverage;
mod hub;
pub mod keys;
mod machines;

use crate::view::columns::{fit_middle, hanging, terminal_columns};
use crate::view::style::Style;
use anyhow::Result;
use headspace_core::text;
use headspace_platform::config::Config;
use serde::Serialize;
use std::path::PathBuf;
use std::process::ExitCode;

/// Diagnose why sessions do not show up, and fix it
///
/// Prints a line per check: ok, warn or FAIL, the latter two with the exact fix. Exits 1 if a check FAILs.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  headspace doctor\n  headspace doctor --fix      # fixes what is safe to fix"
)]
pub struct DoctorArgs {
    /// Fix what is safe to fix: missing hooks, file permissions
    #[arg(long)]
    fix: bool,
    /// Another configuration directory of Claude Code to check; may be repeated
    #[arg(long = "config-dir", value_name = "DIR")]
    config_dirs: Vec<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Ok,
    Warn,
    Fail,
}

/// What a check found.
#[derive(Serialize)]
pub struct Finding {
    pub check: &'static str,
    pub level: Level,
    pub message: String,
    /// The exact fix, for a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    #[serde(skip)]
    pub repair: Option<Repair>,
}

/// A fix that is safe to apply, for `--fix`.
pub type Repair = Box<dyn FnOnce() -> Result<String>>;

impl Finding {
    pub fn ok(message: impl Into<String>) -> Finding {
        Finding { check: "", level: Level::Ok, message: message.into(), fix: None, repair: None }
    }

    pub fn warn(message: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding { level: Level::Warn, fix: Some(fix.into()), ..Finding::ok(message) }
    }

    pub fn fail(message: impl Into<String>, fix: impl Into<String>) -> Finding {
        Finding { level: Level::Fail, fix: Some(fix.into()), ..Finding::ok(message) }
    }

    pub fn repaired_by(mut self, repair: impl FnOnce() -> Result<String> + 'static) -> Finding {
        self.repair = Some(Box::new(repair));
        self
    }
}

/// What the checks look at.
pub struct CheckInput {
    pub config: Result<Config>,
    pub url: String,
    pub config_dirs: Vec<PathBuf>,
    pub project: PathBuf,
}

/// A check: its name, and the function that looks.
type Check = (&'static str, fn(&CheckInput) -> Vec<Finding>);

/// In the order in which an event passes them: client, settings, hook, server, store.
const CHECKS: &[Check] = &[
    ("client", checks::client),
    ("configuration", checks::configuration),
    ("settings", checks::settings),
    ("hooks", checks::hooks),
    ("answering", checks::answering),
    ("disabled", checks::disabled),
    ("trust", checks::trust),
    ("test event", checks::test_event),
    ("server", checks::server),
    ("files", checks::files),
    ("spool", checks::spool),
    ("database", checks::database),
    ("events", checks::events),
    ("coverage", coverage::coverage),
    ("clients", clients::clients),
    ("machines", machines::machines),
    ("hub", hub::hub),
];

pub fn run(args: &DoctorArgs) -> Result<ExitCode> {
    let config = Config::load();
    let url = config.as_ref().map_or_else(|_| Config::default().server_url(), Config::server_url);
    let mut config_dirs = vec![headspace_platform::config::claude_dir()];
    config_dirs.extend(args.config_dirs.iter().cloned());
    let input = CheckInput { config, url, config_dirs, project: std::env::current_dir()? };
    let style = Style::for_stdout();
    let mut findings = Vec::new();
    for (name, look) in CHECKS {
        for mut finding in look(&input) {
            finding.check = name;
            if args.fix
                && let Some(repair) = finding.repair.take()
            {
                finding = repaired(finding, repair);
            }
            if !args.json {
                println!("{}", line(&finding, style, terminal_columns()));
            }
            findings.push(finding);
        }
    }
    let worst = findings.iter().map(|finding| finding.level).max().unwrap_or(Level::Ok);
    if args.json {
        let value = serde_json::json!({"ok": worst < Level::Fail, "checks": findings});
        println!("{}", text::json(&value, true));
    } else {
        println!("{}", hanging(&conclusion(&findings, worst, args.fix), 0, 0, terminal_columns()));
    }
    Ok(if worst == Level::Fail { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn repaired(finding: Finding, repair: Repair) -> Finding {
    match repair() {
        Ok(done) => Finding { check: finding.check, ..Finding::ok(format!("fixed: {done}")) },
        Err(error) => Finding { fix: Some(format!("could not be fixed by --fix: {error:#}")), ..finding },
    }
}

/// Columns of the level and the name of the check.
const HEAD: usize = 20;
/// On a narrower terminal, text that continues begins further left.
const NARROW: usize = 60;

fn line(finding: &Finding, style: Style, columns: Option<usize>) -> String {
    use headspace_core::model::Group;
    let (word, group) = match finding.level {
        Level::Ok => ("ok  ", Group::Done),
        Level::Warn => ("warn", Group::NeedsYou),
        Level::Fail => ("FAIL", Group::Error),
    };
    let indent = if columns.is_some_and(|columns| columns < NARROW) { 5 } else { HEAD };
    let message = hanging(&within(&finding.message, indent, columns), HEAD, indent, columns);
    let mut text = format!("{} {:<14} {message}", style.group(group, word), finding.check);
    if let Some(fix) = &finding.fix {
        let fix = hanging(fix, indent + 2, indent + 2, columns);
        text.push_str(&format!("\n{}{}", " ".repeat(indent), style.bold(&format!("▸ {fix}"))));
    }
    text
}

/// The message with the middle left out of words that are longer than a line, such as paths: the terminal would break them
/// anywhere. `--json` has them whole.
fn within(message: &str, indent: usize, columns: Option<usize>) -> String {
    let Some(columns) = columns else { return message.to_owned() };
    let words = message.split(' ').map(|word| fit_middle(word, columns.saturating_sub(indent)));
    words.collect::<Vec<_>>().join(" ")
}

fn conclusion(findings: &[Finding], worst: Level, fixing: bool) -> String {
    let fixable = findings.iter().filter(|finding| finding.repair.is_some()).count();
    let hint = if fixable > 0 && !fixing {
        format!("; `headspace doctor --fix` fixes {fixable} of them")
    } else {
        String::new()
    };
    match worst {
        Level::Ok => "Everything works.".into(),
        Level::Warn => format!("It works, with warnings{hint}."),
        Level::Fail => format!("Something is broken{hint}."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::columns::width;

    #[test]
    fn no_line_is_wider_than_the_terminal_whatever_path_is_in_it() {
        let path = format!("/srv/{}/end", "a-long-directory/".repeat(20));
        let finding =
            Finding::warn(format!("1 live, 0 reporting; silent: pid 7 in {path}, pid 8 in /x"), "type");
        for columns in [40, 59, 80, 120] {
            let text = line(&finding, Style::Plain, Some(columns));
            let widest = text.lines().map(width).max();
            assert!(widest <= Some(columns), "{columns}: {text}");
            assert!(text.contains("/srv/") && text.contains("/end,"), "{columns}: {text}");
        }
        assert!(line(&finding, Style::Plain, None).contains(&path), "not a terminal: whole");
    }
}
