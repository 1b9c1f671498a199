//! The events Claude Code fires: their names, slugs, and what else is known about each. Begin with [`EVENTS`].

use crate::model::observed;

/// One event the client fires.
#[derive(Debug)]
pub struct Spec {
    pub name: &'static str,
    pub slug: &'static str,
    /// Installed unless the user chooses otherwise. The others replace git's behavior, or cost time and bring nothing.
    pub subscribed: bool,
    /// The payload field a matcher is compared with; `None`: a matcher is ignored.
    pub match_field: Option<&'static str>,
    /// Exit code 2 of a hook stops what the client was about to do.
    pub exit_2_blocks: bool,
}

const fn spec(
    name: &'static str,
    slug: &'static str,
    subscribed: bool,
    match_field: Option<&'static str>,
    exit_2_blocks: bool,
) -> Spec {
    Spec { name, slug, subscribed, match_field, exit_2_blocks }
}

/// All 33, in the client's own order.
pub const EVENTS: [Spec; 33] = [
    spec("PreToolUse", "pre-tool-use", true, Some("tool_name"), true),
    spec("PostToolUse", "post-tool-use", true, Some("tool_name"), false),
    spec("PostToolUseFailure", "post-tool-use-failure", true, Some("tool_name"), false),
    spec("PostToolBatch", "post-tool-batch", true, None, true),
    spec("Notification", "notification", true, Some("notification_type"), false),
    spec("UserPromptSubmit", "user-prompt-submit", true, None, true),
    spec("UserPromptExpansion", "user-prompt-expansion", true, Some("command_name"), true),
    spec("SessionStart", "session-start", true, Some("source"), false),
    spec("SessionEnd", "session-end", true, Some("reason"), false),
    spec("Stop", "stop", true, None, true),
    spec("StopFailure", "stop-failure", true, Some("error"), false),
    spec("SubagentStart", "subagent-start", true, Some("agent_type"), false),
    spec("SubagentStop", "subagent-stop", true, Some("agent_type"), true),
    spec("PreCompact", "pre-compact", true, Some("trigger"), true),
    spec("PostCompact", "post-compact", true, Some("trigger"), false),
    spec("PreModelSwitch", "pre-model-switch", true, Some("to_model"), true),
    spec("PostModelSwitch", "post-model-switch", true, Some("to_model"), false),
    spec("PermissionRequest", "permission-request", true, Some("tool_name"), false),
    spec("PermissionDenied", "permission-denied", true, Some("tool_name"), false),
    spec("Setup", "setup", true, Some("trigger"), false),
    spec("TeammateIdle", "teammate-idle", true, None, true),
    spec("TaskCreated", "task-created", true, None, true),
    spec("TaskCompleted", "task-completed", true, None, true),
    spec("Elicitation", "elicitation", true, Some("mcp_server_name"), true),
    spec("ElicitationResult", "elicitation-result", true, Some("mcp_server_name"), false),
    spec("ConfigChange", "config-change", true, Some("source"), true),
    spec("WorktreeCreate", "worktree-create", false, None, false),
    spec("WorktreeRemove", "worktree-remove", false, None, false),
    spec("InstructionsLoaded", "instructions-loaded", false, Some("load_reason"), false),
    spec("CwdChanged", "cwd-changed", true, None, false),
    spec("FileChanged", "file-changed", false, Some("file_path"), false),
    spec("DirectoryAdded", "directory-added", true, Some("source"), false),
    spec("MessageDisplay", "message-display", false, None, false),
];

/// No event has a longer name than this.
const MAX_EVENT_NAME: usize = 200;

/// Whether the event's name is short enough to be real. The hook sends, and the server accepts, only such events.
pub fn fits(slug: &str) -> bool {
    slug.bytes().filter(|byte| *byte != b'-').count() <= MAX_EVENT_NAME
}

pub fn by_name(name: &str) -> Option<&'static Spec> {
    EVENTS.iter().find(|spec| spec.name == name)
}

pub fn by_slug(slug: &str) -> Option<&'static Spec> {
    EVENTS.iter().find(|spec| spec.slug == slug)
}

/// What the hook and the status line post of what headspace itself records.
const POSTED: [&str; 2] = [observed::STATUS_LINE, observed::GUARD];

/// The name under which a posted event is stored. What only the server can know is never posted: such a name is a hook's
/// that happens to be called the same, and nothing follows from it.
pub fn posted_as(slug: &str) -> String {
    if let Some(spec) = by_slug(slug) {
        return spec.name.to_owned();
    }
    let name = name_of(slug);
    match observed::NAMES.contains(&name.as_str()) && !POSTED.contains(&name.as_str()) {
        true => name + "Hook",
        false => name,
    }
}

/// `PostToolUseFailure` ▶ `post-tool-use-failure`, also for names this build does not know.
pub fn slug_of(name: &str) -> String {
    let mut slug = String::with_capacity(name.len() + 4);
    for (i, c) in name.chars().enumerate() {
        if c.is_ascii_uppercase() {
            if i > 0 {
                slug.push('-');
            }
            slug.push(c.to_ascii_lowercase());
        } else {
            slug.push(c);
        }
    }
    slug
}

/// Every name that this build knows: what the client fires, then what headspace itself records ([`observed`]).
pub fn known() -> impl Iterator<Item = &'static str> {
    EVENTS.iter().map(|spec| spec.name).chain(observed::NAMES)
}

/// `post-tool-use-failure` ▶ `PostToolUseFailure`, also for slugs this build does not know.
pub fn name_of(slug: &str) -> String {
    slug.split('-')
        .flat_map(|part| {
            let mut chars = part.chars();
            chars.next().map(|c| c.to_ascii_uppercase()).into_iter().chain(chars).collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_itself_observes_is_not_posted() {
        for name in observed::NAMES {
            for slug in [slug_of(name), name.to_owned()] {
                let stored = posted_as(&slug);
                let is_observed = observed::NAMES.contains(&stored.as_str());
                assert_eq!(is_observed, POSTED.contains(&name), "{slug} is stored as {stored}");
            }
        }
        assert_eq!(posted_as("post-tool-use"), "PostToolUse");
        assert_eq!(posted_as("brand-new"), "BrandNew");
    }

    #[test]
    fn every_slug_is_the_kebab_case_of_its_name() {
        for spec in &EVENTS {
            assert_eq!(slug_of(spec.name), spec.slug);
            assert_eq!(name_of(spec.slug), spec.name);
        }
    }

    #[test]
    fn a_name_is_known_once_and_fits_the_limit() {
        let names: Vec<&str> = known().collect();
        for (at, name) in names.iter().enumerate() {
            assert!(fits(&slug_of(name)), "{name}");
            assert!(!names[..at].contains(name), "{name} is declared twice");
        }
        assert!(names.contains(&observed::PROCESS_FOUND) && names.contains(&observed::ALLOWED));
    }

    #[test]
    fn the_length_limit_is_the_same_for_every_spelling_of_a_name() {
        for (name, expected) in [
            ("Stop".to_owned(), true),
            ("X".repeat(MAX_EVENT_NAME), true),
            ("x".repeat(MAX_EVENT_NAME), true),
            ("X".repeat(MAX_EVENT_NAME + 1), false),
            ("x".repeat(MAX_EVENT_NAME + 1), false),
        ] {
            assert_eq!(fits(&slug_of(&name)), expected, "{} bytes", name.len());
        }
    }
}
