//! `headspace context`: the context files a session would get.

use anyhow::Result;
use clap::Subcommand;
use headspace_core::text;
use headspace_notify::context::Context;
use headspace_platform::config;
use headspace_platform::config::Config;
use headspace_platform::usage::Usage;
use serde_json::json;
use std::path::PathBuf;
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
    let role = role.clone().or_else(|| config::env(config::var::SESSION_ROLE));
    let found = Context::gather(&config, &cwd, role.as_deref());
    if *json {
        let files: Vec<_> = found
            .files
            .iter()
            .map(|file| json!({"label": file.label, "path": file.path.to_string_lossy()}))
            .collect();
        let value = json!({"files": files, "text": found.text()});
        println!("{}", text::json(&value, true));
    } else {
        match found.text() {
            Some(text) => println!("{}", text::plain_lines(&text)),
            None => eprintln!(
                "headspace: no context files for this session: list them as `context.files` in {}",
                config::config_file().display()
            ),
        }
    }
    Ok(ExitCode::SUCCESS)
}
