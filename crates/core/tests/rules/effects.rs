//! "What each event does", row by row: after these events the agent looks like this.

use crate::story::*;
use headspace_test_support::each_row;
use serde_json::json;

/// Each row of the table: the rule, the events, `state status detail`.
fn rows() -> Vec<(&'static str, Vec<Tell>, &'static str)> {
    let turn = || vec![start("startup"), prompt("W")];
    let after = |tells: Vec<Tell>| turn().into_iter().chain(tells).collect::<Vec<_>>();
    let awaiting = "awaiting_input attention";
    let bash = "awaiting_input attention Allow Bash: npm test";
    let tasks = json!([{"id": "b1", "type": "shell"}, {"id": "b2", "type": "shell"}]);
    let background = || after(vec![stop("Started.").with(json!({"background_tasks": tasks}))]);
    vec![
        ("SessionStart startup: idle", vec![start("startup")], "idle idle"),
        ("SessionStart without a source: idle", vec![tell("SessionStart", json!({}))], "idle idle"),
        ("SessionStart resume in mid-turn: idle", after(vec![asks("Bash"), start("resume")]), "idle idle"),
        (
            "SessionStart compact changes no state",
            after(vec![start("compact")]),
            "processing working Thinking",
        ),
        ("UserPromptSubmit: commanded, processing at once", turn(), "processing working Thinking"),
        (
            "a task notification is not a prompt, but work",
            vec![start("startup"), prompt("<task-notification><task-id>x</task-id>")],
            "processing working Thinking",
        ),
        (
            "PreToolUse AskUserQuestion asks",
            after(vec![pre("AskUserQuestion", "t1")]),
            "awaiting_input attention Which one?",
        ),
        (
            "PreToolUse after consent is not a question",
            after(vec![
                asks("AskUserQuestion"),
                pre("AskUserQuestion", "t1").with(json!({"consented": true})),
            ]),
            "processing working AskUserQuestion",
        ),
        (
            "an idle notice at once after a Stop changes nothing",
            after(vec![stop("Done."), notice("idle_prompt").with(json!({"idle_at_once": true}))]),
            "idle idle",
        ),
        (
            "an idle notice at once without a Stop: interrupted",
            after(vec![pre("Bash", "t1"), notice("idle_prompt").with(json!({"idle_at_once": true}))]),
            "idle idle interrupted",
        ),
        (
            "a turn without an answer after Esc was interrupted",
            after(vec![tell("Interrupt", json!({})), stop("").with(json!({"no_answer": true}))]),
            "idle idle interrupted",
        ),
        (
            "PreToolUse ExitPlanMode asks",
            after(vec![pre("ExitPlanMode", "t1")]),
            "awaiting_input attention Approve plan: Split it",
        ),
        (
            "PreToolUse EnterPlanMode asks",
            after(vec![pre("EnterPlanMode", "t1")]),
            "awaiting_input attention Enter plan mode",
        ),
        (
            "PreToolUse of another tool: processing, detail",
            after(vec![pre("Bash", "t1")]),
            "processing working Bash: npm test",
        ),
        ("PermissionRequest asks at once", after(vec![pre("Bash", "t1"), asks("Bash")]), bash),
        ("PermissionRequest without PreToolUse asks", after(vec![asks("Bash")]), bash),
        (
            "the question of a tool and its request are one",
            after(vec![pre("AskUserQuestion", "t1"), asks("AskUserQuestion")]),
            "awaiting_input attention Which one?",
        ),
        (
            "PostToolUse closes by id",
            after(vec![pre("Bash", "t1"), asks("Bash"), post("Bash", "t1")]),
            "processing working Thinking",
        ),
        (
            "PostToolUse closes by name when the request had no id",
            after(vec![asks("Bash"), post("Bash", "t9")]),
            "processing working Thinking",
        ),
        (
            "PostToolUse of another call closes nothing",
            after(vec![pre("Bash", "t1"), asks("Bash"), pre("Read", "t2"), post("Read", "t2")]),
            bash,
        ),
        (
            "PostToolUseFailure closes too",
            after(vec![
                pre("Bash", "t1"),
                asks("Bash"),
                tell("PostToolUseFailure", json!({"tool_name": "Bash", "tool_use_id": "t1"})),
            ]),
            "processing working Thinking",
        ),
        (
            "PostToolBatch closes the calls and questions of its ids",
            after(vec![
                pre("Bash", "t1"),
                asks("Bash"),
                tell("PostToolBatch", json!({"tool_calls": [{"tool_name": "Bash", "tool_use_id": "t1"}]})),
            ]),
            "processing working Thinking",
        ),
        (
            "PostToolBatch keeps a question of another id",
            after(vec![
                pre("Bash", "t1"),
                asks("Bash"),
                tell("PostToolBatch", json!({"tool_calls": [{"tool_name": "Read", "tool_use_id": "t0"}]})),
            ]),
            bash,
        ),
        (
            "PermissionDenied closes, processing",
            after(vec![
                pre("Bash", "t1"),
                asks("Bash"),
                tell("PermissionDenied", json!({"tool_name": "Bash", "tool_use_id": "t1"})),
            ]),
            "processing working Thinking",
        ),
        (
            "Notification permission_prompt opens",
            after(vec![pre("Bash", "t1"), notice("permission_prompt")]),
            bash,
        ),
        (
            "Notification worker_permission_prompt opens",
            after(vec![notice("worker_permission_prompt")]),
            "awaiting_input attention Claude needs you",
        ),
        (
            "Notification elicitation_dialog opens",
            after(vec![notice("elicitation_dialog")]),
            "awaiting_input attention Claude needs you",
        ),
        (
            "Notification elicitation_url_dialog opens",
            after(vec![notice("elicitation_url_dialog")]),
            "awaiting_input attention Claude needs you",
        ),
        (
            "Notification agent_needs_input opens",
            after(vec![notice("agent_needs_input")]),
            "awaiting_input attention Claude needs you",
        ),
        (
            "Notification elicitation_complete closes",
            after(vec![notice("elicitation_dialog"), notice("elicitation_complete")]),
            "processing working Thinking",
        ),
        (
            "Notification elicitation_response closes",
            after(vec![notice("elicitation_dialog"), notice("elicitation_response")]),
            "processing working Thinking",
        ),
        (
            "Notification auth_success changes nothing",
            after(vec![pre("Bash", "t1"), notice("auth_success")]),
            "processing working Bash: npm test",
        ),
        (
            "a notification of a new type changes nothing",
            after(vec![asks("Bash"), notice("brand_new")]),
            bash,
        ),
        (
            "Elicitation opens MCP input",
            after(vec![tell("Elicitation", json!({"mcp_server_name": "jira", "message": "Key?"}))]),
            "awaiting_input attention MCP input for jira: Key?",
        ),
        (
            "ElicitationResult closes it",
            after(vec![
                tell("Elicitation", json!({"mcp_server_name": "jira"})),
                tell("ElicitationResult", json!({"mcp_server_name": "jira"})),
            ]),
            "processing working Thinking",
        ),
        (
            "its tool's end closes it as well",
            after(vec![
                pre("mcp__jira__new", "t1"),
                tell("Elicitation", json!({"mcp_server_name": "jira"})),
                post("mcp__jira__new", "t1"),
            ]),
            "processing working Thinking",
        ),
        ("Stop completes", after(vec![stop("The cache is gone.")]), "idle idle"),
        (
            "Stop with a question awaits",
            after(vec![stop("It builds. Which port?")]),
            "awaiting_input attention Which port?",
        ),
        (
            "Stop closes the main thread's questions",
            after(vec![asks("Bash"), stop("I left it.")]),
            "idle idle",
        ),
        ("Stop with background tasks keeps working", background(), "idle working 2 background tasks"),
        (
            "StopFailure completes",
            after(vec![tell("StopFailure", json!({"error": "rate_limit"}))]),
            "idle idle",
        ),
        (
            "PreCompact: Compacting, working",
            vec![start("startup"), tell("PreCompact", json!({}))],
            "idle working Compacting",
        ),
        (
            "PostCompact: back to what it was",
            after(vec![pre("Bash", "t1"), tell("PreCompact", json!({})), tell("PostCompact", json!({}))]),
            "processing working Bash: npm test",
        ),
        ("Setup: working", vec![tell("Setup", json!({"trigger": "init"}))], "idle working Setup"),
        (
            "a tool event while idle infers a command",
            vec![start("startup"), pre("Bash", "t1")],
            "processing working Bash: npm test",
        ),
        ("a request while idle infers a command and awaits", vec![start("startup"), asks("Bash")], bash),
        (
            "an interactive tool as first event awaits",
            vec![pre("AskUserQuestion", "t1")],
            "awaiting_input attention Which one?",
        ),
        (
            "other events change no state",
            after(vec![
                tell("CwdChanged", json!({})),
                tell("TaskCreated", json!({})),
                tell("ConfigChange", json!({})),
                tell("BrandNew", json!({})),
            ]),
            "processing working Thinking",
        ),
        (
            "other events wake nobody",
            vec![
                start("startup"),
                tell("TaskCompleted", json!({})),
                tell("MessageDisplay", json!({})),
                tell("PostModelSwitch", json!({})),
            ],
            "idle idle",
        ),
        ("SessionEnd ends", after(vec![asks("Bash"), end("other")]), "idle idle"),
        (
            awaiting,
            after(vec![pre("AskUserQuestion", "t1"), pre("AskUserQuestion", "t2")]),
            "awaiting_input attention Which one?",
        ),
    ]
}

