//! What passes between a client and the guard, which knows Claude's tools and speaks Claude's form.

use crate::table::GuardForm;
use headspace_core::model::hints;
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

/// A patch in Codex's own form: what begins it, and the lines that name a file.
const PATCH: &str = "*** Begin Patch";
const PATCHED_FILES: [&str; 4] =
    ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// The payload of a tool call with the tool's name as the guard knows it; as it is, if it cannot be read.
pub fn payload(object: &[u8]) -> Vec<u8> {
    let Ok(mut payload) = serde_json::from_slice::<Value>(object) else { return object.to_vec() };
    let command = payload["tool_input"]["command"].as_str().unwrap_or_default();
    let files = patched_files(command);
    if !files.is_empty() {
        // By itself the patch is the whole call, and no command; in a shell's command it is a program's input.
        if command.trim_start().starts_with(PATCH) && payload["tool_name"] == "apply_patch" {
            payload["tool_name"] = json!("Edit");
            payload["tool_input"] = json!({});
        }
        payload[hints::WRITTEN_FILES] = json!(files);
    }
    let known =
        payload["tool_name"].as_str().and_then(|name| TOOLS.iter().find(|(theirs, _)| *theirs == name));
    if let Some((_, ours)) = known {
        payload["tool_name"] = json!(ours);
    }
    serde_json::to_vec(&payload).unwrap_or_else(|_| object.to_vec())
}

/// The files that a patch writes, moves or removes.
fn patched_files(command: &str) -> Vec<String> {
    let Some((_, patch)) = command.split_once(PATCH) else { return Vec::new() };
    let file = |line: &str| {
        let line = line.trim_start();
        PATCHED_FILES.iter().find_map(|begin| line.strip_prefix(begin)).map(|path| path.trim().to_owned())
    };
    patch.lines().filter_map(file).filter(|path| !path.is_empty()).collect()
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
    fn a_patch_is_judged_by_the_files_it_names() {
        let patch = "*** Begin Patch\n*** Add File: a b.txt\n+*** x\n*** Update File: c\r\n*** Move to: ../d\n\
                     *** Delete File: e\n*** End Patch\n";
        let files = json!(["a b.txt", "c", "../d", "e"]);
        for (tool, command, name) in [
            ("apply_patch", patch.to_owned(), "Edit"),
            ("Bash", format!("apply_patch <<'EOF'\n{patch}EOF"), "Bash"),
            ("Bash", format!("cd src && apply_patch \"{patch}\""), "Bash"),
        ] {
            let object = json!({"tool_name": tool, "tool_input": {"command": command}}).to_string();
            let judged: Value = serde_json::from_slice(&payload(object.as_bytes())).unwrap();
            assert_eq!((&judged["tool_name"], &judged["written_files"]), (&json!(name), &files), "{command}");
            // A shell's command is still read as one.
            assert_eq!(judged["tool_input"].get("command").is_some(), name == "Bash", "{command}");
        }
        for no_patch in ["echo '*** Add File: x'", "*** Begin Patch", "*** Begin Patch\n*** End Patch"] {
            assert_eq!(patched_files(no_patch), Vec::<String>::new(), "{no_patch}");
        }
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
