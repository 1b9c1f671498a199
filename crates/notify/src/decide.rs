//! What the hook prints: the one place where local decisions and the server's texts become one JSON object.
//!
//! A hook's output can stop the user's work, so it has only what the client accepts for this event and what its source may
//! say. The server may give context, a message to the user and a terminal title or bell, and exactly one decision: the stop
//! that a person asked for, which denies this call and ends the turn. Every other decision comes from this process alone;
//! none is ever "allow".

use crate::caller::Caller;
use crate::guard_form;
use crate::stdin::Payload;
use headspace_core::model::{observed, stop_output};
use headspace_core::text::plain_lines;
use headspace_guard as guard;
use headspace_guard::Verdict;
use headspace_platform::config::Config;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// Events whose `additionalContext` the client passes to the model without continuing because of it (at Stop and
/// SubagentStop it would start another round).
const TAKES_CONTEXT: [&str; 11] = [
    "SessionStart",
    "Setup",
    "UserPromptSubmit",
    "UserPromptExpansion",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PostToolBatch",
    "PostModelSwitch",
    "Notification",
    "SubagentStart",
];

/// Events for which the client reads no output at all.
const NO_OUTPUT_READ: [&str; 3] = ["SessionEnd", "StopFailure", "InstructionsLoaded"];

/// How many characters the client accepts; it refuses longer texts.
const MAX_CONTEXT_CHARS: usize = 8000;
const MAX_MESSAGE_CHARS: usize = 4000;

/// The guard's verdict on a tool call. It is printed first and alone, so that it reaches the client even if everything
/// after it fails.
pub fn verdict(event: &str, caller: &Caller, payload: &Payload, config: &Config) -> Option<Verdict> {
    if event != "PreToolUse" || !config.guard.enabled {
        return None;
    }
    let (_, render) = guard_form::rendered(caller.guard_form());
    let bytes = caller.guarded(payload)?;
    let verdict = headspace_guard::deadline::judge(&bytes, guard::GuardEnvironment::here(config), render);
    let stands = verdict.decision != guard::Decision::Allow
        && !guard::allow_once::take(&bytes, &headspace_platform::config::state_dir());
    stands.then_some(verdict)
}

/// A verdict as an event of its own, with enough of the tool call to recognize it.
pub fn report(payload: &[u8], verdict: &Verdict) -> Option<Vec<u8>> {
    let mut payload = guard::payload::read(payload)?;
    shorten(&mut payload);
    let mut report = json!({
        "hook_event_name": observed::GUARD,
        "verdict": verdict.decision.as_str(), "rule": verdict.rule, "reason": verdict.reason,
    });
    for name in [
        "session_id",
        "cwd",
        "transcript_path",
        "sessionId",
        "parent_agent_id",
        "agent_id",
        "agent_type",
        "tool_name",
        "tool_use_id",
        "tool_input",
    ] {
        if let Some(value) = payload.get(name) {
            report[name] = value.clone();
        }
    }
    serde_json::to_vec(&report).ok()
}

/// Longer texts are cut in the report: this much is enough to recognize the call.
const MAX_REPORTED_TEXT: usize = 8 << 10;

fn shorten(value: &mut Value) {
    match value {
        Value::String(text) if text.len() > MAX_REPORTED_TEXT => {
            let end = (0..=MAX_REPORTED_TEXT).rev().find(|at| text.is_char_boundary(*at));
            text.truncate(end.unwrap_or(0));
            text.push('…');
        }
        Value::Array(items) => items.iter_mut().for_each(shorten),
        Value::Object(fields) => fields.values_mut().for_each(shorten),
        _ => {}
    }
}

/// What else this process prints, with or without a server: context files at SessionStart. Called after the event was
/// delivered or spooled, because reading files can be slow.
pub fn words(event: &str, payload: &Payload, config: &Config) -> Option<Value> {
    match event {
        "SessionStart" => crate::context::session_start(config, payload.text("cwd")?.as_ref()),
        _ => None,
    }
}

/// Combines the output of this process and that of the server.
pub fn combine(event: &str, local: Option<Value>, server: Option<Value>) -> Option<Value> {
    let server = server.filter(|output| server_may_say(event, output));
    let mut output = match (local, server) {
        (Some(Value::Object(mut ours)), Some(Value::Object(theirs))) => {
            join(&mut ours, theirs);
            Some(Value::Object(ours))
        }
        (local, server) => local.or(server),
    };
    output.iter_mut().for_each(strip);
    output
}

/// Removes control characters from all texts, because they end up on a terminal or in a model's context. A
/// `terminalSequence` consists of them and was checked.
fn strip(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(plain) = plain_lines(text) {
                *text = plain;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        Value::Object(fields) => {
            fields
                .iter_mut()
                .filter(|(name, _)| *name != "terminalSequence")
                .for_each(|(_, value)| strip(value));
        }
        _ => {}
    }
}

/// True if every part of `output` is known for `event` and harmless.
fn server_may_say(event: &str, output: &Value) -> bool {
    if event == "PreToolUse" && *output == stop_output() {
        return true;
    }
    let Value::Object(members) = output else { return false };
    let text = |value: &Value, longest| value.as_str().is_some_and(|text| text.chars().count() <= longest);
    !NO_OUTPUT_READ.contains(&event)
        && !members.is_empty()
        && members.iter().all(|(name, value)| match name.as_str() {
            "systemMessage" => text(value, MAX_MESSAGE_CHARS),
            "suppressOutput" => value.is_boolean(),
            "terminalSequence" => value.as_str().is_some_and(is_title_or_bell),
            "hookSpecificOutput" => {
                TAKES_CONTEXT.contains(&event)
                    && value.as_object().is_some_and(|specific| {
                        specific.iter().all(|(name, value)| match name.as_str() {
                            "hookEventName" => value == event,
                            "additionalContext" => text(value, MAX_CONTEXT_CHARS),
                            _ => false,
                        }) && specific.len() == 2
                    })
            }
            _ => false,
        })
}

