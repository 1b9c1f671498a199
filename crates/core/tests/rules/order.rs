//! Events that arrive out of order give the same result as events in order.

use crate::story::*;
use headspace_test_support::each_row;
use serde_json::{Value, json};

fn batch(ids: &[&str]) -> Tell {
    let calls: Vec<Value> = ids.iter().map(|id| json!({"tool_name": "Bash", "tool_use_id": id})).collect();
    tell("PostToolBatch", json!({"tool_calls": calls}))
}

fn running(child: &str) -> Tell {
    let tasks = json!([{"id": child, "type": "subagent", "status": "running"}]);
    stop("Started.").with(json!({"background_tasks": tasks}))
}

fn bash(command: &str, id: &str) -> Tell {
    pre("Bash", id).with(json!({"tool_input": {"command": command}}))
}

/// The rule, the events, and how the agent looks then.
fn rows() -> Vec<(&'static str, Vec<Tell>, &'static str)> {
    let after = |tells: Vec<Tell>| [prompt("W")].into_iter().chain(tells).collect::<Vec<_>>();
    let child_stop = || tell("SubagentStop", json!({})).inside("a1");
    vec![
        (
            "a late request of a call that ended is not another call's",
            after(vec![
                bash("a", "t1"),
                bash("b", "t2"),
                post("Bash", "t1"),
                asks("Bash").with(json!({"tool_input": {"command": "a"}})).ago(1),
            ]),
            "processing working Bash: b",
        ),
        (
            "the request of one of two equal tools keeps to its own call",
            after(vec![bash("b", "t2"), asks("Bash"), pre("Bash", "t1").ago(1), post("Bash", "t2")]),
            "awaiting_input attention Allow Bash: npm test",
        ),
        (
            "a late notification asks nothing that a subagent has had answered",
            after(vec![
                pre("Bash", "t1").inside("a1"),
                running("a1"),
                post("Bash", "t1").inside("a1"),
                notice("permission_prompt").ago(1),
            ]),
            "idle working 1 background task",
        ),
        (
            "… nor when the subagent is gone",
            after(vec![
                pre("Bash", "t1").inside("a1"),
                running("a1"),
                post("Bash", "t1").inside("a1"),
                child_stop(),
                notice("permission_prompt").ago(2),
            ]),
            "idle idle",
        ),
        (
            "a late Stop lists a subagent that has ended since",
            after(vec![pre("Bash", "t1").inside("a1"), child_stop(), running("a1").ago(1)]),
            "idle idle",
        ),
        (
            "a late PreCompact does not compact again",
            after(vec![stop("Fine."), tell("PostCompact", json!({})), tell("PreCompact", json!({})).ago(1)]),
            "idle idle",
        ),
        (
            "a Stop that a PreCompact overtook ends its turn",
            after(vec![tell("PreCompact", json!({})), stop("Fine.").ago(1)]),
            "idle working Compacting",
        ),
        (
            "a late prompt closes what was asked before it",
            after(vec![pre("Bash", "t1"), asks("Bash"), pre("Read", "t2"), prompt("no, like this").ago(1)]),
            "processing working Read: /srv/a.rs",
        ),
        (
            "… and not what was asked after it",
            after(vec![pre("Bash", "t1"), asks("Bash"), prompt("and this").ago(2)]),
            "awaiting_input attention Allow Bash: npm test",
        ),
        (
            "a subagent's late request for a call that is still running still asks",
            after(vec![
                pre("Bash", "t1").inside("a1"),
                pre("Read", "t2").inside("a1"),
                asks("Bash").inside("a1").ago(1),
            ]),
            "processing attention Allow Bash: npm test",
        ),
        (
            "… of one that ended does not",
            after(vec![
                pre("Bash", "t1").inside("a1"),
                post("Bash", "t1").inside("a1"),
                asks("Bash").inside("a1").ago(1),
            ]),
            "processing working Thinking",
        ),
        (
            "a subagent's late Post still closes its question",
            after(vec![
                pre("Bash", "t1").inside("a1"),
                asks("Bash").inside("a1"),
                pre("Read", "t2").inside("a1"),
                post("Bash", "t1").inside("a1").ago(1),
            ]),
            "processing working Thinking",
        ),
        (
            "the batch of the call that broke the turn off starts nothing",
            after(vec![
                pre("Bash", "t1"),
                tell(
                    "PostToolUseFailure",
                    json!({"tool_name": "Bash", "tool_use_id": "t1", "is_interrupt": true}),
                ),
                batch(&["t1"]),
            ]),
            "idle idle interrupted",
        ),
        (
            "an MCP server's answer closes the dialog that only a notification reported",
            after(vec![
                pre("mcp__jira__ask", "t1"),
                notice("elicitation_dialog"),
                tell("ElicitationResult", json!({"mcp_server_name": "jira", "action": "accept"})),
            ]),
            "processing working jira ask: /srv/a.rs",
        ),
        (
            "… another server's does not",
            after(vec![
                pre("mcp__jira__ask", "t1"),
                notice("elicitation_dialog"),
                tell("ElicitationResult", json!({"mcp_server_name": "jir", "action": "accept"})),
            ]),
            "awaiting_input attention Claude needs you",
        ),
        (
            "permission_prompt belongs to the newest open call, a subagent's too",
            after(vec![pre("Agent", "t1"), pre("Bash", "t2").inside("a1"), notice("permission_prompt")]),
            "processing attention Allow Bash: npm test",
        ),
        (
            "… whose Post event closes it",
            after(vec![
                pre("Agent", "t1"),
                pre("Bash", "t2").inside("a1"),
                notice("permission_prompt"),
                post("Bash", "t2").inside("a1"),
            ]),
            "processing working Agent",
        ),
    ]
}

