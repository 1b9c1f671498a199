//! Sample payloads: what each event looks like by default.

use crate::dialect::{Dialect, EventRule};
use crate::payload::HookJsonInput;
use serde_json::{Value, json};
use std::path::Path;

/// The session id in samples, which cannot be mistaken for a real one.
pub(crate) const SESSION: &str = "00000000-0000-4000-8000-5a3f1e5a3f1e";
const PROMPT: &str = "00000000-0000-4000-8000-0000000000a1";
const AGENT: &str = "a0000000000000001";

/// Fields that turn events and tool events share.
const TURN: &[(&str, &str)] = &[
    ("prompt_id", "\"@PROMPT@\""),
    ("permission_mode", "\"default\""),
    ("effort", "{\"level\":\"medium\"}"),
];
const PROMPT_ONLY: &[(&str, &str)] = &[("prompt_id", "\"@PROMPT@\"")];
const MODE: &[(&str, &str)] = &[("prompt_id", "\"@PROMPT@\""), ("permission_mode", "\"default\"")];
const EFFORT: &[(&str, &str)] = &[("prompt_id", "\"@PROMPT@\""), ("effort", "{\"level\":\"medium\"}")];

type SampleRow = (&'static str, &'static [(&'static str, &'static str)], &'static str);

/// Event, the shared fields it has, its own fields. Tool name, input and response are added for tool events.
const EVENTS: &[SampleRow] = &[
    ("PreToolUse", TURN, r#"{"tool_use_id":"toolu_sample"}"#),
    ("PostToolUse", TURN, r#"{"tool_use_id":"toolu_sample","duration_ms":42}"#),
    (
        "PostToolUseFailure",
        TURN,
        r#"{"tool_use_id":"toolu_sample","error":"Exit code 3\noops","is_interrupt":false,"duration_ms":42}"#,
    ),
    (
        "PostToolBatch",
        TURN,
        r#"{"tool_calls":[{"tool_name":"Bash","tool_input":{"command":"ls","description":"List files"},"tool_use_id":"toolu_sample","tool_response":"README.md"}]}"#,
    ),
    (
        "Notification",
        PROMPT_ONLY,
        r#"{"message":"Claude needs your permission","notification_type":"permission_prompt"}"#,
    ),
    ("UserPromptSubmit", MODE, r#"{"prompt":"Tidy up the README"}"#),
    (
        "UserPromptExpansion",
        MODE,
        r#"{"expansion_type":"slash_command","command_name":"demo","command_args":"one two","command_source":"projectSettings","prompt":"/demo one two"}"#,
    ),
    ("SessionStart", &[], r#"{"source":"startup","model":"claude-opus-5-5"}"#),
    ("SessionEnd", PROMPT_ONLY, r#"{"reason":"prompt_input_exit"}"#),
    (
        "Stop",
        TURN,
        r#"{"stop_hook_active":false,"last_assistant_message":"Done.","background_tasks":[],"session_crons":[]}"#,
    ),
    (
        "StopFailure",
        EFFORT,
        r#"{"error":"server_error","last_assistant_message":"API Error: 529 overloaded"}"#,
    ),
    ("SubagentStart", PROMPT_ONLY, r#"{"agent_id":"@AGENT@","agent_type":"general-purpose"}"#),
    (
        "SubagentStop",
        TURN,
        r#"{"agent_id":"@AGENT@","agent_type":"general-purpose","stop_hook_active":false,"agent_transcript_path":"@SUBAGENT@","last_assistant_message":"Report: fine.","background_tasks":[],"session_crons":[]}"#,
    ),
    ("PreCompact", PROMPT_ONLY, r#"{"trigger":"auto","custom_instructions":null}"#),
    ("PostCompact", PROMPT_ONLY, r#"{"trigger":"auto","compact_summary":"What was done so far."}"#),
    (
        "PreModelSwitch",
        PROMPT_ONLY,
        r#"{"from_model":"claude-opus-5-5","to_model":"claude-sonnet-5-5","requested_model":"sonnet","source":"command","context_tokens":19554,"prompt_cache_warm":true,"cache_ttl":"5m","estimated_cache_write_usd":0.0489,"pricing":"catalog"}"#,
    ),
    (
        "PostModelSwitch",
        PROMPT_ONLY,
        r#"{"from_model":"claude-opus-5-5","to_model":"claude-sonnet-5-5","requested_model":"sonnet","source":"command","context_tokens":19554,"prompt_cache_warm":true,"cache_ttl":"5m","estimated_cache_write_usd":0.0489,"pricing":"catalog"}"#,
    ),
    (
        "PermissionRequest",
        TURN,
        r#"{"permission_suggestions":[{"type":"setMode","mode":"acceptEdits","destination":"session"}]}"#,
    ),
    ("PermissionDenied", TURN, r#"{"tool_use_id":"toolu_sample","reason":"Classifier unavailable"}"#),
    ("Setup", &[], r#"{"trigger":"init"}"#),
    (
        "TeammateIdle",
        MODE,
        r#"{"agent_id":"@AGENT@","agent_type":"reviewer","teammate_name":"reviewer","team_name":"sample"}"#,
    ),
    (
        "TaskCreated",
        PROMPT_ONLY,
        r#"{"task_id":"1","task_subject":"First task","task_description":"Do the first thing"}"#,
    ),
    (
        "TaskCompleted",
        PROMPT_ONLY,
        r#"{"task_id":"1","task_subject":"First task","task_description":"Do the first thing"}"#,
    ),
    (
        "Elicitation",
        PROMPT_ONLY,
        r#"{"mcp_server_name":"forms","message":"Which environment?","mode":"form","requested_schema":{"type":"object","properties":{"name":{"type":"string","title":"Name"}},"required":["name"]}}"#,
    ),
    (
        "ElicitationResult",
        PROMPT_ONLY,
        r#"{"mcp_server_name":"forms","mode":"form","action":"accept","content":{"name":"staging"}}"#,
    ),
    ("ConfigChange", PROMPT_ONLY, r#"{"source":"user_settings","file_path":"@CONFIG@/settings.json"}"#),
    ("WorktreeCreate", PROMPT_ONLY, r#"{"name":"sample"}"#),
    ("WorktreeRemove", PROMPT_ONLY, r#"{"worktree_path":"@PROJECT@/.claude/worktrees/sample"}"#),
    (
        "InstructionsLoaded",
        &[],
        r#"{"file_path":"@PROJECT@/CLAUDE.md","memory_type":"Project","load_reason":"session_start"}"#,
    ),
    ("CwdChanged", PROMPT_ONLY, r#"{"old_cwd":"@PROJECT@","new_cwd":"@PROJECT@/src"}"#),
    ("FileChanged", PROMPT_ONLY, r#"{"file_path":"@PROJECT@/.envrc","event":"change"}"#),
    ("DirectoryAdded", PROMPT_ONLY, r#"{"directory":"@PROJECT@/../other","source":"slash_command"}"#),
    (
        "MessageDisplay",
        PROMPT_ONLY,
        r#"{"turn_id":"00000000-0000-4000-8000-0000000000b1","message_id":"00000000-0000-4000-8000-0000000000c1","index":0,"final":true,"delta":"Hello."}"#,
    ),
];

/// Tool, its input, its response.
const TOOLS: &[(&str, &str, &str)] = &[
    (
        "Bash",
        r#"{"command":"ls -la","description":"List files"}"#,
        r#"{"stdout":"README.md","stderr":"","interrupted":false,"isImage":false,"noOutputExpected":false}"#,
    ),
    (
        "Write",
        r#"{"file_path":"@PROJECT@/new.txt","content":"one\ntwo\n"}"#,
        r#"{"type":"create","filePath":"@PROJECT@/new.txt","content":"one\ntwo\n","structuredPatch":[],"originalFile":null,"userModified":false}"#,
    ),
    (
        "Edit",
        r#"{"file_path":"@PROJECT@/new.txt","old_string":"two","new_string":"TWO","replace_all":false}"#,
        r#"{"filePath":"@PROJECT@/new.txt","oldString":"two","newString":"TWO","originalFile":"one\ntwo\n","structuredPatch":[],"userModified":false,"replaceAll":false}"#,
    ),
    (
        "Read",
        r#"{"file_path":"@PROJECT@/README.md"}"#,
        r#"{"type":"text","file":{"filePath":"@PROJECT@/README.md","content":"one\n","numLines":2,"startLine":1,"totalLines":2}}"#,
    ),
    ("Glob", r#"{"pattern":"**/*.rs"}"#, r#"{"filenames":[],"durationMs":3,"numFiles":0,"truncated":false}"#),
    (
        "Grep",
        r#"{"pattern":"TODO","output_mode":"files_with_matches"}"#,
        r#"{"mode":"files_with_matches","filenames":[],"numFiles":0}"#,
    ),
    (
        "WebFetch",
        r#"{"url":"https://example.com","prompt":"What is this?"}"#,
        r#"{"result":"An example.","code":200,"url":"https://example.com"}"#,
    ),
    ("WebSearch", r#"{"query":"sample"}"#, r#"{"query":"sample","results":[]}"#),
    (
        "Agent",
        r#"{"description":"Look around","prompt":"List the files","subagent_type":"general-purpose"}"#,
        r#"{"isAsync":true,"status":"async_launched","agentId":"@AGENT@","description":"Look around"}"#,
    ),
    (
        "AskUserQuestion",
        r#"{"questions":[{"question":"Which color?","header":"Color","options":[{"label":"Red","description":"The red one"},{"label":"Blue","description":"The blue one"}],"multiSelect":false}]}"#,
        r#"{"answers":{"Which color?":"Red"}}"#,
    ),
    (
        "ExitPlanMode",
        r#"{"plan":"1. Do a thing\n2. Do another\n"}"#,
        r#"{"plan":"1. Do a thing\n2. Do another\n"}"#,
    ),
];

/// The fields every payload has.
pub fn defaults(dialect: &Dialect, project: &Path, config: &Path) -> HookJsonInput {
    let mut input = HookJsonInput::default();
    let slug: String =
        project.to_string_lossy().chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let transcript = if dialect.has_policies {
        config.join("projects").join(slug).join(format!("{SESSION}.jsonl"))
    } else {
        config.join("sessions").join(format!("{SESSION}.json"))
    };
    input.set("session_id", &json!(SESSION));
    input.set("transcript_path", &json!(transcript.to_string_lossy()));
    input.set("cwd", &json!(project.to_string_lossy()));
    input
}

/// The fields of the event itself. For tool events the tool name is left out: the user chooses the tool.
pub fn event(
    dialect: &Dialect,
    rule: &EventRule,
    tool: Option<&str>,
    project: &Path,
    config: &Path,
) -> HookJsonInput {
    let mut input = HookJsonInput::default();
    let fill = |text: &str| filled(text, project, config);
    let row = EVENTS.iter().find(|(name, ..)| *name == rule.name);
    if let Some((_, shared, own)) = row.filter(|_| dialect.has_policies) {
        for (name, value) in *shared {
            input.set(name, &parsed(&fill(value)));
        }
        lay_over(&mut input, &fill(own));
    } else if rule.name == "UserPromptSubmit" {
        input.set("prompt", &json!("Tidy up the README"));
    }
    if let Some(tool) = tool.filter(|_| rule.is_tool_event()) {
        input.set("tool_name", &json!(tool));
        let known = TOOLS.iter().find(|(name, ..)| *name == crate::tools::current(tool));
        let (call, response) = known.map_or(("{}", "{}"), |(_, call, response)| (call, response));
        input.set("tool_input", &parsed(&fill(call)));
        if rule.name == "PostToolUse" {
            input.set("tool_response", &parsed(&fill(response)));
        }
    }
    input
}

fn filled(text: &str, project: &Path, config: &Path) -> String {
    let quoted = |path: &Path| {
        let json = Value::String(path.to_string_lossy().into_owned()).to_string();
        json[1..json.len() - 1].to_owned()
    };
    let subagent = config.join("projects").join(format!("agent-{AGENT}.jsonl"));
    text.replace("@PROJECT@", &quoted(project))
        .replace("@CONFIG@", &quoted(config))
        .replace("@SUBAGENT@", &quoted(&subagent))
        .replace("@AGENT@", AGENT)
        .replace("@PROMPT@", PROMPT)
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

fn lay_over(input: &mut HookJsonInput, text: &str) {
    if let Ok(own) = HookJsonInput::parse(text) {
        input.lay_over(own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::{CLAUDE, WAVE};
    use crate::matching::match_value;

    #[test]
    fn every_event_has_a_sample_with_its_match_value() {
        let project = Path::new("/home/user/my \"project\"");
        for rule in CLAUDE.events {
            let sample = event(&CLAUDE, rule, Some("Bash"), project, Path::new("/c"));
            assert!(sample.to_json().len() > 2, "{}", rule.name);
            assert!(!sample.to_json().contains('@'), "{}", rule.name);
            assert_eq!(match_value(rule, &sample).is_some(), rule.match_field.is_some(), "{}", rule.name);
            let text = sample.to_json();
            assert!(serde_json::from_str::<Value>(&text).is_ok(), "{}: {text}", rule.name);
        }
    }

    #[test]
    fn every_tool_sample_is_json() {
        for (name, call, response) in TOOLS {
            assert!(parsed(call).is_object() && parsed(response).is_object(), "{name}");
        }
    }

    #[test]
    fn wave_payloads_contain_only_what_wave_sends() {
        let stop = event(&WAVE, WAVE.event("Stop").unwrap(), Some("Bash"), Path::new("/p"), Path::new("/c"));
        assert_eq!(stop.to_json(), "{}");
        let pre =
            event(&WAVE, WAVE.event("PreToolUse").unwrap(), Some("Bash"), Path::new("/p"), Path::new("/c"));
        assert_eq!(pre.text("tool_name").as_deref(), Some("Bash"));
        assert!(!pre.has("tool_use_id"));
    }
}
