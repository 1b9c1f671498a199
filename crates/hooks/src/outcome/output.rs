//! The JSON a hook prints: what the client accepts, and what it means.

use crate::dialect::EventRule;
use crate::json_spans;
use crate::json_spans::{JsonDocument, JsonKind, SpannedValue};
use crate::settings::schema::Shape;

/// How the client interprets a hook's standard output.
#[derive(Debug, PartialEq)]
pub enum HookOutput {
    Nothing,
    Text(String),
    Json(HookAnswer),
    /// It starts like JSON but is rejected; why.
    Rejected(String),
}

/// What a hook's JSON asks for.
#[derive(Debug, Default, PartialEq)]
pub struct HookAnswer {
    /// `continue: false`: everything stops, for this reason.
    pub stop: Option<String>,
    /// The action does not happen, for this reason.
    pub block: Option<String>,
    pub permission: Option<Permission>,
    /// Goes to the model.
    pub context: Option<String>,
    /// The path that a WorktreeCreate hook created.
    pub worktree: Option<String>,
    /// Other fields that have an effect, for people: `updatedInput`, `systemMessage`, …
    pub also: Vec<String>,
}

/// What a hook says about a tool call; of several, the strongest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permission {
    Allow,
    Ask,
    Defer,
    Deny,
}

type FieldShapes = &'static [(&'static str, Shape)];

const COMMON: FieldShapes = &[
    ("continue", Shape::Flag),
    ("suppressOutput", Shape::Flag),
    ("stopReason", Shape::Text),
    ("decision", Shape::OneOf(&["approve", "block"])),
    ("reason", Shape::Text),
    ("systemMessage", Shape::Text),
    ("terminalSequence", Shape::Text),
    ("hookSpecificOutput", Shape::Object),
];

const CONTEXT: (&str, Shape) = ("additionalContext", Shape::Text);
const ACTION: (&str, Shape) = ("action", Shape::OneOf(&["accept", "decline", "cancel"]));
const PATHS: (&str, Shape) = ("watchPaths", Shape::Texts);
const TITLE: (&str, Shape) = ("sessionTitle", Shape::Text);
const QUIET_BLOCK: (&str, Shape) = ("suppressOriginalPrompt", Shape::Flag);
const REASON: (&str, Shape) = ("permissionDecisionReason", Shape::Text);

/// `hookSpecificOutput` per event. Events that are not here have none: naming them in it is rejected.
const SPECIFIC: &[(&str, FieldShapes)] = &[
    (
        "PreToolUse",
        &[
            ("permissionDecision", Shape::OneOf(&["allow", "deny", "ask", "defer"])),
            REASON,
            ("updatedInput", Shape::Object),
            CONTEXT,
        ],
    ),
    ("UserPromptSubmit", &[CONTEXT, TITLE, QUIET_BLOCK]),
    ("UserPromptExpansion", &[CONTEXT, QUIET_BLOCK]),
    (
        "SessionStart",
        &[CONTEXT, ("initialUserMessage", Shape::Text), TITLE, PATHS, ("reloadSkills", Shape::Flag)],
    ),
    ("Setup", &[CONTEXT]),
    ("PreModelSwitch", &[("permissionDecision", Shape::OneOf(&["allow", "deny", "ask"])), REASON]),
    ("PostModelSwitch", &[CONTEXT]),
    ("SubagentStart", &[CONTEXT]),
    (
        "PostToolUse",
        &[
            CONTEXT,
            ("classifierContext", Shape::Text),
            ("updatedToolOutput", Shape::Any),
            ("updatedMCPToolOutput", Shape::Any),
        ],
    ),
    ("PostToolUseFailure", &[CONTEXT]),
    ("PostToolBatch", &[CONTEXT]),
    ("Stop", &[CONTEXT]),
    ("SubagentStop", &[CONTEXT]),
    ("PermissionDenied", &[("retry", Shape::Flag)]),
    ("Notification", &[CONTEXT]),
    ("PermissionRequest", &[("decision", Shape::PermissionAnswer)]),
    ("Elicitation", &[ACTION, ("content", Shape::Object)]),
    ("ElicitationResult", &[ACTION, ("content", Shape::Object)]),
    ("CwdChanged", &[PATHS]),
    ("FileChanged", &[PATHS]),
    ("WorktreeCreate", &[("worktreePath", Shape::Text)]),
    ("MessageDisplay", &[("displayContent", Shape::Text)]),
];