#[test]
fn every_event_does_what_its_row_says() {
    looks_as_each_row_says(rows());
}

#[test]
fn the_state_machine_takes_only_valid_steps_and_records_the_others() {
    each_row(
        [
            (
                "a prompt is two steps",
                vec![prompt("W")],
                vec!["idle user:command commanded", "commanded agent:progress processing"],
            ),
            (
                "tools are progress, which is not news",
                vec![prompt("W"), pre("Bash", "t1"), post("Bash", "t1")],
                vec!["idle user:command commanded", "commanded agent:progress processing"],
            ),
            (
                "a question and its answer",
                vec![prompt("W"), asks("Bash"), post("Bash", "t1")],
                vec![
                    "idle user:command commanded",
                    "commanded agent:progress processing",
                    "processing agent:question awaiting_input",
                    "awaiting_input user:answer processing",
                ],
            ),
            (
                "a stop while idle is invalid",
                vec![start("startup"), stop("Hi.")],
                vec!["idle agent:completion idle invalid"],
            ),
            (
                "a new prompt while processing completes the old command first",
                vec![prompt("W"), prompt("X")],
                vec![
                    "idle user:command commanded",
                    "commanded agent:progress processing",
                    "processing agent:completion complete",
                    "idle user:command commanded",
                    "commanded agent:progress processing",
                ],
            ),
            (
                "an inferred command may wait at once",
                vec![asks("Bash")],
                vec!["idle user:command commanded", "commanded agent:question awaiting_input"],
            ),
            (
                "awaiting completes",
                vec![asks("Bash"), end("other")],
                vec![
                    "idle user:command commanded",
                    "commanded agent:question awaiting_input",
                    "awaiting_input agent:end_of_task complete",
                ],
            ),
        ],
        |(rule, ..)| rule.to_string(),
        |(rule, tells, wanted)| {
            assert_eq!(Story::of(tells).steps(), wanted, "{rule}");
        },
    );
}

#[test]
fn a_state_carries_its_source_and_confidence() {
    each_row(
        [
            ("a hook is high", vec![prompt("W")], "hook high"),
            ("inferred is low", vec![start("startup"), post("Read", "t1")], "hook low"),
            ("the real prompt makes it high", vec![post("Read", "t1"), prompt("W")], "hook high"),
            (
                "a transcript is medium",
                vec![prompt("W"), tell("TranscriptInterrupted", json!({}))],
                "transcript medium",
            ),
            (
                "data moves nothing",
                vec![prompt("W"), tell("TranscriptInterrupted", json!({})), tell("StatusLine", json!({}))],
                "transcript medium",
            ),
        ],
        |(rule, ..)| rule.to_string(),
        |(rule, tells, wanted)| {
            let view = Story::of(tells).view();
            assert_eq!(format!("{} {}", view.source, view.confidence), wanted, "{rule}");
        },
    );
}
