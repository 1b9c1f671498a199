//! What passes between a client and the guard, which knows Claude's tools and speaks Claude's form.

use crate::table::GuardForm;
use serde_json::{Value, json};

/// What clients call tools that the guard knows.
const TOOLS: &[(&str, &str)] = &[
    ("bash", "Bash"),
    ("shell", "Bash"),
    ("exec_command", "Bash"),
    ("run_shell_command", "Bash"),
    ("write_file", "Write"),
    ("create", "Write"),
    ("edit", "Edit"),
    ("replace", "Edit"),
    ("read_file", "Read"),
    ("view", "Read"),
];

/// The payload of a tool call with the tool's name as the guard knows it; as it is, if it cannot be read.
pub fn payload(object: &[u8]) -> Vec<u8> {
    let Ok(mut payload) = serde_json::from_slice::<Value>(object) else { return object.to_vec() };
    let known = payload["tool_name"].as_str().and_then(|name| TOOLS.iter().find(|(theirs, _)| *theirs == name));
    if let Some((_, ours)) = known {
        payload["tool_name"] = json!(ours);
    }
    serde_json::to_vec(&payload).unwrap_or_else(|_| object.to_vec())
}

/// What the guard says in Claude's form ▶ the client's.
pub fn output(form: GuardForm, mut claudes: Value) -> Option<Value> {
    let specific = claudes.get("hookSpecificOutput").cloned().unwrap_or_default();
    let decision = specific["permissionDecision"].as_str().unwrap_or_default().to_owned();
    match form {
        GuardForm::Claude => Some(claudes),
        GuardForm::None => None,
        GuardForm::DenyOnly => {
            // An unknown key or value would make the client run the tool.
            let reason = specific["permissionDecisionReason"].as_str().unwrap_or("headspace guard");
            let reason = match decision.as_str() {
                "deny" => reason.to_owned(),
                "ask" => format!("{reason} (this client cannot ask: `headspace guard allow` lets it pass once)"),
                _ => return None,
            };
            Some(json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny",
                        "permissionDecisionReason": reason}}))
        }
        GuardForm::TopLevel => {
            claudes["permissionDecision"] = json!(decision);
            claudes["permissionDecisionReason"] = specific["permissionDecisionReason"].clone();
            Some(claudes)
        }
    }
}
