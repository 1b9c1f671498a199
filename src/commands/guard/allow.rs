//! `headspace guard allow`: turns a refusal into the line of configuration that lifts it. Only a person at a terminal
//! may use it, never an agent, whatever it carries.

use crate::commands::config_edit;
use crate::commands::install::diff;
use crate::view::person;
use anyhow::{Context, Result, bail};
use headspace_core::text;
use headspace_guard::{Decision, GuardEnvironment, allow_once, judge_with_steps};
use headspace_platform::config;
use headspace_platform::config::Config;
use headspace_platform::git;
use headspace_platform::usage::Usage;
use jsonc_parser::cst::{CstInputValue, CstObject};
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::process::ExitCode;

#[derive(Debug, clap::Args)]
pub struct AllowArgs {
    /// Allow one call, within ten minutes (the default)
    #[arg(long)]
    once: bool,
    /// Allow it in the project around the current directory
    #[arg(long, conflicts_with = "once")]
    project: bool,
    /// Allow it everywhere
    #[arg(long, conflicts_with_all = ["once", "project"])]
    user: bool,
    /// The command, as the guard refused it; a final * stands for any further words
    #[arg(value_name = "COMMAND")]
    command: String,
}

pub fn run(args: &AllowArgs) -> Result<ExitCode> {
    let command = args.command.trim();
    if command.is_empty() || command.trim_matches(['*', ' ']).is_empty() {
        return Err(Usage("could not allow that: it does not name a command".into()).into());
    }
    person::require("allow that")?;
    if !(std::io::stdin().is_terminal() && std::io::stdout().is_terminal()) {
        bail!(
            "could not allow that: only a person at a terminal may (standard input and output must be one)"
        );
    }
    say_what_it_would_do(command);
    let config_file = config::config_file();
    let (path, before, after) = if args.project || args.user {
        let before = match headspace_platform::files::read_text(&config_file) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
            Err(error) => {
                return Err(error).with_context(|| format!("could not read {}", config_file.display()));
            }
        };
        let here = std::env::current_dir().context("could not find the current directory")?;
        let project =
            args.project.then(|| git::root_of(&here).unwrap_or(&here).to_string_lossy().into_owned());
        let after = with_allowed(&before, project.as_deref(), command)?;
        (config_file, before, after)
    } else {
        println!("For one call, within ten minutes:\n");
        let (path, text) = allow_once::allow(command, &config::state_dir());
        (path, String::new(), text)
    };
    let name = path.display().to_string();
    let shown = diff::unified((&name, &before), (&name, &after));
    if shown.is_empty() {
        println!("{} already allows it.", text::strip_control(&name));
        return Ok(ExitCode::SUCCESS);
    }
    for line in shown.lines() {
        println!("{}", text::strip_control(line));
    }
    print!("\nWrite this? [y/N] ");
    std::io::stdout().flush().context("could not print")?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).context("could not read the answer")?;
    if !matches!(answer.trim(), "y" | "Y" | "yes") {
        println!("Nothing was written.");
        return Ok(ExitCode::FAILURE);
    }
    config_edit::write(&path, &after)?;
    println!("Allowed, starting with the next call.");
    Ok(ExitCode::SUCCESS)
}

/// A permission for something that was never stopped is probably a typo.
fn say_what_it_would_do(command: &str) {
    let environment = GuardEnvironment::here(&Config::load_for_guard().0);
    let payload = json!({"tool_name": "Bash", "tool_input": {"command": command}});
    let (verdict, _) = judge_with_steps(&payload, &environment, false);
    match (verdict.decision, verdict.rule) {
        (Decision::Allow, _) => {
            println!("The guard does not stop this command as it is; check the spelling.\n")
        }
        (decision, rule) => {
            println!("Now: {} ({})\n", decision.as_str(), text::strip_control(&rule.unwrap_or_default()));
        }
    }
}

/// The configuration with one more command in `guard.allow`, in general or for a project; nothing else changes.
pub fn with_allowed(text: &str, project: Option<&str>, command: &str) -> Result<String> {
    edited(text, |guard| {
        let section = match project {
            Some(project) => guard.object_value_or_set("projects").object_value_or_set(project),
            None => guard.clone(),
        };
        let list = section.array_value_or_set("allow");
        let there = list.elements().iter().any(|element| {
            element.as_string_lit().and_then(|text| text.decoded_value().ok()).as_deref() == Some(command)
        });
        if !there {
            list.append(CstInputValue::String(command.to_owned()));
        }
    })
}

/// The configuration with another profile.
pub fn with_profile(text: &str, profile: &str) -> Result<String> {
    edited(text, |guard| {
        let value = CstInputValue::String(profile.to_owned());
        match guard.get("profile") {
            Some(property) => property.set_value(value),
            None => {
                guard.append("profile", value);
            }
        }
    })
}

fn edited(text: &str, change: impl FnOnce(&CstObject)) -> Result<String> {
    config_edit::edited(text, |root| change(&root.object_value_or_set("guard")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adding_a_command_changes_nothing_else() {
        let text = "// mine\n{\n  \"port\": 5055, // here\n  \"guard\": {\n    \"rules\": { \"git\": \"ask\" }\n  }\n}\n";
        let after = with_allowed(text, None, "pkill -f vite").unwrap();
        assert!(after.contains("// mine") && after.contains("// here") && after.contains("\"git\": \"ask\""));
        assert_eq!(Config::parse(&after).unwrap().guard.allow, ["pkill -f vite"]);
        assert_eq!(with_allowed(&after, None, "pkill -f vite").unwrap(), after);
        let project = with_allowed(&after, Some("/srv/app"), "say \"hi\"").unwrap();
        let guard = Config::parse(&project).unwrap().guard;
        assert_eq!(guard.projects["/srv/app"].allow, ["say \"hi\""]);
        assert_eq!(Config::parse(&with_allowed("", None, "x y").unwrap()).unwrap().guard.allow, ["x y"]);
        assert!(with_allowed("{ broken", None, "x").is_err());
        let quiet = with_profile(&project, "quiet").unwrap();
        assert_eq!(Config::parse(&quiet).unwrap().guard.profile.as_deref(), Some("quiet"));
        assert_eq!(
            Config::parse(&with_profile(&quiet, "strict").unwrap()).unwrap().guard.profile.as_deref(),
            Some("strict")
        );
    }
}
