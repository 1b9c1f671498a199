//! opencode: no command hooks, but a plugin that is loaded into the client. Ours passes on the few events that mean
//! something, in the form below; it tells everything, so no file has to fill a gap.

use crate::incoming::Incoming;
use crate::table::{Environment, Event, GuardForm, Home, Registration, Row, renamed, same};
use serde_json::{Value, json};

pub(crate) const ROW: Row = Row {
    name: "opencode",
    title: "opencode",
    glyph: '▣',
    tried: "1.18.33",
    home: Home { variable: None, folder: ".config/opencode" },
    program: "opencode",
    print_words: &["run"],
    is_shared: |_| false,
    registration: Registration::Plugin {
        file: "plugins/headspace.js",
        source: include_str!("opencode_plugin.js"),
    },
    environment: Environment::None,
    translate: |incoming, _| translate(incoming),
    transcript: None,
    resume: "opencode --session {session}",
    guard: GuardForm::None,
    takes_context: false,
    after_install: "start opencode again: plugins are loaded at its start",
    is_silent: false,
};

/// What the plugin sends: the bus' names in PascalCase, and ours for what it decides itself.
pub(crate) const EVENTS: &[Event] = &[
    renamed("SessionCreated", "SessionStart"),
    renamed("ChatMessage", "UserPromptSubmit"),
    renamed("ToolExecuteBefore", "PreToolUse"),
    renamed("ToolExecuteAfter", "PostToolUse"),
    renamed("PermissionAsked", "PermissionRequest"),
    renamed("QuestionAsked", "PermissionRequest"),
    renamed("PermissionReplied", "PermissionAnswered"),
    renamed("QuestionReplied", "PermissionAnswered"),
    renamed("QuestionRejected", "PermissionAnswered"),
    renamed("SessionIdle", "Stop"),
    renamed("SessionError", "StopFailure"),
    renamed("SessionAborted", "Interrupt"),
    renamed("SessionCompacted", "PostCompact"),
    renamed("SessionDeleted", "SessionEnd"),
    renamed("SubagentCreated", "SubagentStart"),
    renamed("SubagentIdle", "SubagentStop"),
    same("SessionTitle"),
];

fn translate(incoming: &mut Incoming) {
    let theirs = incoming.text("hook_event_name").unwrap_or_default().to_owned();
    match theirs.as_str() {
        "QuestionAsked" => {
            // The form in which every surface shows a question.
            incoming.put("tool_name", "AskUserQuestion");
            let questions = incoming.body.get("questions").cloned().unwrap_or_else(|| json!([]));
            incoming.put("tool_input", json!({"questions": questions}));
        }
        "SessionError" => {
            let message = incoming
                .text_at("/error/data/message")
                .or_else(|| incoming.text_at("/error/name"))
                .unwrap_or("unknown")
                .to_owned();
            let detail = incoming.body.get("error").cloned().unwrap_or(Value::Null);
            incoming.put("error_detail", detail);
            incoming.put("error", message);
        }
        "SessionDeleted" => incoming.fill("reason", Some("deleted")),
        "SessionTitle" => incoming.alias("title", "session_title"),
        _ => {}
    }
}
