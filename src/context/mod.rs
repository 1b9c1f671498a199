//! Context for the model: files at session start, the role's extras, and warnings before the window is full.

pub mod files;
pub mod glob;
pub mod roles;
pub mod warnings;

use crate::config::{self, Config};
use crate::terminal;
use anyhow::Result;
use clap::Subcommand;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Show what context files a session would get
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  headspace context show --role reviewer")]
pub struct ContextArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Print the text that SessionStart would add, or as JSON the files it is made of
    Show {
        /// Role whose `auto_include` is added (default: CLAUDE_SESSION_ROLE)
        #[arg(long)]
        role: Option<String>,
        /// Directory of the session (default: this one)
        #[arg(long, value_name = "DIR")]
        project: Option<PathBuf>,
        #[arg(long)]
        json: bool,
    },
}

pub fn run(args: &ContextArgs) -> Result<ExitCode> {
    let Verb::Show { role, project, json } = &args.verb;
    let config = Config::load()?;
    let cwd = match project {
        Some(dir) => dir.clone(),
        None => std::env::current_dir()?,
    };
    let role = role.clone().or_else(|| config::env(config::var::SESSION_ROLE));
    let found = Context::gather(&config, &cwd, role.as_deref());
    if *json {
        let files: Vec<_> =
            found.files.iter().map(|file| json!({"label": file.label, "path": file.path})).collect();
        let value = json!({"files": files, "text": found.text()});
        println!("{}", terminal::json(&value, true));
    } else {
        match found.text() {
            Some(text) => println!("{}", terminal::plain_lines(&text)),
            None => eprintln!(
                "headspace: no context files for this session; `context.files` in {} names them",
                config::config_file().display()
            ),
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The files a session gets, in order.
pub struct Context {
    pub files: Vec<files::Found>,
}

impl Context {
    /// Finds the configured files and the role's extras; what is missing or out of bounds is left out silently.
    pub fn gather(config: &Config, cwd: &Path, role: Option<&str>) -> Context {
        let place = files::Place::of(cwd);
        let mut search = files::Search::new(&place);
        for entry in &config.context.files {
            search.add(entry, files::Asker::User);
        }
        if let (Some(dir), Some(role)) = (&config.context.roles_dir, role) {
            let (entries, asker) = roles::auto_include(&place, dir, role);
            for entry in entries {
                search.add(&entry, asker);
            }
        }
        Context { files: search.found }
    }

    /// The text for the model, or `None` if there is nothing to tell.
    pub fn text(&self) -> Option<String> {
        files::render(&self.files)
    }
}

/// What `notify` prints at SessionStart; needs no server.
pub fn session_start(config: &Config, cwd: &Path) -> Option<Value> {
    if config.context.files.is_empty() && config.context.roles_dir.is_none() {
        return None;
    }
    let role = config::env(config::var::SESSION_ROLE);
    let text = Context::gather(config, cwd, role.as_deref()).text()?;
    Some(json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}}))
}
