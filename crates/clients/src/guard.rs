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
    let known =
        payload["tool_name"].as_str().and_then(|name| TOOLS.iter().find(|(theirs, _)| *theirs == name));
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
                "ask" => {
                    format!("{reason} (this client cannot ask: `headspace guard allow` lets it pass once)")
                }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn claudes(decision: &str) -> Value {
        json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision,
               "permissionDecisionReason": "why"}})
    }

    #[test]
    fn what_the_guard_says_has_the_clients_form() {
        assert_eq!(output(GuardForm::Claude, claudes("ask")), Some(claudes("ask")));
        assert_eq!(output(GuardForm::DenyOnly, claudes("deny")), Some(claudes("deny")));
        let asked = output(GuardForm::DenyOnly, claudes("ask")).unwrap();
        assert_eq!(asked["hookSpecificOutput"]["permissionDecision"], "deny", "it cannot ask");
        assert_eq!(output(GuardForm::DenyOnly, claudes("allow")), None);
        let top = output(GuardForm::TopLevel, claudes("deny")).unwrap();
        assert_eq!(
            (&top["permissionDecision"], &top["permissionDecisionReason"]),
            (&json!("deny"), &json!("why"))
        );
        assert_eq!(output(GuardForm::None, claudes("deny")), None);
    }

    #[test]
    fn a_tool_has_the_name_that_the_guard_knows() {
        for (theirs, ours) in
            [("run_shell_command", "Bash"), ("write_file", "Write"), ("Bash", "Bash"), ("x", "x")]
        {
            let object = json!({"tool_name": theirs, "tool_input": {"command": "ls"}}).to_string();
            let judged: Value = serde_json::from_slice(&payload(object.as_bytes())).unwrap();
            assert_eq!(
                (&judged["tool_name"], &judged["tool_input"]["command"]),
                (&json!(ours), &json!("ls"))
            );
        }
        assert_eq!(payload(b"not json"), b"not json");
    }
}