#[test]
fn late_events_are_put_in_order() {
    each_row(
        rows(),
        |(rule, ..)| rule.to_string(),
        |(rule, tells, look)| {
            assert_eq!(Story::of(tells).look(), look, "{rule}");
        },
    );
}

#[test]
fn a_request_that_overtakes_its_question_is_the_same_question() {
    let story = Story::of([prompt("W"), asks("AskUserQuestion"), pre("AskUserQuestion", "t1").ago(1)]);
    let view = story.view();
    assert_eq!(view.interactions.len(), 1);
    assert_eq!(view.interactions[0].tool_use_id.as_deref(), Some("t1"));
    assert_eq!(story.turns(), ["user:command W", "agent:question Which one? (A, B)"]);
}

#[test]
fn a_request_that_arrives_after_its_answer_is_kept_as_a_turn() {
    let late = || [prompt("W"), pre("Bash", "t1"), post("Bash", "t1"), asks("Bash").ago(1)];
    let story = Story::of(late());
    assert_eq!(story.turns(), ["user:command W", "agent:question Allow Bash: npm test"]);
    assert_eq!(story.look(), "processing working Thinking");
    let noticed = [prompt("W"), pre("Bash", "t1"), notice("permission_prompt"), post("Bash", "t1")];
    let noticed = noticed.into_iter().chain([asks("Bash").ago(1)]);
    assert_eq!(Story::of(noticed).turns(), ["user:command W", "agent:question Allow Bash: npm test"]);
}

#[test]
fn an_answer_is_kept_even_if_its_batch_arrived_first() {
    let answered =
        post("AskUserQuestion", "t1").with(json!({"tool_response": {"answers": {"Which one?": "B"}}}));
    let story = Story::of([prompt("W"), pre("AskUserQuestion", "t1"), batch(&["t1"]), answered.ago(1)]);
    let turns = story.turns();
    assert_eq!(turns.iter().filter(|turn| *turn == "user:answer B").count(), 1, "{turns:?}");
    assert_eq!(story.look(), "processing working Thinking");
}

#[test]
fn a_prompt_that_was_overtaken_is_still_the_command() {
    let queued = Story::of([prompt("W"), pre("Bash", "t1"), post("Bash", "t1"), prompt("and this").ago(1)]);
    let command = queued.view().current_command.unwrap();
    assert_eq!(command.instruction.as_deref(), Some("and this"));
    assert_eq!(queued.commands(), ["complete", "processing"]);
    let first = Story::of([prompt("V"), stop("Fine."), pre("Bash", "t1"), prompt("W").ago(1)]).view();
    assert_eq!(first.confidence.word(), "high");
    assert!(!first.unseen);
}
