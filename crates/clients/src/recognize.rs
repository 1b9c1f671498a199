//! Which client runs this hook, where the command does not say so: Copilot and Cursor run Claude's hooks too.

use crate::table::{CLIENTS, Environment};
use headspace_platform::config;

/// The part of a payload that matters here.
pub trait Payload {
    fn text(&self, field: &str) -> Option<String>;
}

/// The client other than Claude whose variables are set. This costs a few lookups in the environment and nothing else; the
/// payload is read only if there is a doubt.
pub fn foreign(payload: &impl Payload) -> Option<&'static str> {
    let suspect = CLIENTS.iter().find(|row| match row.environment {
        Environment::None => false,
        Environment::Has(name) => config::is_set(name),
        // Inherited by whatever the client starts, which has a session of its own.
        Environment::Session(name) => config::is_set(name) && config::env(name) == payload.text("session_id"),
    })?;
    // The environment is inherited; the place of the transcript is not.
    (!is_claudes(payload)).then_some(suspect.name)
}

fn is_claudes(payload: &impl Payload) -> bool {
    let Some(path) = payload.text("transcript_path") else { return false };
    std::path::Path::new(&path).starts_with(config::claude_dir()) || path.contains("/.claude/projects/")
}