/// Fields that the event's `hookSpecificOutput` must have.
const REQUIRED: &[(&str, &str)] = &[("PermissionRequest", "decision"), ("WorktreeCreate", "worktreePath")];

/// The fields that have an effect besides deciding and adding context.
const FREE_FORM_FIELDS: &[&str] = &[
    "updatedInput",
    "sessionTitle",
    "initialUserMessage",
    "watchPaths",
    "reloadSkills",
    "classifierContext",
    "updatedToolOutput",
    "updatedMCPToolOutput",
    "retry",
    "displayContent",
    "content",
];

/// Reads what a hook of this event printed: output that starts with `{` must be JSON the client understands.
pub fn read(rule: &EventRule, stdout: &str) -> HookOutput {
    let text = stdout.trim();
    if text.is_empty() {
        return HookOutput::Nothing;
    }
    if !text.starts_with('{') {
        return HookOutput::Text(text.to_owned());
    }
    let doc = match JsonDocument::parse(text) {
        Ok(doc) => doc,
        Err(error) => {
            let position = json_spans::position(text, error.at);
            return HookOutput::Rejected(format!(
                "the output starts with {{ but is not valid JSON at {}:{}: {error}",
                position.line, position.column
            ));
        }
    };
    match answer(rule, doc.root()) {
        Ok(answer) => HookOutput::Json(answer),
        Err(why) => HookOutput::Rejected(format!("the JSON it printed was refused: {why}")),
    }
}

/// Output that starts like JSON but is not JSON at all, as opposed to JSON with wrong content.
pub(crate) fn is_broken(stdout: &str) -> bool {
    JsonDocument::parse(stdout.trim()).is_err()
}

fn answer(rule: &EventRule, root: SpannedValue<'_>) -> Result<HookAnswer, String> {
    // A hook that continues in the background: nothing else it says is waited for.
    if root.get("async").and_then(SpannedValue::flag) == Some(true) {
        return Ok(HookAnswer {
            also: vec!["async: continues in the background".into()],
            ..HookAnswer::default()
        });
    }
    for (name, shape) in COMMON {
        if let Some(fault) = root.get(name).and_then(|value| shape.fault(value)) {
            return Err(format!("`{name}` {fault}{}", hint(name, root)));
        }
    }
    let text = |name: &str| root.get(name).and_then(SpannedValue::text).map(str::to_owned);
    let mut answer = HookAnswer::default();
    if root.get("continue").and_then(SpannedValue::flag) == Some(false) {
        answer.stop = Some(text("stopReason").unwrap_or_else(|| "a hook said continue: false".into()));
    }
    match root.get("decision").and_then(SpannedValue::text) {
        Some("block") if rule.decision => {
            answer.block = Some(text("reason").unwrap_or_else(|| "Blocked by hook".into()));
        }
        Some("approve") if rule.name == "PreToolUse" => answer.permission = Some(Permission::Allow),
        _ => {}
    }
    if let Some(message) = text("systemMessage") {
        answer.also.push(format!("systemMessage: {message}"));
    }
    if root.get("suppressOutput").and_then(SpannedValue::flag) == Some(true) {
        answer.also.push("suppressOutput".into());
    }
    if root.get("terminalSequence").is_some() {
        answer.also.push("terminalSequence".into());
    }
    if let Some(specific) = root.get("hookSpecificOutput") {
        specifics(rule, specific, text("reason"), &mut answer)?;
    }
    Ok(answer)
}

