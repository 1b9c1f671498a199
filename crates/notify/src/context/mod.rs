//! Context for the model: the files a session gets at its start, and those of its role. Begin with [`session_start`];
//! [`files`] decides what may be read.

pub mod files;
pub mod glob;
pub mod roles;

use headspace_platform::config::{self, Config};
use serde_json::{Value, json};
use std::path::Path;

/// The files a session gets, in order.
pub struct Context {
    pub files: Vec<files::Found>,
    /// Labels of files that are not loaded because they are hard links.
    pub hard_links: Vec<String>,
}

impl Context {
    /// Finds the configured files and the role's extras; what is missing or out of bounds is left out silently.
    pub fn gather(config: &Config, cwd: &Path, role: Option<&str>) -> Context {
        let roots = files::ContextRoots::of(cwd);
        let mut search = files::Search::new(&roots);
        for entry in &config.context.files {
            search.add(entry, files::Asker::User);
        }
        let role = config.context.roles_dir.as_ref().zip(role);
        match role.map(|(dir, name)| roles::find(&roots, dir, name)) {
            Some(Ok(role)) => {
                // A glob of its own may hit it, too.
                search.leave_out(role.file);
                for entry in &role.auto_include {
                    search.add(entry, role.asker);
                }
            }
            Some(Err(files::Refusal::HardLink(label))) => search.leave_out_link(label),
            Some(Err(files::Refusal::Silent)) | None => {}
        }
        Context { files: search.found, hard_links: search.hard_links }
    }

    /// The text for the model, or `None` if there is nothing to say.
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