/// The client passes on OSC 0, 1, 2 (titles), 9, 99, 777 (notifications) and the bell; so do we, and nothing
/// that could hide in their text.
fn is_title_or_bell(mut text: &str) -> bool {
    while !text.is_empty() {
        text = match text.strip_prefix('\x07') {
            Some(rest) => rest,
            None => match operating_system_command(text) {
                Some(rest) => rest,
                None => return false,
            },
        };
    }
    true
}

fn operating_system_command(text: &str) -> Option<&str> {
    let (code, rest) = text.strip_prefix("\x1b]")?.split_once(';')?;
    let end = rest.find(char::is_control)?;
    let rest = rest[end..].strip_prefix('\x07').or_else(|| rest[end..].strip_prefix("\x1b\\"))?;
    ["0", "1", "2", "9", "99", "777"].contains(&code).then_some(rest)
}

/// Adds the server's output to ours. Texts are joined; anything else that both have stays as ours.
fn join(ours: &mut Map<String, Value>, theirs: Map<String, Value>) {
    for (name, value) in theirs {
        match (ours.get_mut(&name), value) {
            (Some(Value::Object(mine)), Value::Object(yours)) => join(mine, yours),
            (Some(Value::String(mine)), Value::String(yours))
                if name == "additionalContext" || name == "systemMessage" =>
            {
                let longest = if name == "systemMessage" { MAX_MESSAGE_CHARS } else { MAX_CONTEXT_CHARS };
                if mine.chars().count() + 2 + yours.chars().count() <= longest {
                    mine.push_str("\n\n");
                    mine.push_str(&yours);
                }
            }
            (Some(_), _) => {}
            (None, value) => {
                ours.insert(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(event: &str, text: &str) -> Value {
        json!({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
    }

    fn changed(mut output: Value, member: &str, value: Value) -> Value {
        output[member] = value;
        output
    }

    #[test]
    fn the_server_says_only_what_the_client_knows_for_the_event() {
        for (event, output, printed) in [
            ("SessionStart", context("SessionStart", "x"), true),
            ("UserPromptSubmit", context("UserPromptSubmit", "x"), true),
            ("UserPromptSubmit", context("SessionStart", "x"), false),
            ("Stop", context("Stop", "x"), false),
            ("SubagentStop", context("SubagentStop", "x"), false),
            ("Stop", json!({"systemMessage": "Context at 80%"}), true),
            ("SessionEnd", json!({"systemMessage": "x"}), false),
            ("Stop", json!({"terminalSequence": "\x1b]2;title\x07\x07\x1b]0;t\x1b\\"}), true),
            ("Stop", json!({"terminalSequence": "\x1b]52;c;x\x07"}), false),
            ("Stop", json!({"terminalSequence": "\x1b]2;a\x1b[2Jb\x07"}), false),
            ("Stop", json!({"terminalSequence": "\x1b[2J"}), false),
            ("Stop", json!({"decision": "block", "reason": "x"}), false),
            ("Stop", json!({"continue": false}), false),
            ("SomeFutureEvent", json!({"systemMessage": "x"}), true),
            ("SomeFutureEvent", context("SomeFutureEvent", "x"), false),
            (
                "PreToolUse",
                json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}),
                false,
            ),
            ("PreToolUse", stop_output(), true),
            ("PostToolUse", stop_output(), false),
            ("PermissionRequest", stop_output(), false),
            ("PreToolUse", changed(stop_output(), "stopReason", json!("x")), false),
            ("PreToolUse", changed(stop_output(), "continue", json!(true)), false),
            ("PreToolUse", changed(stop_output(), "decision", json!("approve")), false),
            (
                "PreToolUse",
                changed(stop_output(), "hookSpecificOutput", json!({"hookEventName": "PreToolUse"})),
                false,
            ),
            ("SessionStart", context("SessionStart", &"x".repeat(8001)), false),
            ("SessionStart", json!("text"), false),
            ("SessionStart", json!([]), false),
            ("SessionStart", json!({}), false),
            ("SessionStart", Value::Null, false),
        ] {
            let expected = printed.then(|| output.clone());
            assert_eq!(combine(event, None, Some(output.clone())), expected, "{event} {output}");
        }
    }

    #[test]
    fn no_text_has_control_characters() {
        let hostile = "a\x1b[2Jb\x07\u{9b}31m\u{202e}c\r\nd\te";
        let harmless = "a[2Jb31mc\nd\te";
        let mut server = context("SessionStart", hostile);
        server["systemMessage"] = json!(hostile);
        server["terminalSequence"] = json!("\x1b]2;title\x07");
        let mut expected = context("SessionStart", harmless);
        expected["systemMessage"] = json!(harmless);
        expected["terminalSequence"] = json!("\x1b]2;title\x07");
        assert_eq!(combine("SessionStart", None, Some(server)), Some(expected.clone()));
        let ours = context("SessionStart", hostile);
        assert_eq!(combine("SessionStart", Some(ours), None), Some(context("SessionStart", harmless)));
    }

    #[test]
    fn both_speak_in_one_object() {
        let mut server = context("SessionStart", "theirs");
        server["systemMessage"] = json!("m");
        let mut both = context("SessionStart", "ours\n\ntheirs");
        both["systemMessage"] = json!("m");
        let ours = context("SessionStart", "ours");
        assert_eq!(combine("SessionStart", Some(ours.clone()), Some(server)), Some(both));
        assert_eq!(
            combine("SessionStart", Some(ours.clone()), Some(json!({"decision": "block"}))),
            Some(ours)
        );
    }
}