/// Takes `hookSpecificOutput` into the answer, if it is valid for the event.
fn specifics(
    rule: &EventRule,
    specific: SpannedValue<'_>,
    reason: Option<String>,
    answer: &mut HookAnswer,
) -> Result<(), String> {
    let fields = fields_of(rule, specific)?;
    // Fields of another event's answer mean nothing here.
    let own = |name: &str| specific.get(name).filter(|_| fields.iter().any(|(field, _)| *field == name));
    let text = |name: &str| own(name).and_then(SpannedValue::text).map(str::to_owned);
    match text("permissionDecision").as_deref() {
        Some("allow") => answer.permission = Some(Permission::Allow),
        Some("ask") => answer.permission = Some(Permission::Ask),
        Some("defer") => answer.permission = Some(Permission::Defer),
        Some("deny") => {
            let why = text("permissionDecisionReason").or_else(|| reason.clone());
            answer.permission = Some(Permission::Deny);
            answer.block = Some(why.unwrap_or_else(|| "Blocked by hook".into()));
        }
        _ => {}
    }
    if let Some(decision) = own("decision").filter(|value| value.kind() == JsonKind::Object) {
        if decision.get("behavior").and_then(SpannedValue::text) == Some("deny") {
            answer.permission = Some(Permission::Deny);
            let message = decision.get("message").and_then(SpannedValue::text);
            answer.block = Some(message.unwrap_or("Permission denied by hook").to_owned());
        } else {
            answer.permission = Some(Permission::Allow);
        }
    }
    match text("action").as_deref() {
        Some("decline") => {
            answer.block = Some(reason.unwrap_or_else(|| "Elicitation denied by hook".into()));
        }
        Some(action) => answer.also.push(format!("action: {action}")),
        None => {}
    }
    answer.context = text("additionalContext").filter(|context| !context.is_empty());
    answer.worktree = text("worktreePath");
    let also = FREE_FORM_FIELDS.iter().filter(|name| own(name).is_some());
    answer.also.extend(also.map(|name| (*name).to_owned()));
    Ok(())
}

/// The fields that the output of this event may have; an error if the client would reject the output.
fn fields_of(rule: &EventRule, specific: SpannedValue<'_>) -> Result<FieldShapes, String> {
    let Some(name) = specific.get("hookEventName") else {
        return Err("`hookSpecificOutput` needs `hookEventName`".into());
    };
    let known = SPECIFIC.iter().find(|(event, _)| Some(*event) == name.text());
    let Some((event, fields)) = known else {
        return Err(format!("`hookEventName` {} is not an event with its own output", name.source()));
    };
    for (field, shape) in *fields {
        if let Some(fault) = specific.get(field).and_then(|value| shape.fault(value)) {
            return Err(format!("`hookSpecificOutput.{field}` {fault}"));
        }
    }
    if let Some((_, field)) = REQUIRED.iter().find(|(of, field)| of == event && specific.get(field).is_none())
    {
        return Err(format!("`hookSpecificOutput` of {event} needs `{field}`"));
    }
    if *event != rule.name {
        return Err(format!("`hookEventName` is {event:?}, but the hook ran for {}", rule.name));
    }
    Ok(fields)
}

