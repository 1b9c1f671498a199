//! The known match values of an event: what a matcher can be written for.

use crate::tools;

const REASONS_TO_START: &[&str] = &["startup", "resume", "clear", "compact", "fork"];
const REASONS_TO_END: &[&str] =
    &["clear", "resume", "logout", "prompt_input_exit", "bypass_permissions_disabled", "other"];
const COMPACTIONS: &[&str] = &["manual", "auto"];

/// Events and their values. New versions of the client add values, so an unknown one is only worth a hint.
const VALUES: &[(&str, &[&str])] = &[
    ("SessionStart", REASONS_TO_START),
    ("SessionEnd", REASONS_TO_END),
    ("Setup", &["init", "maintenance"]),
    ("PreCompact", COMPACTIONS),
    ("PostCompact", COMPACTIONS),
    ("InstructionsLoaded", &["session_start", "nested_traversal", "path_glob_match", "include", "compact"]),
    ("ConfigChange", &["user_settings", "project_settings", "local_settings", "policy_settings", "skills"]),
    ("DirectoryAdded", &["slash_command", "register_repo_root"]),
    (
        "Notification",
        &[
            "permission_prompt",
            "idle_prompt",
            "auth_success",
            "elicitation_dialog",
            "elicitation_url_dialog",
            "elicitation_complete",
            "elicitation_response",
            "agent_needs_input",
            "agent_completed",
            "worker_permission_prompt",
            "push_notification",
            "computer_use_enter",
            "computer_use_exit",
            "quota_auto_resume_fired",
            "quota_auto_resume_stale",
            "quota_auto_resume_disabled",
            "model_refusal_fallback",
            "auth_storage_failure",
            "plugin_notification",
        ],
    ),
    (
        "StopFailure",
        &[
            "rate_limit",
            "overloaded",
            "authentication_failed",
            "oauth_org_not_allowed",
            "account_on_hold",
            "verification_required",
            "billing_error",
            "invalid_request",
            "model_not_found",
            "server_error",
            "max_output_tokens",
            "cloud_credential_error",
            "unknown",
        ],
    ),
];

/// The known values of an event, if it has a list of them.
pub fn of(event: &str, is_tool_event: bool) -> Option<&'static [&'static str]> {
    if is_tool_event {
        return Some(tools::KNOWN);
    }
    VALUES.iter().find(|(name, _)| *name == event).map(|(_, values)| *values)
}
