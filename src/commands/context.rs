//! `headspace context`: the context files a session would get.

use anyhow::Result;
use clap::Subcommand;
use headspace_core::text;
use headspace_notify::context::files::{ContextRoots, Refusal};
use headspace_notify::context::{Context, roles};
use headspace_platform::config;
use headspace_platform::config::Config;
use headspace_platform::usage::Usage;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Show which context files a session would get
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  headspace context show --role reviewer")]
pub struct ContextArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print the text that SessionStart would add; with --json also the files it comes from
    #[command(
        after_help = "Examples:\n  headspace context show\n  headspace context show --role reviewer --project ~/src/app --json"
    )]
    Show {
        /// Role whose `auto_include` is added (default: CLAUDE_SESSION_ROLE)
        #[arg(long)]
        role: Option<String>,
        /// Directory of the session (default: the current one)
        #[arg(long, value_name = "DIR")]
        project: Option<PathBuf>,
        /// Print as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Why such a file is left out.
const HARD_LINK: &str = "it is a hard link: its other name may be outside of the project";

pub fn run(args: &ContextArgs) -> Result<ExitCode> {
    let Verb::Show { role, project, json } = &args.verb;
    let config = Config::load()?;
    let cwd = match project {
        Some(dir) if !dir.is_dir() => {
            return Err(
                Usage(format!("could not use the project {}: it is not a directory", dir.display())).into()
            );
        }
        Some(dir) => dir.clone(),
        None => std::env::current_dir()?,
    };
    // An empty one is none: it comes from a script whose variable is empty.
    if let Some(role) = role.as_deref().filter(|role| !role.is_empty()) {
        check_role(&config, &cwd, role)?;
    }
    let role = role.clone().or_else(|| config::env(config::var::SESSION_ROLE));
    let found = Context::gather(&config, &cwd, role.as_deref());
    if *json {
        let files: Vec<_> = found
            .files
            .iter()
            .map(|file| json!({"label": file.label, "path": file.path.to_string_lossy()}))
            .collect();
        let left_out: Vec<_> =
            found.hard_links.iter().map(|label| json!({"label": label, "why": HARD_LINK})).collect();
        let value = json!({"files": files, "left_out": left_out, "text": found.text()});
        println!("{}", text::json(&value, true));
    } else {
        for label in &found.hard_links {
            eprintln!("headspace: note: {label} is left out: {HARD_LINK}");
        }
        match found.text() {
            Some(text) => println!("{}", text::plain_lines(&text)),
            None if !found.hard_links.is_empty() => {}
            None => eprintln!(
                "headspace: no context files for this session: list them as `context.files` in {}",
                config::config_file().display()
            ),
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Refuses a role that has no file: a session would start without it and say nothing.
fn check_role(config: &Config, cwd: &Path, role: &str) -> Result<()> {
    let Some(dir) = &config.context.roles_dir else {
        let file = config::config_file();
        let why =
            format!("there are no roles: name their directory as `context.roles_dir` in {}", file.display());
        return Err(Usage(format!("could not use the role {role:?}: {why}")).into());
    };
    let roots = ContextRoots::of(cwd);
    // Any other refusal is told with the files that are left out.
    if !matches!(roles::find(&roots, dir, role), Err(Refusal::Silent)) {
        return Ok(());
    }
    let dir = roots.absolute(dir);
    Err(Usage(format!(
        "could not use the role {role:?}: {} has no {role}.md that can be read",
        dir.display()
    ))
    .into())
}