/// The mistake behind most rejected decisions.
fn hint(name: &str, root: SpannedValue<'_>) -> &'static str {
    match (name, root.get("decision").and_then(SpannedValue::text)) {
        ("decision", Some("allow" | "deny" | "ask")) => " (allow, deny and ask go into hookSpecificOutput)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::CLAUDE;

    fn json(event: &str, stdout: &str) -> HookAnswer {
        match read(CLAUDE.event(event).unwrap(), stdout) {
            HookOutput::Json(answer) => answer,
            other => panic!("{event} {stdout}: {other:?}"),
        }
    }

    fn rejected(event: &str, stdout: &str) -> String {
        match read(CLAUDE.event(event).unwrap(), stdout) {
            HookOutput::Rejected(why) => why,
            other => panic!("{event} {stdout}: {other:?}"),
        }
    }

    #[test]
    fn only_output_that_starts_with_a_brace_is_json() {
        let rule = CLAUDE.event("Stop").unwrap();
        assert_eq!(read(rule, " \n"), HookOutput::Nothing);
        assert_eq!(read(rule, " plain\n"), HookOutput::Text("plain".into()));
        assert_eq!(read(rule, "[1]"), HookOutput::Text("[1]".into()));
        assert_eq!(json("Stop", "\n {}"), HookAnswer::default());
        assert!(rejected("Stop", "{").contains("ends in the middle"));
        assert!(rejected("Stop", "{} done").contains("1:4"));
    }

    #[test]
    fn decisions_are_obeyed_where_the_event_supports_them() {
        let block = r#"{"decision":"block","reason":"tests first"}"#;
        for event in ["Stop", "PreToolUse", "PostToolUse", "UserPromptSubmit", "ConfigChange"] {
            assert_eq!(json(event, block).block.as_deref(), Some("tests first"), "{event}");
        }
        for event in ["SessionStart", "Notification", "SessionEnd"] {
            assert_eq!(json(event, block).block, None, "{event}");
        }
        let deny = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny"},"reason":"r"}"#;
        assert_eq!(json("PreToolUse", deny).block.as_deref(), Some("r"));
        for event in ["PostToolUse", "SessionStart", "Notification", "Stop"] {
            let answer = json(event, &deny.replace("PreToolUse", event));
            assert_eq!((answer.block, answer.permission), (None, None), "{event} has no such field");
        }
        let request = r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"m"}}}"#;
        assert_eq!(json("PermissionRequest", request).block.as_deref(), Some("m"));
        let stop = r#"{"continue":false,"stopReason":"budget"}"#;
        assert_eq!(json("PostToolUse", stop).stop.as_deref(), Some("budget"));
        let decline = r#"{"hookSpecificOutput":{"hookEventName":"Elicitation","action":"decline"}}"#;
        assert!(json("Elicitation", decline).block.is_some());
    }

    #[test]
    fn output_the_client_rejects_is_rejected_with_the_reason() {
        let table = [
            ("PreToolUse", r#"{"decision":5}"#, "`decision` must be"),
            ("PreToolUse", r#"{"decision":"deny"}"#, "go into hookSpecificOutput"),
            ("Stop", r#"{"continue":"no"}"#, "`continue` must be true or false"),
            (
                "PreToolUse",
                r#"{"hookSpecificOutput":{"permissionDecision":"deny"}}"#,
                "needs `hookEventName`",
            ),
            ("PreToolUse", r#"{"hookSpecificOutput":{"hookEventName":"Stop"}}"#, "ran for PreToolUse"),
            ("PreToolUse", r#"{"hookSpecificOutput":{"hookEventName":"SessionEnd"}}"#, "not an event with"),
            (
                "PreToolUse",
                r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"no"}}"#,
                "permissionDecision` must be",
            ),
            (
                "PermissionRequest",
                r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":"allow"}}"#,
                "behavior",
            ),
            (
                "PermissionRequest",
                r#"{"hookSpecificOutput":{"hookEventName":"PermissionRequest"}}"#,
                "needs `decision`",
            ),
            ("Stop", r#"{"systemMessage":null}"#, "not null"),
        ];
        for (event, stdout, words) in table {
            let why = rejected(event, stdout);
            assert!(why.contains(words), "{event} {stdout}: {why}");
        }
    }

    #[test]
    fn unknown_fields_do_no_harm() {
        assert_eq!(
            json("Stop", r#"{"x":1,"hookSpecificOutput":{"hookEventName":"Stop","y":2}}"#),
            HookAnswer::default()
        );
    }
}
